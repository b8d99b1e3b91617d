"""Where each line of a digest comes from, and why it is there.

A line is found again by its words in the messages, the newest first, where its section takes them
from, without the marks that the digest added. A line that was cut is found by its beginning.
"""

import re
from collections.abc import Iterator, Sequence

import attrs

from agentic.context.digest._section import TITLE
from agentic.context.digest._text import MARK, one_line
from agentic.messages import Message

__all__ = ["NoteLine", "explain_note"]

_REASONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "What the user asked": ("a request; the newest at most length", ("user",)),
    "Rules of the user": ("a sentence with a word for what holds from then on", ("user",)),
    "Former summaries and notices": ("quoted as it is; open work first", ("notice", "output")),
    "Where things stand": (
        "the newest statement, what was in progress, open calls and to-dos",
        ("assistant", "call"),
    ),
    "Commands that still fail": ("failed, and did not succeed later", ("call", "output")),
    "Decided and found": (
        "a sentence with a word for a decision or a cause, or what the user answered",
        ("assistant", "output", "call"),
    ),
    "Files changed": ("changed by a tool or a command, and not put back", ("call",)),
    "Files read": ("read and not changed", ("call",)),
    "Commands": ("the outcome of its last run", ("call",)),
    "Said on the way": ("a whole sentence of the assistant, reasons first", ("assistant",)),
    "Last seen, newest first": (
        "the last line with an identifier that was mentioned often",
        ("output", "call", "assistant", "user", "notice"),
    ),
}
"""By heading: why a line is there, and which texts it is searched for in."""
_LEFT_OUT = re.compile(r"\s*(?: \.\.\.|\[\.\.\. \d+ characters left out.*\])\Z")
_ADDED = re.compile(
    r"(?:To do|In progress|Remembered|Called, no result yet): |The user (?:refused|answered) \"?"
)
_FILE = re.compile(r"([^,:]+?)(?: \((?:new|edited|deleted)\))?(?:, |$)")
_LABELS = re.compile(r"((?:`[^`]*`(?:, )?)+)(?:: | \()?(.*?)\)?\Z")
"""Commands that ended alike, and their outcome."""
_QUOTES = re.compile(r"[\"'\\]")
_LEAST = 12
"""The shortest beginning by which a line is found."""


@attrs.frozen(kw_only=True)
class NoteLine:
    """A line of a digest with its origin."""

    text: str
    """The line as it stands in the digest."""
    section: str
    """The heading above it."""
    reason: str
    """Why a line is in this section."""
    positions: tuple[int, ...] = ()
    """The positions of the messages that it comes from; empty if it stands in none of them, such
    as a count of what was left out, or what an earlier digest handed over."""


def explain_note(text: str, messages: Sequence[Message]) -> list[NoteLine]:
    """Return the lines of a digest with the messages that they come from.

    >>> from agentic.context.compactors import Digest
    >>> talk = [Message("user", "Is it green?"), Message("assistant", "All tests pass now.")]
    >>> [(line.text, line.positions) for line in explain_note(Digest().write(talk), talk)]
    [('- Is it green?', (0,)), ('- All tests pass now.', (1,))]
    """
    texts = [each for at, message in enumerate(messages) for each in _texts(at, message)]
    texts.reverse()
    lines: list[NoteLine] = []
    section = ""
    for line in text.partition(TITLE)[2].split("\n"):
        heading = line.removeprefix("## ")
        if line.startswith("## ") and heading in _REASONS:
            section = heading
        elif line.strip("`\n") and section:
            reason, kinds = _REASONS[section]
            places = sorted({*_places(line, section, kinds, texts)})
            lines.append(
                NoteLine(text=line, section=section, reason=reason, positions=tuple(places))
            )
    return lines


def _texts(at: int, message: Message) -> Iterator[tuple[int, str, str]]:
    """Yield the texts of a message, each in one line, with the position and the kind."""
    kind = "notice" if message.role == "system" or message.summary else message.role
    if message.content.strip():
        yield at, kind, one_line(message.content)
    for call in message.tool_calls:
        # An argument is quoted without its quotes, and a line of it without the others.
        yield at, "call", _plain(f"{call.name} {call.arguments}".replace("\\n", " "))
    for result in message.tool_results:
        error_text = result.error.message if result.error else ""
        yield at, "output", one_line(f"{result.output}\n{error_text}")


def _plain(text: str) -> str:
    return one_line(_QUOTES.sub("", text))


def _places(
    line: str, section: str, kinds: Sequence[str], texts: Sequence[tuple[int, str, str]]
) -> Iterator[int]:
    """Yield the positions of the messages that a line comes from."""
    bare = _LEFT_OUT.sub("", line.strip().removeprefix("- ")).removesuffix(MARK)
    if section.startswith("Files"):
        for name in _FILE.findall(bare.rpartition("/: ")[2]):
            yield from _newest(name.strip(), ("call",), texts)
    elif section.startswith("Commands"):
        if match := _LABELS.match(bare):
            for label in re.findall(r"`([^`]*)`", match[1]):
                yield from _newest(label.removesuffix(MARK), ("call",), texts)
            if len(match[2]) >= _LEAST:
                yield from _newest(match[2], ("output",), texts)
    else:
        bare = _ADDED.sub("", re.sub(r"^(\d*)\\", r"\1", bare))
        yield from _newest(bare, kinds, texts)


def _newest(
    piece: str, kinds: Sequence[str], texts: Sequence[tuple[int, str, str]]
) -> Iterator[int]:
    """Yield the position of the newest text with a piece, or with the beginning of it."""
    for length in (len(piece), 60, 30, _LEAST):
        short = one_line(piece[:length])
        for at, kind, text in texts if short else ():
            if kind in kinds and (_plain(short) if kind == "call" else short) in text:
                yield at
                return
