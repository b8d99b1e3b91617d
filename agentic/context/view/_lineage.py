"""Which of the owner's messages a compaction replaced, and whether that still holds.

The owner of a conversation may be able only to append to its own list. That list never contains the
summary, so this module remembers what a compaction did, as positions in the list. A *generation* is
one such memory. It holds for every list that begins with the same messages, up to the last one that
its summary was made of: for a list that has grown, and for one that was rewound, forked or edited
after that message. Earlier generations are kept for a while, so that returning to an earlier branch
costs no second summary.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from agentic._base._lazy import hashlib
from agentic.errors import ConfigError
from agentic.messages import Message, Timeline, ToolResult, from_plain, split_rounds, to_plain
from agentic.messages._landmarks import prefix_length, read_summary
from agentic.messages._timeline import continues

_MOST_GENERATIONS = 8
"""Each one holds the text of a summary, and few return to a branch after several more summaries."""


@attrs.define(eq=False)
class Generation:
    """One compaction, as positions in the owner's list."""

    cut: int
    """Everything from this position on is kept; it follows the last message that is covered."""
    kept: tuple[int, ...]
    """The positions before the cut whose messages are kept, in ascending order."""
    lead: int
    """How many of the kept messages come before the summary."""
    summary: Message | None
    """What replaces the other messages; None if they were left out without a summary."""
    reason: str = attrs.field(default="", kw_only=True)
    """What triggered the compaction."""
    beside: tuple[int, ...] = attrs.field(default=(), kw_only=True)
    """The positions of messages that are kept, and that the summary tells of all the same, since
    strategies clear them; in ascending order."""
    prefix: list[Message] | None = attrs.field(default=None, kw_only=True)
    """The owner's first `reach` messages; None after a restart, which preserves only `digest`."""
    digest: str = attrs.field(default="", kw_only=True)
    """`digest_of(prefix)`; empty until it is first needed."""
    shown: str = attrs.field(default="", kw_only=True)
    """A hash of the summary's text as it was last sent; empty if all of it was sent."""
    matches: bool | None = attrs.field(default=None, init=False)
    """The answer of `starts` for the list as last seen; None until it is compared again."""

    @property
    def reach(self) -> int:
        """The length of the beginning of the list that holds all that the summary was made of."""
        return max(self.cut, self.beside[-1] + 1 if self.beside else 0)

    def starts(self, messages: list[Message]) -> bool:
        """Return whether a list still begins with the messages that were compacted."""
        # The owner went back to before that: what was summarized is not all there.
        if len(messages) < self.reach:
            return False
        if self.matches is None:
            start = messages[: self.reach]
            if self.prefix is None:
                self.matches = digest_of(start) == self.digest
            else:
                # The cheap comparison first. The other one is for messages that were converted
                # anew, perhaps without their reasoning: checkpointers and proxies strip it.
                self.matches = start == self.prefix or continues(start, self.prefix, "request")
            if self.matches:
                # Look for these objects from now on, because comparing identities is fast.
                self.prefix = start
        return self.matches

    def leaves(self, position: int | None) -> bool:
        """Return whether the message at a position is kept; True for None."""
        return position is None or position >= self.cut or position in self.kept

    def apply(self, messages: list[Message]) -> list[Message]:
        """Return the list with this compaction applied."""
        rest = [messages[position] for position in self.kept]
        summary = [] if self.summary is None else [self.summary]
        return [*rest[: self.lead], *summary, *rest[self.lead :], *messages[self.cut :]]

    def positions(self, length: int) -> list[int | None]:
        """Return where each message of `apply` is in a list of this length; None for the summary.

        >>> Generation(4, (0, 2), 1, Message("system", "...")).positions(6)
        [0, None, 2, 4, 5]
        """
        summary: list[int | None] = [] if self.summary is None else [None]
        positions: list[int | None] = list(self.kept)
        return [
            *positions[: self.lead],
            *summary,
            *positions[self.lead :],
            *range(self.cut, length),
        ]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form, without the messages themselves."""
        if not self.digest and self.prefix is not None:
            self.digest = digest_of(self.prefix)
        return {
            "covered": self.cut,
            "kept": list(self.kept),
            "lead": self.lead,
            **({"beside": list(self.beside)} if self.beside else {}),
            "summary": None if self.summary is None else to_plain(self.summary),
            # Not the enum's member: a checkpointer that stores types, such as LangGraph's, warns.
            "reason": str(self.reason),
            "prefix": self.digest,
            **({"shown": self.shown} if self.shown else {}),
        }

    @classmethod
    def from_plain(cls, plain: Any) -> "Generation":
        """Build a generation from its JSON form.

        Raises:
            KeyError, OverflowError, TypeError or ValueError: `to_plain` did not return this.
        """
        cut, positions = int(plain["covered"]), tuple(map(int, plain["kept"]))
        if not all(0 <= position < cut for position in positions):
            raise ValueError("a message that is kept is not before the cut")
        beside = tuple(map(int, plain.get("beside", ())))
        if any(position < 0 for position in beside) or list(beside) != sorted(beside):
            raise ValueError("the positions beside the summary are not in ascending order")
        summary = None if plain["summary"] is None else from_plain(plain["summary"])
        # A provider refuses a message without text, and the View would send it at every turn.
        if summary is not None and not summary.content.strip():
            raise ValueError("the summary is empty")
        return cls(
            cut,
            positions,
            int(plain["lead"]),
            summary,
            reason=str(plain["reason"]),
            beside=beside,
            digest=str(plain["prefix"]),
            shown=str(plain.get("shown", "")),
        )

    def is_summary(self, text: str) -> bool:
        """Return whether this is the text of the summary message, whole or as last sent."""
        if self.summary is None:
            return False
        return text == self.summary.content or (self.shown != "" and self.shown == _hash_text(text))


@attrs.frozen(eq=False)
class Branch:
    """An owner's list at one moment, and what the compaction in force makes of it."""

    given: list[Message]
    """The owner's list itself, which may grow."""
    read: list[Message]
    """The same list, with summaries that came back as plain system messages recognized."""
    generation: Generation | None
    """The compaction that holds for the list; None if there is none."""
    history: list[Message]
    """The list with that compaction applied; the list itself without one."""
    length: int
    """How long the owner's list was."""

    @property
    def positions(self) -> list[int | None]:
        """The position of each message of the history in the owner's list; None for the summary."""
        if self.generation is None:
            return list(range(self.length))
        return self.generation.positions(self.length)

    @property
    def beside(self) -> list[Message]:
        """The messages of the history that its summary tells of all the same."""
        positions = () if self.generation is None else self.generation.beside
        return [self.read[position] for position in positions]

    def describe(self, after: list[Message], beside: Iterable[Message] = ()) -> Generation:
        """Return what a compaction of the history did, as positions in the owner's list.

        `after` holds the messages of the history that are kept, and possibly a new summary, which
        tells of those in `beside`, too. If a message occurs several times, its newest occurrences
        are kept. A message that only lost its orphaned results is kept as it is in the owner's
        list: every request is repaired anyway.
        """
        places = self.positions
        waiting: dict[int, list[int]] = {id(message): [] for message in after}
        for at, message in enumerate(self.history):
            if id(message) in waiting:
                waiting[id(message)].append(at)
        # Seldom: to find orphans, the whole history is split into rounds.
        if any(each.tool_results and not waiting[id(each)] for each in after):
            for at, result in _results_beside_orphans(self.history):
                waiting.setdefault(id(result), []).append(at)
        summary, behind_summary = None, 0
        positions: list[int] = []
        ids_beside, places_beside = {id(message) for message in beside}, []
        # From the end, because a compaction drops old messages: of equal ones the newest is meant.
        for message in reversed(after):
            # Without its orphans it is a new object, which holds the same results.
            known_by = (message, *message.tool_results[:1])
            compaction = next(filter(None, (waiting.get(id(each)) for each in known_by)), None)
            place = places[compaction.pop()] if compaction else None
            if place is None:
                summary, behind_summary = message, len(positions)
            else:
                positions.append(place)
                if id(message) in ids_beside:
                    places_beside.append(place)
        cut, early = _split(positions, self.length)
        lead = 0 if summary is None else sum(at < cut for at in positions[behind_summary:])
        made = Generation(cut, early, lead, summary, beside=tuple(sorted(places_beside)))
        made.prefix = self.read[: made.reach]
        return made


