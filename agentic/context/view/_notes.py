"""What is shown in the place of a summary, or behind it: what its notes hold."""

from collections.abc import Sequence

import attrs

from agentic.context.view._reasoning import ReasoningFilter
from agentic.messages import ContextSummary, Message
from agentic.messages._landmarks import find_summary, prefix_length
from agentic.messages._provider_compaction import NativeCompaction, compaction_key
from agentic.messages._restoration import Restoration


@attrs.define(eq=False)
class SummaryNotes:
    """Shows the notes of the latest summary, each of which is decoded only once."""

    reasoning: ReasoningFilter
    provider: str = attrs.field(default="", init=False)
    """The adapter that sends the requests; empty if it is not known."""
    _native: tuple[ContextSummary | None, Message | None] = attrs.field(
        default=(None, None), init=False
    )
    """The latest summary with notes, and what a provider made of the same messages."""
    _shown_again: tuple[ContextSummary | None, tuple[Message, ...]] = attrs.field(
        default=(None, ()), init=False
    )
    """The latest summary, and what is shown behind it."""
    _made_by: tuple[str, str] = attrs.field(default=("", ""), init=False)
    """The adapter and the model that made it."""
    _sent_native: Message | None = attrs.field(default=None, init=False)
    """The provider's compaction in the last request."""
    _unreadable: set[str] = attrs.field(factory=set, init=False)
    """The providers' compactions that were refused."""

    def note_sent(self, view: list[Message]) -> None:
        """Record a request."""
        native = self._native[1]
        is_sent = native is not None and any(each is native for each in view)
        self._sent_native = native if is_sent else None

    def is_other(self, history: list[Message]) -> bool:
        """Return whether a history shows a different native compaction than the last request."""
        return self.native_of(history) is not self._sent_native

    def refuse_native(self, sent: Sequence[Message]) -> bool:
        """Send the readable summary from now on, if a provider's compaction was just sent.

        Return whether that is so.
        """
        native = next((each for each in sent if each is self._native[1]), None)
        if native is None:
            return False
        self._unreadable.add(compaction_key(native))
        self._native = None, None
        return True

    def native_of(self, history: list[Message]) -> Message | None:
        """Return what a provider made in the place of the summary, if the model can read it."""
        summary = find_summary(history)
        if summary is None or not summary.notes:
            return None
        if self._native[0] is not summary:
            compaction = NativeCompaction.of_summary(summary)
            self._native = summary, None if compaction is None else compaction.reply
            self._made_by = (
                ("", "") if compaction is None else (compaction.provider, compaction.model)
            )
        native = self._native[1]
        if native is None or self._made_by != (self.provider, self.reasoning.model):
            return None
        return None if compaction_key(native) in self._unreadable else native

    def show(self, view: list[Message]) -> list[Message]:
        """Return the view with what the notes of its summary hold: see `messages`."""
        at = prefix_length(view) - 1
        summary = view[at].summary if at >= 0 else None
        if summary is None or not summary.notes:
            return view
        native = self.native_of(view)
        # Nothing between a provider's compaction and what is kept: reasoning there stays valid.
        if native is not None:
            return [*view[:at], native, *view[at + 1 :]]
        if self._shown_again[0] is not summary:
            self._shown_again = summary, Restoration.of_summary(summary).messages
        restoration = self._shown_again[1]
        return [*view[: at + 1], *restoration, *view[at + 1 :]] if restoration else view
