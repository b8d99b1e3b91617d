"""Where a configuration was read, so that a mistake found later still has its line."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from agentic.config import _problems
from agentic.config._problems import ConfigProblems, Fault, Problem

__all__ = ["Origin"]


@attrs.frozen
class Origin:
    """A file, or a text, and where in it each key stands."""

    file: str = "the agent"
    """As problems name it."""
    folder: Path = attrs.field(factory=Path.cwd)
    """What relative paths count from."""
    path: Path | None = None
    """None for a text that was in no file."""
    lines: Mapping[_problems.Place, int] = attrs.field(factory=dict, repr=False)

    def has(self, *place: str | int) -> bool:
        """Return whether a key was written, rather than left to its default."""
        return place in self.lines

    def problems(self, faults: Iterable[Fault]) -> ConfigProblems:
        """Return an error that names the line of each fault."""
        return ConfigProblems(map(self._problem, faults))

    def _problem(self, fault: Fault) -> Problem:
        """Return a fault with the line of its key, or of the nearest key around it."""
        around = (fault.place[:end] for end in range(len(fault.place), -1, -1))
        line = next((self.lines[place] for place in around if place in self.lines), 0)
        line = line if fault.line is None else fault.line
        key = _problems.spell(fault.place)
        return Problem(
            self.file, line, key, fault.given, fault.allowed, fault.remedy, fault.message
        )
