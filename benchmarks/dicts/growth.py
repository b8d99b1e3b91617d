"""A list of OpenAI dicts that grows turn by turn, and what it costs to fit it at each.

    PYTHONPATH=CHECKOUT python benchmarks/dicts/growth.py TURNS same|equal

As a script it imports nothing from the benchmarks, so that it measures any checkout.
"""

import sys
import time
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.bridges.dicts import Conversation
from agentic.messages import Message
from agentic.providers import openai_chat

TURNS, WINDOW = 2_000, 40_000


@attrs.define(eq=False)
class Letters:
    """Counts letters and summarizes with next to no work, so that neither has to be left out."""

    counted: int = 0
    summaries: int = 0

    def count(self, text: str, /) -> int:
        """Count one text."""
        self.counted += 1
        return len(text) // 4

    async def compact(self, messages: list[Message], /) -> str:
        """Return how many there were."""
        self.summaries += 1
        return f"{len(messages)} messages. " * 100


def exchange(number: int) -> list[dict[str, Any]]:
    """Build one turn: a request and a reply, or a call and its result."""
    if number % 4 == 0:
        return [
            {"role": "user", "content": f"Now look at module {number}. " * 4},
            {"role": "assistant", "content": f"Module {number} is fine, as far as I see. " * 4},
        ]
    function = {"name": "read", "arguments": f'{{"path": "module_{number}.py"}}'}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    text = f"def function_{number}(text: str) -> str:\n    return text\n" * 6
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": text},
    ]


def measure(turns: int, *, copies: bool) -> tuple[float, Letters]:
    """Return the seconds of all turns, and what was counted and summarized."""
    letters = Letters()
    conversation = Conversation(openai_chat, WINDOW, counter=letters, compactor=letters)
    seconds = 0.0
    for history in _grow(turns, copies=copies):
        start = time.perf_counter()
        conversation.fit(history)
        seconds += time.perf_counter() - start
    return seconds, letters


def measure_processor(turns: int, *, copies: bool) -> float:
    """Return the seconds of the processor that all turns take, without what makes the list."""
    # Its clock is read four times only: on some machines that costs as much as half a turn.
    # What is loaded with the first summary is not measured.
    measure(200, copies=False)
    letters = Letters()
    conversation = Conversation(openai_chat, WINDOW, counter=letters, compactor=letters)
    start = time.process_time()
    for _ in _grow(turns, copies=copies):
        pass
    between = time.process_time()
    for history in _grow(turns, copies=copies):
        conversation.fit(history)
    return time.process_time() - between - (between - start)


def _grow(turns: int, *, copies: bool) -> Iterator[list[Any]]:
    history: list[dict[str, Any]] = []
    kept: list[Any] = []
    for number in range(turns):
        history += exchange(number)
        # The former copies are kept a turn longer, so that freeing them is not measured either.
        kept = [*kept[-1:], _copied(history) if copies else history]
        yield kept[-1]


def _copied(data: Any) -> Any:
    # As a deep copy; that would take ten times as long as the work that is measured.
    if isinstance(data, dict):
        return {key: _copied(value) for key, value in data.items()}
    return list(map(_copied, data)) if isinstance(data, list) else data


if __name__ == "__main__":
    print(measure_processor(int(sys.argv[1]), copies=sys.argv[2] == "equal"))
