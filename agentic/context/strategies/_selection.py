"""Selecting the rounds that stay: the newest ones by number, or those that matter by their score.

For `Importance`, the base score of a round depends on its role. A short acknowledgement scores
less; a long answer, an error, and a round that is referenced later score more. Because later
messages matter, this is not a fold: the strategy looks at the whole history every time, and an old
message that was left out may come back.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import attrs

from agentic._base._validate import is_whole, must_be, score, whole
from agentic.context.strategies._known_rounds import KnownRounds, Sorted
from agentic.context.strategies._strategy import Fit
from agentic.errors import ConfigError
from agentic.messages import Message, Round, ToolCall, ToolResult
from agentic.messages._message import Role
from agentic.tokens import Counter, approx_token_counter
from agentic.tokens._count import TokenCache

_T = TypeVar("_T", bound=Message | Mapping[str, Any])
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "tool": "tool",
}

_LOW_WATER = 0.75
"""The default of `FitContextWindow.low_watermark`."""
_SHORT_CHARS = 80
"""An answer of at most this length that contains no identifier is an acknowledgement."""
_LONG_CHARS = 1_000
_ACKNOWLEDGEMENT = 0.4
"""The share of its role's score that an acknowledgement gets: 0.24 by default, which is below the
threshold."""
_DETAILED, _FAILED, _REFERENCED = 0.1, 0.3, 0.3
_WORD = re.compile(r"[\w./~-]{4,120}")
_NAMES = re.compile(r"\w[/._-]\w|[a-z][A-Z]|\d[^\W\d]|[^\W\d]\d|\d{4}")
"""A path, a dotted, dashed or snake_case name, camelCase, letters with digits, or a number of four
or more digits."""


@attrs.frozen(eq=False)
class KeepLast:
    """Keep the system prompt and the last `keep_recent` messages, whole rounds only.

    Pinned messages and the latest user message are also kept, wherever they are. Applied at every
    turn, it changes the start of each request, so `FitContextWindow` is cheaper if the provider
    caches prompts; a View applies it only when an epoch begins.

    >>> said = [Message("user", text) for text in ("one", "two", "three")]
    >>> [message.content for message in KeepLast(2).compact([Message("system", "Count."), *said])]
    ['Count.', 'two', 'three']
    """

    keep_recent: int = attrs.field(default=10, validator=whole(0))
    """The number of messages to keep, not counting the system prompt."""
    preserve_system: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether leading system messages are always kept; otherwise they are treated like others."""
    preserve_tool_chains: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether a tool round that lies across the cut is kept as a whole; otherwise it is left out
    as a whole."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "KeepLast":
        """Return a copy for one conversation, with its own cache."""
        return attrs.evolve(self)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        always = {*rounds.always, *rounds.task.requests[-1:]}
        system = rounds.leading if self.preserve_system else []
        start = rounds.start_of_last(
            self.keep_recent, after=len(system), stretch=self.preserve_tool_chains
        )
        return rounds.view(messages, start, always.union(system))


@attrs.frozen(eq=False)
class TrimRounds:
    """Keep the system prompt, the task, and the newest tool rounds with what stands between them.

    The task is the latest user message and the request that the current work began with. Pinned
    messages are also kept.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> talk = [Message("user", "Count.")]
    >>> for name in ("a", "b"):
    ...     talk.append(Message("assistant", name, tool_calls=[ToolCall(name, "next")]))
    ...     talk.append(Message("tool", tool_results=[ToolResult(name, "next", "done")]))
    >>> [message.content for message in TrimRounds(1).compact(talk)]
    ['Count.', 'b', '']
    """

    max_rounds: int = attrs.field(validator=whole(1, remedy="pass how many tool rounds to keep"))
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "TrimRounds":
        """Return a copy for one conversation, with its own cache."""
        return attrs.evolve(self)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        cut = len(rounds.tool_rounds) > self.max_rounds
        start = rounds.tool_rounds[-self.max_rounds] if cut else 0
        task = rounds.task.requests
        return rounds.view(messages, start, {*rounds.leading, *rounds.always, *task})


