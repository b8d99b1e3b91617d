"""Which of the owner's messages a compaction replaced, and whether that still holds.

The owner of a conversation may only append to a list of its own. Such a list never contains the
summary, so what a compaction did to it is remembered here, as positions in the owner's list. A
*generation* is one such memory. It holds for every list that begins with the messages up to the
last one that its summary covers: for one that has grown, and for one that was rewound, forked or
edited behind that message. Former generations are kept for a while, so that returning to a former
branch costs no second summary.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.messages import Message, from_plain, prefix_length, read_summary, to_plain

__all__ = ["Branch", "Generation", "Lineage", "digest_of", "same_to_provider"]

_MOST_GENERATIONS = 8
"""A branch is seldom returned to after several more summaries; each one holds a summary's text."""


@attrs.define(eq=False)
class Generation:
    """One compaction, in terms of the owner's list."""

    cut: int
    """Everything from this position on is kept: one more than the last message that is covered."""
    kept: tuple[int, ...]
    """The positions before the cut whose messages stay, ascending."""
    lead: int
    """How many of these come before the summary."""
    summary: Message | None
    """What stands for the rest; None if the rest was left out without a summary."""
    reason: str = attrs.field(default="", kw_only=True)
    """What triggered the compaction."""
    prefix: list[Message] | None = attrs.field(default=None, kw_only=True)
    """The owner's messages before the cut; None after a restart, when only `digest` knows them."""
    digest: str = attrs.field(default="", kw_only=True)
    """`digest_of(prefix)`; empty until somebody asks."""
    shown: str = attrs.field(default="", kw_only=True)
    """A hash of the summary's text as it was sent last, if that was not the whole of it."""

    def starts(self, given: list[Message]) -> bool:
        """Return whether a list still begins with what this compaction was made of."""
        if len(given) < self.cut:
            return False
        start = given[: self.cut]
        if self.prefix is None:
            if digest_of(start) != self.digest:
                return False
        elif start != self.prefix and not all(map(same_to_provider, start, self.prefix)):
            return False
        # From now on these objects are the ones to look for: comparing identities is fast.
        self.prefix = start
        return True

    def leaves(self, position: int | None) -> bool:
        """Return whether the message at a position stays; there may be none."""
        return position is None or position >= self.cut or position in self.kept

    def apply(self, given: list[Message]) -> list[Message]:
        """Return the history that this compaction makes of a list."""
        kept = [given[position] for position in self.kept]
        summary = [] if self.summary is None else [self.summary]
        return [*kept[: self.lead], *summary, *kept[self.lead :], *given[self.cut :]]

    def positions(self, length: int) -> list[int | None]:
        """Return where each message of `apply` is in a list of this length; None for the summary.

        >>> Generation(4, (0, 2), 1, Message("system", "...")).positions(6)
        [0, None, 2, 4, 5]
        """
        summary: list[int | None] = [] if self.summary is None else [None]
        kept: list[int | None] = list(self.kept)
        return [*kept[: self.lead], *summary, *kept[self.lead :], *range(self.cut, length)]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form, without the messages before the cut."""
        if not self.digest and self.prefix is not None:
            self.digest = digest_of(self.prefix)
        return {
            "covered": self.cut,
            "kept": list(self.kept),
            "lead": self.lead,
            "summary": None if self.summary is None else to_plain(self.summary),
            "reason": self.reason,
            "prefix": self.digest,
            **({"shown": self.shown} if self.shown else {}),
        }

    @classmethod
    def from_plain(cls, plain: Any) -> "Generation":
        """Read the JSON form."""
        return cls(
            plain["covered"],
            tuple(plain["kept"]),
            plain["lead"],
            None if plain["summary"] is None else from_plain(plain["summary"]),
            reason=plain["reason"],
            digest=plain["prefix"],
            shown=plain.get("shown", ""),
        )

    def is_summary(self, text: str) -> bool:
        """Return whether a text is that of the summary message, as it was made or sent."""
        if self.summary is None:
            return False
        return text == self.summary.content or (self.shown != "" and self.shown == _hash_text(text))


@attrs.frozen(eq=False)
class Branch:
    """A list as it was followed once."""

    given: list[Message]
    """The owner's list itself, which may grow."""
    read: list[Message]
    """The same, with summaries that came back as plain system messages recognized."""
    generation: Generation | None
    """The compaction that holds for it; None if none does."""
    history: list[Message]
    """What the compaction makes of it; the list itself without one."""

    @property
    def positions(self) -> list[int | None]:
        """Where each message of the history is in the owner's list; None for the summary."""
        if self.generation is None:
            return list(range(len(self.read)))
        return self.generation.positions(len(self.read))

    def describe(self, after: list[Message]) -> Generation:
        """Return what a compaction of the history did, in positions of the owner's list.

        `after` holds the messages of the history that stay, and perhaps a new summary. Of a message
        that occurs several times the newest occurrences stay.
        """
        places = self.positions
        waiting: dict[int, list[int]] = {}
        for at, message in enumerate(self.history):
            waiting.setdefault(id(message), []).append(at)
        summary, behind_summary = None, 0
        kept: list[int] = []
        for message in reversed(after):
            found = waiting.get(id(message))
            place = places[found.pop()] if found else None
            if place is None:
                summary, behind_summary = message, len(kept)
            else:
                kept.append(place)
        cut, early = _split(kept, len(self.read))
        lead = 0 if summary is None else sum(at < cut for at in kept[behind_summary:])
        return Generation(cut, early, lead, summary, prefix=self.read[:cut])


