"""What is wrong with a configuration, all of it at once, each thing with its line."""

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from agentic.errors import ConfigError

__all__ = ["ConfigProblems", "Fault", "Origin", "Place", "Problem", "did_you_mean", "show"]

Place = tuple[str | int, ...]
"""From the top of a document to a value: keys, and positions in lists."""

_MAX_SHOWN = 80
_ALIKE = 0.85
"""Above this likeness two words differ by a slip of the finger."""
_ENOUGH = 4
"""A part of a word, of this many characters, stands for the word."""


@attrs.frozen
class Problem:
    """One mistake in a file.

    >>> print(Problem("quick.yaml", 3, "max_turns", "0", "a whole number >= 1"))
    quick.yaml:3: max_turns must be a whole number >= 1, got 0
    """

    file: str
    line: int
    """From 1; 0 where the mistake is the file as a whole."""
    key: str
    """The way to the key, such as `context.response_reserve` or `tools[0]`; empty for the file."""
    given: str
    """As the file has it; empty for what is missing."""
    allowed: str = ""
    remedy: str = ""
    message: str = ""
    """The whole sentence, where "must be ..., got ..." would not say it well."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        refusal = ConfigError.explain(
            self.key or "the file", self.given, self.allowed, self.remedy.rstrip(".")
        )
        return place + (self.message or refusal)


@attrs.define(init=False)
class ConfigProblems(ConfigError):
    """A configuration that cannot be used. Holds every mistake, in the order of the lines.

    As a ConfigError it speaks of the first one.
    """

    problems: tuple[Problem, ...] = ()

    def __init__(self, problems: Iterable[Problem]) -> None:
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
    """A mistake at a place in a document, before it is known which line that is."""

    place: Place
    given: str
    allowed: str = ""
    remedy: str = ""
    line: int | None = None
    """Where it is not the key's own."""
    message: str = ""
    """As of a `Problem`."""

    @classmethod
    def of(cls, error: ConfigError, place: Place, given: str | None = None) -> "Fault":
        """Take a ConfigError over, in the words of YAML."""
        return cls(
            place,
            show(error.given) if given is None else given,
            error.allowed.replace("None", "null").replace("a str", "a text"),
            error.remedy.replace("None", "null"),
            message=error.message,
        )

    @classmethod
    def unknown_key(cls, place: Place, known: Iterable[str]) -> "Fault":
        """Report a key that its section does not have."""
        key, names = str(place[-1]), list(known)
        hint = did_you_mean(key, names, f"known keys: {', '.join(names)}")
        return cls(place, show(key), hint, message=f"unknown key '{key}' ({hint})")


def show(value: object) -> str:
    """Write a value as a file would have it, shortened.

    >>> show("many"), show(None), show([True])
    ('"many"', 'null', '[true]')
    """
    text = json.dumps(value, ensure_ascii=False, default=repr)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _spell(place: Place) -> str:
    """Write the way to a key.

    >>> _spell(("strategies", 0, "keep_last", "keep_recent"))
    'strategies[0].keep_last.keep_recent'
    """
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(parts).removeprefix(".")


def did_you_mean(given: str, known: Iterable[str], otherwise: str) -> str:
    """Name the nearest word, if one is near.

    >>> did_you_mean("max_turn", ["max_turns", "model"], "leave it out")
    "did you mean 'max_turns'?"
    """
    words = list(known)
    near = difflib.get_close_matches(given, words, 1, _ALIKE)
    near += [word for word in words if len(given) >= _ENOUGH and given in word]
    near += difflib.get_close_matches(given, words, 1)
    return f"did you mean '{near[0]}'?" if near else otherwise


@attrs.frozen
class Origin:
    """A file, or a text, and where in it each key stands."""

    file: str = "the agent"
    """As problems name it."""
    folder: Path = attrs.field(factory=Path.cwd)
    """What relative paths count from."""
    path: Path | None = None
    """None for a text that was in no file."""
    lines: Mapping[Place, int] = attrs.field(factory=dict, repr=False)

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
        key = _spell(fault.place)
        return Problem(
            self.file, line, key, fault.given, fault.allowed, fault.remedy, fault.message
        )
