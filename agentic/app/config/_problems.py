"""Everything that is wrong with a configuration, reported at once, each problem with its line."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from agentic._base._validate import suggest
from agentic.errors import ConfigError

Place = tuple[str | int, ...]
"""The path from the top of a document to a value: keys, and positions in lists."""

_MAX_SHOWN = 80


@attrs.frozen
class Problem:
    """One mistake in a file.

    >>> print(Problem("quick.yaml", 3, "max_turns", "0", "a whole number >= 1"))
    quick.yaml:3: max_turns must be a whole number >= 1, got 0
    """

    file: str
    line: int
    """Counted from 1; 0 if the problem concerns the whole file."""
    key: str
    """The path of the key, such as `context.response_reserve` or `tools[0]`; empty for the file."""
    given: str
    """The value as written in the file; empty if something is missing."""
    allowed: str = ""
    remedy: str = ""
    message: str = ""
    """The complete sentence, if "must be ..., got ..." does not fit."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        refusal = ConfigError.explain(
            self.key or "the file", self.given, self.allowed, self.remedy.rstrip(".")
        )
        return place + (self.message or refusal)


@attrs.define(init=False)
class ConfigProblems(ConfigError):
    """A configuration that cannot be used. It holds all problems, in the order of their lines.

    As a ConfigError, its fields describe the first problem.
    """

    problems: tuple[Problem, ...] = ()

    def __init__(self, problems: Iterable[Problem]) -> None:
        # A stable sort: the problems of one line stay in the order in which they were found.
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        first = self.problems[0]
        self.name, self.given = first.key or first.file, first.given
        self.allowed, self.remedy = first.allowed, first.remedy
        self.message = str(first)
        ValueError.__init__(self, self.problems)

    def __reduce__(self) -> tuple[type["ConfigProblems"], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@attrs.frozen
class Fault:
    """A problem at a place in a document, before its line is known."""

    place: Place
    given: str
    allowed: str = ""
    remedy: str = ""
    line: int | None = None
    """The line, if it is not that of the key."""
    message: str = ""
    """As in `Problem`."""

    @classmethod
    def of(cls, error: ConfigError, place: Place, value: str | None = None) -> "Fault":
        """Convert a ConfigError to the terms of YAML."""
        return cls(
            place,
            show(error.given) if value is None else value,
            # The checks are shared with callers of Python, who write None and str.
            error.allowed.replace("None", "null").replace("a str", "a text"),
            error.remedy.replace("None", "null"),
            message=error.message,
        )

    @classmethod
    def unknown_key(cls, place: Place, keys: Iterable[str]) -> "Fault":
        """Return the fault of a key that its section does not have."""
        key, names = str(place[-1]), list(keys)
        hint = suggest(key, names, f"known keys: {', '.join(names)}")
        return cls(place, show(key), hint, message=f"unknown key '{key}' ({hint})")


def show(value: object) -> str:
    """Return a value as it would be written in a file, shortened.

    >>> show("many"), show(None), show([True])
    ('"many"', 'null', '[true]')
    """
    # By repr what only a record made in Python can hold, such as a Path.
    text = json.dumps(value, ensure_ascii=False, default=repr)
    # A lone surrogate could not be printed.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _spell(place: Place) -> str:
    """Return the path of a key as text.

    >>> _spell(("strategies", 0, "keep_last", "keep_recent"))
    'strategies[0].keep_last.keep_recent'
    """
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(parts).removeprefix(".")


@attrs.frozen
class Origin:
    """A file or a text, and the line of each key in it."""

    file: str = "the agent"
    """The name in problems."""
    folder: Path = attrs.field(factory=Path.cwd)
    """The folder that relative paths are relative to."""
    path: Path | None = None
    """None if the text was not in a file."""
    lines: Mapping[Place, int] = attrs.field(factory=dict, repr=False)

    def has(self, *place: str | int) -> bool:
        """Return whether a key is in the file, rather than left to its default."""
        return place in self.lines

    def problems(self, faults: Iterable[Fault]) -> ConfigProblems:
        """Return an error that names the line of each fault."""
        return ConfigProblems(map(self._problem, faults))

    def _problem(self, fault: Fault) -> Problem:
        # A key that is missing has no line: the nearest one around it has.
        around = (fault.place[:end] for end in range(len(fault.place), -1, -1))
        line = next((self.lines[place] for place in around if place in self.lines), 0)
        line = line if fault.line is None else fault.line
        key = _spell(fault.place)
        return Problem(
            self.file, line, key, fault.given, fault.allowed, fault.remedy, fault.message
        )
