"""What an agent's file may say, as a record."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic.config._fields import number, seconds, text
from agentic.config._records import (
    MODEL,
    ContextSettings,
    StoreSettings,
    StrategySettings,
    TruncationSettings,
    complete,
)

__all__ = ["AgentSettings"]

_NAME = r"[^\s/\\:.\-][^\s/\\:]{0,63}"


@attrs.frozen(kw_only=True)
class AgentSettings:
    """An agent: its model, its tools, and what becomes of its conversations."""

    name: str = text(
        "agent",
        pattern=_NAME,
        allowed="1 to 64 characters without space, slash and colon, not beginning with . or -",
        remedy="write another name, such as helper, or leave it out",
    )
    """What the agent is called; its sessions are kept under this name. By default the file's."""
    description: str = text()
    """A sentence for people."""
    model: str | None = text(
        None, pattern=r"[^:]+:[\s\S]+", allowed=MODEL, remedy=complete, expands=True
    )
    """Who decides: provider:name, or a decider of your own, my_agent.py:Name or package.module:Name
    (a class, a function that makes one, or an object)."""
    model_options: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    """A provider's own options for each request, such as temperature; for a decider of your own the
    arguments it is made with."""
    context_window: int | None = number(None, 1, optional=True)
    """The model's window; null is what is known of the model."""
    system_prompt: str = text()
    """Sent before the conversation."""
    tools: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    """Functions that the model may call, as tools.py:read_file or package.module:function; recall
    is the session's own tool, which finds what left the conversation."""
    context: ContextSettings = attrs.field(factory=ContextSettings)
    """When the conversation is summarized, and by whom."""
    truncation: TruncationSettings | None = attrs.field(factory=TruncationSettings)
    """How each tool output is cut before it enters the conversation; false, in Python None, leaves
    it whole."""
    strategies: tuple[StrategySettings, ...] = attrs.field(default=(), converter=tuple)
    """What the model sees of the conversation: strategies, applied one after the other."""
    store: StoreSettings = attrs.field(factory=StoreSettings)
    """Where sessions are kept."""
    max_turns: int = number(50, 1)
    """Decisions that one request may take."""
    tool_timeout_seconds: float | None = seconds(120.0)
    """How long the tools of one turn may take; null waits for ever."""
    turn_output_bytes: int | None = number(None, 1, optional=True)
    """Bytes that the outputs of one turn may take together; null is four times
    truncation.max_bytes."""
