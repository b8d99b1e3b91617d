"""Keeping a conversation within a number of tokens by leaving out its oldest rounds."""

import attrs

from agentic._validate import share, whole
from agentic.context.strategies._note_cache import NoteCache, check_writer
from agentic.context.strategies._strategy import Fit, SyncSummarizer
from agentic.context.strategies._window_fold import WindowFold
from agentic.errors import ConfigError
from agentic.messages import Message, RecentConversations
from agentic.tokens import Counter, TokenCache, approx_token_counter

__all__ = ["FitContextWindow"]


@attrs.frozen(eq=False)
class FitContextWindow:
    """Keep the conversation within `max_tokens - reserve_tokens`.

    Always kept: leading system messages, the latest user message, pinned messages and the newest
    round; also the request that the present work began with, unless these alone are over the
    budget. Of the rest, the newest rounds that fit. Orphaned results are left out.
    With a `digest` it says what it leaves out, in a system message where that stood.

    >>> strategy = FitContextWindow(30, low_watermark=1.0)
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
    low_watermark: float = attrs.field(default=0.75, kw_only=True, validator=share)
    """The share of the budget that a cut leaves; 1.0 keeps as much as fits, and cuts every turn."""
    digest: SyncSummarizer | None = attrs.field(default=None, kw_only=True)
    """Such as `compactors.Digest(max_tokens=900)`: with one, a low mark costs less and forgets
    little. Its `max_tokens` are part of what a cut leaves, and counted as all else here. If it
    fails, the former note stays; a log entry says so, and the next cut asks again."""
    _token_cache: TokenCache = attrs.field(
        default=attrs.Factory(
            lambda self: TokenCache(self.counter, self.per_message_overhead, self.tokens_per_media),
            takes_self=True,
        ),
        init=False,
        repr=False,
    )
    _note_cache: NoteCache | None = attrs.field(init=False, repr=False)
    _recent: RecentConversations[WindowFold] = attrs.field(
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

    @_note_cache.default
    def _make_notebook(self) -> NoteCache | None:
        if self.digest is None:
            return None
        return NoteCache(self.digest, self.counter, self._token_cache.count_message)

    @digest.validator
    def _check_digest(self, _: object, value: SyncSummarizer | None) -> None:
        if value is not None:
            check_writer(value, int(self.budget * self.low_watermark))

    @property
    def budget(self) -> int:
        """What the messages may take, in tokens."""
        return self.max_tokens - self.reserve_tokens

    def for_conversation(self, *, recall: str | None = None) -> "FitContextWindow":
        """Return this for one conversation: with a memory of its own, naming the recall tool."""
        adapt = getattr(self.digest, "for_conversation", None)
        return attrs.evolve(self, digest=self.digest if adapt is None else adapt(recall=recall))

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if everything fits."""
        return self.fit(messages).messages

    def fit(self, messages: list[Message], /) -> Fit:
        """Return the view with its size, and whether it is within the budget."""
        sizes = self._token_cache.sizes(messages)
        known = self._recent.find(messages)
        fold = known or self._fold()
        fit = fold.fit(messages, sizes, self._token_cache)
        if known is None and fold.messages:
            self._recent.add(fold)
        return fit

    def _fold(self) -> WindowFold:
        target = int(self.budget * self.low_watermark)
        return WindowFold(self.budget, target, self._note_cache)
