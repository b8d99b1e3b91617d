import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.tokens import CharCounter, HeuristicTokenCounter, approx_token_counter

TEXT = st.text(st.characters())


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("1", 1), ("1234", 1), ("12345", 2), ("12345678", 2)]
)
def test_token_is_four_characters_rounded_up(text: str, tokens: int) -> None:
    """Nothing is no token; a token that is begun counts."""
    assert CharCounter().count(text) == tokens
    assert approx_token_counter.count(text) == tokens


@pytest.mark.parametrize(
    ("chars_per_token", "length", "tokens"),
    [(3.3, 33, 10), (0.3, 3, 10), (2.5, 5, 2), (2.5, 6, 3), (1, 7, 7), (0.25, 3, 12)],
)
def test_evenly_divided_length_is_not_rounded(
    chars_per_token: float, length: int, tokens: int
) -> None:
    """Binary fractions make no token more of it: 33 characters at 3.3 are ten."""
    assert CharCounter(chars_per_token).count("x" * length) == tokens


def test_characters_are_counted_not_bytes() -> None:
    """An emoji and a lone surrogate are one character each."""
    assert CharCounter(1).count("a\u65e5\U0001f600\ud83d") == 4


class _Long(str):
    """A text with a length that no memory holds."""

    __slots__ = ("length",)

    def __len__(self) -> int:
        return self.length


@pytest.mark.parametrize("length", [2**31 + 1, 2**40 + 3, 2**52 + 1])
def test_huge_texts_count_is_exact(length: int) -> None:
    """No digit is lost on the way through a float."""
    text = _Long("x")
    text.length = length

    assert CharCounter().count(text) == -(-length // 4)


@given(first=TEXT, second=TEXT, chars_per_token=st.floats(0.01, 1e300))
def test_counts_grow_and_never_raise(first: str, second: str, chars_per_token: float) -> None:
    """A text is at least one token, and two are no more together than apart."""
    counter = CharCounter(chars_per_token)

    counts = [counter.count(text) for text in (first, second, first + second)]

    assert [count > 0 for count in counts] == [
        bool(text) for text in (first, second, first + second)
    ]
    assert max(counts[:2]) <= counts[2] <= counts[0] + counts[1]


@pytest.mark.parametrize(
    "number", [0, -1, -0.5, float("nan"), float("inf"), True, "4", None, 1e-320]
)
def test_impossible_token_size_is_refused(number: Any) -> None:
    """The error says what was given, what is allowed and what to do."""
    with pytest.raises(ConfigError) as caught:
        CharCounter(number)

    said = f"chars_per_token must be a number >= 0.01, got {number!r}"
    assert str(caught.value) == f"{said}; leave it at 4.0"


def test_counter_has_its_sources_names() -> None:
    """Row E4: the class, its keyword and its default, and a ready-made one that can be called."""
    assert HeuristicTokenCounter(chars_per_token=2.0).count("1234") == 2
    assert HeuristicTokenCounter().chars_per_token == 4.0
    assert approx_token_counter("12345") == 2


def test_counter_can_change_its_process() -> None:
    """It is a value."""
    assert pickle.loads(pickle.dumps(CharCounter(3.5))) == CharCounter(3.5)  # noqa: S301  our own
