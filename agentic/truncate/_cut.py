"""Where a text is cut, and what is kept: the only place that decides this.

A cut falls between lines. Only a line that exceeds the byte limit by itself is cut, between two of
its characters. A line ends at a line feed; a carriage return before that is left out with it where
a cut follows. The text may be a window of a longer one, if it contains the end that is to be kept
and exceeds one of the limits: then what is outside the window cannot move the cut.
"""

import enum
from collections.abc import Callable
from typing import Literal

import attrs

from agentic._base._short_repr import short_repr
from agentic.truncate._measure import Measured

_CHARACTER = 4
"""The most bytes of a character in UTF-8."""
_ENDS = 2
"""Each end must have room for a line and a character besides the marker."""
_new = object.__new__


class Mode(enum.Enum):
    """Which part of a text is kept."""

    HEAD = "head"
    TAIL = "tail"
    MIDDLE = "middle"
    """Both ends are kept, and the middle is cut out."""


# Without slots, a frozen record is created a third faster, and every tool output needs one.
@short_repr
@attrs.frozen(kw_only=True, slots=False)
class Result:
    """A text within its limits, and the size of the original.

    Bytes are UTF-8. Lines end at a line feed; a final line feed does not begin another line.
    """

    content: str
    """The kept text; the same object that was passed if nothing is cut."""
    truncated: bool
    """Whether anything is missing."""
    truncated_by: Literal["lines", "bytes"] | None
    """The limit that decided; "bytes" only if that limit keeps less than the line limit."""
    total_lines: int
    """The number of lines of the whole text."""
    total_bytes: int
    """The number of bytes of the whole text."""
    output_lines: int
    """How many lines of the whole text are kept, including partial ones, excluding the marker
    line."""
    output_bytes: int
    """The number of bytes of the content, including the marker line of a cut in the middle."""
    last_line_partial: bool = False
    """Whether only the end of the last line is kept."""
    first_line_over_limit: bool = False
    """Whether only the start of the first line is kept."""
    mode: Mode = Mode.TAIL
    """Which part was kept. A cut in the middle without enough room keeps the tail instead."""

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
        # A head lacks the newline at its cut, so a newline at its end belongs to an empty line.
        ends_line = self.mode is not Mode.HEAD and self.content.endswith("\n")
        newline = "" if ends_line or not self.output_lines else "\n"
        return f"{self.content}{newline}{self.notice()}"

    def notice(self, ref: str | None = None) -> str:
        r"""Return a sentence for the model: what is missing, and how to get it; "" if nothing is.

        If ``ref`` is given, the sentence names it as the place of the full text.

        >>> from agentic import truncate
        >>> short = truncate.head("one\ntwo\nthree", max_lines=2)
        >>> print(short.notice("out.log"))
        1 of 3 lines is missing, only the first 2 lines are shown: the full text is in out.log.
        """
        if not self.truncated:
            return ""
        remedy = "ask for a narrower part to see the rest"
        if ref:
            remedy = f"the full text is in {ref}"
        return f"{self._missing()}, {self._shown()}: {remedy}."

    def _missing(self) -> str:
        lines = self.total_lines - self.output_lines
        # Where a line is kept in part, only bytes say how much is missing.
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


def cut_head(text: Measured, max_lines: int | None, max_bytes: int | None) -> Result:
    """Keep the start."""
    if not text.exceeds(max_lines, max_bytes):
        return _whole(text, Mode.HEAD)
    end = _end_by_lines(text, max_lines)
    size = text.size_before(end)
    # `or 0` is for the type checker: without a limit on lines, the bytes decide.
    if max_bytes is None or size <= max_bytes:
        return _result(text, Mode.HEAD, text.text[:end], "lines", lines=max_lines or 0, size=size)
    end = _end_by_bytes(text, max_bytes)
    lines, size, over = _lines_until(text, end), text.size_before(end), _splits_at_end(text, end)
    return _result(text, Mode.HEAD, text.text[:end], "bytes", lines=lines, size=size, over=over)


def cut_tail(text: Measured, max_lines: int | None, max_bytes: int | None) -> Result:
    """Keep the end."""
    if not text.exceeds(max_lines, max_bytes):
        return _whole(text, Mode.TAIL)
    start = _start_by_lines(text, max_lines)
    size = text.size - text.size_before(start)
    if max_bytes is None or size <= max_bytes:
        return _result(text, Mode.TAIL, text.text[start:], "lines", lines=max_lines or 0, size=size)
    start = _start_by_bytes(text, max_bytes)
    lines, size = _lines_from(text, start), text.size - text.size_before(start)
    partial = _splits_at_start(text, start)
    return _result(
        text, Mode.TAIL, text.text[start:], "bytes", lines=lines, size=size, partial=partial
    )


