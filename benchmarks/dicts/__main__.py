"""What `bridges.dicts.Conversation.fit` costs at every turn of a list of OpenAI dicts.

    python -m benchmarks.dicts [turns]

A list that grows to 2,000 turns (4,000 messages) is sent at each of them: as it is, and as equal
but new objects, as a checkpointer or a web handler loads them. Counting and the compactor cost next
to nothing here, and the making of the copies is left out. Seconds are those of a clock on the wall:
on some machines reading that of the processor costs as much as half a turn. For comparison:
decoding the whole list at each turn, measured on every fiftieth turn and scaled up, and what other
libraries take for the same list (see `peers.py`).
"""

import copy
import sys
import time
from typing import Any

import attrs

from agentic.bridges.dicts import Conversation
from agentic.messages import Message
from agentic.providers import openai_chat
from benchmarks.dicts.peers import INSTALL, measure_peers

WINDOW = 40_000
GOAL_SECONDS, GOAL_SECONDS_OF_COPIES = 0.5, 2.0


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
    history: list[dict[str, Any]] = []
    kept: list[Any] = []
    seconds = 0.0
    for number in range(turns):
        history += exchange(number)
        # The former copies are kept a turn longer, so that freeing them is not measured either.
        kept = [*kept[-1:], copy.deepcopy(history) if copies else history]
        start = time.perf_counter()
        conversation.fit(kept[-1])
        seconds += time.perf_counter() - start
    return seconds, letters


def decode_every_turn(turns: int) -> float:
    """Return the seconds that decoding the whole list takes at each turn."""
    history: list[dict[str, Any]] = []
    seconds = 0.0
    for number in range(turns):
        history += exchange(number)
        if number % 50 == 0:
            start = time.perf_counter()
            openai_chat.decode(history)
            seconds += time.perf_counter() - start
    return seconds * 50


def main() -> None:
    """Print the table."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    whole = decode_every_turn(turns)
    print(f"{turns:,} turns, {2 * turns:,} messages, a window of {WINDOW:,} tokens")
    print(f"{'':32}{'seconds':>9}{'goal':>7}{'ratio':>9}{'summaries':>11}{'counted':>9}")
    for name, goal, copies in (
        ("fit, the same objects", GOAL_SECONDS, False),
        ("fit, equal but new objects", GOAL_SECONDS_OF_COPIES, True),
    ):
        seconds, letters = measure(turns, copies=copies)
        ratio = f"{seconds / whole:9.4f}"
        print(
            f"{name:32}{seconds:9.2f}{goal:7.1f}{ratio}{letters.summaries:11,}{letters.counted:9,}",
            flush=True,
        )
    print(f"{'decode all, every turn':32}{whole:9.2f}{'':7}{1:9.4f}", flush=True)
    for peer, taken in measure_peers(turns, WINDOW, exchange, Letters().count):
        if taken is None:
            print(f"{peer.name} is not installed and has no row; to have it: {INSTALL}")
        else:
            print(f"{peer.name:32}{taken:9.2f}{'':7}{taken / whole:9.4f}", flush=True)


if __name__ == "__main__":
    main()
