r"""Lines of a text, found without splitting it, and shortened so that a reader sees the cut.

A line ends at `\n` and nowhere else. Only a bounded part of either end of a text is looked at, so
that an output of 100 MB costs what one of 10 KB does.
"""

import re
from collections.abc import Callable, Iterator

__all__ = [
    "around",
    "brief",
    "clip",
    "head_lines",
    "is_clipped",
    "line_where",
    "lowered",
    "one_line",
    "shorten",
    "tail_lines",
    "uncut",
    "verbatim",
]

_WINDOW = 4096
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TAG_OR_RULE = re.compile(r"(?:</?[\w:-]{1,40}>|[\W_])*")
_PLACE = r'[^\n]{1,200}?\(ref="text-[0-9a-f]{12}"\)'
_CUT = re.compile(rf" \[\.\.\. ([0-9]{{1,12}}) characters left out(?:: ({_PLACE}))? \.\.\.\] ")
_LIKE_ASCII = {"\u0130": "i", "\u0131": "i", "\u017f": "s"}
"""Letters that `re` takes for these where case does not matter; the first is two in lower case."""
_WORD_SEARCH = 24
_OUTWARD = 10
"""How far a cut moves outwards to the next blank, in characters."""


def one_line(text: str) -> str:
    r"""Join the lines of a text, without colour codes and what a progress bar painted over.

    >>> one_line("  10 %\r 100 %\n\x1b[32mdone\x1b[0m ")
    '100 % done'
    """
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.strip().rpartition("\r")[2] for line in text.split("\n"))
    return " ".join(text.split())


def lowered(text: str) -> str:
    """Give a text in lower case, each letter where it was, as patterns that ignore case see it.

    >>> lowered("F\u0130LE FA\u0131LED")
    'file failed'
    """
    if not text.isascii():
        for letter, plain in _LIKE_ASCII.items():
            text = text.replace(letter, plain)
    return text.lower()


def head_lines(text: str) -> Iterator[str]:
    r"""Give the lines at the start that say something, tidied.

    >>> list(head_lines("<output>\n\n==========\nRan 3 tests\n</output>"))
    ['Ran 3 tests']
    """
    rest = text[:_WINDOW]
    while rest:
        line, _, rest = rest.partition("\n")
        if telling := _telling(line):
            yield telling


def tail_lines(text: str) -> Iterator[str]:
    r"""Give the lines at the end that say something, tidied, the last one first.

    >>> next(tail_lines("collected 3 items\n3 passed in 0.1s\n\n"))
    '3 passed in 0.1s'
    """
    rest = text[-_WINDOW:]
    while rest:
        rest, _, line = rest.rpartition("\n")
        if telling := _telling(line):
            yield telling


def line_where(find: Callable[[str], int], text: str) -> str:
    r"""Give the first line, near either end of a text, in which something is found, tidied.

    `find` gives its position, or -1.

    >>> line_where(lambda text: text.find("error"), "> check\na.ts(2): error TS1\ngave up")
    'a.ts(2): error TS1'
    """
    for window in (text[:_WINDOW], text[-_WINDOW:]):
        if (at := find(window)) >= 0:
            start = window.rfind("\n", 0, at) + 1
            return one_line(window[start:].partition("\n")[0])
    return ""


def shorten(line: str, limit: int) -> str:
    """Keep both ends of a line that is longer than the limit, in characters.

    >>> shorten("/home/ann/projects/compiler/src/parser.py", 24)
    '/home/ann/pro ... ser.py'
    """
    if len(line) <= limit:
        return line
    tail = (limit - 5) // 3
    return f"{line[: limit - 5 - tail].rstrip()} ... {line[len(line) - tail :].lstrip()}"


def verbatim(line: str) -> str:
    r"""Give a line as it stands, unless what a terminal makes of it is something else.

    >>> verbatim("    return   x  ")
    'return   x'
    >>> verbatim("\x1b[32mdone\x1b[0m")
    'done'
    """
    return one_line(line) if "\x1b" in line or "\r" in line else line.strip()


