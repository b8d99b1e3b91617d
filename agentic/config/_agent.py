"""An agent as its file describes it, and the parts that are made of it."""

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from agentic.config._fields import number, seconds, text
from agentic.config._origin import Origin
from agentic.config._parts import Parts
from agentic.config._records import (
    MODEL,
    PREFIX,
    ContextSettings,
    StoreSettings,
    StrategySettings,
    TruncationSettings,
)
from agentic.config._store import make_sessions
from agentic.context.budget import Compactor, Policy
from agentic.history import Sessions
from agentic.limits import ModelLimits
from agentic.loop import Decider, Runner
from agentic.session import Session
from agentic.tokens import ModelCounter
from agentic.tools import Registry

__all__ = ["AgentConfig"]

_NAME = r"[^\s/\\:.\-][^\s/\\:]{0,63}"


@attrs.frozen(kw_only=True)
class AgentConfig:
    """An agent: its model, its tools, and what becomes of its conversations.

    Made by `load`, `loads` and `find`. Nothing that it names is imported or connected to until a
    part is asked for.
    """

    name: str = text(
        "agent",
        pattern=_NAME,
        allowed="1 to 64 characters without space, slash and colon, not beginning with . or -",
    )
    """What the agent is called; its sessions are kept under this name. By default the file's."""
    description: str = text()
    """A sentence for people."""
    model: str | None = text(
        None, pattern=r"[^:]+:[\s\S]+", allowed=MODEL, remedy=PREFIX, expands=True
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
    _origin: Origin = attrs.field(factory=Origin, eq=False, repr=False)
    _parts: Parts = attrs.field(
        default=attrs.Factory(lambda self: Parts(self, self._origin), takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )

    @property
    def path(self) -> Path | None:
        """Where the agent was read; None if it was not in a file."""
        return self._origin.path

    def decider(self) -> Decider:
        """Connect to the model, or make the decider of one's own; the same at every call.

        Raises:
            ConfigProblems: no model is named, it cannot be set up, or it cannot be imported.
            ImportError: the provider's SDK is not installed.
        """
        return self._parts.decider()

    def limits(self) -> ModelLimits:
        """Tell the model's limits: `context_window`, or what the decider or the catalog says."""
        return self._parts.limits()

    def counter(self) -> ModelCounter:
        """Give the best counter that is installed for the model."""
        return self._parts.counter()

    def policy(self) -> Policy:
        """Give the numbers of the budget.

        Where a number that is not written contradicts one that is, or the window, it gives way: the
        reserve down to half of the window, the recent messages to four less than N, N to four more
        than the recent messages.

        Raises:
            ConfigProblems: numbers that are written contradict each other, or the window.
        """
        return self._parts.policy()

    def compactor(self) -> Compactor:
        """Give who summarizes, and a digest where that fails; connected to when it is needed."""
        return self._parts.compactor()

    def sessions(self) -> Sessions:
        """Give the place where the agent's sessions are kept.

        Raises:
            ConfigProblems: sessions in memory cannot be listed.
        """
        return make_sessions(self.store, self.name, self._origin)

    def session(self, session_id: str | None = None) -> Session:
        """Give a session of this agent, to be entered by `async with`; without an id a new one.

        Raises:
            ConfigError: an id that names no session.
            ConfigProblems: something that the file names cannot be used.
        """
        session_id = uuid.uuid4().hex[:12] if session_id is None else session_id
        return self._parts.session(session_id)

    def registry(self, session: Session) -> Registry | None:
        """Give the tools of the agent in a session; None if it has none.

        Raises:
            ConfigProblems: references to what is not there, or is no tool; all of them.
        """
        return self._parts.registry(session)

    def runner(self, session: Session, decider: Decider | None = None) -> Runner:
        """Give what serves requests in a session; a `decider` takes the place of the model.

        Raises:
            ConfigProblems: something that the file names cannot be used.
            ImportError: the provider's SDK is not installed.
        """
        return self._parts.runner(session, decider)