def cut_middle(text: Measured, max_lines: int | None, max_bytes: int | None) -> Result:
    """Keep both ends with a marker line between them, or only the tail if there is no room."""
    if not text.exceeds(max_lines, max_bytes):
        return _whole(text, Mode.MIDDLE)
    # What is left out is at most everything, so no marker is longer than this one.
    widest = len(_marker(text.total_lines, text.total_size))
    lines = None if max_lines is None else max_lines - 1
    size = None if max_bytes is None else max_bytes - widest
    if (lines is not None and lines < _ENDS) or (size is not None and size < _ENDS * _CHARACTER):
        return cut_tail(text, max_lines, max_bytes)
    (first_lines, last_lines), (first_size, last_size) = _halve(lines), _halve(size)
    first = cut_head(text, first_lines, first_size)
    last = cut_tail(text, last_lines, last_size)
    return _join(text, first, last, max_lines)


CUTS: dict[Mode, Callable[[Measured, int | None, int | None], Result]] = {
    Mode.HEAD: cut_head,
    Mode.TAIL: cut_tail,
    Mode.MIDDLE: cut_middle,
}
"""The function that cuts in each mode."""


def _whole(text: Measured, mode: Mode) -> Result:
    return _result(text, mode, text.text, None, lines=text.total_lines, size=text.total_size)


def _join(text: Measured, first: Result, last: Result, max_lines: int | None) -> Result:
    # Both ends may contain a part of the same line, if the text has only one.
    lines = min(first.output_lines + last.output_lines, text.total_lines)
    size = first.output_bytes + last.output_bytes
    marker = _marker(text.total_lines - lines, text.total_size - size)
    # Halved, the limit on lines may decide at both ends of a text that only has too many bytes.
    fewer = max_lines is not None and text.total_lines > max_lines
    by_lines = first.truncated_by == last.truncated_by == "lines"
    return _result(
        text,
        Mode.MIDDLE,
        first.content + marker + last.content,
        "lines" if by_lines and fewer else "bytes",
        lines=lines,
        size=size + len(marker),
        over=first.first_line_over_limit,
        partial=last.last_line_partial,
    )


def _result(
    text: Measured,
    mode: Mode,
    content: str,
    by: Literal["lines", "bytes"] | None,
    *,
    lines: int,
    size: int,
    over: bool = False,
    partial: bool = False,
) -> Result:
    # Calling the class with keywords would cost half as much again as the rest of the call.
    result = _new(Result)
    Result.__init__(
        result,
        content=content,
        truncated=by is not None,
        truncated_by=by,
        total_lines=text.total_lines,
        total_bytes=text.total_size,
        output_lines=lines,
        output_bytes=size,
        last_line_partial=partial,
        first_line_over_limit=over,
        mode=mode,
    )
    return result


def _end_by_lines(text: Measured, max_lines: int | None) -> int:
    # A window may have fewer line feeds than the whole text has.
    if max_lines is None or text.total_lines <= max_lines or text.line_feeds < max_lines:
        return len(text.text)
    return _before_return(text, text.line_end(max_lines))


def _start_by_lines(text: Measured, max_lines: int | None) -> int:
    # Of the window alone, which holds the end: the position is one in it.
    if max_lines is None or text.lines <= max_lines:
        return 0
    return text.line_start(max_lines)


def _end_by_bytes(text: Measured, max_bytes: int) -> int:
    end = text.byte_end(max_bytes)
    if not _splits_at_end(text, end):
        return _before_return(text, end)
    newline = text.text.rfind("\n", 0, end)
    return end if newline < 0 else _before_return(text, newline)


def _before_return(text: Measured, newline: int) -> int:
    """Return where a line ends: at its line feed, or at the carriage return before that."""
    returns = newline > 0 and text.text[newline - 1 : newline + 1] == "\r\n"
    return newline - 1 if returns else newline


def _start_by_bytes(text: Measured, max_bytes: int) -> int:
    start = text.byte_start(max_bytes)
    if text.text[start - 1] == "\n":
        return start
    newline = text.text.find("\n", start)
    # A final line feed begins no line, so the content cannot start after it.
    return start if newline < 0 or newline + 1 == len(text.text) else newline + 1


def _splits_at_end(text: Measured, end: int) -> bool:
    return text.text[end] != "\n" and text.text[end : end + 2] != "\r\n"


def _splits_at_start(text: Measured, start: int) -> bool:
    return text.text[start - 1] != "\n"


def _lines_until(text: Measured, end: int) -> int:
    nothing = end == 0 and _splits_at_end(text, end)
    return 0 if nothing else text.newlines_before(end) + 1


def _lines_from(text: Measured, start: int) -> int:
    nothing = start == len(text.text)
    return 0 if nothing else text.lines - text.newlines_before(start)


def _halve(limit: int | None) -> tuple[int | None, int | None]:
    return (None, None) if limit is None else (limit // 2, limit - limit // 2)


def _marker(lines: int, size: int) -> str:
    what = f"{size} bytes"  # never one: the marker itself is longer than what it stands for
    if lines:
        what = f"{lines} lines, {what}" if lines != 1 else f"1 line, {what}"
    return f"\n[... {what} left out ...]\n"
