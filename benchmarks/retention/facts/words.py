"""Quotations: whether some words of a text stand in another one."""

import re

__all__ = ["is_sentence", "quotes"]

FIVE_WORDS = 5
TEN_CHARACTERS = 10
"""Of a text in a script that puts no spaces between its words."""
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f]")


def quotes(view: str, text: str) -> bool:
    """Return whether five words in a row of a text stand in a view, or all of a shorter text.

    Case, punctuation and line breaks do not count. Of a text that is mostly Chinese, Japanese,
    Korean, Thai, Lao or Burmese it is ten characters in a row.

    >>> quotes("- please rename the old parser, (cut)", "Please rename the old parser to lexer.")
    True
    >>> quotes("please rename the parser", "Please rename the old parser to lexer.")
    False
    """
    words = _words(text)
    if _is_unspaced(words):
        return _stands("".join(_words(view)), "".join(words), TEN_CHARACTERS)
    spaced = f" {' '.join(_words(view))} "
    starts = range(max(1, len(words) - FIVE_WORDS + 1))
    return any(f" {' '.join(words[at : at + FIVE_WORDS])} " in spaced for at in starts)


def is_sentence(text: str) -> bool:
    """Return whether a text has three words or more, or six characters where none are spaced."""
    words = _words(text)
    return len("".join(words)) >= 6 if _is_unspaced(words) else len(words) >= 3


def _is_unspaced(words: list[str]) -> bool:
    text = "".join(words)
    return len(_UNSPACED.findall(text)) * 2 > len(text)


def _stands(view: str, text: str, size: int) -> bool:
    return any(text[at : at + size] in view for at in range(max(1, len(text) - size + 1)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
