"""The JSON Schema of an agent's file, generated from the records.

Editors use it for checks and completion. `python -m agentic.config` prints it; it is shipped as
`agent.schema.json` next to this module.
"""

import inspect
from typing import Any

import attrs

from agentic.config._fields import DESCRIPTION, SCHEMA
from agentic.config._records import (
    AgentSettings,
    ContextSettings,
    StoreSettings,
    TruncationSettings,
)
from agentic.config._strategies import STRATEGIES, StrategyKind

__all__ = ["schema"]

_DRAFT = "http://json-schema.org/draft-07/schema#"
"""The version that editors' YAML servers support best."""
_NAME = r"[^\d\W]\w*(\.[^\d\W]\w*)*"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of an agent's file.

    It refuses everything that `load` refuses, except for what concerns more than one value:
    contradicting numbers, missing files and missing variables.

    >>> schema()["properties"]["context"]["properties"]["min_recent_messages"]["default"]
    6
    """
    special = {
        "context": _optional(_section(ContextSettings)),
        "model_options": {"type": ["object", "null"], "default": {}},
        "store": _optional(_section(StoreSettings) | {"allOf": _PLACES}),
        "strategies": _list_of({"anyOf": [_bare_names(), _strategies()]}),
        "tools": _list_of({"type": "string", "pattern": f"^(recall|[\\s\\S]+:{_NAME})$"}),
        "truncation": {"anyOf": [_section(TruncationSettings), {"enum": [False, None]}]},
    }
    return {
        "$schema": _DRAFT,
        "title": "An agent of agentic",
        **_section(AgentSettings, special),
    }


def _place(kind: list[str], **rules: Any) -> dict[str, Any]:
    chosen = {"properties": {"kind": {"enum": kind}}, "required": ["kind"]}
    return {"if": chosen, "then": rules}


_NONE = {"type": "null"}
_PLACES = [
    _place(["postgres"], required=["dsn"], properties={"dsn": {"type": "string"}, "path": _NONE}),
    _place(["memory"], properties={"dsn": _NONE, "path": _NONE}),
    _place(["sqlite", "jsonl"], properties={"dsn": _NONE}),
    {
        # Draft 7 does not apply defaults: a store without a kind is a jsonl store.
        "if": {"not": {"required": ["kind"]}},
        "then": {"properties": {"dsn": _NONE}},
    },
]
"""The kind of place that each kind of store has."""


def _section(kind: type[Any], special: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of a record: its keys, and no others."""
    properties: dict[str, Any] = {}
    for field in attrs.fields(kind):
        found = (special or {}).get(field.name) or dict(field.metadata[SCHEMA])
        if isinstance(field.default, str | int | float | None):
            found["default"] = field.default
        properties[field.name] = {"description": field.metadata[DESCRIPTION], **found}
    return {
        "description": _first_line(kind),
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _optional(section: dict[str, Any]) -> dict[str, Any]:
    """Allow a section to be empty."""
    # A section whose keys are all commented out is null to YAML.
    return {**section, "type": ["object", "null"]}


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": items, "default": []}


def _bare_names() -> dict[str, Any]:
    return {"enum": [name for name, kind in STRATEGIES.items() if not kind.required]}


def _strategies() -> dict[str, Any]:
    """Return the schema of an item with one strategy and its arguments."""
    return {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: _strategy(kind) for name, kind in STRATEGIES.items()},
    }


def _strategy(kind: StrategyKind) -> dict[str, Any]:
    found = _section(kind.section) | {"description": _first_line(kind.make)}
    return found | {"required": kind.required} if kind.required else _optional(found)


def _first_line(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]
