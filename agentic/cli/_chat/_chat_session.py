"""A conversation with an agent: its requests, and what the user may do between them."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

import attrs
import click

from agentic import events
from agentic.cli._chat._terminal import Screen
from agentic.cli._output import describe_problem
from agentic.config import AgentConfig, ConfigProblems
from agentic.loop import Runner
from agentic.session import Session

__all__ = ["ChatSession", "blaming"]

_T = TypeVar("_T")
_SHOWN = (
    events.message_update,
    events.message_end,
    events.tool_execution_start,
    events.tool_execution_end,
    events.context_compaction_end,
)


@attrs.define(eq=False)
class ChatSession:
    """One session of one agent, on one screen."""

    agent: AgentConfig
    screen: Screen
    session: Session
    runner: Runner
    was_stopped: bool = False
    """Whether Ctrl-C ended what the latest line had started."""
    has_failed: bool = False
    """Whether any request received no reply."""

    @classmethod
    async def begin(cls, agent: AgentConfig, session_id: str, screen: Screen) -> "ChatSession":
        """Open a session, and connect to its model.

        Raises:
            ConfigError: something that the agent's file names cannot be used.
            ImportError: the provider's SDK is not installed.
        """
        talk = cls(agent, screen, *_made(agent, session_id))
        await talk.session.__aenter__()
        talk._listen()
        return talk

    async def use(self, agent: AgentConfig) -> None:
        """Continue with another agent or model; if it cannot be used, nothing changes."""
        # Create the new Runner before ending the current one, in case the model cannot be used.
        session, runner = _made(agent, self.session.session_id)
        await self.end()
        self.agent, self.session, self.runner = agent, session, runner
        await self.session.__aenter__()
        self._listen()

    async def ask(self, text: str) -> None:
        """Serve one request, whether or not it succeeds."""
        result = await self.do(self.runner.run(text))
        self.has_failed = self.has_failed or result is None
        if result is not None and result.incomplete:
            go_on = " Ask it to continue." if result.exhausted else ""
            self.screen.warn(f"{result.incomplete[0].upper()}{result.incomplete[1:]}.{go_on}")
        await self.do(self._compact())
        if status := await self.do(self.session.status()):
            self.screen.show_size(status, self.agent.policy().context_window)

    async def do(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """Wait for work that Ctrl-C can stop; if it fails, print the problem and return None."""
        # Run it in a separate task: Ctrl-C stops the work, not the loop that reads the next line.
        task = asyncio.create_task(_staying(work))
        try:
            with _stopped_by_ctrl_c(task):
                return await task
        except asyncio.CancelledError:
            self.was_stopped = True
            self.screen.end_line()
            self.screen.warn("Stopped. What was complete is kept.")
        except Exception as problem:  # noqa: BLE001  the chat continues, whatever a decider raised
            self.screen.warn(describe_problem(problem) or f"{type(problem).__name__}: {problem}")
        finally:
            self.screen.check()
        return None

    async def end(self) -> None:
        """Close the session, so that others may write it."""
        await self.session.__aexit__(None, None, None)

    async def _compact(self) -> None:
        """Summarize if the exchange that has ended makes this due, as `/context` predicted."""
        end = events.context_compaction_end
        with end.connected_to(self.screen.show, sender=self.session):
            await self.session.compact_if_due()

    def _listen(self) -> None:
        for each in _SHOWN:
            each.connect(self.screen.show, sender=self.runner)


@contextlib.contextmanager
def blaming(who: str) -> Iterator[None]:
    """Attribute a wrong model name to its source `who`, rather than to a line of the file."""
    try:
        yield
    except ConfigProblems as mistaken:
        raise ConfigProblems(
            attrs.evolve(each, file=who, line=0) if each.key == "model" else each
            for each in mistaken.problems
        ) from mistaken


@contextlib.contextmanager
def _stopped_by_ctrl_c(task: asyncio.Task[Any]) -> Iterator[None]:
    """Cancel a task at Ctrl-C; at the next Ctrl-C, interrupt code that blocks the event loop."""
    loop = asyncio.get_running_loop()
    waiting: list[bool] = []

    def stop() -> None:
        waiting.clear()
        task.cancel()

    def interrupt(_: int, __: FrameType | None) -> None:
        if waiting:  # the task cannot be cancelled: a decider or a tool is blocking the loop
            raise KeyboardInterrupt
        waiting.append(True)
        loop.call_soon_threadsafe(stop)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _staying(work: Coroutine[Any, Any, _T]) -> _T:
    """Do some work that must not end the program if it fails."""
    try:
        return await work
    except SystemExit as left:
        raise click.ClickException(
            f"sys.exit({left.code!r}) was called instead of a reply: the chat continues."
        ) from left


def _made(agent: AgentConfig, session_id: str) -> tuple[Session, Runner]:
    session = agent.session(session_id)
    return session, agent.runner(session)