@attrs.frozen(eq=False)
class Importance:
    """Leave out rounds that score below `min_score_threshold`.

    System messages, pinned messages, the latest user message and the last `keep_recent` messages
    are always kept. A tool round has a single score, and is kept or left out as a whole.

    >>> talk = [Message("user", "Mend it."), Message("assistant", "OK."), Message("user", "Now.")]
    >>> [message.content for message in Importance(keep_recent=1).compact(talk)]
    ['Mend it.', 'Now.']
    """

    keep_recent: int = attrs.field(default=10, validator=whole(0))
    user_message_score: float = attrs.field(default=1.0, validator=score)
    assistant_message_score: float = attrs.field(default=0.6, validator=score)
    tool_use_score: float = attrs.field(default=1.0, validator=score)
    min_score_threshold: float = attrs.field(default=0.3, validator=score)
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "Importance":
        """Return a copy for one conversation, with its own cache."""
        return attrs.evolve(self)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        leaving = self._unimportant(self._weigh(rounds, len(messages)))
        return rounds.view(messages, 0, set(), frozenset(leaving))

    def compact_to(
        self, messages: list[Message], max_tokens: int, counter: Counter = approx_token_counter
    ) -> Fit:
        """Leave out what `compact` does, and then the least important rounds until the rest fits.

        Among rounds with equal scores the oldest is left out first. If the view exceeds
        `max_tokens`, it is cut to three quarters of that, so that the next message does not exceed
        it again. User messages are only left out as far as necessary to reach `max_tokens`.

        >>> talk = [Message("user", "Use tabs."), Message("assistant", "No spaces, then. " * 6)] * 2
        >>> fit = Importance(keep_recent=0).compact_to(talk, 50)
        >>> [message.content for message in fit.messages], fit.fits
        (['Use tabs.', 'Use tabs.'], True)
        """
        rounds, token_cache = self._known.of(messages), TokenCache(counter)
        sizes = token_cache.sizes(messages)
        weights = self._weigh(rounds, len(messages))
        leaving = self._unimportant(weights)
        rest = [each for each in weights.values() if each.index not in leaving]
        tokens = sum(token_cache.size_of(each.found, sizes) for each in rest)
        if tokens > max_tokens:
            # Sorting is stable, so of equal scores the oldest goes first.
            for each in sorted(rest, key=lambda each: each.score):
                asks = each.found.messages[0].role == "user"
                if not each.stays and tokens > (1 if asks else _LOW_WATER) * max_tokens:
                    leaving.add(each.index)
                    tokens -= token_cache.size_of(each.found, sizes)
            # A round that was referenced only by rounds that are now gone may be unimportant.
            leaving |= self._unimportant({at: weights[at] for at in weights if at not in leaving})
        view = rounds.view(messages, 0, set(), frozenset(leaving))
        # Counted anew: what only the rounds that are gone referred to may have gone, too.
        tokens = sum(map(token_cache.count_message, view))
        return Fit(view, tokens, fits=tokens <= max_tokens)

    def _weigh(self, rounds: Sorted, length: int) -> "dict[int, _Weighed]":
        """Return each round that a view may contain, with its score, by index, oldest first."""
        # Only new rounds are read. They are weighed anew each time, as long as they may change.
        notes: list[_Weighed | None] = rounds.notes
        notes += map(self._read, range(len(notes), rounds.settled), rounds.rounds[len(notes) :])
        late = map(self._read, range(len(notes), len(rounds.rounds)), rounds.open)
        weights = {each.index: each for each in (*notes, *late) if each is not None}
        always = {*rounds.always, *rounds.task.requests[-1:]}
        recent = length - self.keep_recent
        for index, each in weights.items():
            each.stays = index in always or each.is_system or each.last >= recent
        return weights

    def _read(self, index: int, group: Round) -> "_Weighed | None":
        """Return a round with its own score; None if it is in no view, and refers to nothing."""
        if not group.sound_messages:
            return None
        names = _names(group)
        return _Weighed(
            index,
            group,
            names,
            self._score(group, names),
            last=group.positions[-1],
            is_system=group.messages[0].role == "system",
        )

    def _unimportant(self, weights: "dict[int, _Weighed]") -> set[int]:
        """Return the rounds that score too low, after adding references to all scores.

        Only references from rounds that are kept count, so that applying the strategy twice has the
        same result as applying it once. The rounds are visited from newest to oldest, because a
        reference comes later than what it refers to.
        """
        leaving: set[int] = set()
        references: set[str] = set()
        for each in reversed(weights.values()):
            each.score = each.own_score + _REFERENCED * (not each.names.isdisjoint(references))
            if each.stays or each.score >= self.min_score_threshold:
                references |= each.names
            else:
                leaving.add(each.index)
        return leaving

    def _score(self, group: Round, names: set[str]) -> float:
        """Return the score of a round, without references to it."""
        opener = group.messages[0]
        if opener.role == "user":
            return self.user_message_score
        if opener.tool_calls:
            results = (result for message in group.messages for result in message.tool_results)
            return self.tool_use_score + _FAILED * any(result.error for result in results)
        if len(opener.content) <= _SHORT_CHARS and not names:
            return self.assistant_message_score * _ACKNOWLEDGEMENT
        return self.assistant_message_score + _DETAILED * (len(opener.content) >= _LONG_CHARS)