@attrs.define(eq=False)
class Lineage:
    """The owner's list as it was last seen, and the compactions that may hold for it."""

    _generations: list[Generation] = attrs.field(factory=list, init=False)
    """The latest one first."""
    _timeline: Timeline = attrs.field(factory=Timeline, init=False)
    """The owner's list."""
    _recognized: dict[int, Message] = attrs.field(factory=dict, init=False)
    """The summaries that came back as plain system messages, by position in the list."""
    _latest_request: int | None = attrs.field(default=None, init=False)
    """The position of the latest user message."""
    _holding: tuple[int | None, Generation | None] | None = attrs.field(default=None, init=False)
    """The latest user message at the last look, and the compaction that held then."""

    def follow(self, messages: list[Message]) -> Branch:
        """Return the branch of a list: which compaction holds for it, and the resulting history.

        Raises:
            ConfigError: an item of the list is not a Message.
        """
        same_to = self._see(messages)
        read = messages
        if self._recognized:
            read = messages.copy()
            for position, summary in self._recognized.items():
                read[position] = summary
        for each in self._generations:
            if each.reach > same_to:
                each.matches = None
                self._holding = None
        holding = self._find_holding(read) if self._generations else None
        history = read if holding is None else holding.apply(read)
        return Branch(messages, read, holding, history, len(read))

    def _find_holding(self, read: list[Message]) -> Generation | None:
        """Return the compaction that holds for a list; looked for only if that may have changed."""
        request, holding = self._holding or (-1, None)
        if request == self._latest_request:
            return holding
        # Several hold where one compaction followed another: the deepest covers most. After a
        # rewind, the latest request may be one that a summary covers.
        holding = max(
            (
                each
                for each in self._generations
                if each.leaves(self._latest_request) and each.starts(read)
            ),
            key=lambda each: each.cut,
            default=None,
        )
        self._holding = self._latest_request, holding
        return holding

    @property
    def latest(self) -> Generation | None:
        """The latest compaction; None if there is none."""
        return self._generations[0] if self._generations else None

    def add(self, generation: Generation) -> None:
        """Add a compaction, and forget the oldest beyond the limit."""
        self._generations.insert(0, generation)
        self._holding = None
        del self._generations[_MOST_GENERATIONS:]

    def remember_sent(self, view: Sequence[Message]) -> None:
        """Remember the text that a summary was sent as: the owner may keep no more of it."""
        at = prefix_length(view) - 1
        if at < 0 or view[at].summary is None:
            return
        for each in self._generations:
            summary = each.summary
            if summary is not None and summary.summary == view[at].summary:
                is_whole = summary.content == view[at].content
                each.shown = "" if is_whole else _hash_text(view[at].content)

    def _see(self, messages: list[Message]) -> int:
        """Read the new messages of a list, and return how many at its start are unchanged."""
        before = len(self._timeline.messages)
        same_to = self._timeline.count_unchanged(messages)
        # Before they are taken in: a list that is refused leaves what was seen as it was.
        _check_messages(messages[same_to:])
        self._timeline.follow(messages, same_to)
        if same_to < before:
            self._forget(same_to)
        for position, message in enumerate(messages[same_to:], same_to):
            if message.role == "user":
                self._latest_request = position
            summary = self._as_summary(message)
            if summary is not message:
                self._recognized[position] = summary
        return same_to

    def _forget(self, length: int) -> None:
        """Forget what was recognized behind the first `length` messages of the list."""
        for position in [each for each in self._recognized if each >= length]:
            del self._recognized[position]
        messages, late = self._timeline.messages, range(length - 1, -1, -1)
        self._latest_request = next((at for at in late if messages[at].role == "user"), None)

    def _as_summary(self, message: Message) -> Message:
        """Return a system message that holds one of our summaries with its `summary` set.

        Only system messages are examined: a user or a tool could forge a summary.
        """
        if message.role != "system" or message.summary is not None:
            return message
        summary = read_summary(message.content)
        if summary is None:
            return message
        # Its heading says how many messages it stands for. If it is ours, the record has the rest.
        generation = next(
            (each for each in self._generations if each.is_summary(message.content)), None
        )
        if generation is not None and generation.summary is not None:
            summary = generation.summary.summary
        return attrs.evolve(message, summary=summary)


