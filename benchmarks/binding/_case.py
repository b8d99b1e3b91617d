"""One run of one entry point: a shape, a window, strategies, and the server that judges it."""

import zlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import attrs

from agentic.context.budget import Compactor, Policy
from agentic.context.compactors import Continuation
from agentic.context.strategies import ClearToolOutputs, ContextStrategy, FitContextWindow
from agentic.testing import AgentScript, ModelServer
from agentic.testing._model_server import ServerReport
from agentic.tokens import CharCounter

__all__ = [
    "COUNTER",
    "SHAPES",
    "STRATEGIES",
    "WINDOWS",
    "Case",
    "Entry",
    "Row",
    "asks_for_summary",
    "output_of",
    "path_of",
    "policy_of",
    "requests",
]

SHAPES = {"60x2": (60, 2), "1x100": (1, 100)}
"""The turns, and the calls in each, one after the other."""
WINDOWS = (16_000, 32_000)
COUNTER = CharCounter()
_LEAST_LINES, _MORE_LINES = 20, 41
"""An output has 1,200 to 3,700 characters, so that a window of 16,000 is full several times."""


def _clearing(window: int) -> list[ContextStrategy]:
    return [ClearToolOutputs(window // 2, COUNTER)]


def _fitting(window: int) -> list[ContextStrategy]:
    return [FitContextWindow(window // 2, COUNTER)]


STRATEGIES: dict[str, Callable[[int], list[ContextStrategy]]] = {
    "default": lambda _: [],
    "ClearToolOutputs": _clearing,
    "FitContextWindow": _fitting,
}


@attrs.frozen(kw_only=True)
class Case:
    """What an entry point is run with."""

    shape: str
    window: int
    strategy: str
    server: ModelServer
    script: AgentScript
    continues: bool = False
    """Whether summaries are asked of the agent's own model, by a request that extends the last."""

    @classmethod
    def make(cls, shape: str, window: int, strategy: str, *, counted: bool) -> "Case":
        """Return a case with a new server, which is strict."""
        turns, rounds = SHAPES[shape]
        script = AgentScript(turns=turns, rounds=rounds, thinking="I read on.")
        server = ModelServer(
            script=script,
            window=window,
            strict=True,
            refusals="counted" if counted else "sent",
        )
        return cls(shape=shape, window=window, strategy=strategy, server=server, script=script)

    @property
    def policy(self) -> Policy:
        """Return the policy of the window."""
        return policy_of(self.window)

    def compactor(self) -> Compactor | None:
        """Return a new compactor; None for the default, a digest."""
        return Continuation() if self.continues else None

    def strategies(self) -> list[ContextStrategy]:
        """Return new strategies."""
        return STRATEGIES[self.strategy](self.window)


Entry = Callable[[Case], Awaitable[None]]
"""Runs a whole session of one entry point against the server of a case."""


@attrs.frozen(kw_only=True)
class Row:
    """The figures of one run."""

    entry: str
    case: Case
    epochs: int = 0
    """How many times the View reported that an epoch begins."""
    problem: str = ""
    """Why the run was given up, if it was."""

    @property
    def report(self) -> ServerReport:
        """Return what the server reports."""
        return self.case.server.report


def policy_of(window: int) -> Policy:
    """Return the default policy of a window: to judge another one, change it here."""
    return Policy(window)


def requests(case: Case) -> Iterator[str]:
    """Yield what the user asks, turn by turn; a turn that a refusal ended is passed over."""
    number = 0
    while not case.script.done:
        before = case.script.answered
        yield f"Request {number}: read what part {number} needs, and say what it does."
        number += 1
        turn = case.script.rounds + 1
        if case.script.answered // turn == before // turn:
            case.script.skip_turn()


def asks_for_summary(body: Any) -> bool:
    """Return whether a request extends another one by the question for a summary."""
    return "about to be left out" in str(body)[-6_000:]


def output_of(path: str) -> str:
    """Return the text of a file: some thousand characters, the same for each run.

    >>> output_of("src/parser0_0.py").count("src/parser0_0.py")
    4
    """
    lines = _LEAST_LINES + zlib.crc32(path.encode()) % _MORE_LINES
    return "\n".join(
        f"{number}: {path} defines what part {number} asks of it here"
        if number % 6 == 0
        else f"{number}: a line that says nothing which is needed later on"
        for number in range(lines)
    )


def path_of(arguments: Any) -> str:
    """Return the argument of a call of the only tool."""
    return str(arguments["path"])
