"""Counting a text of any size and any content by a tokenizer that was not made for it.

Tokenizers take minutes for, or give up on, a megabyte without a break (tiktoken panics at 1,000,000
spaces: https://github.com/openai/tiktoken/issues/245), and some refuse lone surrogates. So a text
over 65,536 characters is counted in parts of at most that, cut after a line or before a word, where
a tokenizer cuts too: a count is off by a token a part at most, and by a few where a run without any
break had to be cut.
"""

from collections.abc import Callable, Iterator

from agentic.tokens._estimate import EstimateCounter

__all__ = ["count_in_slices"]

_LONGEST = 1 << 16


def count_in_slices(count: Callable[[str], int], text: str) -> int:
    """Count a text by `count`, which is never given more than it can take.

    >>> count_in_slices(len, "x" * 100_000)
    100000
    """
    if len(text) <= _LONGEST:
        return _count(count, text)
    return sum(_count(count, part) for part in _split(text))


def _split(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        end = _cut(text, begin)
        yield text[begin:end]
        begin = end


def _cut(text: str, begin: int) -> int:
    end = begin + _LONGEST
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", begin, end)
    if line > begin and not text[line + 1].isspace():
        return line + 1
    blank = text.rfind(" ", begin + 1, end)
    return blank if blank > begin else end


def _count(count: Callable[[str], int], text: str) -> int:
    try:
        return count(_encodable(text))
    except BaseException as problem:
        # What Rust panics with is no Exception: https://pyo3.rs/main/doc/pyo3/panic/struct.panicexception
        if type(problem).__name__ != "PanicException":
            raise
        return EstimateCounter().count(text)


def _encodable(text: str) -> str:
    """Join surrogates that are a pair, and put U+FFFD in the place of those that are not."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