def truncate_messages(
    messages: Sequence[_T], keep: int = 10, preserve_system: bool = True
) -> list[_T]:
    """Return the system prompt and the last `keep` messages: a new list of the same objects.

    A tool round that lies across the cut is left out as a whole, and so is a result without its
    call, because a provider would refuse an incomplete round. Nothing else is considered: even the
    task may be left out. Use a strategy for anything beyond a cut by number.

    >>> talk = [{"role": "system", "content": "Count."}]
    >>> talk += [{"role": "user", "content": str(number)} for number in range(50)]
    >>> [message["content"] for message in truncate_messages(talk, keep=2)]
    ['Count.', '48', '49']

    Raises:
        ConfigError: `keep` is negative, or an item is not a message, or a call in it not a dict.
    """
    is_whole(0, keep, "keep", "pass how many of the newest messages to keep")
    rounds = KnownRounds().of([_skeleton(message) for message in messages])
    system = rounds.leading if preserve_system else []
    start = rounds.start_of_last(keep, after=len(system), stretch=False)
    # A copy, because a new list is promised, and `view` may return the one that it was given.
    return rounds.view(list(messages), start, set(system))


def _skeleton(message: Message | Mapping[str, Any]) -> Message:
    """Return a message with only what determines rounds: role, call ids and result ids."""
    if isinstance(message, Message):
        return message
    if not isinstance(message, Mapping):
        raise ConfigError(
            "messages", message, "Messages, or dicts with a role", "pass the conversation itself"
        )
    # An unknown role is a round of its own, as a user's message is.
    name = message.get("role")
    role = _ROLES.get(name, "user") if isinstance(name, str) else "user"
    if role == "tool":
        return Message("tool", tool_results=[ToolResult(str(message.get("tool_call_id", "")))])
    calls = message.get("tool_calls") or () if role == "assistant" else ()
    if not (isinstance(calls, Sequence) and all(isinstance(call, Mapping) for call in calls)):
        raise ConfigError(
            "tool_calls", calls, "a list of dicts", "pass what `model_dump()` of each call returns"
        )
    return Message(role, tool_calls=[ToolCall(str(call.get("id", "")), "") for call in calls])


@attrs.define(eq=False)
class _Weighed:
    """A round and its score."""

    index: int
    found: Round
    names: set[str]
    """The identifiers it contains."""
    own_score: float
    last: int
    """The position of its last message: if that is a recent one, all of it is kept."""
    is_system: bool
    stays: bool = attrs.field(init=False, default=False)
    """Whether it is kept regardless of its score."""
    score: float = attrs.field(init=False, default=0.0)
    """`own_score`, plus a bonus if the round is referenced later."""


def _names(group: Round) -> set[str]:
    """Return the identifiers in the texts and calls of a round; tool outputs are not searched."""
    texts = [message.content for message in group.messages if message.role != "tool"]
    texts += [call.arguments for call in group.tool_calls]
    words = (word for text in texts for word in _WORD.findall(text))
    return {word.strip(".-/") for word in words if _NAMES.search(word)}
