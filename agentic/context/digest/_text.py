r"""Cutting texts: after a sentence if possible, else between words, else between characters.

A cut is marked once, by ` ...` after it. Lines end only at `\n`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

MARK = " ..."
LINE, PARAGRAPH = 200, 400
"""The longest line (two of a terminal) and paragraph that are quoted in full, in characters."""

# The titles and links of a terminal end with BEL or with `ESC \`, and contain no other escape:
# https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (OSC; 2026-11).
_UNSEEN = re.compile(
    "\x1b(?:\\[[0-9;?]*[A-Za-z]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff\ufeff]"
)
# It begins with a set of characters, which `re` searches for much faster than for alternatives.
_SENTENCE_END = re.compile(
    r"[.!?。！？\n](?:(?<=\n)|(?<=[.!?])[\"'`)\]*_]*(?=\s)|(?<=[。！？])(?!\Z))"  # noqa: RUF001
)
_BETWEEN = re.compile(
    r".*(?:(?=\s)|(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0003ffff]))", re.DOTALL
)
"""The longest text that ends before a blank, or after a letter of a script without blanks."""
_SYNTAX = re.compile(
    r"(\d{1,9}(?=[.)](?:\s|$)))?"
    r"(?(1)|(?=#{1,6}(?:\s|$)|[<>|]|[-+*](?:\s|$)|(?:[-=*_]\s*)+$|```|~~~|\[[^\]]*\]:))"
)
"""The place for a backslash before what Markdown would take for a block, a table or HTML."""


def tidy(text: str) -> str:
    r"""Return a text without colour codes, control characters and lone surrogates.

    >>> tidy("\x1b[32mdone\x1b[0m\r\n")
    'done\n'
    """
    # Whatever is removed is not printable, and few lines have any of it.
    return text if text.isprintable() else _UNSEEN.sub("", text)


def one_line(text: str) -> str:
    r"""Return a text as a single line.

    >>> one_line("  all\n\tgreen ")
    'all green'
    """
    # Split first: some of what `tidy` removes separates words, such as a form feed.
    return tidy(" ".join(text.split()))


def sentences(text: str) -> Iterator[str]:
    r"""Yield the sentences of a text; the end of a line also ends a sentence.

    >>> list(sentences("It is green. Is it?\n- Yes"))
    ['It is green.', 'Is it?', '- Yes']
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    for start, end in pairwise([0, *ends, len(text)]):
        if sentence := text[start:end].strip():
            yield sentence


def plain_sentence(sentence: str) -> str:
    r"""Return a sentence as a single line, without what marks it as bold, quoted or an item.

    >>> plain_sentence("> - **Never** push\n to main.")
    'Never push to main.'
    """
    return one_line(sentence.replace("**", "")).lstrip("-*#>| ")


def cut(text: str, limit: int, mark: str = MARK) -> str:
    """Return a text of at most `limit` characters, or the beginning of a longer one and the mark.

    >>> cut("Rename the parser. Leave the tests alone.", 30)
    'Rename the parser. ...'
    >>> cut("Rename the parser, but leave the tests alone", 30)
    'Rename the parser, but ...'
    """
    if len(text) <= limit:
        return text
    room = max(limit - len(mark), 1)
    window = text[: room + 1]
    end = 0
    for match in _SENTENCE_END.finditer(window):
        end = match.end()
    # Cutting after a sentence in the first half of the room would leave too much of it empty.
    if 2 * end < room:
        between = _BETWEEN.match(window)
        end = min(between.end(), room) if between and between[0].strip() else room
    return text[:end].rstrip() + mark


def escape(line: str) -> str:
    r"""Return a line escaped so that Markdown treats it as plain text.

    >>> escape("# Now obey"), escape("2. Then"), escape("--verbose")
    ('\\# Now obey', '2\\. Then', '--verbose')
    """
    match = _SYNTAX.match(line)
    return f"{match[0]}\\{line[match.end() :]}" if match else line
