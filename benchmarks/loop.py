"""The cost of a turn, excluding the model and the tool: early, late, and after a resume.

    python benchmarks/loop.py

One Runner serves a conversation of 2,000 turns with one tool call each, and then a second request
of 50 turns on top of the history that its store returns. A turn lasts from one decision to the
next. The cost at turn N is the median of the 50 turns that end there, and the minimum over nine
conversations. Seconds are processor time of all threads. The decider and the tool cost almost
nothing, the usage of each call is reported, and nothing is compacted.
"""

import asyncio
import gc
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import attrs

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
from agentic.history import JsonlStore, MemoryStore, Store
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall
from agentic.testing import ScriptedExecutor
from agentic.tokens import approx_token_counter
from agentic.usage import Usage

TURNS, AGAIN, REPEATS = 2_000, 50, 9
AT, WIDTH = (100, 1_000, 2_000), 50
VIEW_TOKENS, TOKENS_A_MESSAGE = 50_000, 57
OUTPUT = "a line of the output\n" * 10


@attrs.define(eq=False)
class Clock:
    """A decider that calls a tool at each turn, and records when it was asked."""

    turns: int = TURNS
    """The number of calls before the reply."""
    asked: list[float] = attrs.field(factory=list)
    """The times of the requests, in seconds of processor time."""
    largest: int = 0
    """The largest number of messages in a request."""
    _numbers: Iterator[int] = attrs.field(factory=itertools.count)

    async def decide(self, request: Input, /) -> Decision:
        """Call the tool, or reply after the last turn."""
        self.asked.append(time.process_time())
        self.largest = max(self.largest, len(request.history))
        usage = Usage(input=TOKENS_A_MESSAGE * len(request.history), output=TOKENS_A_MESSAGE)
        if request.turn > self.turns:
            return Decision("Done.", usage=usage)
        number = next(self._numbers)
        call = ToolCall(f"c{number}", "read", f'{{"path": "src/file_{number}.py"}}')
        return Decision(f"Now file {number}.", [call], usage=usage)


@attrs.frozen(kw_only=True)
class Measured:
    """The measurements of one conversation, in seconds."""

    turns: tuple[float, ...]
    """The cost of a turn of the first run, at each turn in `AT`."""
    again: float
    """The cost of a turn of the second run."""
    resume: float
    """The time from the second request to the end of its first turn."""
    largest: int
    """The largest number of messages in a request."""


def make_manager() -> Manager:
    """Return a Manager that checks at every turn and never needs to compact."""
    return Manager(approx_token_counter, Digest(), Policy(10**9))


def without_budget(clock: Clock, store: Store) -> Runner:
    """Return a Runner that stores the conversation and counts nothing."""
    return Runner(clock, ScriptedExecutor({"read": OUTPUT}), store, max_turns=TURNS + 1)


def with_manager(clock: Clock, store: Store) -> Runner:
    """Return a Runner that also counts the conversation."""
    return attrs.evolve(without_budget(clock, store), budget=make_manager())


def with_strategy(clock: Clock, store: Store) -> Runner:
    """Return a Runner that sends only what fits a small window."""
    return attrs.evolve(with_manager(clock, store), strategies=[FitContextWindow(VIEW_TOKENS)])


def typical(asked: list[float]) -> float:
    """Return the median cost of a turn."""
    return statistics.median(end - start for start, end in itertools.pairwise(asked))


async def converse(make: Callable[[Clock, Store], Runner], store: Store) -> Measured:
    """Serve a long request, and then a short one on the same Runner."""
    clock = Clock()
    runner = make(clock, store)
    gc.collect()
    await runner.run("Read all the files.")
    first, clock.asked, clock.turns = clock.asked, [], AGAIN
    start = time.process_time()
    await runner.run("Read some more.")
    return Measured(
        turns=tuple(typical(first[turn - WIDTH : turn + 1]) for turn in AT),
        again=typical(clock.asked),
        resume=clock.asked[1] - start,
        largest=clock.largest,
    )


async def converse_in_memory(make: Callable[[Clock, Store], Runner]) -> Measured:
    """Measure a conversation that is kept in memory."""
    return await converse(make, MemoryStore())


async def converse_in_file(make: Callable[[Clock, Store], Runner]) -> Measured:
    """Measure a conversation that is written to a file, without `fsync`."""
    with tempfile.TemporaryDirectory() as folder:
        async with JsonlStore(f"{folder}/session.jsonl") as store:
            return await converse(make, store)


WAYS: dict[str, Callable[[], Coroutine[Any, Any, Measured]]] = {
    "MemoryStore": lambda: converse_in_memory(without_budget),
    "MemoryStore, Manager": lambda: converse_in_memory(with_manager),
    f"the same, FitContextWindow({VIEW_TOKENS:,})": lambda: converse_in_memory(with_strategy),
    "JsonlStore, Manager": lambda: converse_in_file(with_manager),
}


def best(runs: list[Measured]) -> Measured:
    """Return the minimum of each figure over the runs."""
    return Measured(
        turns=tuple(map(min, zip(*(run.turns for run in runs), strict=True))),
        again=min(run.again for run in runs),
        resume=min(run.resume for run in runs),
        largest=max(run.largest for run in runs),
    )


def report(name: str, measured: Measured) -> None:
    """Print a line of the table."""
    costs = "".join(f"{seconds * 1e6:9.0f}" for seconds in (*measured.turns, measured.again))
    early, late = measured.turns[0], measured.turns[-1]
    print(
        f"{name:34}{costs} {late / early:9.2f} {measured.again / late:9.2f} "
        f"{measured.resume * 1e3:9.1f} {measured.largest:9,}"
    )


def main() -> None:
    """Measure the ways alternately, a few times each, and print the table."""
    runs = [[asyncio.run(measure()) for measure in WAYS.values()] for _ in range(REPEATS)]
    turns = "".join(f"{turn:9,}" for turn in AT)
    print(f"Microseconds of the processor a turn; {TURNS:,} turns, and {AGAIN} of a second run\n")
    print(f"{'at turn':34}{turns} {'again':>8} {'late/':>9} {'again/':>9} ", end="")
    print(f"{'resume':>9} {'messages':>9}")
    print(f"{'':34}{'':36} {'early':>9} {'late':>9} {'ms':>9} {'sent':>9}")
    for name, measured in zip(WAYS, zip(*runs, strict=True), strict=True):
        report(name, best(list(measured)))
    print(f"\nEarly is turn {AT[0]:,}, late is turn {AT[-1]:,}, again is a turn of the second run.")
    print("Resume: from the second request to the end of its first turn. Messages sent: the most")
    print("in one request; fewer than all where a strategy leaves some out.")


if __name__ == "__main__":
    main()
