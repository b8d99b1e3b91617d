"""The limits of a budget, which of them a conversation has reached, and what a compaction keeps.

Sizes are in tokens, except where a name says messages or seconds.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import attrs

from agentic._base._lazy import logging
from agentic._base._validate import amount, must_be, seconds, share, suggest, whole
from agentic.errors import ConfigError
from agentic.limits import lookup
from agentic.limits._model_limits import as_tokens, reply_reserve
from agentic.messages import Message, Round, split_rounds
from agentic.messages._landmarks import find_summary, find_task, prefix_length
from agentic.messages._provider_compaction import holds_compaction
from agentic.protocols import CompactionReason
from agentic.tokens import Counter
from agentic.tokens._count import FlatMediaCounter

# The token default is that of pi-mono, limited to a share of the window so that a small window has
# room for it. The six recent messages are supyagent's default.
_KEEP_RECENT_TOKENS = 20_000
_LEAST_TO_HALVE = 32_000
_LEAST_RECENT_TOKENS = 3_000
_DIGEST_TOKENS = 2_000
# Of a policy that compacts before the window is full: see `Policy.for_window`.
_MOST_DIGEST_TOKENS, _PARTS_OF_WINDOW = 8_000, 8
# The size of a digest, as a share of the available tokens. A View shows a summary of up to 30 %
# whole, of which the heading and the mark take 46 to 53 tokens.
_DIGEST_SHARE, _HEADING_TOKENS, _LEAST_DIGEST = 0.24, 64, 50
_SUMMARY_SHARE = 4
"""A trigger's limit divided by this is reserved for the summary."""

_GAIN = amount("gain", "leave it at 1.0")


_WHOLE_WINDOW = whole(0, remedy="pass the model's window; 0 turns the window trigger off")


def _check_window(policy: object, attribute: Any, value: Any) -> None:
    if isinstance(value, str):
        remedy = f"pass limits.lookup({value!r}).context_window"
        raise ConfigError(attribute.name, value, "a whole number >= 0, also as 128k", remedy)
    _WHOLE_WINDOW(policy, attribute, value)


def _read_window(window: int | str) -> int:
    number: int = as_tokens(window)
    return number


