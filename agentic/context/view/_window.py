"""How a view is cut to the window: the summary's share, and the recent messages that fit.

These are tried in order: the whole view; the view without its oldest rounds; the recent messages
with shorter tool outputs; whatever fits. A cut is kept from turn to turn as long as it is good
enough, so that the provider's prompt cache stays valid.
"""

import operator

import attrs

from agentic import truncate
from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.view._records import Note
from agentic.messages import Message, prefix_length, split_rounds
from agentic.tokens import Counter, TokenCache

__all__ = ["WindowFitter"]

_OUTPUT_CHARS = tuple(1 << power for power in range(15, 7, -1))
"""The limits tried, in characters, for the outputs of recent messages that do not fit. They are
powers of two, so that the choice seldom changes and the provider's prompt cache stays valid."""
_STILL_GOOD = 0.8
"""A cut is kept while its size is at least this share of the allowed size."""
_FOR_SURE = 0.75 * _STILL_GOOD
"""A view that is too large may be cut to this share of the allowed size: see `FitContextWindow`."""


@attrs.define(eq=False)
class _SummaryShare:
    r"""A strategy that shortens a summary of more than `max_tokens`, and states this in it.

    Its beginning and end are kept. The heading and the mark are always kept, even if they alone
    exceed `max_tokens`: a model that does not know about its past is worse off than one with less
    room.

    >>> from agentic.messages import ContextSummary
    >>> from agentic.tokens import CharCounter
    >>> long = ContextSummary("the parser is done\n" * 100, 12).to_message()
    >>> shown = _SummaryShare(200, TokenCache(CharCounter())).compact([long])[0]
    >>> print(shown.content[-68:])
    [Shortened to fit: not all of this summary of 1,900 bytes is shown.]
    """

    max_tokens: int
    token_cache: TokenCache
    _shown: tuple[Message, Message] | None = attrs.field(default=None, init=False)
    """The latest summary, and its shortened form."""

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if there is no summary or it is short enough."""
        at = prefix_length(messages) - 1
        if at < 0 or messages[at].summary is None:
            return messages
        shown = self._show(messages[at])
        if shown is messages[at]:
            return messages
        return [*messages[:at], shown, *messages[at + 1 :]]

    def _show(self, message: Message) -> Message:
        if self._fits(message):
            return message
        # By value: a store that loads anew creates new objects.
        if self._shown is None or self._shown[0] != message:
            self._shown = (message, self._shorten(message))
        return self._shown[1]

    def _shorten(self, message: Message) -> Message:
        """Keep as much of the summary as fits, found by bisection."""
        assert message.summary is not None  # noqa: S101  the caller checked
        # Bisection, because tokens are no fixed share of bytes.
        least, most = 0, len(message.summary.content.encode("utf-8", "surrogatepass"))
        best = _with_bytes(message, 0)
        while least < most:
            middle = (least + most + 1) // 2
            shorter = _with_bytes(message, middle)
            if self._fits(shorter):
                best, least = shorter, middle
            else:
                most = middle - 1
        # An owner who keeps what was sent gives the shortened text back: the same object says
        # that nothing was changed.
        return message if best.content == message.content else best

    def _fits(self, message: Message) -> bool:
        return self.token_cache.count_message(message) <= self.max_tokens


@attrs.define(eq=False)
class WindowFitter:
    """Cuts the views of one conversation to a policy's window. Sizes are by the counter."""

    policy: Policy
    counter: Counter
    token_cache: TokenCache
    recall: str | None = None
    """The name of the tool with which the model can read what was cut, if it has one."""
    _share: _SummaryShare | None = attrs.field(default=None, init=False)
    _fit: "strategies.FitContextWindow | None" = attrs.field(default=None, init=False)

    def shorten_summary(self, view: list[Message], overhead_tokens: int) -> list[Message]:
        """Return the view with its summary cut to its share of the available tokens.

        Return the same list if the summary is short enough, or if there is no summary or no window.
        """
        if not self.policy.context_window:
            return view
        most = self.summary_tokens(overhead_tokens)
        if self._share is None or self._share.max_tokens != most:
            self._share = _SummaryShare(most, self.token_cache)
        return self._share.compact(view)

    def summary_tokens(self, overhead_tokens: int) -> int:
        """Return the most tokens that a summary may take, given the overhead."""
        policy = self.policy
        return max(0, int(policy.summary_share * (policy.available_tokens - overhead_tokens)))

    def cut(self, view: list[Message], room: int) -> tuple[list[Message], list[Note]]:
        """Return a view of at most `room` tokens, dropping the oldest messages first."""
        # A new fold cuts anew, which changes the start of the request. The room differs a little at
        # every turn, as the system prompt and the calibration do, and a cut that is good enough
        # stays.
        if self._fit is None or not _STILL_GOOD * room <= self._fit.max_tokens <= room:
            self._fit = strategies.FitContextWindow(room, self.counter)
        recent = _recent(view, self.policy.min_recent_messages)
        fullest = strategies.FitContextWindow(room, self.counter, low_watermark=1.0)
        # First the cut that leaves room for some turns. Where that would cost one of the newest
        # messages, one that uses all the room.
        for strategy in (self._fit, fullest):
            fit = strategy.fit(view)
            if fit.tokens <= room and _holds(fit.messages, [view[at] for at in recent]):
                return fit.messages, []
        return self._shorten_outputs(view, room, recent)

    def certain(self, view: list[Message], room: int) -> list[Message]:
        """Return what a request is certain to contain, even after the strictest possible cut."""
        room = max(1, int(_FOR_SURE * room))
        recent = _recent(view, self.policy.min_recent_messages)
        fit = strategies.FitContextWindow(room, self.counter, low_watermark=1.0).fit(view)
        if fit.tokens <= room and _holds(fit.messages, [view[at] for at in recent]):
            return fit.messages
        return self._shorten_outputs(view, room, recent)[0]

    def _shorten_outputs(
        self, view: list[Message], room: int, recent: list[int]
    ) -> tuple[list[Message], list[Note]]:
        """Truncate the outputs of recent messages until these messages fit, or as many as can."""
        strategy = strategies.FitContextWindow(room, self.counter, low_watermark=1.0)
        fit, shorter = strategy.fit(view), view
        # From the largest limit down: the first that fits loses least.
        for chars in _OUTPUT_CHARS:
            shorten = strategies.TruncateToolOutputs(chars, recall=self.recall)
            shorter = _truncate_outputs(view, recent, shorten)
            fit = strategy.fit(shorter)
            if fit.tokens <= room and _holds(fit.messages, [shorter[at] for at in recent]):
                return fit.messages, [_outputs_truncated(chars)]
        notes = []
        if any(map(operator.is_not, shorter, view)):
            notes.append(_outputs_truncated(_OUTPUT_CHARS[-1]))
        if not _holds(fit.messages, [shorter[at] for at in recent]):
            notes.append(_left_out(fit, recent))
        return fit.messages, notes


