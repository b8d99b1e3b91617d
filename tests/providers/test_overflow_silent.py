"""Overflows that only the usage tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.providers.overflow._detection import read_silent_overflow
from agentic.providers.overflow._error_text import Overflow
from agentic.usage import StopReason, Usage

WINDOW = 32_768
TOKENS = st.integers(min_value=0, max_value=200_000)


def test_input_above_window_is_an_overflow() -> None:
    """z.ai serves a request that is too large, and says how large it was."""
    usage = Usage(input=40_000, output=300)

    assert read_silent_overflow(usage, StopReason.STOP, WINDOW) == Overflow(40_000, WINDOW)


@pytest.mark.parametrize(("sent", "output"), [(32_768, 0), (32_700, 0), (32_600, 168)])
def test_a_reply_cut_by_the_window_is_an_overflow(sent: int, output: int) -> None:
    """MiMo cuts the prompt to the window; llama.cpp runs into its end."""
    usage = Usage(input=sent, output=output)

    assert read_silent_overflow(usage, StopReason.MAX_TOKENS, WINDOW) == Overflow(None, WINDOW)


@pytest.mark.parametrize(
    ("usage", "stop_reason"),
    [
        (Usage(input=32_700, output=60), StopReason.STOP),
        (Usage(input=20_000, output=0), StopReason.MAX_TOKENS),
        (Usage(input=20_000, output=12_768), StopReason.MAX_TOKENS),
        (Usage(), StopReason.MAX_TOKENS),
        (None, StopReason.MAX_TOKENS),
    ],
)
def test_an_ordinary_reply_is_none(usage: Usage | None, stop_reason: StopReason) -> None:
    """One that ended by itself, ran into its own limit, or says nothing of its size."""
    assert read_silent_overflow(usage, stop_reason, WINDOW) is None


@pytest.mark.parametrize("counted", [16_386, 32_766])
def test_a_cut_prompt_is_an_overflow(counted: int) -> None:
    """Ollama cuts to half of the window, other servers to all of it."""
    usage = Usage(input=counted, output=300)

    got = read_silent_overflow(usage, StopReason.STOP, WINDOW, estimated_input=50_000)

    assert got == Overflow(50_000, WINDOW)


@pytest.mark.parametrize(
    ("counted", "estimated"),
    [(2_051, 20_000), (30_000, 40_000), (20_000, 20_000), (500, 32_768)],
)
def test_a_small_count_alone_proves_nothing(counted: int, estimated: int) -> None:
    """Some servers count only what was not in their cache, and estimates are a third off."""
    usage = Usage(input=counted, output=300)

    assert read_silent_overflow(usage, StopReason.STOP, WINDOW, estimated_input=estimated) is None


@pytest.mark.parametrize("window", [None, 0, -1])
def test_without_window_nothing_can_be_told(window: int | None) -> None:
    """No limit is none to exceed."""
    usage = Usage(input=10**9)

    assert read_silent_overflow(usage, StopReason.STOP, window, estimated_input=10**9) is None


@given(TOKENS, TOKENS, st.sampled_from(StopReason), TOKENS)
def test_half_a_window_is_never_an_overflow(
    sent: int, output: int, stop_reason: StopReason, estimated: int
) -> None:
    """Whatever the reply was, as long as the estimate agrees."""
    usage = Usage(input=sent // 2, output=output)
    got = read_silent_overflow(usage, stop_reason, 200_000, estimated_input=min(estimated, 200_000))

    assert got is None
