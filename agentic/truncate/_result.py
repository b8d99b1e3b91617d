"""What a truncation kept, what it left out, and the sentence that tells a model so."""

import enum
from typing import Literal

import attrs

__all__ = ["Mode", "Result"]


class Mode(enum.Enum):
    """Which part of a text is kept."""

    HEAD = "head"
    TAIL = "tail"
    MIDDLE = "middle"
    """Both ends are kept; the name says where the cut falls."""


# Without slots a frozen record is made a third faster, and one is made for every tool output.
@attrs.frozen(kw_only=True, slots=False)
class Result:
    """A text within its limits, and the measure of what it was.

    Bytes are UTF-8. Lines end at a line feed; a final one opens no further line.
    """

    content: str
    """The kept text; the very object that was given when nothing is cut."""
    truncated: bool
    """Whether anything is missing."""
    truncated_by: Literal["lines", "bytes"] | None
    """The limit that decided; "bytes" only if it leaves less than the line limit does."""
    total_lines: int
    """Lines of the whole text."""
    total_bytes: int
    """Bytes of the whole text."""
    output_lines: int
    """Lines of the whole text that are kept, a partial one included, the marker line not."""
    output_bytes: int
    """Bytes of the content, the marker line of a cut in the middle included."""
    last_line_partial: bool = False
    """Whether the last line is kept only from some character on."""
    first_line_over_limit: bool = False
    """Whether the first line is kept only up to some character."""
    mode: Mode = Mode.TAIL
    """Which part was kept: a cut in the middle with too little room is a tail's."""

    @property
    def text(self) -> str:
        r"""The content and, if something is missing, the notice on a line of its own.

        >>> from agentic import truncate
        >>> truncate.tail("one\ntwo\n", max_lines=1).text.split("\n")[0]
        'two'
        >>> truncate.tail("one\ntwo\n").text
        'one\ntwo\n'
        """
        if not self.truncated:
            return self.content
        # The newline at the cut of a head is left out: one at its end belongs to an empty line.
        ended = self.mode is not Mode.HEAD and self.content.endswith("\n")
        newline = "" if ended or not self.output_lines else "\n"
        return f"{self.content}{newline}{self.notice()}"

    def notice(self, ref: str | None = None) -> str:
        r"""Return the model what is missing, of how much, and how to get it; "" if nothing is.

        With a ``ref`` the sentence names it as the place of the full text.

        >>> from agentic import truncate
        >>> short = truncate.head("one\ntwo\nthree", max_lines=2)
        >>> print(short.notice("out.log"))
        1 of 3 lines is missing, only the first 2 lines are shown: the full text is in out.log.
        """
        if not self.truncated:
            return ""
        remedy = "ask for a narrower part to see the rest"
        if ref is not None:
            remedy = f"the full text is in {ref}"
        return f"{self._missing()}, {self._shown()}: {remedy}."

    def _missing(self) -> str:
        lines = self.total_lines - self.output_lines
        if lines and not (self.last_line_partial or self.first_line_over_limit):
            return f"{lines} of {_count(self.total_lines, 'line')} {_be(lines)} missing"
        whole = f"{_count(self.total_bytes, 'byte')} ({_count(self.total_lines, 'line')})"
        if self.mode is Mode.MIDDLE:
            return f"A part of {whole} is missing"
        size = self.total_bytes - self.output_bytes
        return f"{size} of {whole} {_be(size)} missing"

    def _shown(self) -> str:
        if not self.output_lines:
            return "nothing is shown because the limit is smaller than one character"
        if self.mode is Mode.MIDDLE:
            return self._shown_ends()
        partial, side = "the start of the first line", "first"
        if self.mode is Mode.TAIL:
            partial, side = "the end of the last line", "last"
        if self.last_line_partial or self.first_line_over_limit:
            return f"only {partial} is shown"
        if self.output_lines == 1:
            return f"only the {side} line is shown"
        return f"only the {side} {self.output_lines} lines are shown"

    def _shown_ends(self) -> str:
        ends = "the first and the last lines"
        if self.first_line_over_limit or self.last_line_partial:
            first = "start of the first line" if self.first_line_over_limit else "first lines"
            last = "end of the last line" if self.last_line_partial else "last lines"
            ends = f"the {first} and the {last}"
        return f"only {ends} are shown with a marker between them"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"