def _recent(view: list[Message], least: int) -> list[int]:
    """Return the positions of the newest messages: at least `least`, in whole rounds."""
    positions: list[int] = []
    for found in reversed(split_rounds(view)):
        # What is kept from before the summary is not recent, however short the rest is.
        if len(positions) >= least or found.messages[0].summary:
            break
        positions += found.positions
    return sorted(positions)


def _holds(messages: list[Message], wanted: list[Message]) -> bool:
    return {id(message) for message in wanted} <= {id(message) for message in messages}


def _truncate_outputs(
    view: list[Message], recent: list[int], strategy: "strategies.TruncateToolOutputs"
) -> list[Message]:
    """Shorten the outputs of these messages, except for pinned ones."""
    shorter = strategy.compact([view[at] for at in recent])
    changed = view.copy()
    for at, message in zip(recent, shorter, strict=True):
        changed[at] = view[at] if view[at].pinned else message
    return changed


def _outputs_truncated(chars: int) -> Note:
    text = f"the outputs in the newest messages are shown up to {chars:,} characters each"
    return Note("outputs_truncated", text)


def _left_out(fit: strategies.Fit, recent: list[int]) -> Note:
    text = f"not even the {len(recent)} newest messages fit; {len(fit.messages)} in all are sent"
    return Note("messages_left_out", text)


def _with_bytes(message: Message, number: int) -> Message:
    """Return the message with this many bytes of its summary; its `summary` record stays whole."""
    summary = message.summary
    assert summary is not None  # noqa: S101  the caller checked
    # `truncate` refuses a limit of 0; without room for a single byte, only the notice is shown.
    cut = truncate.middle(summary.content, max_lines=None, max_bytes=max(1, number))
    notice = f"[Shortened to fit: not all of this summary of {cut.total_bytes:,} bytes is shown.]"
    shorter = f"{cut.content}\n{notice}" if number else notice
    return message.replace(content=attrs.evolve(summary, content=shorter).to_message().content)