# mypy's attrs plugin does not know converters that take the instance, hence the ignore below.
def _default_reserve(tokens: int | None, policy: Any) -> Any:
    if tokens is not None:
        return tokens
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
        converter=_read_window,
        validator=_check_window,
    )
    """The model's window, which may be written as `16k`; 0 turns the window trigger off."""
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
    keep_requests_tokens: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(0, optional=True)
    )
    """Every trigger keeps the user's requests in their own words, newest first, up to this size
    together. One that is larger than what is left of it goes into the summary, and older ones that
    fit stay. The latest request always stays. None keeps that one only."""
    tokens_per_media: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(0, optional=True)
    )
    """What each image, document or recording counts. By default it is what it costs with the
    counter's model, by its size (`tokens.for_model`), or with a usual model."""

    max_request_bytes: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(0, optional=True)
    )
    """The largest request in bytes, as JSON with media in base64; 0 for no limit. The default is
    that of the model, where it is known (`limits.wire_limits`)."""
    max_images: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(0, optional=True)
    )
    """How many images a request may hold, the earlier ones included; 0 for no limit. The default is
    as that of `max_request_bytes`. What exceeds either is left out when an epoch begins, images and
    other media first, and what must go besides is summarized."""

    def __attrs_post_init__(self) -> None:
        if self.context_window:
            self._check_window()
        if self.max_tokens is not None:
            self._check_requests(self.max_tokens, "max_tokens")
        if self.max_messages is not None and self.max_messages <= self.min_recent_messages:
            raise ConfigError(
                "max_messages",
                self.max_messages,
                f"more than min_recent_messages ({self.min_recent_messages})",
                "the recent ones always stay",
            )

    @classmethod
    def for_window(cls, context_window: int | str, *, reply_tokens: int = 0) -> "Policy":
        """Return the policy of those who pass a window and nothing else.

        Every entry point uses it: a list of dicts, the bridges, the proxy, a Runner, a Session, and
        an agent whose file has no numbers of its own. From 32,000 tokens up it compacts at half of
        the window and keeps a tenth of that half, at least 3,000 tokens: requests are smaller, and
        a `Digest` of an eighth of the window, at most 8,000 tokens, keeps what was kept before
        (design/compaction.md). A smaller window is used up, since half of it would hold little
        beside the digest.

        `reply_tokens` is the length of the reply that each request asks for, if it is known: the
        reserve has room for it, up to half of the window.

        >>> Policy.for_window(128_000).trigger_tokens, Policy.for_window("16k").trigger_tokens
        (64000, 12000)
        """
        context_window = _read_window(context_window)
        if not isinstance(context_window, int):
            return cls(context_window)  # which says what is wrong with it
        reserve = max(reply_reserve(context_window), min(reply_tokens, context_window // 2))
        if context_window < _LEAST_TO_HALVE:
            return cls(context_window, reserve)
        recent = max(_LEAST_RECENT_TOKENS, context_window // 20)
        return cls(context_window, reserve, keep_recent_tokens=recent, compact_at=0.5)

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

    @property
    def digest_tokens(self) -> int:
        """The largest size of a `Digest` that is short enough to be shown whole.

        >>> Policy(200_000).digest_tokens, Policy.for_window(128_000).digest_tokens
        (2000, 8000)
        """
        limits = [self.trigger_tokens] if self.context_window else []
        limits += [] if self.max_tokens is None else [self.max_tokens]
        sizes = [
            min(int(_DIGEST_SHARE * most), int(self.summary_share * most) - _HEADING_TOKENS)
            for most in limits
        ]
        most = _DIGEST_TOKENS
        if self.compact_at is not None:
            most = min(_MOST_DIGEST_TOKENS, self.context_window // _PARTS_OF_WINDOW)
        return min([most, *(max(_LEAST_DIGEST, size) for size in sizes)])

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
        self._check_requests(self.trigger_tokens, "compact_at, or the window less the reserve")
        # Only a number that was given can contradict K; the default gives way to it.
        value = self._keep_recent_tokens
        if value is not None and self.max_tokens is not None and value >= self.max_tokens:
            raise ConfigError(
                "keep_recent_tokens",
                value,
                f"less than max_tokens ({self.max_tokens})",
                "what stays would be compacted again",
            )

    def _check_requests(self, most: int, limit: str) -> None:
        requests = self.keep_requests_tokens
        if requests is not None and requests > most // 2:
            requirement = f"at most half of {limit} ({most})"
            remedy = "the summary and the newest messages need the rest"
            raise ConfigError("keep_requests_tokens", requests, requirement, remedy)


def policy_for(window: Policy | int | str) -> Policy:
    """Return a policy, or that of a window in tokens (also `16k`) or of a model's name.

    What is none of these is returned as it is: its owner says what is wrong with it.

    >>> policy_for("16k") == policy_for(16_000) == Policy.for_window(16_000)
    True
    >>> policy_for("gpt-4o").context_window
    128000

    Raises:
        ConfigError: the model's window is unknown.
    """
    window = as_tokens(window)
    if not isinstance(window, int | str):
        return window
    if isinstance(window, int):
        return Policy.for_window(window)
    model_limits = lookup(window)
    if not model_limits.usable:
        # Loaded here: few names are unknown, and the catalog is large.
        from agentic.limits import CONTEXT_LIMITS  # noqa: PLC0415

        raise ConfigError(
            "window",
            window,
            "a model whose context window is known",
            suggest(window, CONTEXT_LIMITS, "pass the window in tokens, such as 128_000"),
        )
    if model_limits.note:
        log = logging.getLogger(__name__)
        log.warning("the window of %s is not known: %s", window, model_limits.note)
    return Policy.for_window(model_limits.context_window)


def find_policy(policies: Mapping[str, Policy], model: str) -> Policy | None:
    """Return the policy for a model: that of the first pattern that its name matches.

    A pattern is as in a shell, and need not have the prefix of a provider. None if no one matches.

    >>> policies = {"claude-*": Policy(200_000), "*": Policy(32_000)}
    >>> [find_policy(policies, model).context_window for model in ("claude-opus-4-8", "qwen3", "")]
    [200000, 32000, 32000]
    >>> find_policy(policies, "openrouter/anthropic/Claude-Opus").context_window
    200000
    """
    names = {model.lower(), model.lower().rpartition("/")[2]}
    for pattern, policy in policies.items():
        if any(fnmatchcase(name, pattern.lower()) for name in names):
            return policy
    return None


def check_policies(_: object, attribute: Any, value: object) -> None:
    """Raise unless a value has a policy for each of some patterns."""
    is_table = isinstance(value, Mapping) and all(
        isinstance(pattern, str) and isinstance(policy, Policy) for pattern, policy in value.items()
    )
    if not is_table:
        requirement = "a dict of patterns of models and their policies"
        remedy = 'write {"claude-*": Policy(200_000), "*": Policy(32_000)}'
        raise ConfigError(attribute.name, value, requirement, remedy)


def find_trigger(policy: Policy, messages: list[Message], tokens: int) -> CompactionReason | None:
    """Return what triggers a compaction of a conversation of this size; None if nothing does.

    >>> talk = [Message("user", "Why?")] * 12
    >>> find_trigger(Policy(0, max_messages=12), talk, 60)
    <CompactionReason.MESSAGES: 'messages'>
    >>> find_trigger(Policy(0, max_messages=12, max_tokens=60), talk, 60)
    <CompactionReason.TOKENS: 'tokens'>
    """
    over = bool(policy.context_window) and tokens > policy.trigger_tokens
    if not over and policy.max_tokens is None and policy.max_messages is None:
        return None
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


@attrs.frozen
class Plan:
    """Positions in the conversation, ascending. No position is in two of the fields.

    An orphan is a tool result that answers no call.
    """

    leading: tuple[int, ...]
    """System messages at the start, without any former summary."""
    kept: tuple[int, ...]
    """The messages that are kept after the summary."""
    dropped: tuple[int, ...]
    """The messages that the summary replaces, without any former summary. A round with an orphan is
    always among them, unless it is pinned."""
    former: tuple[int, ...]
    """Former summaries, which are merged into the new one."""
    edited: Mapping[int, Message] = attrs.field(factory=dict)
    """Messages of pinned rounds with orphans in `kept`, by position, without the orphans."""


def plan(
    messages: list[Message],
    sizes: list[float],
    policy: Policy,
    *,
    by_window: bool,
    overhead: float = 0,
) -> Plan:
    """Return what to keep, given the sizes of the messages and of what is sent with them."""
    start = prefix_length(messages)
    split = split_rounds(messages)
    former = _positions(group for group in split if group.messages[0].summary)
    # System messages after the summary were kept by an earlier compaction, and go like all others.
    leading = tuple(i for i in range(start) if not messages[i].summary)
    apart = {*leading, *former}
    rounds = [group for group in split if group.positions[0] not in apart]
    sound = [group for group in rounds if group.sound_messages]
    # Unless the policy keeps more, only the latest request: the summary covers the others.
    requests = {*find_task(messages)[-1:], *_requests(sound, sizes, policy.keep_requests_tokens)}
    # What the provider compacted is in its latest compaction only, and may be opaque to us.
    latest = next((each for each in reversed(sound) if holds_compaction(each.messages)), None)
    always = [
        group
        for group in sound
        if group.pinned or group is latest or requests.intersection(group.positions)
    ]
    pinned_positions = _positions(always)
    cut = _RoundSelection(
        policy, sizes, overhead + sum(sizes[i] for i in leading), frozenset(pinned_positions)
    )
    recent = cut.recent(sound, by_window=by_window)
    rest = {*pinned_positions, *_positions(recent)}
    old = tuple(i for i in _positions(rounds) if i not in rest)
    edits = {
        i: message
        for group in always
        if group.orphaned
        for i, message in zip(group.positions, group.sound_messages, strict=True)
    }
    return Plan(leading, tuple(sorted(rest)), old, tuple(former), edits)


@attrs.frozen
class _RoundSelection:
    """Selects the newest rounds to keep. Applied to its own result, it keeps the same rounds."""

    policy: Policy
    sizes: list[float]
    beside: float
    """The size of what is sent before the summary: leading messages, and the overhead."""
    fixed: frozenset[int]
    """The positions of the messages that are kept regardless of age."""

    def recent(self, rounds: list[Round], *, by_window: bool) -> list[Round]:
        """Return the newest rounds to keep, newest first; at least one."""
        newest = rounds[::-1]
        # Whole rounds only, so there may be more messages than the minimum, but never fewer.
        least = _reach(map(_length, newest), self.policy.min_recent_messages)
        most = max(least, self._extended(newest)) if by_window else least
        rest = self._kept(newest[:most])
        # The sums only grow, so the number of those that fit is where the cut is. The newest round
        # stays even if it is too large, or nothing would be left to go on from.
        most = max(1, sum(tokens <= self._window_room for _, tokens in rest))
        below = sum(not self._reaches_k(count, tokens) for count, tokens in rest[:most])
        # If pinned messages alone reach K (`max_tokens`), removing more would not help. Keep what
        # a compaction triggered by K would keep.
        return newest[: below or min(least, most)]

    def _extended(self, newest: list[Round]) -> int:
        """Return how many rounds the window trigger keeps."""
        if self.policy.keeps_by_count:
            return _reach(map(_length, newest), self.policy.keep_last)
        return _reach(map(self._size, newest), self.policy.keep_recent_tokens)

    def _kept(self, newest: list[Round]) -> list[tuple[int, float]]:
        """Return the number of kept messages and their size for the first 1, 2, ... rounds."""
        count, tokens = len(self.fixed), self.beside + sum(self.sizes[i] for i in self.fixed)
        newest_groups = []
        for group in newest:
            if group.positions[0] not in self.fixed:
                count, tokens = count + _length(group), tokens + self._size(group)
            newest_groups.append((count, tokens))
        return newest_groups

    @property
    def _window_room(self) -> float:
        available = self.policy.trigger_tokens
        return _beside_summary(available) if self.policy.context_window else math.inf

    def _reaches_k(self, count: int, tokens: float) -> bool:
        most = self.policy.max_tokens
        return most is not None and is_long(self.policy, count) and tokens >= _beside_summary(most)

    def _size(self, group: Round) -> float:
        return sum(self.sizes[i] for i in group.positions)


def _requests(rounds: Iterable[Round], sizes: list[float], most: int | None) -> Iterator[int]:
    """Yield the positions of the user's requests that fit a budget together, newest first."""
    remaining = float(most or 0)
    for group in reversed([*rounds]):
        for i, message in zip(group.positions, group.messages, strict=True):
            if message.role == "user" and message.summary is None and sizes[i] <= remaining:
                remaining -= sizes[i]
                yield i


def _reach(amounts: Iterable[float], goal: float) -> int:
    """Return how many amounts it takes to reach a goal: at least one, or all of them."""
    number, size = 0, 0.0
    for each in amounts:
        number, size = number + 1, size + each
        if size >= goal:
            break
    return number


def _length(group: Round) -> int:
    return len(group.positions)


def _beside_summary(tokens: int) -> int:
    # The size of the summary is not known yet, so reserve a fixed share for it.
    return tokens - tokens // _SUMMARY_SHARE


def _positions(rounds: Iterable[Round]) -> list[int]:
    return sorted(position for group in rounds for position in group.positions)
