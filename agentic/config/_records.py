"""The sections of an agent's file. Sizes are in tokens, where a name does not say otherwise."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic import truncate
from agentic.config._fields import choice, flag, number, size, text
from agentic.context.budget import Policy
from agentic.providers import PROVIDERS

__all__ = [
    "DIGEST",
    "MODEL",
    "PREFIX",
    "ContextSettings",
    "StoreSettings",
    "StrategySettings",
    "TruncationSettings",
    "complete",
]

DIGEST = "digest"
"""The summary model that is none."""
MODEL = f"PROVIDER:NAME ({', '.join(PROVIDERS)}), FILE.py:NAME or PACKAGE.MODULE:NAME"
"""How a model is named."""
PREFIX = "put the provider before the name, as in openai_chat:gpt-4.1"
"""What to do about a name alone."""
_SOME = r"[\s\S]+"


def complete(name: str) -> str:
    """Return what to do about a model's name that lacks a part.

    >>> complete("my_agent.py")
    "write the name in it after the file's, as in my_agent.py:Agent"
    """
    file = name.rstrip(":")
    if file.endswith(".py"):
        return f"write the name in it after the file's, as in {file}:Agent"
    return PREFIX


@attrs.frozen(kw_only=True)
class ContextSettings:
    """When the conversation is summarized, and by whom.

    Numbers that are left out give way to those that are written: see `AgentConfig.policy`.
    """

    auto_summarize: bool = flag(default=True)
    """Summarize when a trigger is reached; false leaves it to whoever asks for it."""
    max_messages_before_summary: int | None = number(30, 2, optional=True)
    """N: this many messages since the last summary are a reason for one; null for any number."""
    max_tokens_before_summary: int | None = number(128_000, 1, optional=True)
    """K: a conversation of this many tokens is summarized, whatever the window; null for none."""
    min_recent_messages: int = number(Policy(0).min_recent_messages, 1)
    """The newest messages that are never summarized."""
    response_reserve: int = number(4_096, 0)
    """Tokens of the window that are left free for the reply."""
    summary_model: str | None = text(
        None,
        pattern=r"digest|[^:]+:[\s\S]+",
        allowed=f"digest, {MODEL}",
        remedy=complete,
        expands=True,
    )
    """Who summarizes: provider:name, my_agent.py:Name, or digest for no model at all. Null is the
    agent's own model if that is a provider's, and a digest if it is a decider of your own."""


@attrs.frozen(kw_only=True)
class TruncationSettings:
    """How each tool output is cut before it enters the conversation."""

    mode: str = choice("tail", "head", "tail", "middle")
    """Which part is kept: its head, its tail, or both ends without the middle."""
    max_lines: int | None = number(2_000, 1, optional=True)
    """Lines to keep at most; null for any number."""
    max_bytes: int | None = size(51_200)
    """Bytes to keep at most, also as 50KB or 1MB; null for any number."""

    def options(self) -> truncate.Options:
        """Return the same as a Runner takes it."""
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

    kind: str = choice("jsonl", "jsonl", "sqlite", "postgres", "memory")
    """One file a session, one file for all, a database server, or nowhere."""
    path: str | None = text(None, pattern=_SOME, allowed="a path", expands=True)
    """The folder of jsonl, the file of sqlite. A relative one counts from the agent's file. By
    default .agentic/sessions and the agent's name, beside the agent's file."""
    dsn: str | None = text(None, pattern=_SOME, allowed="a dsn", expands=True, hidden=True)
    """How to reach postgres, such as postgresql://localhost/agents or ${DATABASE_URL}."""
