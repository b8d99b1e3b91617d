"""The size of the next request, based on the usage in replies wherever it is known."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic.context.view._lineage import digest_of, same_to_provider
from agentic.messages import Message, find_summary, prefix_length
from agentic.tokens import ContextMeter, Counter
from agentic.usage import Usage, normalize

__all__ = ["ReplyMeter"]


@attrs.define(eq=False)
class ReplyMeter:
    """A meter for one conversation that reads usage from the replies in its history.

    A reply belongs to the request made before it, provided that the history has only grown since.
    """

    counter: Counter
    _context_meter: ContextMeter = attrs.field(init=False)
    _fresh: bool = attrs.field(default=True, init=False)
    """Whether no request was made yet: then the history may hold replies of an earlier process."""
    _history: list[Message] = attrs.field(factory=list, init=False)
    """The history of the latest request, whose reply has not been seen."""
    _sent: list[Message] = attrs.field(factory=list, init=False)
    """What was sent of it; empty once the reply has been read."""
    _reported: tuple[Message, Usage] | None = attrs.field(default=None, init=False)
    """A reply that was reported but is not yet in the history."""
    _stored: Mapping[str, Any] | None = attrs.field(default=None, init=False)
    """The measurements of an earlier process, until a view shows whether they still hold."""

    def __attrs_post_init__(self) -> None:
        self._context_meter = ContextMeter(self.counter)

    def sent(self, history: list[Message], view: list[Message]) -> None:
        """Record a request."""
        # A reply that was reported counts, even if the owner never appends it.
        self._settle()
        # Copies, because the owner's list grows: the reply is what follows the history as it was.
        self._history, self._sent = history.copy(), view.copy()

    def report(self, reply: Message, usage: Usage | None) -> None:
        """Record the reply to the latest request."""
        if usage is not None:
            self._reported = reply, normalize(usage)

    def read_replies(self, history: list[Message], view: list[Message]) -> None:
        """Read the new replies of a history, before its view is measured."""
        if self._fresh:
            self._fresh = False
            self._resume(history, view)
            return
        seen = len(self._history)
        # If the history was rewritten since the request, what follows is no reply to it.
        if not self._sent or len(history) <= seen or history[:seen] != self._history:
            return
        reply = history[seen]
        if reply.role != "assistant":
            return
        # The reply that `report` was given is often converted before the owner appends it.
        if self._reported is not None and same_to_provider(self._reported[0], reply):
            self._reported = reply, self._reported[1]
        elif self._reported is None and reply.usage is not None:
            self._reported = reply, normalize(reply.usage)
        self._settle()

    def measure(self, view: list[Message], overhead_tokens: int) -> int:
        """Return the size of a view, in tokens."""
        return self._context_meter.measure(view, overhead_tokens=overhead_tokens)

    def estimate_within(self, tokens: int, overhead_tokens: int) -> int:
        """Return how large, by the counter, a newly cut view may be to measure `tokens`."""
        return self._context_meter.estimate_within(tokens, overhead_tokens=overhead_tokens)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form: the calibration, and a hash of the view in the last report."""
        if self._fresh and self._stored is not None:
            return dict(self._stored)  # no view has shown yet whether they hold
        self._settle()
        return self._context_meter.to_plain(digest_of)

    def read_plain(self, plain: Mapping[str, Any]) -> None:
        """Restore the measurements of an earlier process.

        Raises:
            KeyError, TypeError or ValueError: `to_plain` did not return this.
        """
        # Tried now, so that a damaged state is refused now and not in the middle of a run.
        ContextMeter(self.counter).read_plain(plain, [], digest_of)
        self._stored = plain

    def _settle(self) -> None:
        """Report the reply to the latest request to the meter, if there is one."""
        if self._reported is not None and self._sent:
            self._context_meter.report(self._sent, *self._reported)
            self._sent = []
        self._reported = None

    def _resume(self, history: list[Message], view: list[Message]) -> None:
        """Use the latest reply in a history that was begun elsewhere."""
        if self._stored is not None:
            self._context_meter.read_plain(self._stored, view, digest_of)
        at = _latest_reply(history)
        # The provider counted all of it. If strategies left something out of the start, that count
        # says nothing about this view.
        if at is None or view[: at + 1] != history[: at + 1]:
            return
        usage = history[at].usage
        if usage is not None:
            self._context_meter.report(history[:at], history[at], normalize(usage))


def _latest_reply(history: list[Message]) -> int | None:
    """Return the position of the latest reply whose usage is about a request like this one.

    A reply that a compaction kept is left out: its request was a different one.
    """
    summary = find_summary(history)
    start = prefix_length(history) + (summary.messages_kept if summary else 0)
    late = range(len(history) - 1, start - 1, -1)
    return next((i for i in late if history[i].role == "assistant" and history[i].usage), None)
