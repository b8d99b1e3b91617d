"""How a view is cut to the window: the summary's share, and the recent messages that fit.

These are tried in order: the whole view; the view without its oldest rounds; the recent messages
with shorter tool outputs; whatever fits. A cut is kept from turn to turn as long as it is good
enough, so that the provider's prompt cache stays valid.
"""

import operator
from typing import Literal

import attrs

from agentic import truncate
from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.messages import Message, split_rounds
from agentic.messages._landmarks import prefix_length
from agentic.tokens import Counter
from agentic.tokens._count import TokenCache

_OUTPUT_CHARS = tuple(1 << power for power in range(15, 7, -1))
"""The limits tried, in characters, for the outputs of recent messages that do not fit. They are
powers of two, so that the choice seldom changes and the provider's prompt cache stays valid."""
_STILL_GOOD = 0.8
"""A cut is kept while its size is at least this share of the allowed size."""
_FOR_SURE = 0.75 * _STILL_GOOD
"""A view that is too large may be cut to this share of the allowed size: see `FitContextWindow`."""


@attrs.frozen
class Note:
    """Something that the sender of a request should know about it."""

    kind: Literal[
        "summary_ignored",
        "summary_shortened",
        "summary_failed",
        "summary_by_digest",
        "outputs_truncated",
        "messages_left_out",
        "prefix_changed",
        "over_window",
        "over_request",
    ]
    text: str
    """The note as a sentence."""


@attrs.define(eq=False)
class WindowFitter:
    """Cuts the views of one conversation to a policy's window. Sizes are by the counter."""

    policy: Policy
    counter: Counter
    token_cache: TokenCache
    recall: str | None = None
    """The name of the tool with which the model can read what was cut, if it has one."""
    _shown: tuple[Message, int, Message] | None = attrs.field(default=None, init=False)
    """The latest long summary, its share in tokens, and its shortened form."""
    _fit: "strategies.FitContextWindow | None" = attrs.field(default=None, init=False)

    def shorten_summary(self, view: list[Message], overhead_tokens: int) -> list[Message]:
        """Return the view with its summary cut to its share of the available tokens.

        Return the same list if the summary is short enough, or if there is none.
        """
        at = prefix_length(view) - 1
        if at < 0 or view[at].summary is None:
            return view
        summary = self._show(view[at], self.summary_tokens(overhead_tokens))
        return view if summary is view[at] else [*view[:at], summary, *view[at + 1 :]]

    def summary_tokens(self, overhead_tokens: int) -> int:
        """Return the most tokens that a summary may take, given the overhead."""
        policy = self.policy
        return max(0, int(policy.summary_share * (policy.available_tokens - overhead_tokens)))

    def _show(self, message: Message, most: int) -> Message:
        if self.token_cache.count_message(message) <= most:
            return message
        # By value: a store that loads anew creates new objects.
        if self._shown is None or self._shown[:2] != (message, most):
            self._shown = (message, most, _shorten(message, most, self.token_cache))
        return self._shown[2]

    @property
    def fit_tokens(self) -> int | None:
        """The size for which the latest cut was made; a cut for another room may have kept it."""
        return None if self._fit is None else self._fit.max_tokens

    def resume(self, fit_tokens: int) -> None:
        """Take over the cut of another process, by its `fit_tokens`."""
        self._fit = strategies.FitContextWindow(fit_tokens, self.counter, tokens_per_media=None)

    def cut(self, view: list[Message], room: int) -> tuple[list[Message], list[Note]]:
        """Return a view of at most `room` tokens, dropping the oldest messages first."""
        # A new fold cuts anew, which changes the start of the request. The room differs a little at
        # every turn, as the system prompt and the calibration do, and a cut that is good enough
        # stays.
        if self._fit is None or not _STILL_GOOD * room <= self._fit.max_tokens <= room:
            self.resume(room)
        assert self._fit is not None  # noqa: S101  for the checker of types
        recent = _recent(view, self.policy.min_recent_messages)
        # First the cut that leaves room for some turns. Where that would cost one of the newest
        # messages, one that uses all the room.
        fit = self._fit.fit(view)
        if fit.tokens <= room and _holds(fit, view, recent):
            return fit.messages, []
        return self._use_all(view, room, recent)

    def certain(self, view: list[Message], room: int) -> list[Message]:
        """Return what a request is certain to contain, even after the strictest possible cut."""
        recent = _recent(view, self.policy.min_recent_messages)
        return self._use_all(view, max(1, int(_FOR_SURE * room)), recent)[0]

    def _use_all(
        self, view: list[Message], room: int, recent: list[int]
    ) -> tuple[list[Message], list[Note]]:
        """Fill the room; truncate the outputs of recent messages until as many as can fit."""
        strategy = strategies.FitContextWindow(
            room, self.counter, tokens_per_media=None, low_watermark=1.0
        )
        fit, shorter = strategy.fit(view), view
        if fit.fits and _holds(fit, view, recent):
            return fit.messages, []
        # From the largest limit down: the first that fits loses least.
        for chars in _OUTPUT_CHARS:
            shorten = strategies.TruncateToolOutputs(chars, recall=self.recall)
            shorter = _truncate_outputs(view, recent, shorten)
            fit = strategy.fit(shorter)
            if fit.fits and _holds(fit, shorter, recent):
                return fit.messages, [_outputs_truncated(chars)]
        notes = []
        if any(map(operator.is_not, shorter, view)):
            notes.append(_outputs_truncated(_OUTPUT_CHARS[-1]))
        if not _holds(fit, shorter, recent):
            notes.append(_left_out(fit, recent))
        return fit.messages, notes


