"""The entries of a digest, and the Markdown form of each, both ways.

What `markdown` writes, `read` reads back: that is how a digest is folded into the next one.
"""

import re
from collections.abc import Sequence
from typing import Protocol, Self

import attrs

__all__ = ["CallNote", "Entry", "FileNote", "Quote"]

_CODE = r"(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
_CALL = re.compile(rf"- {_CODE}(?: \((?P<times>[0-9]{{1,9}}) times\))?(?: -> (?P<status>.*))?")
_FILE = re.compile(rf"- {_CODE}: (?P<facts>.*)")
_COUNT = re.compile(r"([0-9]{1,9}) (read|write|edit|deletion)s?\b")
_LINES = re.compile(r"\blast lines ([0-9]+-[0-9]+)")
# A line of Markdown ends at LF, CR or both, and a closing fence may be indented by three blanks:
# https://spec.commonmark.org/0.31.2/#line-ending, #fenced-code-blocks
_TILDES = re.compile(r"(?:\A|[\r\n]) {0,3}(~{3,})")


class Entry(Protocol):
    """What a section of a digest is made of."""

    @property
    def key(self) -> str:
        """What the entry is about: a section has one entry a key."""
        ...

    def after(self, former: Self) -> Self:
        """Give the entry that stands for this one and for a former one with its key."""
        ...

    def markdown(self) -> str:
        """Give the Markdown form, without a newline at its end."""
        ...

    @classmethod
    def read(cls, lines: Sequence[str]) -> Self | None:
        """Read the Markdown form; None if it is something else."""
        ...


@attrs.frozen
class Quote:
    r"""A text, word for word.

    >>> print(Quote("Why is the build red?").markdown())
    - Why is the build red?
    >>> print(Quote("Rename it:\n  old -> new").markdown())
    ~~~
    Rename it:
      old -> new
    ~~~
    """

    text: str
    former: bool = False
    """Whether a former digest gave it: a cut in it is that digest's then, and not the author's."""

    @property
    def key(self) -> str:
        """The text."""
        return self.text

    def after(self, former: "Quote") -> "Quote":
        """Give the quote: it says the same."""
        return self

    def markdown(self) -> str:
        """Give a list item, or a fenced block if the text has several lines."""
        if self.text == self.text.strip() and not {"\n", "\r"} & {*self.text}:
            return f"- {self.text}"
        fence = "~" * (max(map(len, _TILDES.findall(self.text)), default=2) + 1)
        return f"{fence}\n{self.text}\n{fence}"

    @classmethod
    def read(cls, lines: Sequence[str]) -> "Quote | None":
        """Read a list item of one line, or a fenced block, closed or not."""
        if lines[0].startswith("~~~"):
            inner = lines[1:-1] if lines[-1] == lines[0] else lines[1:]
            return cls("\n".join(inner), former=True)
        if len(lines) > 1 or not lines[0].startswith("- "):
            return None
        return cls(lines[0][2:], former=True)


@attrs.frozen
class FileNote:
    """What was done to a file, successfully.

    >>> print(FileNote("src/a.py", edits=2).after(FileNote("src/a.py", reads=1)).markdown())
    - `src/a.py`: 2 edits, 1 read
    """

    path: str
    edits: int = 0
    writes: int = 0
    deletions: int = 0
    reads: int = 0
    lines: str = ""
    """The lines read last, both inclusive: `10-60`."""

    @property
    def key(self) -> str:
        """The path."""
        return self.path

    @property
    def changed(self) -> bool:
        """Whether the file is not what it was."""
        return bool(self.edits or self.writes or self.deletions)

    def after(self, former: "FileNote") -> "FileNote":
        """Add what was done before."""
        return FileNote(
            self.path,
            self.edits + former.edits,
            self.writes + former.writes,
            self.deletions + former.deletions,
            self.reads + former.reads,
            self.lines or former.lines,
        )

    def markdown(self) -> str:
        """Give a list item: the path and what was done to it how often."""
        counts = {
            "edit": self.edits,
            "write": self.writes,
            "deletion": self.deletions,
            "read": self.reads,
        }
        facts = [f"{n} {noun}{'s' * (n != 1)}" for noun, n in counts.items() if n]
        facts += [f"last lines {self.lines}"] if self.lines else []
        return f"- {_code(self.path)}: {', '.join(facts)}"

    @classmethod
    def read(cls, lines: Sequence[str]) -> "FileNote | None":
        """Read a list item that counts what was done to a path."""
        found = _FILE.fullmatch(lines[0])
        counts = {noun: int(n) for n, noun in _COUNT.findall(found["facts"])} if found else {}
        if found is None or not counts or len(lines) > 1:
            return None
        last = _LINES.search(found["facts"])
        return cls(
            _uncode(found["code"]),
            counts.get("edit", 0),
            counts.get("write", 0),
            counts.get("deletion", 0),
            counts.get("read", 0),
            last[1] if last else "",
        )


@attrs.frozen
class CallNote:
    """A command or another call, and what came of it.

    >>> print(CallNote("make test", 2, "exit 2", ("E   assert 1 == 2",)).markdown())
    - `make test` (2 times) -> exit 2
      E   assert 1 == 2
    """

    label: str
    times: int = 1
    status: str = ""
    """How it went the last time, in one line."""
    lines: tuple[str, ...] = ()
    """Lines of its output."""

    @property
    def key(self) -> str:
        """The label."""
        return self.label

    def after(self, former: "CallNote") -> "CallNote":
        """Count the former calls; what came of them is history."""
        return attrs.evolve(self, times=self.times + former.times)

    def markdown(self) -> str:
        """Give a list item, the lines below it and indented."""
        times = f" ({self.times} times)" if self.times > 1 else ""
        status = f" -> {self.status}" if self.status else ""
        return "\n  ".join([f"- {_code(self.label)}{times}{status}", *self.lines])

    @classmethod
    def read(cls, lines: Sequence[str]) -> "CallNote | None":
        """Read a list item that starts with a label."""
        found = _CALL.fullmatch(lines[0])
        if found is None:
            return None
        below = tuple(line.removeprefix("  ") for line in lines[1:])
        return cls(_uncode(found["code"]), int(found["times"] or 1), found["status"] or "", below)


def _code(text: str) -> str:
    """Give a code span, with more backticks around it than stand together in it."""
    if "`" not in text:
        return f"`{text}`"
    ticks = "`" * (max(map(len, re.findall("`+", text))) + 1)
    pad = " " * (text.startswith("`") or text.endswith("`"))
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _uncode(code: str) -> str:
    padded = code.startswith(" `") or code.endswith("` ")
    return code[1:-1] if padded else code
