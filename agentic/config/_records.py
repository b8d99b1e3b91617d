"""What an agent's file may contain. Sizes are in tokens unless a name says otherwise."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic import truncate
from agentic.config._fields import DESCRIPTION, choice, flag, number, seconds, size, text
from agentic.context.budget import Policy
from agentic.providers import PROVIDERS

__all__ = [
    "DIGEST",
    "MODEL",
    "PREFIX",
    "AgentSettings",
    "ContextSettings",
    "StoreSettings",
    "StrategySettings",
    "TruncationSettings",
]

DIGEST = "digest"
"""The name for no summary model."""
MODEL = f"PROVIDER:NAME ({', '.join(PROVIDERS)}), FILE.py:NAME or PACKAGE.MODULE:NAME"
"""How a model is named."""
PREFIX = "put the provider before the name, as in openai_chat:gpt-4.1"
"""The remedy for a name without a provider."""
_SOME = r"[\s\S]+"
_NAME = r"[^\s/\\:.\-][^\s/\\:]{0,63}"


def _complete(name: str) -> str:
    """Return the remedy for an incomplete model name.

    >>> _complete("my_agent.py")
    "write the name in it after the file's, as in my_agent.py:Agent"
    """
    file = name.rstrip(":")
    if file.endswith(".py"):
        return f"write the name in it after the file's, as in {file}:Agent"
    return PREFIX


@attrs.frozen(kw_only=True)
class ContextSettings:
    """When the conversation is summarized, and by whom.

    Defaults give way to the numbers in the file: see `AgentConfig.policy`.
    """

    auto_summarize: bool = flag(
        "Summarize when a trigger is reached; false leaves it to whoever asks for it.", default=True
    )
    max_messages_before_summary: int | None = number(
        "N: this many messages since the last summary are a reason for one; null for any number.",
        30,
        least=2,
        optional=True,
    )
    max_tokens_before_summary: int | None = number(
        "K: a conversation of this many tokens is summarized, whatever the window; null for none.",
        128_000,
        least=1,
        optional=True,
    )
    min_recent_messages: int = number(
        "The newest messages that are never summarized.", Policy(0).min_recent_messages, least=1
    )
    response_reserve: int = number(
        "Tokens of the window that are left free for the reply.", 4_096, least=0
    )
    summary_model: str | None = text(
        "Who summarizes: provider:name, my_agent.py:Name, or digest for no model at all. Null "
        "is the agent's own model if that is a provider's, and a digest if it is a decider of "
        "your own.",
        None,
        pattern=r"digest|[^:]+:[\s\S]+",
        allowed=f"digest, {MODEL}",
        remedy=_complete,
        expands=True,
    )


@attrs.frozen(kw_only=True)
class TruncationSettings:
    """How each tool output is cut before it enters the conversation."""

    mode: str = choice(
        "Which part is kept: its head, its tail, or both ends without the middle.",
        "head",
        "tail",
        "middle",
        default="tail",
    )
    max_lines: int | None = number(
        "Lines to keep at most; null for any number.", 2_000, least=1, optional=True
    )
    max_bytes: int | None = size(
        "Bytes to keep at most, also as 50KB or 1MB; null for any number.", 51_200
    )

    def options(self) -> truncate.Options:
        """Return the options in the form that a Runner takes."""
        return truncate.Options(
            mode=truncate.Mode(self.mode), max_lines=self.max_lines, max_bytes=self.max_bytes
        )


@attrs.frozen
class StrategySettings:
    """A strategy by its name, and its arguments."""

    name: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict, hash=False)


@attrs.frozen(kw_only=True)
class StoreSettings:
    """Where sessions are kept."""

    kind: str = choice(
        "One file a session, one file for all, a database server, or nowhere.",
        "jsonl",
        "sqlite",
        "postgres",
        "memory",
        default="jsonl",
    )
    path: str | None = text(
        "The folder of jsonl, the file of sqlite. A relative one counts from the agent's "
        "file. By default .agentic/sessions and the agent's name, beside the agent's file.",
        None,
        pattern=_SOME,
        allowed="a path",
        expands=True,
    )
    dsn: str | None = text(
        "How to reach postgres, such as postgresql://localhost/agents or ${DATABASE_URL}.",
        None,
        pattern=_SOME,
        allowed="a dsn",
        expands=True,
        hidden=True,
    )


@attrs.frozen(kw_only=True)
class AgentSettings:
    """An agent: its model, its tools, and how its conversations are kept."""

    name: str = text(
        "What the agent is called; its sessions are kept under this name. By default the file's.",
        "agent",
        pattern=_NAME,
        allowed="1 to 64 characters without space, slash and colon, not beginning with . or -",
        remedy="write another name, such as helper, or leave it out",
    )
    description: str = text("A sentence for people.")
    model: str | None = text(
        "Who decides: provider:name, or a decider of your own, my_agent.py:Name or "
        "package.module:Name (a class, a function that makes one, or an object).",
        None,
        pattern=r"[^:]+:[\s\S]+",
        allowed=MODEL,
        remedy=_complete,
        expands=True,
    )
    model_options: Mapping[str, Any] = attrs.field(
        factory=dict,
        hash=False,
        metadata={
            DESCRIPTION: "A provider's own options for each request, such as temperature; for a "
            "decider of your own the arguments it is made with."
        },
    )
    context_window: int | None = number(
        "The model's window; null is what is known of the model.", None, least=1, optional=True
    )
    system_prompt: str = text("Sent before the conversation.")
    tools: tuple[str, ...] = attrs.field(
        default=(),
        converter=tuple,
        metadata={
            DESCRIPTION: "Functions that the model may call, as tools.py:read_file or "
            "package.module:function; recall is the session's own tool, which finds what left the "
            "conversation."
        },
    )
    context: ContextSettings = attrs.field(
        factory=ContextSettings,
        metadata={DESCRIPTION: "When the conversation is summarized, and by whom."},
    )
    truncation: TruncationSettings | None = attrs.field(
        factory=TruncationSettings,
        metadata={
            DESCRIPTION: "How each tool output is cut before it enters the conversation; false "
            "leaves it whole."
        },
    )
    strategies: tuple[StrategySettings, ...] = attrs.field(
        default=(),
        converter=tuple,
        metadata={
            DESCRIPTION: "What the model sees of the conversation: strategies, applied one after "
            "the other."
        },
    )
    store: StoreSettings = attrs.field(
        factory=StoreSettings, metadata={DESCRIPTION: "Where sessions are kept."}
    )
    max_turns: int = number("Decisions that one request may take.", 50, least=1)
    tool_timeout_seconds: float | None = seconds(
        "How long the tools of one turn may take; null waits for ever.", 120.0
    )
    turn_output_bytes: int | None = number(
        "Bytes that the outputs of one turn may take together; null is four times "
        "truncation.max_bytes.",
        None,
        least=1,
        optional=True,
    )