@attrs.define(eq=False)
class RollingDigest:
    """A hash of what a provider would see of messages, which grows with them."""

    length: int = attrs.field(default=0, init=False)
    """The number of messages so far."""
    _hash: Any = attrs.field(init=False)

    @_hash.default
    def _start(self) -> Any:
        return hashlib.sha256()

    def add(self, messages: Iterable[Message]) -> None:
        """Add the next messages."""
        for message in messages:
            # Escaped to ASCII, the default, because UTF-8 cannot encode a lone surrogate.
            self._hash.update(json.dumps(_sent(message)).encode())
            self._hash.update(b"\n")
            self.length += 1

    @property
    def text(self) -> str:
        """The first 128 bits, in hex."""
        text: str = self._hash.hexdigest()[:32]
        return text


def digest_of(messages: Iterable[Message]) -> str:
    """Return a hash of what a provider would see of messages: SHA-256, the first 128 bits in hex.

    >>> digest_of([Message("user", "Why?")]) == digest_of([Message("user", "Why?", id="m1")])
    True
    """
    digest = RollingDigest()
    digest.add(messages)
    return digest.text


def _sent(message: Message) -> list[Any]:
    # Reasoning is left out: checkpointers and proxies strip it, and the reply is still the same.
    return [
        message.role,
        message.content,
        [[call.id, call.name, call.arguments] for call in message.tool_calls],
        [[result.call_id, result.text] for result in message.tool_results],
        [[part.media_type, part.url, _hash_bytes(part.data)] for part in message.all_media],
    ]


