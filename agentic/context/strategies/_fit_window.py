"""Keeping a conversation within a number of tokens by leaving out its oldest rounds.

A deterministic fold over the rounds from the start of the history. When the budget is full it cuts
down to a low-water mark, and then leaves the start of the view alone until the budget is full
again, so that the provider's prompt cache survives. What was worked out about a conversation is
kept: the next turn costs what its new messages cost.
"""

import attrs

from agentic._given import whole
from agentic.context.strategies._known_rounds import settled_length
from agentic.context.strategies._strategy import Fit
from agentic.errors import ConfigError
from agentic.messages import Message, RecentConversations, Round, split_rounds
from agentic.tokens import Counter, Tallies, Tally, approx_token_counter

__all__ = ["FitContextWindow"]


@attrs.frozen(eq=False)
class FitContextWindow:
    """Keep the conversation within `max_tokens - reserve_tokens`.

    Always kept: leading system messages, the first and the latest user message, pinned messages,
    and the newest round. Of the rest, the newest rounds that fit. Orphaned results are left out.

    >>> strategy = FitContextWindow(30, low_water=1.0)
    >>> task = Message("user", "Count to three.")
    >>> said = [Message("assistant", word * 10) for word in ("one ", "two ", "three ")]
    >>> [message.content[:5] for message in strategy.compact([task, *said])]
    ['Count', 'three']
    """

    max_tokens: int = attrs.field(validator=whole(1, remedy="pass the model's window"))
    counter: Counter = approx_token_counter
    reserve_tokens: int = attrs.field(default=0, kw_only=True, validator=whole(0))
    """Left free for the reply, the system prompt and the tools' schemas."""
    per_message_overhead: int = attrs.field(default=4, kw_only=True, validator=whole(0))
    tokens_per_media: int = attrs.field(default=600, kw_only=True, validator=whole(0))
    low_water: float = attrs.field(default=0.75, kw_only=True)
    """The share of the budget that a cut leaves; 1.0 keeps as much as fits, and cuts every turn."""
    _tallies: Tallies = attrs.field(
        default=attrs.Factory(
            lambda self: Tallies(self.counter, self.per_message_overhead, self.tokens_per_media),
            takes_self=True,
        ),
        init=False,
        repr=False,
    )
    _recent: "RecentConversations[_Fold]" = attrs.field(
        factory=RecentConversations, init=False, repr=False
    )

    @reserve_tokens.validator
    def _check_reserve(self, _: object, value: int) -> None:
        if value >= self.max_tokens:
            raise ConfigError(
                "reserve_tokens",
                value,
                f"0 to {self.max_tokens - 1}, below max_tokens",
                "leave some of the window to the conversation",
            )

    @low_water.validator
    def _check_low_water(self, _: object, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise ConfigError("low_water", value, "above 0, up to 1.0", "leave it at 0.75")

    @property
    def budget(self) -> int:
        """What the messages may take, in tokens."""
        return self.max_tokens - self.reserve_tokens

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Give the view: the same list if everything fits."""
        return self.fit(messages).messages

    def fit(self, messages: list[Message], /) -> Fit:
        """Give the view with its size, and whether it is within the budget."""
        tally = self._tallies.tally(messages)
        known = self._recent.find(messages)
        fold = known or _Fold(self.budget, int(self.budget * self.low_water))
        fit = fold.fit(messages, tally)
        if known is None and fold.messages:
            self._recent.add(fold)
        return fit


@attrs.frozen
class _Sized:
    """What the fold knows of a round."""

    positions: tuple[int, ...]
    tokens: int
    always: bool
    """Kept whatever the budget."""


@attrs.frozen
class _Cut:
    """Where the view begins, after some rounds. Rounds are named by their index."""

    start: int = 0
    """Everything from this round on is kept."""
    retained: tuple[int, ...] = ()
    """What is kept of the rounds before it."""
    tokens: int = 0
    """The size of what is kept."""
    latest_request: int | None = None
    leading: bool = True
    """Only system messages so far."""
    ragged: bool = False
    """Some round was left out as an orphan, or others stand between its messages."""


@attrs.define(eq=False)
class _Fold:
    """The fold over one conversation. A cut that needs only settled rounds is never undone."""

    budget: int
    target: int
    messages: list[Message] = attrs.field(factory=list)
    """The settled part. While the last assistant message waits for results, it and what follows it
    are folded anew each time."""
    rounds: list[_Sized] = attrs.field(factory=list)
    cut: _Cut = _Cut()

    def fit(self, messages: list[Message], tally: Tally) -> Fit:
        fresh = split_rounds(messages, len(self.messages))
        settled = settled_length(messages, fresh)
        cut = self.cut
        unsettled = None
        for found in fresh:
            if found.positions[0] == settled:
                unsettled = cut, len(self.rounds)
            cut = self._add(cut, found, sum(map(tally.size, found.positions)))
        view = self._view(messages, cut)
        self.cut, length = unsettled or (cut, len(self.rounds))
        del self.rounds[length:]
        self.messages += messages[len(self.messages) : settled]
        return Fit(view, cut.tokens, fits=cut.tokens <= self.budget)

    def _add(self, cut: _Cut, found: Round, tokens: int) -> _Cut:
        if found.orphaned:
            return attrs.evolve(cut, ragged=True)
        opener = found.messages[0]
        leading = cut.leading and opener.role == "system"
        requests = opener.role == "user" and opener.summary is None
        always = leading or found.pinned or (requests and cut.latest_request is None)
        first, last = found.positions[0], found.positions[-1]
        self.rounds.append(_Sized(found.positions, tokens, always=always))
        grown = attrs.evolve(
            cut,
            tokens=cut.tokens + tokens,
            latest_request=len(self.rounds) - 1 if requests else cut.latest_request,
            leading=leading,
            ragged=cut.ragged or last - first >= len(found.positions),
        )
        # With the target at the budget there is no waiting for it to be full again.
        due = grown.tokens > self.budget or (grown.start and self.target == self.budget)
        return self._cut_anew(grown) if due else grown

    def _cut_anew(self, cut: _Cut) -> _Cut:
        """Keep the newest rounds that the target has room for; the newest one in any case."""
        retained = [index for index in cut.retained if self._stays(index, cut)]
        gone = set(cut.retained).difference(retained)
        start, tokens = cut.start, cut.tokens - sum(self.rounds[index].tokens for index in gone)
        while start < len(self.rounds) - 1 and tokens > self.target:
            if self._stays(start, cut):
                retained.append(start)
            else:
                tokens -= self.rounds[start].tokens
            start += 1
        # A large request that is no longer the latest leaves room for rounds before the cut.
        while start and tokens + self._cost(start - 1, cut) <= self.target:
            start -= 1
            tokens += self._cost(start, cut)
            if retained and retained[-1] == start:
                retained.pop()
        return attrs.evolve(cut, start=start, retained=tuple(retained), tokens=tokens)

    def _cost(self, index: int, cut: _Cut) -> int:
        """Give what it costs to begin the view at this round, and not at the next."""
        return 0 if self._stays(index, cut) else self.rounds[index].tokens

    def _stays(self, index: int, cut: _Cut) -> bool:
        return self.rounds[index].always or index == cut.latest_request

    def _view(self, messages: list[Message], cut: _Cut) -> list[Message]:
        if len(cut.retained) == cut.start and not cut.ragged:
            return messages
        kept = [position for index in cut.retained for position in self.rounds[index].positions]
        if cut.ragged:
            tail = self.rounds[cut.start :]
            kept = sorted([*kept, *(p for found in tail for p in found.positions)])
            return messages if len(kept) == len(messages) else [messages[p] for p in kept]
        return [*map(messages.__getitem__, kept), *messages[self.rounds[cut.start].positions[0] :]]