@attrs.define(eq=False)
class Lineage:
    """The owner's list as it was seen last, and the compactions that may hold for it."""

    _generations: list[Generation] = attrs.field(factory=list, init=False)
    """The latest first."""
    _seen: list[Message] = attrs.field(factory=list, init=False)
    """The owner's list, to be compared by identity."""
    _recognized: dict[int, Message] = attrs.field(factory=dict, init=False)
    """The summaries that came back as plain system messages, by their positions in the list."""
    _latest_request: int | None = attrs.field(default=None, init=False)
    """The position of the latest message of the user's."""
    _holding: Generation | None = attrs.field(default=None, init=False)
    """The generation that held for the list as it was seen last."""

    def follow(self, given: list[Message]) -> Branch:
        """Return what a list stands for.

        Raises:
            ConfigError: something in the list is not a Message.
        """
        unchanged = self._see(given)
        read = given
        if self._recognized:
            read = given.copy()
            for position, summary in self._recognized.items():
                read[position] = summary
        deepest_first = sorted(self._generations, key=lambda each: -each.cut)
        self._holding = next(
            (
                each
                for each in deepest_first
                # In a list that was rewound, the latest request may be a covered one.
                if each.leaves(self._latest_request)
                and ((each is self._holding and each.cut <= unchanged) or each.starts(read))
            ),
            None,
        )
        history = read if self._holding is None else self._holding.apply(read)
        return Branch(given, read, self._holding, history)

    @property
    def latest(self) -> Generation | None:
        """The compaction that was made last; None if there is none."""
        return self._generations[0] if self._generations else None

    def add(self, generation: Generation) -> None:
        """Remember a compaction."""
        self._generations.insert(0, generation)
        del self._generations[_MOST_GENERATIONS:]

    def remember_sent(self, view: Sequence[Message]) -> None:
        """Take note of how a summary is sent: its owner may go on with that text, and no more."""
        at = prefix_length(view) - 1
        if at < 0 or view[at].summary is None:
            return
        for each in self._generations:
            known = each.summary
            if known is not None and known.summary == view[at].summary:
                is_whole = known.content == view[at].content
                each.shown = "" if is_whole else _hash_text(view[at].content)

    def _see(self, given: list[Message]) -> int:
        """Look at what is new in a list, and return how much of its start is as it was."""
        unchanged = len(self._seen)
        if given[:unchanged] != self._seen:
            pairs = zip(given, self._seen, strict=False)
            shorter = min(unchanged, len(given))
            unchanged = next((at for at, (new, old) in enumerate(pairs) if new != old), shorter)
            self._forget(unchanged)
        fresh = given[unchanged:]
        _check_messages(fresh)
        self._seen += fresh
        for position, message in enumerate(fresh, unchanged):
            if message.role == "user":
                self._latest_request = position
            summary = self._as_summary(message)
            if summary is not message:
                self._recognized[position] = summary
        return unchanged

    def _forget(self, length: int) -> None:
        """Forget all but the start of the list."""
        del self._seen[length:]
        for position in [each for each in self._recognized if each >= length]:
            del self._recognized[position]
        late = range(length - 1, -1, -1)
        self._latest_request = next((at for at in late if self._seen[at].role == "user"), None)

    def _as_summary(self, message: Message) -> Message:
        """Return a system message that is a summary of ours as one.

        Nobody but a system speaks here: a summary is never looked for in what a user or a tool
        said, who could forge one.
        """
        if message.role != "system" or message.summary is not None:
            return message
        found = read_summary(message.content)
        if found is None:
            return message
        known = next((each for each in self._generations if each.is_summary(message.content)), None)
        if known is not None and known.summary is not None:
            found = known.summary.summary
        return attrs.evolve(message, summary=found)


def same_to_provider(one: Message, other: Message) -> bool:
    """Return whether two messages say the same to a provider, whatever objects they came from.

    >>> same_to_provider(Message("user", "Why?"), Message("user", "Why?", id="m1"))
    True
    """
    return one is other or _sent(one) == _sent(other)


def digest_of(messages: Iterable[Message]) -> str:
    """Return a hash of what messages say to a provider: SHA-256, the first 128 bits in hex.

    >>> digest_of([Message("user", "Why?")]) == digest_of([Message("user", "Why?", id="m1")])
    True
    """
    digest = hashlib.sha256()
    for message in messages:
        digest.update(json.dumps(_sent(message)).encode())
        digest.update(b"\n")
    return digest.hexdigest()[:32]


def _sent(message: Message) -> list[Any]:
    # Reasoning is not compared: checkpointers and proxies strip it from the same reply.
    return [
        message.role,
        message.content,
        [[call.id, call.name, call.arguments] for call in message.tool_calls],
        [[result.call_id, result.text] for result in message.tool_results],
        [[part.media_type, part.url, _hash_bytes(part.data)] for part in message.media],
    ]


def _hash_text(text: str) -> str:
    return _hash_bytes(text.encode("utf-8", "surrogatepass"))


def _hash_bytes(data: bytes) -> str:
    """Return a short hash of some bytes; nothing for none."""
    return hashlib.sha256(data).hexdigest()[:16] if data else ""


def _split(kept: Sequence[int], length: int) -> tuple[int, tuple[int, ...]]:
    """Return where the unbroken end of the kept positions begins, and those before it."""
    ordered = sorted(kept)
    cut = length
    while ordered and ordered[-1] == cut - 1:
        cut = ordered.pop()
    return cut, tuple(ordered)


def _check_messages(fresh: Sequence[object]) -> None:
    for message in fresh:
        if not isinstance(message, Message):
            raise ConfigError(
                "history",
                message,
                "messages.Message objects",
                "convert a provider's dicts by its adapter's decode, "
                "such as providers.openai_chat.decode, or use bridges.dicts.Conversation",
            )
