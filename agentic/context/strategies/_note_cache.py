"""The note that replaces the messages that were left out of a view."""

import inspect
import logging
import weakref
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import attrs

from agentic._validate import is_whole, must_have
from agentic.context.strategies._strategy import SyncSummarizer
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message, SummaryText
from agentic.tokens import Counter

__all__ = ["DigestNote", "NoteCache", "check_writer"]

_log = logging.getLogger(__name__)
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A fixed time, so that views of the same history are equal no matter when they are made."""
_MOST_KNOWN = 1_024


def check_writer(writer: SyncSummarizer, room: int) -> None:
    """Raise if a writer cannot write, or may take more than half of the room, in tokens.

    Raises:
        ConfigError: `write` is missing or async, or `max_tokens` is invalid or too large.
    """
    must_have("digest", writer, "write", "write(messages, counter=...)", "pass a Digest")
    # A strategy is sync, so it cannot await an answer.
    if inspect.iscoroutinefunction(writer.write):
        raise ConfigError("digest", writer, "a plain function write(messages)", "pass a Digest")
    most = getattr(writer, "max_tokens", None)
    is_whole(1, most, "digest.max_tokens", "say how long the text may be, in tokens")
    if writer.max_tokens > room // 2:
        raise ConfigError(
            "digest.max_tokens",
            most,
            f"up to {room // 2}, half of what a cut leaves",
            "pass a smaller digest, or raise low_watermark",
        )


@attrs.frozen(eq=False)
class DigestNote:
    """A message that replaces others."""

    message: Message
    tokens: int
    """The size of the message; 0 if there is nothing to show."""


@attrs.frozen(eq=False)
class NoteCache:
    """Writes notes and caches them.

    A view may have to be rebuilt, because an earlier strategy changed old messages, or because the
    conversation was evicted from a cache. Then only notes that are not cached are written.
    """

    writer: SyncSummarizer
    counter: Counter
    count: Callable[[Message], int]
    _known: dict[tuple[int, ...], "_Written"] = attrs.field(factory=dict, init=False)

    @property
    def room(self) -> int:
        """The largest size of a note, including a heading with a six-digit number."""
        return self.writer.max_tokens + self.count(_message(SummaryText(""), 999_999))

    def write(self, former: DigestNote | None, gone: Sequence[Message]) -> DigestNote | None:
        """Return a note about `gone` that includes the former one; None if the writer failed."""
        before = [former.message] if former else []
        messages = [*before, *gone]
        key = tuple(map(id, messages))
        # Popped and put back, so that the first entry is the one that was used least recently.
        known = self._known.pop(key, None)
        if known is None or not known.is_of(messages):
            text = self._ask(messages if not former or former.tokens else messages[1:])
            if text is None:
                return None
            # Weak references: a cached note must keep no conversation alive.
            known = _Written(self._note(text, former, messages), [*map(weakref.ref, messages)])
        self._known[key] = known
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return known.note

    def _ask(self, messages: list[Message]) -> str | None:
        try:
            text = self.writer.write(messages, counter=self.counter)
            if not isinstance(text, str):
                raise TypeError(f"it returned {text!r:.80}, which is not text")  # noqa: TRY301  logged below
        except Exception:  # noqa: BLE001  whatever it is, the view goes on without the note
            _log.warning(
                "%r wrote no note about %d messages that leave the view; they are passed to it "
                "again at the next cut",
                type(self.writer).__name__,
                len(messages),
                exc_info=True,
            )
            return None
        return text

    def _note(
        self, text: str, former: DigestNote | None, messages: Sequence[Message]
    ) -> DigestNote:
        number = sum(each.summary.messages_summarized if each.summary else 1 for each in messages)
        said = SummaryText(text)
        # A blank text would lose the former note, for this view and for all later notes.
        if not text.strip() and former and former.message.summary:
            said = SummaryText(former.message.summary.content, former.message.summary.notes)
        message = _message(said, number)
        return DigestNote(message, self.count(message) if said.strip() else 0)


@attrs.frozen(eq=False)
class _Written:
    note: DigestNote
    messages: list["weakref.ref[Message]"]

    def is_of(self, messages: Sequence[Message]) -> bool:
        """Return whether the note is about these messages: an id may have been reused."""
        return all(ref() is message for ref, message in zip(self.messages, messages, strict=True))


def _message(text: SummaryText, number: int) -> Message:
    return ContextSummary(text, number, created_at=_NO_TIME, notes=text.notes).to_message()
