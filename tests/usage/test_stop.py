"""Why a reply ended, and the words that adapters map to it."""

import logging
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import AgenticError, ProviderError
from agentic.usage import StopReason, StopWords, unknown_words_raise
from agentic.usage._stop import UnknownStopWord

WORDS = StopWords("acme", {reason.value: reason for reason in StopReason})


@pytest.mark.parametrize("reason", list(StopReason))
def test_table_word_is_its_reason(reason: StopReason) -> None:
    """Without tool calls a word means what the table says."""
    assert WORDS.reason(reason.value) is reason


@pytest.mark.parametrize("word", ["stop", "tool", None])
def test_a_stop_with_calls_is_tool(word: str | None) -> None:
    """Some servers say that they stopped, or nothing, where they wait for a tool."""
    assert WORDS.reason(word, has_tool_calls=True) is StopReason.TOOL


@pytest.mark.parametrize("reason", sorted(set(StopReason) - {StopReason.STOP}))
def test_other_reasons_outrank_tool_calls(reason: StopReason) -> None:
    """The calls of a reply that was cut off, withheld or broken may be incomplete."""
    assert WORDS.reason(reason.value, has_tool_calls=True) is reason


def test_no_word_is_a_plain_stop() -> None:
    """A server that gives no reason had none to stop early."""
    assert WORDS.reason(None) is StopReason.STOP


@given(word=st.text().filter(lambda word: word not in WORDS.reasons), has_tool_calls=st.booleans())
def test_unknown_word_is_other(word: str, *, has_tool_calls: bool) -> None:
    """A word that nobody mapped never stops a run, and never runs a tool."""
    assert WORDS.reason(word, has_tool_calls=has_tool_calls) is StopReason.OTHER


def test_unknown_word_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The warning names the provider and the word, so that it can be added."""
    with caplog.at_level(logging.WARNING, logger="agentic.usage"):
        WORDS.reason("bored")

    assert caplog.messages == ["acme stopped with the unknown word 'bored': treated as OTHER"]


def test_table_word_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Ordinary replies leave no trace."""
    WORDS.reason("stop")

    assert caplog.messages == []


def test_unknown_word_raises_only_inside_block() -> None:
    """An adapter's tests fail loudly; the block leaves nothing behind."""
    with unknown_words_raise(), pytest.raises(UnknownStopWord) as caught:
        WORDS.reason("bored")

    assert (caught.value.provider, caught.value.word) == ("acme", "bored")
    assert WORDS.reason("bored") is StopReason.OTHER


def test_block_ends_when_it_raises() -> None:
    """An error that leaves the block takes the strictness with it."""
    with pytest.raises(UnknownStopWord), unknown_words_raise():
        WORDS.reason("bored")

    assert WORDS.reason("bored") is StopReason.OTHER


def test_blocks_nest() -> None:
    """The inner block does not end the outer one."""
    with unknown_words_raise():
        with unknown_words_raise():
            pass
        with pytest.raises(UnknownStopWord):
            WORDS.reason("bored")


def test_unknown_word_survives_pickling() -> None:
    """A test that runs in another process reports the same error."""
    error = UnknownStopWord("acme", "bored", ("done", "full"))

    got = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes

    assert (got.provider, got.word, got.known) == ("acme", "bored", ("done", "full"))
    assert str(got) == str(error)


def test_unknown_word_says_what_to_do() -> None:
    """What came, what the table has, and what to do next; caught with every provider's error."""
    error = UnknownStopWord("acme", "bored", ("done", "full"))

    assert str(error) == (
        "acme stopped with 'bored'; its table knows done, full: look the word up in the provider's "
        "documentation and add it"
    )
    assert isinstance(error, ProviderError)
    assert isinstance(error, AgenticError)
