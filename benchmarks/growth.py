"""How the cost of each hot path grows with the conversation, from 1,000 to 64,000 messages.

    python benchmarks/growth.py [--largest 64000] [NAME ...]

A *turn* is what one more message costs in a conversation that is that long already; a *whole* is
the work on all of it at once. The size is doubled, and the exponent is that of the last two
doublings: 0 if the cost does not depend on the size, 1 if it is proportional to it, 2 if it is
quadratic. Seconds are those of the processor, the best of five runs.

The goals: a whole has an exponent of at most 1.15. Nothing that a turn does grows with the history,
except that the list which the caller hands in is compared with the last one, for at most 0.1
microseconds a message: the last column says how much each message adds.

`tests/benchmarks/test_growth.py` runs the same paths at small sizes, and counts function calls.
"""

import argparse
import asyncio
import gc
import math
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Literal, TypeAlias

import attrs

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import (
    ClearToolOutputs,
    FitContextWindow,
    Importance,
    KeepLast,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.context.view import View
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds, split_rounds
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from agentic.testing import ScriptedExecutor
from agentic.tokens import CharCounter, ContextMeter
from agentic.usage import Usage

SMALLEST, LARGEST, REPEATS = 1_000, 64_000, 5
MOST_EXPONENT, MOST_NANOSECONDS = 1.15, 100.0
WINDOW = 10**9
"""Nothing is summarized, so that the history is as long as it can be."""
VIEW_TOKENS = 1_000

Run: TypeAlias = Callable[[], object]
"""Does the work once; of a turn, the next one."""


@attrs.frozen
class Path:
    """One hot path."""

    name: str
    kind: Literal["turn", "whole"]
    prepare: Callable[[int], Run]
    """Makes a conversation of so many messages, and returns what is measured on it."""


def talk(length: int, *, pins: bool = False) -> list[Message]:
    """Make a conversation of requests, calls, results and replies."""
    return [message(number, pins=pins) for number in range(length)]


def message(number: int, *, pins: bool = False) -> Message:
    """Make one message of a conversation, by its position."""
    turn = number // 4
    call = ToolCall(f"c{turn}", "read", f'{{"path": "module_{turn}.py"}}')
    pinned = pins and number % 4 == 0
    match number % 4:
        case 0:
            return Message("user", f"Now look at module {turn}.", pinned=pinned)
        case 1:
            return Message("assistant", "I read it.", tool_calls=[call])
        case 2:
            result = ToolResult(call.id, call.name, f"def function_{turn}(): pass\n" * 6)
            return Message("tool", tool_results=[result])
        case _:
            return Message("assistant", f"Module {turn} is fine, as far as I see.")


def _strategy(strategy: Any, *, pins: bool = False) -> Callable[[int], Run]:
    def prepare(length: int) -> Run:
        history, numbers = talk(length, pins=pins), count(length)
        own = strategy.for_conversation()
        own.compact(history)

        def turn() -> object:
            history.append(message(next(numbers), pins=pins))
            return own.compact(history)

        return turn

    return prepare


def _view(length: int) -> Run:
    history, numbers = talk(length), count(length)
    view = View(Policy(WINDOW), compactor=Digest(), counter=CharCounter())
    view.prepare_sync(history)

    def turn() -> object:
        history.append(message(next(numbers)))
        return view.prepare_sync(history)

    return turn


def _dicts(length: int) -> Run:
    items, numbers = openai_chat.encode(talk(length)), count(length)
    conversation = Conversation(openai_chat, WINDOW, counter=CharCounter())
    conversation.fit(items)

    def turn() -> object:
        # Four messages at once, so that every call has its result.
        for _ in range(4):
            items.extend(openai_chat.encode([message(next(numbers))]))
        return conversation.fit(items)

    return turn


def _meter(length: int) -> Run:
    history, numbers = talk(length), count(length)
    meter = ContextMeter(CharCounter())
    meter.measure(history)

    def turn() -> object:
        reply = message(next(numbers))
        meter.report(history, reply, Usage(input=10 * len(history), output=10))
        history.append(reply)
        return meter.measure(history)

    return turn


@attrs.define(eq=False)
class _Clerk:
    """A decider that calls a tool until it is told to stop, and lets one request wait."""

    left: int
    numbers: Iterator[int] = attrs.field(factory=count)

    async def decide(self, _: Input, /) -> Decision:
        self.left -= 1
        if self.left < 0:
            return Decision("Done.")
        number = next(self.numbers)
        return Decision("", [ToolCall(f"d{number}", "read", f'{{"path": "{number}.py"}}')])


def _loop(length: int) -> Run:
    """Measure the turns of a run, without what loads the conversation at its start."""
    store = MemoryStore()
    budget = Manager(CharCounter(), Digest(), Policy(WINDOW))
    clerk = _Clerk(0)
    executor = ScriptedExecutor({"read": "a line\n" * 6})
    runner = Runner(clerk, executor, store, budget=budget, max_turns=100)

    async def fill() -> None:
        for each in talk(length):
            await store.append(each)
        await runner.run("Begin.")

    asyncio.run(fill())

    def turns() -> object:
        clerk.left = 8
        return asyncio.run(runner.run("Go on."))

    return turns


def _keyed_append(length: int) -> Run:
    store, numbers = MemoryStore(), count(length)

    async def fill() -> None:
        for number in range(length):
            await store.append(message(number), key=f"k{number}")

    async def append() -> None:
        number = next(numbers)
        await store.append(message(number), key=f"k{number}")
        # The same once more, as a run that was interrupted repeats it.
        await store.append(message(number), key=f"k{number}")

    asyncio.run(fill())
    return lambda: asyncio.run(append())


def _encode(adapter: Any) -> Callable[[int], Run]:
    return _whole(adapter.encode)


def _decode(adapter: Any) -> Callable[[int], Run]:
    def prepare(length: int) -> Run:
        items = adapter.encode(talk(length))
        return lambda: adapter.decode(items)

    return prepare


def _rebuilt_replies(length: int) -> Run:
    """Replies with calls, one after the other, that Gemini's form joins to one content."""
    calls = [
        Message("assistant", tool_calls=[ToolCall(f"c{n}", "read", "{}")]) for n in range(length)
    ]
    results = [
        Message("tool", tool_results=[ToolResult(f"c{n}", "read", "fine")]) for n in range(length)
    ]
    history = [Message("user", "Begin."), *calls, *results]
    return lambda: gemini.encode(history)


def _stream(length: int) -> Run:
    deltas = [{"choices": [{"index": 0, "delta": {"content": "word "}}]} for _ in range(length)]

    def read() -> object:
        reply = openai_chat.StreamedResponse()
        for delta in deltas:
            reply.feed(delta)
            _ = reply.text
        return reply

    return read


def _digest(length: int) -> Run:
    history, digest = talk(length), Digest()
    # Not `compact`, which works in a thread.
    return lambda: digest.write(history)


def _whole(work: Callable[[list[Message]], object]) -> Callable[[int], Run]:
    def prepare(length: int) -> Run:
        history = talk(length)
        return lambda: work(history)

    return prepare


_FIT = FitContextWindow(VIEW_TOKENS, CharCounter())
PATHS = (
    Path("View.prepare_sync", "turn", _view),
    Path("dicts.Conversation.fit", "turn", _dicts),
    Path("eight turns of a run", "turn", _loop),
    Path("ContextMeter", "turn", _meter),
    Path("FitContextWindow", "turn", _strategy(_FIT)),
    Path("FitContextWindow, pinned rounds", "turn", _strategy(_FIT, pins=True)),
    Path("ClearToolOutputs", "turn", _strategy(ClearToolOutputs(VIEW_TOKENS))),
    Path("TruncateToolOutputs", "turn", _strategy(TruncateToolOutputs(2_000))),
    Path("TrimRounds", "turn", _strategy(TrimRounds(20))),
    Path("KeepLast", "turn", _strategy(KeepLast(50))),
    Path("Importance", "turn", _strategy(Importance())),
    Path("keyed append in MemoryStore", "turn", _keyed_append),
    Path("StreamedResponse.text", "whole", _stream),
    Path("Digest", "whole", _digest),
    Path("split_rounds", "whole", _whole(split_rounds)),
    Path("close_open_rounds", "whole", _whole(close_open_rounds)),
    *(
        Path(f"{adapter.ADAPTER.name}.{verb}", "whole", make(adapter))
        for adapter in (anthropic, openai_chat, openai_responses, gemini, bedrock)
        for verb, make in (("decode", _decode), ("encode", _encode))
    ),
    Path("gemini.encode, rebuilt replies", "whole", _rebuilt_replies),
)


def seconds(path: Path, length: int) -> float:
    """Return what a path takes at one size: the best of a few runs."""
    run = path.prepare(length)
    best = math.inf
    gc.collect()
    gc.disable()
    try:
        for _ in range(REPEATS):
            start = time.process_time()
            run()
            best = min(best, time.process_time() - start)
    finally:
        gc.enable()
    return best


def exponent(first: float, last: float, doublings: int) -> float:
    """Return the exponent of a growth over some doublings of the size.

    >>> exponent(1.0, 16.0, 2)
    2.0
    """
    return math.log2(last / first) / doublings


def main() -> None:
    """Print a line for each path."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=LARGEST)
    parser.add_argument("names", nargs="*", help="parts of the names of paths")
    options = parser.parse_args()
    sizes = [SMALLEST]
    while sizes[-1] * 2 <= options.largest:
        sizes.append(sizes[-1] * 2)
    print(f"{'milliseconds at':34}" + "".join(f"{size:>10,}" for size in sizes), end="")
    print(f"{'exponent':>10}{'ns/message':>12}")
    for path in PATHS:
        if options.names and not any(name in path.name for name in options.names):
            continue
        print(f"{path.name:34}", end="", flush=True)
        costs = []
        for size in sizes:
            costs.append(seconds(path, size))
            print(f"{costs[-1] * 1e3:10.3f}", end="", flush=True)
        print(_verdict(path, sizes, costs))


def _verdict(path: Path, sizes: list[int], costs: list[float]) -> str:
    grown = exponent(costs[-3], costs[-1], 2) if len(costs) > 2 else 0.0
    each = (costs[-1] - costs[0]) / (sizes[-1] - sizes[0]) * 1e9
    missed = each > MOST_NANOSECONDS if path.kind == "turn" else grown > MOST_EXPONENT
    goal = f"{MOST_NANOSECONDS:.0f} ns" if path.kind == "turn" else f"{MOST_EXPONENT}"
    return f"{grown:10.2f}{each:12.1f}" + f"   the goal is {goal}" * missed


if __name__ == "__main__":
    main()
