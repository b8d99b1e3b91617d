"""The cost of checking a context at every turn, excluding the counting of its texts.

    python benchmarks/compaction.py

A conversation of 2,000 turns (4,000 messages) is checked after each turn. It consists of the real
transcripts in shared/data/transcripts next to the checkout, one after the other with unique ids. If
they are missing, messages are generated, and the first line says so. The time that the counter
itself takes is measured in the same run and subtracted. Seconds are processor time, so that a busy
machine has little influence. A message-check is one message in one check: 2,000 checks of a
conversation that grows to 4,000 messages are 4 million message-checks.
"""

import asyncio
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from agentic.context.budget import Manager, Policy
from agentic.context.strategies import FitContextWindow
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import approx_token_counter
from agentic.tokens._count import message_texts

TRANSCRIPTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
TURNS, MESSAGES_A_TURN, REPEATS = 2_000, 2, 3
GOAL_SECONDS, GOAL_NANOSECONDS = 0.1, 20.0
WINDOW, VIEW_TOKENS = 200_000, 100_000

_Turns: TypeAlias = Iterator[list[Message]]


@attrs.define(eq=False)
class TimedCounter:
    """Counts like the default counter, and measures how long that takes."""

    calls: int = 0
    seconds: float = 0.0

    def count(self, text: str, /) -> int:
        """Count one text."""
        start = time.process_time()
        tokens = approx_token_counter.count(text)
        self.seconds += time.process_time() - start
        self.calls += 1
        return tokens


@attrs.define
class Measured:
    """The measurement of one way of checking."""

    seconds: float
    """Processor time without the counting."""
    message_checks: int
    calls: int
    """The number of calls of the counter."""
    compactions: int = 0

    @property
    def nanoseconds(self) -> float:
        """The cost of one message in one check."""
        return self.seconds / self.message_checks * 1e9


class Clerk:
    """A compactor that summarizes at no cost."""

    async def compact(self, messages: list[Message], /) -> str:
        """Return the number of messages."""
        return f"{len(messages)} messages " * 100


def read_transcripts(limit: int) -> list[Message]:
    """Read real messages until there are enough; none if the folder does not exist."""
    messages: list[Message] = []
    for number, path in enumerate(sorted(TRANSCRIPTS.glob("*.jsonl"))):
        if path.name != "index.jsonl":
            with path.open(encoding="utf-8") as lines:
                messages += [read_message(json.loads(line), number) for line in lines]
    return messages[:limit]


def read_message(chat: dict[str, Any], transcript: int) -> Message:
    """Read one message in the form of the chat API, and make its ids unique."""
    content = chat.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text") or "" for part in content)
    if chat["role"] == "tool":
        call_id = f"{transcript}-{chat['tool_call_id']}"
        return Message("tool", tool_results=[ToolResult(call_id, output=content)])
    calls = [
        ToolCall(
            f"{transcript}-{call['id']}",
            call["function"]["name"],
            call["function"]["arguments"] or "",
        )
        for call in chat.get("tool_calls") or ()
    ]
    return Message(chat["role"], content, tool_calls=calls)


