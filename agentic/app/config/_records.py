"""What an agent's file may contain: records, and the JSON Schema that is generated from them.

Sizes are in tokens unless a name says otherwise. Editors use the schema for checks and completion.
`python -m agentic.app.config` prints it; it is shipped as `agent.schema.json` next to this module.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import attrs

from agentic import truncate
from agentic.app.config._fields import (
    DESCRIPTION,
    SCHEMA,
    choice,
    flag,
    number,
    seconds,
    size,
    text,
    token_number,
)
from agentic.app.config._strategies import STRATEGIES, StrategyKind, StrategySettings
from agentic.context.budget import Policy
from agentic.providers._offline import OFFLINE
from agentic.providers._registry import (
    BEGINNINGS,
    ELSEWHERE,
    full_name,
    nearest_model,
    sorted_names,
)

DIGEST = "digest"
"""The name for no summary model."""
MODEL = f"PROVIDER:NAME ({', '.join(sorted_names())}), FILE.py:NAME or PACKAGE.MODULE:NAME"
"""How a model is named."""
_SOME = r"[\s\S]+"
_MODEL_PATTERN = (
    rf"[^:]+:[\s\S]+|(?!{'|'.join(ELSEWHERE)})(?:{'|'.join(sum(BEGINNINGS.values(), ()))})[^:]*"
)
"""With the provider before the name, or a name that says who serves it."""
_NAME = r"[^\s/\\:.\-][^\s/\\:]{0,63}"
_DRAFT = "http://json-schema.org/draft-07/schema#"
"""The version that editors' YAML servers support best."""
_PYTHON_NAME = r"[^\d\W]\w*(\.[^\d\W]\w*)*"


def _full_name(model: Any) -> Any:
    return full_name(model) if isinstance(model, str) else model


def _complete(name: str) -> str:
    """Return the remedy for an incomplete model name.

    >>> _complete("my_agent.py")
    "write the name in it after the file's, as in my_agent.py:Agent"
    """
    file = name.rstrip(":")
    if file.endswith(".py"):
        return f"write the name in it after the file's, as in {file}:Agent"
    return with_provider(name)


def with_provider(name: str) -> str:
    """Return the remedy for a name without a provider.

    >>> with_provider("qwen3")
    'put the provider before the name, as in openai_chat:qwen3'
    >>> with_provider("gtp-4.1")
    "did you mean 'gpt-4.1'?"
    """
    if near := nearest_model(name):
        return f"did you mean {near!r}?"
    example = name if name[:1].isalpha() and ":" not in name else "gpt-4.1"
    return f"put the provider before the name, as in openai_chat:{example}"


@attrs.frozen(kw_only=True)
class ContextSettings:
    """When the conversation is summarized, and by which model.

    The defaults of the first four numbers hold where one of these is written; otherwise the policy
    is that of a bare window. Defaults give way to the numbers in the file: see
    `AgentConfig.policy`.
    """

    auto_summarize: bool = flag(
        "Whether to summarize when a trigger is reached; false means only on demand.", default=True
    )
    max_messages_before_summary: int | None = number(
        "N: summarize after this many messages since the last summary; null for no limit.",
        30,
        least=2,
        optional=True,
    )
    max_tokens_before_summary: int | None = token_number(
        "K: summarize a conversation of this many tokens, whatever the window; null for no limit.",
        128_000,
        least=1,
        optional=True,
    )
    min_recent_messages: int = number(
        "How many of the newest messages are never summarized.",
        # The budget's own default, so that it is written in one place only.
        Policy(0).min_recent_messages,
        least=1,
    )
    response_reserve: int = token_number(
        "Tokens of the window to keep free for the reply.", 4_096, least=0
    )
    tokens_per_media: int | None = number(
        "Tokens that each image, document or recording counts; null for what it costs with the "
        "model.",
        None,
        least=0,
        optional=True,
    )
    max_request_bytes: int | None = number(
        "The largest request in bytes, with media in base64; 0 for no limit, null for that of the "
        "model.",
        None,
        least=0,
        optional=True,
    )
    max_images: int | None = number(
        "How many images a request may hold; 0 for no limit, null for that of the model.",
        None,
        least=0,
        optional=True,
    )
    summary_model: str | None = text(
        "What summarizes: provider:name, my_agent.py:Name, or digest for no model at all. null "
        "means the agent's own model if it is a provider's, and a digest if it is your own "
        "decider.",
        None,
        pattern=rf"digest|{_MODEL_PATTERN}",
        requirement=f"digest, {MODEL}",
        remedy=_complete,
        expands=True,
        converter=_full_name,
    )


@attrs.frozen(kw_only=True)
class TruncationSettings:
    """How each tool output is cut before it enters the conversation."""

    mode: str = choice(
        "Which part to keep: the head, the tail, or both ends without the middle.",
        "head",
        "tail",
        "middle",
        default="tail",
    )
    max_lines: int | None = number(
        "The most lines to keep; null for no limit.", 2_000, least=1, optional=True
    )
    max_bytes: int | None = size(
        "The most bytes to keep, also written as 50KB or 1MB; null for no limit.", 51_200
    )

    def options(self) -> truncate.Options:
        """Return the options in the form that a Runner takes."""
        return truncate.Options(
            mode=truncate.Mode(self.mode), max_lines=self.max_lines, max_bytes=self.max_bytes
        )


