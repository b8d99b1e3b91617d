import asyncio
from collections.abc import AsyncIterator

import pytest

from agentic import events
from agentic.errors import ConfigError, IncompleteReply
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall
from agentic.testing import EventRecorder, ScriptedExecutor, StreamingScriptedDecider


def test_pieces_of_reply_can_be_watched() -> None:
    """Each is an event between the start and the end of the message."""
    decider = StreamingScriptedDecider(["Hel", "lo.", Decision("Hello.")])
    runner = Runner(decider)

    with EventRecorder() as recorder:
        result = runner.run_sync("hi")

    assert [update.delta for update in recorder.of(events.MessageUpdate)] == ["Hel", "lo."]
    assert recorder.names[4:10] == [
        *["message_start", "model_request_start"],
        *["message_update"] * 2,
        *["model_request_end", "message_end"],
    ]
    assert result.reply == "Hello."


def test_a_streamed_decision_is_a_decision() -> None:
    """Its calls are run, and the next reply is streamed too."""
    decider = StreamingScriptedDecider(
        [Decision("", [ToolCall("c1", "t")])], ["Done.", Decision("Done.")]
    )

    result = Runner(decider, ScriptedExecutor({"t": "text"})).run_sync("hi")

    assert [given.output for given in result.tool_results] == ["text"]
    assert result.reply == "Done."


def test_broken_stream_stores_nothing_half() -> None:
    """The error holds what had arrived; the history ends with the request."""
    store = MemoryStore()
    runner = Runner(StreamingScriptedDecider(["Hel", "lo"]), store=store)

    with pytest.raises(IncompleteReply, match="after 5 characters") as broken:
        runner.run_sync("hi")

    assert broken.value.received == "Hello"
    assert [message.role for message in asyncio.run(store.full())] == ["user"]


def test_raising_stream_ends_run_with_error() -> None:
    """A connection that breaks within a reply is the decider's error."""
    store = MemoryStore()
    runner = Runner(StreamingScriptedDecider(["Hel", ConnectionResetError("gone")]), store=store)

    with pytest.raises(ConnectionResetError, match="gone"):
        runner.run_sync("hi")

    assert [message.role for message in asyncio.run(store.full())] == ["user"]


def test_foreign_stream_item_is_refused() -> None:
    """The error says what a decider gives."""
    decider = StreamingScriptedDecider([lambda _: 3])  # type: ignore[list-item, return-value]

    with pytest.raises(ConfigError, match=r"the decider's answer must be .*, got 3"):
        Runner(decider).run_sync("hi")


def test_stream_may_be_any_async_iterator() -> None:
    """It need not be a generator: what has no `aclose` is just left."""

    class Counting:
        def __init__(self) -> None:
            self.items: list[str | Decision] = ["Hel", "lo.", Decision("Hello.")]

        def __aiter__(self) -> "Counting":
            return self

        async def __anext__(self) -> str | Decision:
            return self.items.pop(0)

        async def decide(self, request: Input, /) -> Decision:
            raise NotImplementedError

        def stream(self, request: Input, /) -> "Counting":
            return self

    assert Runner(Counting()).run_sync("hi").reply == "Hello."


@pytest.mark.parametrize("end", ["decision", "cancelled"])
def test_abandoned_stream_is_closed(end: str) -> None:
    """What the decider holds open is let go of before the run goes on."""
    closed: list[str] = []
    kept: list[AsyncIterator[str | Decision]] = []
    begun = asyncio.Event()

    class Open:
        async def decide(self, request: Input, /) -> Decision:
            raise NotImplementedError

        def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            kept.append(self._pieces())
            return kept[0]

        async def _pieces(self) -> AsyncIterator[str | Decision]:
            try:
                yield "Hel"
                begun.set()
                if end == "cancelled":
                    await asyncio.Event().wait()
                yield Decision("Hello.")
            finally:
                closed.append(end)

    def check(_: object, event: events.AgentEnd | events.MessageEnd) -> None:
        if isinstance(event, events.AgentEnd) or event.message.role == "assistant":
            seen.append(list(closed))

    async def main() -> None:
        run = asyncio.create_task(runner.run("hi"))
        await begun.wait()
        if end == "cancelled":
            run.cancel()
        await asyncio.wait({run})

    seen: list[list[str]] = []
    runner = Runner(Open())
    with events.message_end.connected_to(check), events.agent_end.connected_to(check):
        asyncio.run(main())

    assert seen[0] == [end]
