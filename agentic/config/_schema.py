"""The JSON Schema of an agent's file, made of the records: editors check and complete by it.

`python -m agentic.config` prints it; it is shipped as `agent.schema.json` beside this module.
"""

import ast
import inspect
import itertools
import re
import textwrap
from typing import Any

import attrs

from agentic.config._fields import SCHEMA
from agentic.config._records import ContextSettings, StoreSettings, TruncationSettings
from agentic.config._settings import AgentSettings
from agentic.config._strategies import STRATEGIES, accepts, arguments_of

__all__ = ["schema"]

_DRAFT = "http://json-schema.org/draft-07/schema#"
"""What editors' YAML servers know best."""
_NAME = r"[^\d\W]\w*(\.[^\d\W]\w*)*"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of an agent's file.

    It refuses whatever `load` refuses, but for what lies outside of one value: numbers that
    contradict each other, files and variables that are missing.

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
        "if": {"not": {"required": ["kind"]}},
        "then": {"properties": {"dsn": _NONE}},
    },
]
"""Which kind of store has which place."""


def _section(kind: type[Any], special: dict[str, Any] | None = None) -> dict[str, Any]:
    """Describe a record: its keys, and nothing else."""
    said = _describe_fields(kind)
    properties: dict[str, Any] = {}
    for field in attrs.fields(kind):
        if field.name.startswith("_"):
            continue
        found = (special or {}).get(field.name) or dict(field.metadata[SCHEMA])
        if isinstance(field.default, str | int | float | None):
            found["default"] = field.default
        properties[field.name] = {"description": said[field.name], **found}
    return {
        "description": _first_line(kind),
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _optional(section: dict[str, Any]) -> dict[str, Any]:
    """Let a section be left empty."""
    return {**section, "type": ["object", "null"]}


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": items, "default": []}


def _bare_names() -> dict[str, Any]:
    return {"enum": [name for name in STRATEGIES if not _required(name)]}


def _strategies() -> dict[str, Any]:
    """Describe an item with one strategy and its arguments."""
    return {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: _strategy(name) for name in STRATEGIES},
    }


def _strategy(name: str) -> dict[str, Any]:
    required = _required(name)
    said = _describe_fields(STRATEGIES[name])
    properties = {}
    for argument in arguments_of(name):
        text = {"description": said[argument]} if argument in said else {}
        properties[argument] = text | _argument(name, argument)
    return {
        "description": _first_line(STRATEGIES[name]),
        "type": "object" if required else ["object", "null"],
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
    }


def _required(name: str) -> list[str]:
    return [key for key, field in arguments_of(name).items() if field.default is attrs.NOTHING]


def _argument(name: str, argument: str) -> dict[str, Any]:
    """Describe an argument by what the strategy accepts: its checks are not to be read."""
    samples: dict[str, list[Any]] = {
        "integer": [3],
        "number": [0.5],
        "boolean": [True, False],
        "array": [["a"]],
        "null": [None],
    }
    kinds = [
        kind
        for kind, values in samples.items()
        if all(accepts(name, argument, value) for value in values)
    ]
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    found: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if "integer" in kinds or "number" in kinds:
        found |= _bounds(name, argument)
    if "array" in kinds:
        found["items"] = {"type": "string"}
    field = arguments_of(name)[argument]
    if isinstance(field.default, bool | int | float | None):
        found["default"] = field.default
    return found


def _bounds(name: str, argument: str) -> dict[str, Any]:
    least = {"minimum": 0} if accepts(name, argument, 0) else {"exclusiveMinimum": 0}
    return least if accepts(name, argument, 2) else least | {"maximum": 1}


def _first_line(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _describe_fields(kind: type[Any]) -> dict[str, str]:
    """Read the texts below the fields of a class."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    body = getattr(tree, "body", [])
    said: dict[str, str] = {}
    for field, text in itertools.pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(words))
            ):
                said[name] = re.sub(r"\s+", " ", words).replace("None", "null")
    return said