def _recent(view: list[Message], least: int) -> list[int]:
    """Return the positions of the newest messages: at least `least`, in whole rounds."""
    positions: list[int] = []
    for group in reversed(split_rounds(view)):
        # What is kept from before the summary is not recent, however short the rest is.
        if len(positions) >= least or group.messages[0].summary:
            break
        positions += group.positions
    return sorted(positions)


def _holds(fit: strategies.Fit, view: list[Message], positions: list[int]) -> bool:
    """Return whether a cut view has the messages at these positions of the whole one."""
    return {id(view[at]) for at in positions} <= {id(message) for message in fit.messages}


def _truncate_outputs(
    view: list[Message], recent: list[int], strategy: "strategies.TruncateToolOutputs"
) -> list[Message]:
    """Shorten the outputs of these messages, except for pinned ones."""
    shorter = strategy.compact([view[at] for at in recent])
    copy = view.copy()
    for at, message in zip(recent, shorter, strict=True):
        copy[at] = view[at] if view[at].pinned else message
    return copy


def _outputs_truncated(chars: int) -> Note:
    text = f"the outputs in the newest messages are shown up to {chars:,} characters each"
    return Note("outputs_truncated", text)


def _left_out(fit: strategies.Fit, recent: list[int]) -> Note:
    text = f"not even the {len(recent)} newest messages fit; {len(fit.messages)} in all are sent"
    return Note("messages_left_out", text)


def _shorten(message: Message, max_tokens: int, token_cache: TokenCache) -> Message:
    r"""Keep the beginning and the end of a summary, as much as fits, and state this in it.

    The heading and the mark are always kept, even if they alone exceed `max_tokens`: a model that
    does not know about its past is worse off than one with less room.

    >>> from agentic.messages import ContextSummary
    >>> from agentic.tokens import CharCounter
    >>> long = ContextSummary("the parser is done\n" * 100, 12).to_message()
    >>> print(_shorten(long, 200, TokenCache(CharCounter())).content[-68:])
    [Shortened to fit: not all of this summary of 1,900 bytes is shown.]
    """
    assert message.summary is not None  # noqa: S101  the caller checked
    # Bisection, because tokens are no fixed share of bytes.
    least, most = 0, len(message.summary.content.encode("utf-8", "surrogatepass"))
    best = _with_bytes(message, 0)
    while least < most:
        middle = (least + most + 1) // 2
        shorter = _with_bytes(message, middle)
        if token_cache.count_message(shorter) <= max_tokens:
            best, least = shorter, middle
        else:
            most = middle - 1
    # An owner who keeps what was sent gives the shortened text back: the same object says that
    # nothing was changed.
    return message if best.content == message.content else best


def _with_bytes(message: Message, number: int) -> Message:
    """Return the message with this many bytes of its summary; its `summary` record stays whole."""
    summary = message.summary
    assert summary is not None  # noqa: S101  the caller checked
    # `truncate` refuses a limit of 0; without room for a single byte, only the notice is shown.
    cut = truncate.middle(summary.content, max_lines=None, max_bytes=max(1, number))
    notice = f"[Shortened to fit: not all of this summary of {cut.total_bytes:,} bytes is shown.]"
    shorter = f"{cut.content}\n{notice}" if number else notice
    return message.replace(content=attrs.evolve(summary, content=shorter).to_message().content)
