"""An engine in memory: it records steps as JSON text, and dies where a test tells it to."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest


class Killed(BaseException):
    """The process is gone: nothing that follows runs."""


@attrs.define
class Engine:
    """The log of one run, which outlives its attempts."""

    log: dict[int, str] = attrs.field(factory=dict)
    names: list[str] = attrs.field(factory=list)
    """What was really done, in all attempts."""
    steps: dict[int, str] = attrs.field(factory=dict)
    """The names of the steps in the log."""
    looks_ahead: bool = False
    """Whether an attempt can read what an earlier one has recorded."""
    dies_at: int | None = None
    """The number of the step before whose record the process dies."""
    before_work: bool = False
    """Whether it dies before the work of that step, not after it."""

    def attempt(self) -> "Attempt":
        """Begin to run the same code again."""
        return Attempt(self)


@attrs.define
class Attempt:
    """The steps of one attempt, told apart by their order."""

    engine: Engine
    number: int = 0
    is_dead: bool = False

    async def run(self, name: str, function: Callable[..., Awaitable[Any]], /, *args: Any) -> Any:
        """Run a step, or return its record."""
        step, engine = self.number, self.engine
        self.number += 1
        if step not in engine.log:
            self._die(when=engine.dies_at == step and engine.before_work)
            result = await function(*args)
            engine.names.append(name)
            self._die(when=engine.dies_at == step)
            engine.log.setdefault(step, json.dumps(result))  # the first record counts
            engine.steps[step] = name
        assert engine.steps.get(step, name) == name
        return json.loads(engine.log[step])

    @property
    def peek(self) -> Callable[[], tuple[str, Any] | None] | None:
        """Look at the record of the next step, for a `Durable`; None if the engine cannot."""
        return self._peek if self.engine.looks_ahead else None

    def _peek(self) -> tuple[str, Any] | None:
        record = self.engine.log.get(self.number)
        return None if record is None else (self.engine.steps[self.number], json.loads(record))

    def die(self) -> None:
        """End the process here."""
        self._die(when=True)

    def _die(self, *, when: bool) -> None:
        """Let nothing of this attempt be done or recorded any more."""
        self.is_dead = self.is_dead or when
        if self.is_dead:
            raise Killed


@pytest.fixture(scope="session")
def engine() -> Callable[..., Engine]:
    """Make an engine."""
    return Engine
