"""An agent as its file describes it, and the parts that are made of it."""

import uuid
from pathlib import Path

import attrs

from agentic.config._origin import Origin
from agentic.config._parts import Parts
from agentic.config._settings import AgentSettings
from agentic.config._store import make_sessions
from agentic.context.budget import Compactor, Policy
from agentic.history import Sessions
from agentic.limits import ModelLimits
from agentic.loop import Decider, Runner
from agentic.session import Session
from agentic.tokens import ModelCounter
from agentic.tools import Registry

__all__ = ["AgentConfig"]


@attrs.frozen(kw_only=True)
class AgentConfig(AgentSettings):
    """An agent: its model, its tools, and what becomes of its conversations.

    Made by `load`, `loads` and `find`. Nothing that it names is imported or connected to until a
    part is asked for.
    """

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
        """Return the model's limits: `context_window`, or what the decider or the catalog says."""
        return self._parts.limits()

    def counter(self) -> ModelCounter:
        """Return the best counter that is installed for the model."""
        return self._parts.counter()

    def policy(self) -> Policy:
        """Return the numbers of the budget.

        Where a number that is not written contradicts one that is, or the window, it gives way: the
        reserve down to half of the window, the recent messages to four less than N, N to four more
        than the recent messages.

        Raises:
            ConfigProblems: numbers that are written contradict each other, or the window.
        """
        return self._parts.policy()

    def compactor(self) -> Compactor:
        """Return who summarizes, and a digest where that fails; connected to when it is needed."""
        return self._parts.compactor()

    def sessions(self) -> Sessions:
        """Return the place where the agent's sessions are kept.

        Raises:
            ConfigProblems: sessions in memory cannot be listed.
        """
        return make_sessions(self.store, self.name, self._origin)

    def session(self, session_id: str | None = None) -> Session:
        """Return a session of this agent, to be entered by `async with`; without an id a new one.

        Raises:
            ConfigError: an id that names no session.
            ConfigProblems: something that the file names cannot be used.
        """
        session_id = uuid.uuid4().hex[:12] if session_id is None else session_id
        return self._parts.session(session_id)

    def registry(self, session: Session) -> Registry | None:
        """Return the tools of the agent in a session; None if it has none.

        Raises:
            ConfigProblems: references to what is not there, or is no tool; all of them.
        """
        return self._parts.registry(session)

    def runner(self, session: Session, decider: Decider | None = None) -> Runner:
        """Return what serves requests in a session; a `decider` takes the place of the model.

        Raises:
            ConfigProblems: something that the file names cannot be used.
            ImportError: the provider's SDK is not installed.
        """
        return self._parts.runner(session, decider)
