"""Why a model stopped, and how an adapter maps its provider's words for it."""

import enum
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import attrs

from agentic._base._lazy import logging
from agentic.errors import ConfigError, ProviderError

_strict: ContextVar[bool] = ContextVar("unknown_words_raise", default=False)


class StopReason(enum.StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    """The model finished."""
    TOOL = "tool"
    """The model is waiting for the results of its tool calls."""
    MAX_TOKENS = "max_tokens"
    """The reply was cut off at the output limit or at the end of the window."""
    CONTENT_FILTER = "content_filter"
    """The provider withheld the reply, or the model refused."""
    ABORT = "abort"
    """The caller aborted it."""
    ERROR = "error"
    """The provider failed in the middle of the reply."""
    OTHER = "other"
    """A word that the adapter does not know; it is kept in addition to this reason."""


@attrs.define
class UnknownStopWord(ProviderError):
    """A provider's word that is missing from the adapter's table. Raised only in tests."""

    provider: str
    word: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.provider} stopped with {self.word!r}; its table knows {', '.join(self.known)}: "
            "look the word up in the provider's documentation and add it"
        )


@contextmanager
def unknown_words_raise() -> Iterator[None]:
    """Make every unknown word an `UnknownStopWord` inside the block: for an adapter's tests."""
    # A context variable, so that one test does not make the words of another raise.
    token = _strict.set(True)
    try:
        yield
    finally:
        _strict.reset(token)


@attrs.frozen
class StopWords:
    """A provider's table of stop words.

    >>> words = StopWords("acme", {"done": StopReason.STOP, "too_long": StopReason.MAX_TOKENS})
    >>> words.reason("done")
    <StopReason.STOP: 'stop'>
    >>> words.reason("done", has_tool_calls=True)
    <StopReason.TOOL: 'tool'>
    """

    provider: str
    """The name that is shown in warnings and errors."""
    reasons: Mapping[str, StopReason] = attrs.field()
    """Maps the provider's words, exactly as spelled, to ours."""

    @reasons.validator
    def _check_reasons(self, _: object, given: object) -> None:
        values = given.values() if isinstance(given, Mapping) else [None]
        if not all(isinstance(reason, StopReason) for reason in values):
            raise ConfigError(
                "StopWords.reasons", given, "a dict of words to StopReason", "name the StopReason"
            )

    def reason(self, word: str | None, *, has_tool_calls: bool = False) -> StopReason:
        """Return the reason for a word; no word means a normal stop.

        A reply with tool calls waits for them, even if the server says that it simply stopped.

        Raises:
            UnknownStopWord: the table lacks the word, inside `unknown_words_raise()`. Otherwise the
                result is `OTHER` and the word is logged.
        """
        reason = StopReason.STOP if word is None else self.reasons.get(word)
        if reason is None:
            reason = self._unknown(str(word))
        # One that was cut off, withheld or aborted remains so: its last call may be incomplete.
        # `OTHER` remains too, so that the word gets looked up; the loop runs its calls.
        return StopReason.TOOL if has_tool_calls and reason is StopReason.STOP else reason

    def _unknown(self, word: str) -> StopReason:
        if _strict.get():
            raise UnknownStopWord(self.provider, word, tuple(sorted(self.reasons)))
        # An agent in production goes on: a new word of a provider is no reason to lose a reply.
        log = logging.getLogger(__name__)
        log.warning("%s stopped with the unknown word %r: treated as OTHER", self.provider, word)
        return StopReason.OTHER
