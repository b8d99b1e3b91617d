"""The session of a run, as the run sees it in every attempt: as it was when the run began."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import attrs

from agentic._base._waiting import off_loop
from agentic.durable.dbos._lease import LeaseLost
from agentic.durable.dbos._steps import DbosSteps
from agentic.durable.dbos._stores import REWRITTEN, SessionWriter
from agentic.errors import HistoryUnavailable, OutputNotFound
from agentic.history._outputs import encode_output, make_ref
from agentic.history._rows import NOWHERE
from agentic.messages import Message, to_plain

T = TypeVar("T")


def _encode(messages: list[Message]) -> str:
    return json.dumps([to_plain(message) for message in messages])


@attrs.define(eq=False)
class RunLog:
    """A Rewriter for one attempt. Appends have keys; a compaction is kept until the run is over."""

    writer: SessionWriter
    run_id: str
    steps: DbosSteps
    view: list[Message] = attrs.field(init=False, factory=list)
    """The history, after the compactions of this run."""
    is_repeated: bool = attrs.field(init=False, default=False)
    """Whether an earlier attempt at the run has been here."""
    is_compacted: bool = attrs.field(init=False, default=False)
    has_tools: bool | None = attrs.field(init=False, default=None)
    """Whether the run had tools when it began; None if that is not on record."""
    _point: tuple[int, int] = attrs.field(init=False, default=NOWHERE)
    """The point of the session at which it was read."""
    _confirmed: int | None = attrs.field(init=False, default=None)
    """The epoch of the lease under which the session was found to be the same."""
    _known: int = attrs.field(init=False, default=0)
    """How many messages the session had when the run began."""
    _appended: int = attrs.field(init=False, default=0)
    _waiting: list[tuple[str, Message]] = attrs.field(init=False, factory=list)

    @property
    def stored(self) -> int:
        """Return how many messages the session's history has, with those of this run."""
        return self._known + self._appended

    @property
    def point(self) -> tuple[int, int]:
        """Return the point of the session at which the run has read it."""
        return self._point

    async def open(self, *, has_tools: bool = False) -> None:
        """Read the session, without what an earlier attempt has appended."""

        async def look(store: Any) -> tuple[tuple[int, int], list[Message]]:
            # In this order: what is rewritten between the two is found to be later.
            return await store.point(), list(await store.load())

        point, messages = await self.writer.read(look)

        # A step, so that a replay finds the session as it was when the run began.
        async def describe() -> dict[str, Any]:
            self.is_repeated = False
            return {"known": len(messages), "point": point, "tools": has_tools}

        self.is_repeated = True
        record = await self.steps.run("open session", describe)
        # Earlier versions have recorded the number alone.
        record = {"known": record} if isinstance(record, int) else record
        self._known, self.has_tools = record["known"], record.get("tools")
        session, seq = record.get("point", point)
        self._point = session, seq
        self._find_session(point)
        self.view = messages[: self._known]

    async def find_refusal(self) -> str:
        """Return why the run must not go on with what it has read; empty if it may."""
        if self._is_confirmed or not await self.writer.read(self._is_rewritten):
            return ""
        return REWRITTEN.format(self.writer.session_id)

    async def load(self) -> list[Message]:
        """Return the history of the run."""
        return self.view.copy()

    async def append(self, message: Message) -> None:
        """Add a message. It is stored when its turn is complete, as the engine has it already."""
        self.steps.check()
        self._waiting.append((f"{self.run_id}/{self._appended}", message))
        self._appended += 1
        self.view.append(message)
        # At once: to store a turn while the next one begins saved a few milliseconds, and needed a
        # waiting task in every run.
        if message.role == "tool" or (message.role == "assistant" and not message.tool_calls):
            await self.flush()

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history of the run; the session follows when it is over.

        Until then the session only grows, so every attempt finds the same beginning.
        """
        # A kill from here on loses it, and the replay makes it again: its summary is a step.
        self.view = [*messages, *([] if replaces is None else self.view[replaces:])]
        self.is_compacted = True

    async def put(self, output: str) -> str:
        """Store a whole output with the session."""
        self.steps.check()

        async def put(store: Any) -> str:
            # A replay stores what is there; anything else may hold what was redacted.
            if await self._is_rewritten(store):
                try:
                    await store.get(make_ref(encode_output(output)))
                except OutputNotFound:
                    raise self._refuse() from None
            return str(await store.put(output))

        return await self._write(put)

    async def get(self, ref: str) -> str:
        """Return a stored output."""
        try:
            return str(await self.writer.read(lambda store: store.get(ref)))
        except HistoryUnavailable as problem:
            # A Runner would take it for a failure of the tool, and the history would differ from
            # the record. The worker queues the run again.
            self.steps.over = self.steps.over or problem
            raise

    async def flush(self) -> None:
        """Store what is waiting, each message once, in whatever attempts."""
        if self._waiting:
            await self._write(self._flush)
            self._waiting.clear()

    async def leave_view(self) -> str:
        """Store the compacted history as an output, and return its reference."""
        return await self.put(await off_loop(len(self.view), _encode, self.view))

    async def _flush(self, store: Any) -> None:
        keys = [key for key, _ in self._waiting]
        is_rewritten = await self._is_rewritten(store)
        self.steps.check()
        if not is_rewritten:
            # In one transaction: a turn has two messages.
            await store.append(*[message for _, message in self._waiting], key=keys)
            self._find_session(await store.point())
            return
        # A replay repeats what is there, perhaps after its own compaction.
        for key in keys:
            if not await store.has_key(key):
                raise self._refuse()

    def _find_session(self, point: tuple[int, int]) -> None:
        """Note which session this is, if there was none when the run began."""
        # Otherwise a session that is deleted, or begun anew under this id, would pass for it.
        if self._point == NOWHERE:
            self._point = point[0], 0

    @property
    def _is_confirmed(self) -> bool:
        # Nobody else can write while the lease is held, and a write is refused when it is lost.
        epoch = self.writer.epoch
        return epoch is not None and epoch == self._confirmed

    async def _is_rewritten(self, store: Any) -> bool:
        """Return whether the session was rewritten, which is asked once for each lease."""
        if self._is_confirmed:
            return False
        epoch = self.writer.epoch
        is_rewritten = bool(await store.is_rewritten(self._point))
        self._confirmed = None if is_rewritten else epoch
        return is_rewritten

    def _refuse(self) -> BaseException:
        return self.steps.refuse(REWRITTEN.format(self.writer.session_id))

    async def _write(self, step: Callable[[Any], Awaitable[T]]) -> T:
        try:
            return await self.writer.write(step)
        except LeaseLost as error:
            raise self.steps.give_up(self.run_id) from error