@attrs.frozen(kw_only=True)
class StoreSettings:
    """Where sessions are kept."""

    kind: str = choice(
        "In one file per session, in one file for all, on a database server, or nowhere.",
        "jsonl",
        "sqlite",
        "postgres",
        "memory",
        default="jsonl",
    )
    path: str | None = text(
        "The folder (jsonl) or the file (sqlite), relative to the agent's file. The default is "
        ".agentic/sessions and the agent's name, next to the agent's file.",
        None,
        pattern=_SOME,
        requirement="a path",
        expands=True,
    )
    dsn: str | None = text(
        "The address of the database, such as postgresql://localhost/agents or ${DATABASE_URL}.",
        None,
        pattern=_SOME,
        requirement="a dsn",
        expands=True,
        is_secret=True,
    )


@attrs.frozen(kw_only=True)
class AgentSettings:
    """An agent: its model, its tools, and how its conversations are kept."""

    name: str = text(
        "The agent's name, under which its sessions are stored. The default is the file's name.",
        "agent",
        pattern=_NAME,
        requirement="1 to 64 characters without space, slash and colon, not beginning with . or -",
        remedy="write another name, such as helper, or leave it out",
    )
    description: str = text("One sentence that describes the agent.")
    model: str | None = text(
        "The model: provider:name, a name alone such as gpt-4.1 or claude-sonnet-4-5, or your own "
        "decider as my_agent.py:Name or package.module:Name (a class, a function that creates one, "
        "or an object). offline needs no model.",
        None,
        pattern=rf"{OFFLINE}|{_MODEL_PATTERN}",
        requirement=MODEL,
        remedy=_complete,
        expands=True,
        converter=_full_name,
    )
    model_options: Mapping[str, Any] = attrs.field(
        factory=dict,
        # A dict has no hash, and the record has one.
        hash=False,
        metadata={
            DESCRIPTION: "The provider's own options for each request, such as temperature; for "
            "your own decider, the arguments that it is created with."
        },
    )
    record_role: str = choice(
        "The role in which a summary of earlier conversation is sent to a provider's model: as a "
        "user message of its own, or with the system prompt.",
        "user",
        "system",
        default="user",
    )
    strict_roles: bool | None = flag(
        "Whether the server's chat template wants one system message and roles that alternate, "
        "with openai_chat and ollama; null decides by the model's name.",
        default=None,
    )
    context_window: int | None = token_number(
        "The model's window, in tokens, also written as 128k; null looks it up by the model's "
        "name.",
        None,
        least=1,
        optional=True,
    )
    system_prompt: str = text("The system prompt, which is sent before the conversation.")
    tools: tuple[str, ...] = attrs.field(
        default=(),
        converter=tuple,
        metadata={
            DESCRIPTION: "Functions that the model may call, as tools.py:read_file or "
            "package.module:function; recall is the session's own tool, which searches what is no "
            "longer in the conversation."
        },
    )
    approve: str = choice(
        "Whether calls of tools that are not annotated as read-only need approval: ask (chat asks "
        "you; a program passes an approver to runner), or never.",
        "ask",
        "never",
        default="ask",
    )
    context: ContextSettings = attrs.field(
        factory=ContextSettings,
        metadata={DESCRIPTION: "When the conversation is summarized, and by which model."},
    )
    truncation: TruncationSettings | None = attrs.field(
        factory=TruncationSettings,
        metadata={
            DESCRIPTION: "How each tool output is truncated before it enters the conversation; "
            "false keeps it whole."
        },
    )
    strategies: tuple[StrategySettings, ...] = attrs.field(
        default=(),
        converter=tuple,
        metadata={
            DESCRIPTION: "Strategies that decide what the model sees of the conversation, applied "
            "in this order."
        },
    )
    store: StoreSettings = attrs.field(
        factory=StoreSettings, metadata={DESCRIPTION: "Where sessions are kept."}
    )
    max_turns: int = number("The most model replies that one request may take.", 50, least=1)
    tool_timeout_seconds: float | None = seconds(
        "How many seconds each call of a tool may take; null for no limit.", 120.0
    )
    turn_output_bytes: int | None = number(
        "The most bytes that the outputs of one turn may take together; null means four times "
        "truncation.max_bytes.",
        None,
        least=1,
        optional=True,
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of an agent's file.

    It refuses everything that `load` refuses, except for what concerns more than one value:
    contradicting numbers, missing files and missing variables.

    >>> schema()["properties"]["context"]["properties"]["min_recent_messages"]["default"]
    6
    """
    bare = [name for name, kind in STRATEGIES.items() if not kind.required]
    special = {
        "context": _optional(_section(ContextSettings)),
        "model_options": {"type": ["object", "null"], "default": {}},
        "store": _optional(_section(StoreSettings) | {"allOf": _PLACES}),
        "strategies": _list_of({"anyOf": [{"enum": bare}, _strategies()]}),
        "tools": _list_of({"type": "string", "pattern": f"^(recall|[\\s\\S]+:{_PYTHON_NAME})$"}),
        "truncation": {"anyOf": [_section(TruncationSettings), {"enum": [False, None]}]},
    }
    return {
        "$schema": _DRAFT,
        "title": "An agent of agentic",
        **_section(AgentSettings, special),
    }


def _place(kind: list[str], **rules: Any) -> dict[str, Any]:
    choice = {"properties": {"kind": {"enum": kind}}, "required": ["kind"]}
    return {"if": choice, "then": rules}


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
        # `special` has the fields that are not a single value: sections, and lists.
        section = (special or {}).get(field.name) or dict(field.metadata[SCHEMA])
        if isinstance(field.default, str | int | float | None):
            section["default"] = field.default
        properties[field.name] = {"description": field.metadata[DESCRIPTION], **section}
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
    section = _section(kind.section) | {"description": _first_line(kind.make)}
    return section | {"required": kind.required} if kind.required else _optional(section)


def _first_line(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]