def _hash_text(text: str) -> str:
    return _hash_bytes(text.encode("utf-8", "surrogatepass"))


def _hash_bytes(data: bytes) -> str:
    """Return a short hash of some bytes, or an empty string for none."""
    return hashlib.sha256(data).hexdigest()[:16] if data else ""


def _results_beside_orphans(history: list[Message]) -> Iterator[tuple[int, ToolResult]]:
    """Yield the first sound result of each message that also holds orphans, with its position."""
    for group in split_rounds(history):
        # Without a pin, the whole round is left out, and there are no sound messages.
        for at, sound in zip(group.positions, group.sound_messages, strict=False):
            if sound is not history[at]:
                yield at, sound.tool_results[0]


def _split(positions: Sequence[int], length: int) -> tuple[int, tuple[int, ...]]:
    """Return where the unbroken end of the kept positions begins, and the positions before it."""
    in_order = sorted(positions)
    cut = length
    while in_order and in_order[-1] == cut - 1:
        cut = in_order.pop()
    return cut, tuple(in_order)


def _check_messages(fresh: Sequence[object]) -> None:
    for message in fresh:
        if not isinstance(message, Message):
            raise ConfigError(
                "history",
                message,
                "messages.Message objects",
                "convert a provider's dicts with its adapter's decode, "
                "such as providers.openai_chat.decode, or use bridges.dicts.Conversation",
            )
