"""A run that failed, was killed or reached a limit goes on without a new message."""

import asyncio
from pathlib import Path

import pytest

from agentic.errors import ConfigError
from agentic.history import JsonlStore, MemoryStore
from agentic.loop import Decision, Input, Result, Runner
from agentic.messages import Message, ToolCall
from agentic.testing import ScriptedDecider, ScriptedExecutor

_LOOK = Decision("I look.", [ToolCall("c1", "look")])


class Failing:
    """A decider whose provider is gone."""

    async def decide(self, request: Input, /) -> Decision:
        """Fail."""
        raise ConnectionError("gone")


def _roles(history: tuple[Message, ...]) -> list[str]:
    return [message.role for message in history]


def test_failed_run_continues_where_it_stopped(tmp_path: Path) -> None:
    """The request is in the store once, and its reply after it."""
    path = tmp_path / "session.jsonl"
    decider = ScriptedDecider("Done.")

    async def fail_and_resume() -> Result:
        async with JsonlStore(path) as store:
            with pytest.raises(ConnectionError):
                await Runner(Failing(), store=store).run("Mend it.")
        async with JsonlStore(path) as store:
            return await Runner(decider, store=store).resume()

    result = asyncio.run(fail_and_resume())

    assert (result.reply, _roles(result.history)) == ("Done.", ["user", "assistant"])
    assert decider.requests[0].user_message == "Mend it."


def test_exhausted_run_gets_its_turns_anew() -> None:
    """The model reads that the last calls were refused."""
    store = MemoryStore()
    runner = Runner(
        ScriptedDecider(_LOOK, "Done."), ScriptedExecutor({"look": "x"}), store, max_turns=1
    )
    assert runner.run_sync("Mend it.").exhausted

    result = asyncio.run(runner.resume())

    assert (result.reply, result.exhausted, result.tool_calls) == ("Done.", False, ())
    assert _roles(result.history) == ["user", "assistant", "tool", "assistant"]


def test_call_without_result_reads_as_interrupted() -> None:
    """As after a kill in the middle of a tool; the call is not run again."""
    store = MemoryStore()
    for message in (
        Message("user", "Mend it."),
        Message("assistant", tool_calls=[ToolCall("c1", "look")]),
    ):
        asyncio.run(store.append(message))
    decider, executor = ScriptedDecider("Done."), ScriptedExecutor({"look": "x"})

    asyncio.run(Runner(decider, executor, store).resume())

    (result,) = decider.requests[0].history[-1].tool_results
    assert result.error is not None
    assert executor.calls == []


def test_callers_history_is_resumed_without_store() -> None:
    """A Runner without a store is given the conversation each time."""
    result = asyncio.run(Runner(ScriptedDecider("Done.")).resume([Message("user", "Mend it.")]))

    assert [message.content for message in result.history] == ["Mend it.", "Done."]


@pytest.mark.parametrize(
    ("history", "problem"),
    [([], "has no request"), ([Message("user", "?"), Message("assistant", "Yes.")], "ends with")],
)
def test_complete_conversation_is_not_resumed(history: list[Message], problem: str) -> None:
    """Nothing is asked, and the error says what to call instead."""
    decider = ScriptedDecider("Never.")

    with pytest.raises(ConfigError, match=problem):
        asyncio.run(Runner(decider).resume(history))

    assert decider.requests == []


def test_replayed_run_has_the_same_ids() -> None:
    """Ids that the loop makes up are derived from the run, the turn and the call's index."""
    nameless = Decision(tool_calls=[ToolCall("", "look"), ToolCall("", "look")])

    def ids(run_id: str) -> list[str]:
        runner = Runner(
            ScriptedDecider(nameless, nameless, "Done."), ScriptedExecutor({"look": ""})
        )
        result = asyncio.run(runner.run("Look.", run_id=run_id))
        return [call.id for call in result.tool_calls]

    first, again, other = ids("run-1"), ids("run-1"), ids("run-2")

    assert first == again
    assert len({*first, *other}) == 8
