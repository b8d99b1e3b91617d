"""Why a model stopped, and how an adapter maps its provider's words to it."""

import enum
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import attrs

from agentic.errors import ConfigError, ProviderError

__all__ = ["StopReason", "StopWords", "UnknownStopWord", "unknown_words_raise"]

_log = logging.getLogger(__name__)
_strict: ContextVar[bool] = ContextVar("unknown_words_raise", default=False)


class StopReason(enum.StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    """The model was done."""
    TOOL = "tool"
    """The model waits for the tools it called."""
    MAX_TOKENS = "max_tokens"
    """The reply was cut off at the limit of the output or of the window."""
    CONTENT_FILTER = "content_filter"
    """The provider withheld the reply, or the model refused."""
    ABORT = "abort"
    """The caller ended it."""
    ERROR = "error"
    """The provider failed in the middle of the reply."""
    OTHER = "other"
    """A word that the adapter does not know; it is kept beside this one."""


@attrs.define
class UnknownStopWord(ProviderError):
    """A provider's word that the adapter's table lacks. Raised in tests only."""

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
    """One provider's table of stop words.

    >>> words = StopWords("acme", {"done": StopReason.STOP, "too_long": StopReason.MAX_TOKENS})
    >>> words.reason("done")
    <StopReason.STOP: 'stop'>
    >>> words.reason("done", has_tool_calls=True)
    <StopReason.TOOL: 'tool'>
    """

    provider: str
    """The name that a warning or an error shows."""
    reasons: Mapping[str, StopReason] = attrs.field()
    """The provider's word, exactly as it is spelled, to ours."""

    @reasons.validator
    def _check_reasons(self, _: object, given: object) -> None:
        known = given.values() if isinstance(given, Mapping) else [None]
        if not all(isinstance(reason, StopReason) for reason in known):
            raise ConfigError(
                "StopWords.reasons", given, "a dict of words to StopReason", "name the StopReason"
            )

    def reason(self, word: str | None, *, has_tool_calls: bool = False) -> StopReason:
        """Translate a word; no word at all is a plain stop.

        A reply with tool calls waits for them even where the server says it just stopped. One that
        was cut off, withheld or broken stays so: its last call may be half a call. `OTHER` stays
        too, so that the word is looked up; the loop runs its calls.

        Raises:
            UnknownStopWord: the table lacks the word, inside `unknown_words_raise()`. Outside, the
                answer is `OTHER` and the word is logged.
        """
        reason = StopReason.STOP if word is None else self.reasons.get(word)
        if reason is None:
            reason = self._unknown(str(word))
        return StopReason.TOOL if has_tool_calls and reason is StopReason.STOP else reason

    def _unknown(self, word: str) -> StopReason:
        if _strict.get():
            raise UnknownStopWord(self.provider, word, tuple(sorted(self.reasons)))
        # An agent in production goes on: a new word of a provider is no reason to lose a reply.
        _log.warning("%s stopped with the unknown word %r: treated as OTHER", self.provider, word)
        return StopReason.OTHER
