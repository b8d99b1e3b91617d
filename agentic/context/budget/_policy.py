"""The limits of a budget, and which of them a conversation has reached.

Sizes are in tokens, except where a name says messages or seconds.
"""

from typing import Any, ClassVar

import attrs

from agentic._protocols import CompactionReason
from agentic._validate import amount, must_be, seconds, share, whole
from agentic.errors import ConfigError
from agentic.limits import reply_reserve
from agentic.messages import Message, find_summary, prefix_length
from agentic.tokens import Counter, FlatMediaCounter

# The token default is that of pi-mono, limited to a share of the window so that a small window has
# room for it. The six recent messages are supyagent's default.
_KEEP_RECENT_TOKENS = 20_000
_LEAST_TO_HALVE = 32_000
_LEAST_RECENT_TOKENS = 3_000


_GAIN = amount("gain", "leave it at 1.0")


# mypy's attrs plugin does not know converters that take the instance, hence the ignore below.
def _default_reserve(given: int | None, policy: Any) -> Any:
    if given is not None:
        return given
    # Converters run before validators: a window that is not an int is refused by its validator.
    window = policy.context_window
    return reply_reserve(window) if isinstance(window, int) else 0


@attrs.frozen
class Policy:
    """When to compact and what to keep.

    >>> policy = Policy(200_000)
    >>> policy.reserve_tokens, policy.keep_recent_tokens
    (16384, 20000)
    >>> Policy(8_000).keep_recent_tokens
    2666

    Raises:
        ConfigError: a number is not whole or too small, or the numbers contradict each other, so
            that a compaction would never happen or never help.
    """

    trigger_margin: ClassVar[int] = 4
    """How many messages there must be in addition to the recent ones before K and N apply."""

    context_window: int = attrs.field(
        validator=whole(0, remedy="pass the model's window; 0 turns the window trigger off")
    )
    """The model's window; 0 turns the window trigger off."""
    reserve_tokens: int = attrs.field(
        default=None,
        converter=attrs.Converter(_default_reserve, takes_self=True),  # type: ignore[misc]
        validator=whole(0, optional=True),
    )
    """Tokens kept free for the reply: a context larger than the window less this is compacted. The
    default is 16,384 or a quarter of the window, whichever is less."""
    _keep_recent_tokens: int | None = attrs.field(default=None, validator=whole(0, optional=True))
    keep_last: int = attrs.field(default=0, validator=whole(0))
    """The window trigger keeps this many of the newest messages, in whole rounds. It is the simpler
    alternative to `keep_recent_tokens`, which wins if both are given."""
    max_tokens: int | None = attrs.field(default=None, validator=whole(1, optional=True))
    """K: a context of at least this size is compacted, regardless of the window."""
    max_messages: int | None = attrs.field(default=None, validator=whole(1, optional=True))
    """N: the context is compacted after this many messages since the last summary."""
    min_recent_messages: int = attrs.field(default=6, validator=whole(1))
    """Every trigger keeps this many of the newest messages, in whole rounds, unless the context
    would still be over the window or K. K and N have no effect as long as the conversation has
    fewer messages than this plus `trigger_margin`."""
    timeout_seconds: float | None = attrs.field(default=120.0, validator=seconds)
    """A compactor that takes longer has failed; None waits indefinitely."""
    compact_at: float | None = attrs.field(
        default=None, kw_only=True, validator=attrs.validators.optional(share)
    )
    """The window trigger fires at this share of the window, if that is before the reserve is
    reached. An earlier compaction makes each request cheaper; None waits until the window is
    full."""
    summary_share: float = attrs.field(default=0.3, validator=share)
    """The largest share that a summary may take of the window less the reserve and less what is
    sent in addition to the messages. A longer summary is shown in part. Raise it if the agent works
    mainly from the summary. The default is supyagent's."""
    epochs: bool = attrs.field(default=True, kw_only=True, validator=must_be(bool))
    """Whether a request extends the last one until something has to be left out. If false,
    strategies are applied at every request."""
    epoch_gain: float = attrs.field(default=1.0, kw_only=True, validator=_GAIN)
    """Scales what a shorter request is worth: strategies are applied when what they would leave out
    has cost as much as to write the rest to the prompt cache again. Above 1, they are applied
    sooner."""
    tokens_per_media: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(0, optional=True)
    )
    """What each image, document or recording counts. By default it is what it costs with the
    counter's model, by its size (`tokens.for_model`), or with a usual model."""

    def __attrs_post_init__(self) -> None:
        if self.context_window:
            self._check_window()
        if self.max_messages is not None and self.max_messages <= self.min_recent_messages:
            raise ConfigError(
                "max_messages",
                self.max_messages,
                f"more than min_recent_messages ({self.min_recent_messages})",
                "the recent ones always stay",
            )

    @classmethod
    def for_window(cls, context_window: int) -> "Policy":
        """Return the policy of those who pass a window and nothing else.

        From 32,000 tokens up it compacts at half of the window and keeps a tenth of that half, at
        least 3,000 tokens: requests are smaller, and a `Digest` of an eighth of the window, at most
        8,000 tokens, keeps what was kept before (design/0073). A smaller window is used up, since
        half of it would hold little beside the digest.

        >>> Policy.for_window(128_000).trigger_tokens, Policy.for_window(16_000).trigger_tokens
        (64000, 12000)
        """
        if context_window < _LEAST_TO_HALVE:
            return cls(context_window)
        recent = max(_LEAST_RECENT_TOKENS, context_window // 20)
        return cls(context_window, keep_recent_tokens=recent, compact_at=0.5)

    @property
    def keep_recent_tokens(self) -> int:
        """How many tokens of the newest rounds the window trigger keeps.

        The round that crosses this number is included. At most three quarters of `available_tokens`
        are kept, which leaves room for a summary. The default is 20,000 or a third of the window,
        whichever is less; with `compact_at`, a fifth of that share of the window.
        """
        if self._keep_recent_tokens is None:
            if self.compact_at is not None:
                return self.trigger_tokens // 5
            return min(_KEEP_RECENT_TOKENS, self.context_window // 3)
        return self._keep_recent_tokens

    @property
    def keeps_by_count(self) -> bool:
        """Whether the window trigger keeps `keep_last` messages, not `keep_recent_tokens`."""
        return self.keep_last > 0 and self._keep_recent_tokens is None

    @property
    def available_tokens(self) -> int:
        """The largest size of the context: the window less the reserve."""
        return self.context_window - self.reserve_tokens

    def counter_for(self, counter: Counter | None) -> Counter | None:
        """Return a counter that counts media as this policy says; None if there is none.

        >>> from agentic.tokens import CharCounter
        >>> Policy(8_000).counter_for(CharCounter())
        CharCounter(chars_per_token=4.0)
        """
        if counter is None or self.tokens_per_media is None:
            return counter
        return FlatMediaCounter(counter, self.tokens_per_media)

    @property
    def trigger_tokens(self) -> int:
        """A context larger than this sets off the window trigger.

        >>> Policy(128_000, compact_at=0.5).trigger_tokens, Policy(128_000).trigger_tokens
        (64000, 111616)
        """
        if self.compact_at is None:
            return self.available_tokens
        return min(self.available_tokens, int(self.compact_at * self.context_window))

    def fits(self, tokens: int) -> bool:
        """Return whether a context of this size leaves the reserve free, if there is a window.

        >>> Policy(8_000).fits(6_000), Policy(8_000).fits(6_001), Policy(0).fits(1_000_000)
        (True, False, True)
        """
        return not self.context_window or tokens <= self.available_tokens

    def _check_window(self) -> None:
        if self.reserve_tokens >= self.context_window:
            raise ConfigError(
                "reserve_tokens",
                self.reserve_tokens,
                f"less than context_window ({self.context_window})",
                "",
            )
        if self.keep_recent_tokens >= self.trigger_tokens:
            limit = "context_window - reserve_tokens"
            if self.trigger_tokens < self.available_tokens:
                limit = "compact_at * context_window"
            raise ConfigError(
                "keep_recent_tokens",
                self.keep_recent_tokens,
                f"less than {limit} ({self.trigger_tokens})",
                "what stays must leave room for a summary",
            )
        # Only a number that was given can contradict K; the default gives way to it.
        given = self._keep_recent_tokens
        if given is not None and self.max_tokens is not None and given >= self.max_tokens:
            raise ConfigError(
                "keep_recent_tokens",
                given,
                f"less than max_tokens ({self.max_tokens})",
                "what stays would be compacted again",
            )


def find_trigger(policy: Policy, messages: list[Message], tokens: int) -> CompactionReason | None:
    """Return what triggers a compaction of a conversation of this size; None if nothing does.

    >>> talk = [Message("user", "Why?")] * 12
    >>> find_trigger(Policy(0, max_messages=12), talk, 60)
    <CompactionReason.MESSAGES: 'messages'>
    >>> find_trigger(Policy(0, max_messages=12, max_tokens=60), talk, 60)
    <CompactionReason.TOKENS: 'tokens'>
    """
    over = bool(policy.context_window) and tokens > policy.trigger_tokens
    in_all = len(messages) - prefix_length(messages)
    former = find_summary(messages)
    fresh = in_all - (former.messages_kept if former else 0)
    # If a summary took more room than the plan reserved, K may still be reached. Without a new
    # message, another compaction would only drop what this one had to keep.
    long = is_long(policy, in_all) and fresh > 0
    if long and policy.max_tokens is not None and tokens >= policy.max_tokens:
        # The lower limit decides what is kept, even if one step exceeds both.
        by_window = over and policy.max_tokens > policy.trigger_tokens
        return CompactionReason.WINDOW if by_window else CompactionReason.TOKENS
    if over:
        return CompactionReason.WINDOW
    many = policy.max_messages is not None and fresh >= policy.max_messages
    return CompactionReason.MESSAGES if long and many else None


def is_long(policy: Policy, number: int) -> bool:
    """Return whether this many messages, without leading ones, are enough for K and N to apply."""
    return number >= policy.min_recent_messages + policy.trigger_margin
