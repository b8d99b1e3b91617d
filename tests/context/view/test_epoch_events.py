"""What is reported when an epoch begins, and what is reported only once."""

import asyncio
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.view import View
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import EventRecorder
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

_LINE = "a line of the file\n"


@attrs.define
class _AppendingCounter:
    """Counts characters; the first shortened output that it counts makes the owner's list grow."""

    history: list[Message]
    late: list[Message]

    def count(self, text: str) -> int:
        # The whole output has 3,800.
        if 1_000 < len(text) < 3_000 and self.late:
            self.history.append(self.late.pop())
        return len(text)


def _round(number: int, lines: int = 5) -> list[Message]:
    call = ToolCall(f"c{number}", "read", f'{{"path": "f{number}.py"}}')
    result = ToolResult(call.id, "read", lines * _LINE)
    return [Message("assistant", tool_calls=[call]), Message("tool", tool_results=[result])]


def _talk(rounds: int, lines: int = 5) -> list[Message]:
    replies = [message for number in range(rounds) for message in _round(number, lines)]
    return [Message("user", "Read the files."), *replies]


def _requests(history: Sequence[Message]) -> list[int]:
    return [at for at, message in enumerate(history) if message.role == "assistant"]


def test_epoch_is_reported_although_the_list_grew() -> None:
    """The request that was prepared first was never sent: what is sent does not extend the last."""
    history, late = _talk(4), Message("user", "And hurry up.")
    counter = _AppendingCounter(history, [])
    view = View(Policy(2_000), counter=counter)
    view.prepare_sync(history)
    history += _round(9, lines=200)
    counter.late.append(late)

    with EventRecorder("epoch_start") as recorder:
        prepared = asyncio.run(view.prepare(history))

    (epoch,) = recorder.of(events.EpochStart)
    assert history[-1] is prepared.messages[-1] is late
    assert (prepared.extends, prepared.changes) == (False, epoch.changes)
    assert "cut" in epoch.changes
    assert prepared.reused_tokens == epoch.reused_tokens < prepared.tokens


_CHAINS: list[list[Any]] = [
    [strategies.TrimRounds(1)],
    [lambda messages: [messages[0], *messages[1:][-2:]]],
    [
        strategies.TrimRounds(1),
        strategies.ClearToolOutputs(200, len_counter := _AppendingCounter([], []), min_tokens=1),
    ],
]


@pytest.mark.parametrize("chain", _CHAINS)
def test_change_is_reported_once(chain: list[Any]) -> None:
    """Not again for each request that extends the one in which it was made."""
    view, history = View(Policy(100_000), counter=len_counter, strategies=chain), _talk(40)
    extended = 0

    for length in _requests(history):
        with EventRecorder("context_changed") as recorder:
            prepared = view.prepare_sync(history[:length])
        extended += prepared.extends
        assert bool(recorder.names) == (prepared.changes == ("cleared",))

    assert 0 < extended < len(_requests(history))


def test_shortened_output_is_reported_when_it_is_first_sent() -> None:
    """Truncation waits for no epoch."""
    view = View(Policy(0), strategies=[strategies.TruncateToolOutputs(50)])
    history = [*_talk(3, lines=1), *_round(7, lines=9), *_talk(2, lines=1)]

    with EventRecorder("context_changed") as recorder:
        reports = []
        for length in [*_requests(history), len(history)]:
            prepared = view.prepare_sync(history[:length])
            assert prepared.extends
            reports.append(len(recorder.names))

    assert reports == [0, 0, 0, 0, 1, 1, 1]


def test_changed_prompt_and_tools_are_priced() -> None:
    """What was in the cache is written again: at 1.25 instead of 0.1 of the price of an input."""
    history, tool = _talk(4), ToolDefinition("read", "Read a file.")
    view = View(Policy(100_000), counter=CharCounter(1), model="claude-sonnet-4-5")
    view.prepare_sync(history, system_prompt="Be brief.", tools=[tool])
    size = view.prepare_sync(history, system_prompt="Be brief.", tools=[tool]).tokens

    same = view.prepare_sync(history, system_prompt="Be brief.", tools=[tool])
    prompt = view.prepare_sync(history, system_prompt="Be kind.", tools=[tool])
    both = view.prepare_sync(history, system_prompt="Be brief.")

    assert same.notes == ()
    (note,) = prompt.notes
    assert note.kind == "prefix_changed"
    assert note.text == (
        f"the system prompt has changed: {size:,} tokens are written to the prompt cache again, "
        f"at the price of {round(1.15 * size):,} more input tokens"
    )
    (note,) = both.notes
    assert note.text.startswith("the system prompt and the tools have changed: ")
