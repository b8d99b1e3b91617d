import itertools
import time

import pytest

from agentic import testing
from agentic.tokens import CharCounter, Counter


class _Words:
    """A good counter: as many tokens as words, at least one."""

    def count(self, text: str, /) -> int:
        return len(text.split()) or int(bool(text))


@pytest.mark.parametrize("good", [CharCounter, _Words])
def test_a_good_counter_passes(good: type[Counter]) -> None:
    """The suite is silent on a counter that keeps its promises."""
    testing.check_counter(good)


class _Floating:
    def count(self, text: str, /) -> int:
        return len(text) / 4  # type: ignore[return-value]


class _Truthy:
    def count(self, text: str, /) -> int:
        return bool(text)


class _Overhead:
    def count(self, text: str, /) -> int:
        return 3 + len(text)


class _Negative:
    def count(self, text: str, /) -> int:
        return -len(text)


class _Strict:
    def count(self, text: str, /) -> int:
        return len(text.encode())


class _Constant:
    def count(self, text: str, /) -> int:
        return int(bool(text))


class _Panicking:
    def count(self, text: str, /) -> int:
        if "<|endoftext|>" in text:
            raise KeyboardInterrupt
        return len(text)


class _Drifting:
    def __init__(self) -> None:
        self.drift = itertools.count()

    def count(self, text: str, /) -> int:
        return len(text) + next(self.drift) if text else 0


class _Numbered:
    instances = itertools.count()

    def __init__(self) -> None:
        self.number = next(self.instances)

    def count(self, text: str, /) -> int:
        return len(text) + self.number if text else 0


class _Slow:
    def count(self, text: str, /) -> int:
        time.sleep(0 if len(text) < 1_000 else 2)
        return len(text)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_Floating, "a whole number, 0 or more, but it gave 0.0"),
        (_Truthy, "a whole number, 0 or more, but it gave False"),
        (_Overhead, "an empty text is 0 tokens, but it gave 3"),
        (_Negative, "0 or more, but it gave -6"),
        (_Strict, "lone surrogates: it never raises, but raised UnicodeEncodeError"),
        (_Constant, "a long text is more than one line"),
        (_Panicking, "special tokens: it never raises, but raised KeyboardInterrupt"),
        (_Drifting, "a text has one count"),
        (_Numbered, "a text has one count"),
    ],
)
def test_a_broken_counter_names_its_promise(broken: type[Counter], promise: str) -> None:
    """The suite fails on every way of being broken, in words that name promise and text."""
    with pytest.raises(AssertionError, match=promise):
        testing.check_counter(broken)


def test_a_slow_counter_is_not_awaited() -> None:
    """The suite ends, and names the text that took so long."""
    with pytest.raises(AssertionError, match=r"spaces: it counts in time, but took over 0.5 s"):
        testing.check_counter(_Slow, timeout_seconds=0.5)