def around(line: str, word: str, limit: int) -> str:
    """Keep what stands around a word of a line that is longer than the limit, in characters.

    A limit of 48 or more leaves 40 characters of the line as they are, or more.

    >>> around("Of all the flights to Oslo only HAT084 on Friday has seats left", "HAT084", 48)
    '... flights to Oslo only HAT084 on Friday has seats ...'
    """
    if len(line) <= limit:
        return line
    room = max(limit - len("... ") - len(" ..."), len(word))
    start = max(0, min(line.find(word) - (room - len(word)) // 2, len(line) - room))
    end = start + room
    if start:
        start = line.rfind(" ", start - _OUTWARD, start) + 1 or start
    if end < len(line):
        space = line.find(" ", end, end + _OUTWARD)
        end = space if space >= 0 else end
    head, tail = "... " if start else "", " ..." if end < len(line) else ""
    return f"{head}{line[start:end].strip()}{tail}"


def brief(line: str, limit: int) -> str:
    """Keep both ends of a sentence that is longer than the limit, in whole words.

    >>> brief("The parser drops tabs ... wherever a line begins with more than one of them", 45)
    'The parser drops tabs ... one of them'
    """
    if len(line) <= limit:
        return line
    tail = (limit - len(" ... ")) // 3
    head = _back_to_word(line[: limit - len(" ... ") - tail]).removesuffix(" ...").rstrip()
    return f"{head} ... {_on_to_word(line[len(line) - tail :]).removeprefix('... ')}"


def clip(text: str, limit: int, place: str | None = None) -> str:
    """Cut the middle out of a text, and say there how much is missing in all.

    Two thirds of the limit, in characters, go to the start. The marker comes on top. It says, too,
    where the whole can be read: at `place`, or with none given where an earlier cut said.

    >>> clip("Please rename the parser and do not touch the tests", 24)
    'Please rename [... 33 characters left out ...] tests'
    >>> clip(_, 15)
    'Please [... 40 characters left out ...] tests'
    >>> clip("Please rename the parser and not the tests", 18, 'recall(ref="text-0123456789ab")')
    'Please [... 31 characters left out: recall(ref="text-0123456789ab") ...] tests'
    """
    head, missing, earlier, tail = _reopen(text)
    if len(head) + len(tail) <= limit:
        return text
    tail_size = min(limit // 3, len(tail))
    kept_head = _back_to_word(head[: limit - tail_size])
    kept_tail = _on_to_word(tail[len(tail) - tail_size :])
    missing += len(head) + len(tail) - len(kept_head) - len(kept_tail)
    told = earlier if place is None else place
    where = f": {told}" if told else ""
    return f"{kept_head} [... {missing} characters left out{where} ...] {kept_tail}"


def is_clipped(text: str) -> bool:
    """Tell whether something was cut out of a text.

    >>> is_clipped("Please [... 40 characters left out ...] tests")
    True
    """
    return _CUT.search(text) is not None


def uncut(text: str) -> str:
    r"""Give a text without what a cut in it says, which is no part of the text.

    >>> uncut("Please [... 30 characters left out ...] tests")
    'Please\ntests'
    """
    return _CUT.sub("\n", text, count=1)


def _telling(line: str) -> str:
    """Give a line, tidied; nothing if it says nothing."""
    tidied = one_line(line)
    return tidied if tidied[:1].isalnum() or not _TAG_OR_RULE.fullmatch(tidied) else ""


def _reopen(text: str) -> tuple[str, int, str, str]:
    """Split a text into its start, what an earlier cut left out, where that is, and its end."""
    cut = _CUT.search(text)
    if cut is None:
        middle = len(text) - len(text) // 3
        return text[:middle], 0, "", text[middle:]
    return text[: cut.start()], int(cut[1]), cut[2] or "", text[cut.end() :]


def _back_to_word(start: str) -> str:
    cut = max(start.rfind(" "), start.rfind("\n"))
    return start[:cut] if len(start) - cut <= _WORD_SEARCH else start


def _on_to_word(end: str) -> str:
    spaces = [found for found in (end.find(" "), end.find("\n")) if found >= 0]
    return end[min(spaces) + 1 :] if spaces and min(spaces) <= _WORD_SEARCH else end
