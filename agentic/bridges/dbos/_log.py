"""The session of a run, as the run sees it in every attempt: as it was when the run began."""

import json
from collections.abc import Sequence
from typing import Any

import attrs

from agentic._lazy import asyncio
from agentic.bridges.dbos._steps import DbosSteps
from agentic.errors import HistoryConflict, HistoryError, HistoryNotWritten, HistoryUnavailable
from agentic.history import Sessions
from agentic.messages import Message, from_plain, to_plain

__all__ = ["RunLog", "apply_compaction"]

_PATIENCE_SECONDS = 30.0
"""How long to wait for another writer of the session: a stopped worker may hold its lock."""
_PASSING = (HistoryConflict, HistoryNotWritten, HistoryUnavailable)


@attrs.define(eq=False)
class RunLog:
    """A Rewriter for one attempt. Appends have keys; a compaction is kept until the run is over.

    A session is opened for each turn, so that a worker that is stopped rarely holds its lock.
    """

    sessions: Sessions
    session_id: str
    run_id: str
    steps: DbosSteps
    view: list[Message] = attrs.field(init=False, factory=list)
    """The history, after the compactions of this run."""
    is_compacted: bool = attrs.field(init=False, default=False)
    _known: int = attrs.field(init=False, default=0)
    """How many messages the session had when the run began."""
    _appended: int = attrs.field(init=False, default=0)
    _waiting: list[tuple[str, Message]] = attrs.field(init=False, factory=list)

    @property
    def stored(self) -> int:
        """Return how many messages the session's history has, with those of this run."""
        return self._known + self._appended

    async def open(self) -> None:
        """Read the session, without what an earlier attempt has appended."""
        loaded = list(await self.sessions.open(self.session_id).load())

        async def count() -> int:
            return len(loaded)

        self._known = await self.steps.run("open session", count)
        self.view = loaded[: self._known]

    async def load(self) -> list[Message]:
        """Return the history of the run."""
        return self.view.copy()

    async def append(self, message: Message) -> None:
        """Add a message. It is stored when its turn is complete, as the engine has it already."""
        self.steps.check()
        self._waiting.append((f"{self.run_id}/{self._appended}", message))
        self._appended += 1
        self.view.append(message)
        if message.role == "tool" or (message.role == "assistant" and not message.tool_calls):
            await self.flush()

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history of the run; the session follows when it is over.

        Until then the session only grows, so every attempt finds the same beginning.
        """
        self.view = [*messages, *([] if replaces is None else self.view[replaces:])]
        self.is_compacted = True

    async def put(self, output: str) -> str:
        """Store a whole output with the session."""
        self.steps.check()
        return str(await _patiently(lambda: self._put(output)))

    async def get(self, ref: str) -> str:
        """Return a stored output."""
        store: Any = self.sessions.open(self.session_id)
        return str(await store.get(ref))

    async def flush(self) -> None:
        """Store what is waiting, each message once, in whatever attempts."""
        if self._waiting:
            await _patiently(self._flush)
            self._waiting.clear()

    async def _put(self, output: str) -> str:
        store: Any
        async with self.sessions.open(self.session_id) as store:  # type: ignore[attr-defined]
            return str(await store.put(output))

    async def _flush(self) -> None:
        if self.steps.lease is not None:
            await self.steps.lease.hold()
        store: Any
        async with self.sessions.open(self.session_id) as store:  # type: ignore[attr-defined]
            for key, message in self._waiting:
                self.steps.check()
                await store.append(message, key=key)

    async def leave_view(self) -> str:
        """Store the compacted history as an output, and return its reference."""
        return await self.put(json.dumps([to_plain(message) for message in self.view]))


async def apply_compaction(
    sessions: Sessions, session_id: str, ref: str, replaces: int
) -> dict[str, Any]:
    """Replace a session's history by the view that its latest run left, if it is not yet."""

    async def apply() -> None:
        store: Any
        async with sessions.open(session_id) as store:  # type: ignore[attr-defined]
            view = [from_plain(plain) for plain in json.loads(await store.get(ref))]
            history = await store.load()
            if len(history) >= replaces and history[: len(view)] != view:
                await store.replace(view, replaces=replaces)

    await _patiently(apply)
    return {}


async def _patiently(write: Any) -> Any:
    """Repeat a write until no other writer is in its way, and the database answers."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    pause = 0.01
    while True:
        try:
            return await write()
        except HistoryError as problem:
            if not isinstance(problem, _PASSING):
                raise
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, 1.0)