def make_messages(length: int) -> list[Message]:
    """Generate a conversation of tool rounds, in case there are no real transcripts."""
    made = []
    for number in range(length // 2):
        name, text = f"c{number}", f"the output of call {number}\n" * (number % 97)
        made.append(Message("assistant", tool_calls=[ToolCall(name, "run", f'{{"n": {number}}}')]))
        made.append(Message("tool", tool_results=[ToolResult(name, "run", text)]))
    return made


def grow(messages: list[Message]) -> _Turns:
    """Yield the same list at every turn, longer each time."""
    history: list[Message] = []
    for end in range(MESSAGES_A_TURN, len(messages) + 1, MESSAGES_A_TURN):
        history += messages[end - MESSAGES_A_TURN : end]
        yield history


def rebuild(messages: list[Message]) -> _Turns:
    """Yield equal messages at every turn, none of them the same object as before."""
    for history in grow(messages):
        yield [attrs.evolve(message) for message in history]


def interleave(messages: list[Message]) -> _Turns:
    """Alternate between two conversations: one from the start, one from the end."""
    for one, other in zip(grow(messages), grow(messages[::-1]), strict=True):
        yield one
        yield other


async def check(turns: _Turns) -> Measured:
    """Check each turn with a Manager that never needs to compact."""
    counter = TimedCounter()
    manager = Manager(counter, Clerk(), Policy(10**9))
    seconds, checks = 0.0, 0
    for history in turns:
        start = time.process_time()
        await manager.compact_if_needed(history)
        seconds += time.process_time() - start
        checks += len(history)
    return Measured(seconds - counter.seconds, checks, counter.calls)


async def compact(messages: list[Message]) -> Measured:
    """Compact a session with a Manager whenever its window is full."""
    counter = TimedCounter()
    manager = Manager(counter, Clerk(), Policy(WINDOW))
    history: list[Message] = []
    seconds, checks, compactions = 0.0, 0, 0
    for fresh in zip(*[iter(messages)] * MESSAGES_A_TURN, strict=True):
        history += fresh
        checks += len(history)
        start = time.process_time()
        done = await manager.compact_if_needed(history)
        seconds += time.process_time() - start
        compactions += done.changed
        history = done.messages
    return Measured(seconds - counter.seconds, checks, counter.calls, compactions)


async def view(messages: list[Message]) -> Measured:
    """Make a view with FitContextWindow at each turn."""
    counter = TimedCounter()
    strategy = FitContextWindow(VIEW_TOKENS, counter)
    seconds, checks, size, cuts = 0.0, 0, 0, 0
    for history in grow(messages):
        start = time.process_time()
        shown = strategy.compact(history)
        seconds += time.process_time() - start
        checks += len(history)
        cuts += len(shown) < size
        size = len(shown)
    return Measured(seconds - counter.seconds, checks, counter.calls, cuts)


def repeat(action: Callable[[], Any]) -> Measured:
    """Measure a few times, and return the median run."""
    runs: list[Measured] = [asyncio.run(action()) for _ in range(REPEATS)]
    return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]


def report(name: str, measured: Measured, texts: int, goal: tuple[float, float]) -> None:
    """Print a line of the table, after checking how often each text was counted."""
    summaries = measured.calls - texts
    if not 0 <= summaries <= measured.compactions:
        raise AssertionError(f"{name}: {measured.calls} counts of {texts} different texts")
    seconds, nanoseconds = (f"{limit:g}" if math.isfinite(limit) else "-" for limit in goal)
    print(
        f"{name:34} {measured.seconds:9.3f} {seconds:>6} {measured.nanoseconds:13.1f} "
        f"{nanoseconds:>6} {measured.calls:8,} {texts:8,} {measured.compactions:6}"
    )


def main() -> None:
    """Measure every way, and print the table."""
    length = TURNS * MESSAGES_A_TURN
    messages = read_transcripts(length)
    if len(messages) < length:
        print(f"No transcripts in {TRANSCRIPTS.name}: these are generated messages.")
        messages = make_messages(length)
    texts = len({text for message in messages for text in message_texts(message)})
    mean = statistics.fmean(sum(map(len, message_texts(message))) for message in messages)
    print(f"{TURNS:,} turns, {length:,} messages of {mean:,.0f} characters on average\n")
    print(f"{'':34} {'seconds':>9} {'goal':>6} {'ns a message':>13} {'goal':>6} ", end="")
    print(f"{'counts':>8} {'texts':>8} {'cuts':>6}")
    goal, no_goal = (GOAL_SECONDS, GOAL_NANOSECONDS), (math.inf, math.inf)
    report("a conversation that grows", repeat(lambda: check(grow(messages))), texts, goal)
    both = repeat(lambda: check(interleave(messages)))
    report("two of them, taking turns", both, texts, (2 * GOAL_SECONDS, GOAL_NANOSECONDS))
    anew = asyncio.run(check(rebuild(messages)))
    report("messages rebuilt at every turn", anew, texts, no_goal)
    done = repeat(lambda: compact(messages))
    report(f"compacted at {WINDOW:,} tokens", done, texts, (GOAL_SECONDS, math.inf))
    shown = repeat(lambda: view(messages))
    report(f"FitContextWindow({VIEW_TOKENS:,})", shown, texts, no_goal)
    print("\nSeconds are of the processor, in all, beside the counting. Counts: calls of the")
    print("counter; a text that occurs twice is counted once. Cuts: compactions, or how often a")
    print("view got shorter.")


if __name__ == "__main__":
    main()
