"""A message enters a running run before its next decision."""

import asyncio
from collections.abc import Callable

import attrs
import pytest

from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import ScriptedDecider
from agentic.tools import ToolDefinition

_LOOK = Decision("I look.", [ToolCall("c1", "look")])


@attrs.define
class Interrupting:
    """An executor that does something while its tool runs."""

    act: Callable[[], None]

    async def list_tools(self) -> list[ToolDefinition]:
        """List the tool."""
        return [ToolDefinition("look")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Act, and answer."""
        self.act()
        return ToolResult(output="a tree")


@attrs.define
class Speaking:
    """A decider that does something while the model replies."""

    act: Callable[[], None]
    requests: list[Input] = attrs.field(factory=list)

    async def decide(self, request: Input, /) -> Decision:
        """Act in the first request, and reply."""
        self.requests.append(request)
        if len(self.requests) == 1:
            self.act()
        return Decision(f"Reply {len(self.requests)}.")


def _texts(history: tuple[Message, ...]) -> list[str]:
    return [message.content for message in history if message.role != "tool"]


def test_message_enters_after_the_tools() -> None:
    """The model reads it next to the results."""
    decider = ScriptedDecider(_LOOK, "Done.")
    runner = Runner(decider, Interrupting(lambda: runner.steer("Look left.")))

    result = runner.run_sync("Look.")

    assert _texts(result.history) == ["Look.", "I look.", "Look left.", "Done."]
    assert decider.requests[1].user_message == "Look left."


def test_message_during_last_reply_is_answered() -> None:
    """The run goes on, though its reply has no calls."""
    runner = Runner(Speaking(lambda: runner.steer("And why?")))

    result = runner.run_sync("What is it?")

    assert _texts(result.history) == ["What is it?", "Reply 1.", "And why?", "Reply 2."]


def test_unread_message_is_stored_at_end() -> None:
    """At a limit, and if the decider fails; `resume` answers it."""
    store = MemoryStore()
    runner = Runner(Speaking(lambda: runner.steer("And why?")), store=store, max_turns=1)

    result = runner.run_sync("What is it?")

    assert result.exhausted
    assert _texts(tuple(asyncio.run(store.load())))[-1] == "And why?"
    assert asyncio.run(runner.resume()).reply == "Reply 2."


def test_message_is_stored_when_decider_fails() -> None:
    """Nothing that a user said is lost."""

    def act() -> None:
        runner.steer("And why?")
        raise ConnectionError("gone")

    store = MemoryStore()
    runner = Runner(Speaking(act), store=store)

    with pytest.raises(ConnectionError):
        runner.run_sync("What is it?")

    assert _texts(tuple(asyncio.run(store.load()))) == ["What is it?", "And why?"]


def test_steer_needs_one_active_run() -> None:
    """Before, after, and with two runs of a Runner without a store."""
    runner = Runner(ScriptedDecider("Done."))
    with pytest.raises(ConfigError, match="no active run"):
        runner.steer("Now.")
    runner.run_sync("Go.")
    with pytest.raises(ConfigError, match="no active run"):
        runner.steer("Now.")
    with pytest.raises(ConfigError, match="blank"):
        runner.steer(" ")


def test_run_id_says_which_run() -> None:
    """Two conversations of one Runner without a store run side by side."""
    started, go = asyncio.Event(), asyncio.Event()

    class Waiting:
        async def decide(self, request: Input, /) -> Decision:
            started.set()
            await go.wait()
            return Decision(f"{len(request.history)} read.")

    async def two() -> list[str]:
        runner = Runner(Waiting())
        runs = [asyncio.create_task(runner.run("Go.", run_id=name)) for name in ("a", "b")]
        await started.wait()
        await asyncio.sleep(0)
        with pytest.raises(ConfigError, match="2 active runs"):
            runner.steer("Now.")
        runner.steer("Now.", run_id="b")
        go.set()
        return [(await run).reply for run in runs]

    assert asyncio.run(two()) == ["1 read.", "3 read."]
