"""What every counter promises, as one check that any test runner can call."""

import reprlib
import threading
from collections.abc import Callable
from typing import Any

from agentic.tokens import Counter

__all__ = ["check_counter"]

_LINE = "def parse(text): return text.strip()\n"
_MEGABYTE = 1 << 20
_TEXTS: dict[str, str] = {
    "a word": "parser",
    "a line of code": _LINE,
    "a megabyte of spaces": " " * _MEGABYTE,
    "a megabyte of one letter": "a" * _MEGABYTE,
    "a megabyte of line feeds": "\n" * _MEGABYTE,
    "a megabyte of code": _LINE * (_MEGABYTE // len(_LINE)),
    "lone surrogates": "\ud83d a \ude00 b \udfff\udead",
    "half an emoji at the end": "done \ud83d",
    "NULs": "\x00" * 1_000,
    "control characters": "".join(map(chr, range(32))) + "\x7f\x85\u2028",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f600" * 500,
    "Chinese": "\u8bb0\u5f55\u89e3\u6790\u5668" * 500,
    "Arabic": "\u0627\u0644\u0645\u062d\u0644\u0644 " * 500,
    "base64": "iVBORw0KGgoAAAANSUhEUgAA" * 500,
    "special tokens": "<|endoftext|><|im_start|>system<|fim_prefix|>[INST]</s>" * 20,
}
"""Texts on which tokenizers have raised or taken minutes: a long run of one letter is quadratic in
byte-pair encoders, special tokens raise in tiktoken unless they are allowed."""


def check_counter(factory: Callable[[], Counter], *, timeout_seconds: float = 30.0) -> None:
    """Hold a counter to its promises.

    - Whatever the text, the count is a whole number, 0 or more, in time. It never raises.
    - An empty text is 0, and a long text is more than one line of it.
    - A text has one count, now, later, and by another counter of the same kind.

    >>> from agentic.tokens import CharCounter
    >>> check_counter(CharCounter)

    Args:
        factory: gives a counter, a new one at every call.
        timeout_seconds: the longest that counting one of the texts, a megabyte at most, may take.

    Raises:
        AssertionError: a promise is broken; the text says which, and on what text.
    """
    first, second = factory(), factory()
    if (empty := _count("no text", first, "", timeout_seconds)) != 0:
        raise _broken("no text", f"an empty text is 0 tokens, but it gave {empty}")
    counts = {name: _count(name, first, text, timeout_seconds) for name, text in _TEXTS.items()}
    if counts["a megabyte of code"] <= counts["a line of code"]:
        raise _broken("a megabyte of code", "a long text is more than one line of it")
    for name, text in reversed(_TEXTS.items()):
        for counter in (first, second):
            again = _count(name, counter, text, timeout_seconds)
            if again != counts[name]:
                raise _broken(name, f"a text has one count, but it gave {counts[name]} and {again}")


def _count(name: str, counter: Counter, text: str, timeout_seconds: float) -> int:
    answers: list[Any] = []
    # A daemon, so that a count that never ends does not keep the tests from ending.
    thread = threading.Thread(target=_ask, args=(counter, text, answers), daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    if not answers:
        raise _broken(name, f"it counts in time, but took over {timeout_seconds} s")
    answer = answers[0]
    if isinstance(answer, BaseException):
        raise _broken(name, f"it never raises, but raised {answer!r:.200}") from answer
    if not isinstance(answer, int) or isinstance(answer, bool) or answer < 0:
        given = reprlib.repr(answer)
        raise _broken(name, f"a count is a whole number, 0 or more, but it gave {given}")
    return answer


def _ask(counter: Counter, text: str, answers: list[Any]) -> None:
    try:
        answers.append(counter.count(text))
    except BaseException as problem:  # noqa: BLE001  some tokenizers panic outside Exception
        answers.append(problem)


def _broken(name: str, promise: str) -> AssertionError:
    return AssertionError(f"A promise of Counter is broken on {name}: {promise}.")
