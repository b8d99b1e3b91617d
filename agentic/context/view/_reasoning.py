"""Which reasoning is stale: what precedes it has changed since it was made.

A model that binds its reasoning accepts it only behind the request that produced it; the models and
the rules are in `agentic.limits`. A *place* is a hash of the beginning of a request: the system
prompt, the tools and some messages, as the provider reads them. Requests that begin alike share
their places, so a conversation that was rewound or forked finds its earlier places again. Reasoning
is stale if it was not made at the place where it would be sent. Two places collide with a
probability of 2**-61; the interpreter salts the hashes of texts.

Some models also bind it to its *chain*: the reasoning that was sent before it when it was made.
What stands before it later has to be an end of that chain, or nothing. So if an owner loses the
reasoning of a reply in the middle, that of the replies before it becomes stale. The same holds of
reasoning that comes back after a request was sent without it.
"""

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, TypeAlias

import attrs

from agentic import limits
from agentic.messages import Media, Message
from agentic.messages._landmarks import find_summary, prefix_length
from agentic.messages._provider_compaction import compaction_key
from agentic.messages._timeline import request_meaning_of
from agentic.protocols import ToolDefinition

Mode: TypeAlias = Literal["auto", "keep", "strip"]
"""`auto`: stale reasoning is left out for a model that binds it, and for one that is not known.
`keep`: never. `strip`: for every model."""
_FLAT = "What was done for this request so far, as a record:"


@attrs.frozen
class ReasoningChain:
    """The replies whose reasoning was sent, up to one of them."""

    place: int
    """The place behind the last of them."""
    length: int
    """How many they are. Which ones they are follows from the chain of the last one."""


@attrs.define(eq=False)
class ReplyLog:
    """The places of one conversation's requests, and the replies that were made there.

    >>> log, question, reply = ReplyLog(), Message("user", "Why?"), Message("assistant", "So.")
    >>> asked = log.after(log.start("", ()), question)
    >>> log.note(asked, [reply])
    >>> log.is_made(log.after(asked, reply))
    True
    >>> elsewhere = log.after(log.start("Be brief.", ()), question)
    >>> log.is_made(log.after(elsewhere, reply))
    False
    """

    _made: dict[int, ReasoningChain | None] = attrs.field(factory=dict, init=False)
    """The reasoning before each reply that was made where it is, by the place behind the reply."""
    _bare: set[int] = attrs.field(factory=set, init=False)
    """The places behind replies that had no reasoning when they were made."""
    _tools: list[tuple[ToolDefinition, ...]] = attrs.field(factory=list, init=False)
    _stand_ins: dict[str, int] = attrs.field(factory=dict, init=False)
    """The places behind what providers' compactions stand for, by what tells these apart."""

    def start(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> int:
        """Return the place before the first message."""
        definitions = tuple(tools)
        # A schema cannot be hashed, and a conversation seldom has more than one set of tools.
        if definitions not in self._tools:
            self._tools.append(definitions)
        return hash((system_prompt, self._tools.index(definitions)))

    def after(self, place: int, message: Message) -> int:
        """Return the place behind a message."""
        if self._stand_ins and message.role == "assistant":
            stand_in = self._stand_ins.get(compaction_key(message))
            if stand_in is not None:
                return stand_in
        return hash((place, request_meaning_of(message)))

    def end_of(self, place: int, messages: Iterable[Message]) -> int:
        """Return the place behind several messages."""
        for message in messages:
            place = self.after(place, message)
        return place

    def note(
        self, place: int, messages: Iterable[Message], chain: ReasoningChain | None = None
    ) -> None:
        """Record the replies at the start of some messages as made at this place.

        `chain` is the reasoning that the request was sent with.
        """
        for message in messages:
            if message.role != "assistant":
                break
            place = self.after(place, message)
            has = message.holds_reasoning is not False
            chain = self._add(place, chain, has_reasoning=has)

    def assume(
        self,
        place: int,
        messages: Sequence[Message],
        first: int,
        held: int | None = None,
        *,
        has_stale: bool = False,
    ) -> tuple[int, ReasoningChain | None]:
        """Record every reply from index `first` on as made where it is, if it has its reasoning.

        `held` is a bit mask of those that had valid reasoning; None for all that have some now. The
        others had none or, with `has_stale`, perhaps stale reasoning. Return the place behind the
        messages, and their reasoning.
        """
        chain: ReasoningChain | None = None
        for at, message in enumerate(messages):
            place = self.after(place, message)
            if at < first or message.role != "assistant" or _is_without(message):
                continue
            if held is None:
                chain = self._add(place, chain, has_reasoning=message.holds_reasoning is not False)
            elif held >> at & 1:
                chain = self._add(place, chain, has_reasoning=True)
            elif not has_stale:
                self._bare.add(place)
        return place, chain

    def stand_in(self, message: Message, place: int) -> None:
        """Take the place behind a provider's compaction for that behind what it was made of."""
        if key := compaction_key(message):
            self._stand_ins[key] = place

    def is_made(self, place: int) -> bool:
        """Return whether this is the place behind a reply that was made there."""
        return place in self._made

    def holds(self, place: int, message: Message) -> bool:
        """Return whether the message before a place is a reply that may have reasoning."""
        holds = message.holds_reasoning
        if holds is None:
            holds = place not in self._bare
        return holds and message.role == "assistant"

    def count_valid(self, place: int, before: Sequence[int]) -> tuple[int, int]:
        """Return which part of some reasoning may stand before that of a reply: from, up to.

        `place` is that behind the reply. `before` has the places of the replies before it.
        """
        chain, end = self._made[place], len(before)
        while end and (chain is None or before[end - 1] != chain.place):
            end -= 1
        return (0 if chain is None else max(0, end - chain.length)), end

    def _add(
        self, place: int, chain: ReasoningChain | None, *, has_reasoning: bool
    ) -> ReasoningChain | None:
        """Record a reply, and return the reasoning up to it."""
        self._made[place] = chain
        if not has_reasoning:
            self._bare.add(place)
            return chain
        self._bare.discard(place)
        return _longer(chain, place)


@attrs.define(eq=False)
class ReasoningFilter:
    """Leaves stale reasoning out of one conversation's requests."""

    model: str
    """The model that the requests are for; empty if it is not known."""
    mode: Mode
    server_drops: bool
    """Whether the sender lets the provider drop stale reasoning instead of refusing the request."""
    _log: ReplyLog = attrs.field(factory=ReplyLog, init=False)
    _end: int | None = attrs.field(default=None, init=False)
    """The place behind the last request; None before the first one."""
    _chain: ReasoningChain | None = attrs.field(default=None, init=False)
    """The valid reasoning of the last request."""
    held: int = attrs.field(default=0, init=False)
    """A bit mask of the messages of the last request that have valid reasoning."""
    _stripped: dict[int, tuple[Message, Message]] = attrs.field(factory=dict, init=False)
    """The messages without their reasoning, by the id of the original, which is kept alive."""
    left_to_server: tuple[Message, ...] = attrs.field(default=(), init=False)
    """The replies of the view stripped last whose reasoning is sent, and dropped by the server."""
    _texts: tuple[Message, ...] = attrs.field(default=(), init=False)
    """The messages that hold the running loop as text."""

    @property
    def is_active(self) -> bool:
        """Whether stale reasoning is left out."""
        if self.mode != "auto" or not self.model:
            return self.mode != "keep"
        return limits.binds_reasoning(self.model) is not None

    @property
    def is_refused(self) -> bool:
        """Whether a request with stale reasoning would be refused, as far as is known."""
        binding = limits.binds_reasoning(self.model) if self.model else None
        return binding is not None and binding.refuses and not self.server_drops

    @property
    def is_dropped(self) -> bool:
        """Whether the provider drops stale reasoning from a request, as far as is known."""
        binding = limits.binds_reasoning(self.model) if self.model else None
        return self.server_drops or (binding is not None and not binding.refuses)

    def is_at_stake(self, messages: Sequence[Message]) -> bool:
        """Return whether a new epoch now would cost the running loop its reasoning."""
        running = messages[_loop_start(messages) :]
        return self.is_active and any(
            message.role == "assistant" and self._may_hold(message) for message in running
        )

    def note_replies(self, fresh: Iterable[Message]) -> None:
        """Record the replies to the last request, which are the first of these messages."""
        if self._end is not None:
            self._log.note(self._end, fresh, self._chain)

    def sent(
        self,
        view: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        *,
        extended: int,
    ) -> None:
        """Record a request; its first `extended` messages are the last request."""
        place, stale = self._end, frozenset[int]()
        if place is None or not extended:
            place, extended = self._log.start(system_prompt, tools), 0
            self._chain, self.held = None, 0
            stale = frozenset(self._find_stale(view, place) if self.is_active else ())
        for at in range(extended, len(view)):
            place = self._log.after(place, view[at])
            if at not in stale and self._log.is_made(place) and self._log.holds(place, view[at]):
                self._chain = _longer(self._chain, place)
                self.held |= 1 << at
        self._end = place

    def withdraw(self) -> None:
        """Take the last request for one that was not sent: nothing replies to it."""
        self._end = None

    def assume(
        self,
        view: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        first: int,
    ) -> None:
        """Take the reasoning from index `first` on for valid: nothing tells where it was made."""
        self._log.assume(self._log.start(system_prompt, tools), view, first)

    def resume(
        self,
        view: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        held: int | None,
    ) -> None:
        """Take a view for the last request, of which `held` tells what reasoning was valid.

        None if that is not known: then what the view has is taken for valid.
        """
        start = self._log.start(system_prompt, tools)
        self._end, self._chain = self._log.assume(start, view, 0, held, has_stale=self.is_dropped)
        self.held = -1 if held is None else held

    def first_valid(self, view: Sequence[Message]) -> int:
        """Return from where on reasoning can be valid in a history that was made elsewhere.

        Nothing tells whether its beginning was sent as it is now. What a compaction kept is stale.
        """
        summary = find_summary(view)
        first = prefix_length(view) + summary.messages_kept if summary else 0
        # The running loop has to come back whole, so its reasoning is tried.
        return max(first, _loop_start(view)) if self.is_refused else first

    def stand_in(
        self,
        message: Message,
        summarized: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
    ) -> None:
        """Record what a provider's compaction stands for: reasoning behind that stays valid."""
        place = self._log.end_of(self._log.start(system_prompt, tools), summarized)
        self._log.stand_in(message, place)

    def left_out_of(self, view: Sequence[Message]) -> tuple[tuple[int, ...], int | None]:
        """Return where reasoning was left out of a view, and from where on a loop is text."""
        first = self._texts[0] if self._texts else None
        text = next((at for at, each in enumerate(view) if each is first), None)
        return tuple(at for at, each in enumerate(view) if _is_without(each)), text

    def leave_out(
        self, view: list[Message], positions: Collection[int], loop: int | None
    ) -> list[Message]:
        """Return a view without the reasoning at these positions, and with a loop as text."""
        if loop is None:
            return self._replaced(view, positions)
        return [*self._replaced(view[:loop], positions), *self._as_text(view[loop:])]

    def strip(
        self, view: list[Message], system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> list[Message]:
        """Return a view without its stale reasoning; the same list if there is none."""
        self.left_to_server = ()
        if not self.is_active:
            return view
        stale = self._find_stale(view, self._log.start(system_prompt, tools))
        loop = _loop_start(view)
        in_loop = {at for at in stale if at >= loop}
        if in_loop and self.is_dropped:
            # In a running tool loop some models ask for all of its reasoning.
            stale -= in_loop
            self.left_to_server = tuple(view[at] for at in in_loop)
        elif in_loop and (self.is_refused or (self.mode == "auto" and not self.model)):
            # Of an unknown model, too: some refuse stale reasoning, some a loop without reasoning.
            return self.leave_out(view, stale, loop)
        return self._replaced(view, stale) if stale else view

    def becomes_stale(
        self,
        former: Sequence[Message] | None,
        view: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
    ) -> bool:
        """Return whether a view that continues the last request has more stale reasoning.

        So it is if the owner has lost reasoning in the middle, or it has come back. `former` is the
        last request; None if an earlier process has made it.
        """
        if not self.is_active:
            return False
        place = self._log.start(system_prompt, tools)
        stale = self._find_stale(view, place)
        if former is not None:
            return not stale <= self._find_stale(former, place)
        # What was sent and is not valid was left to the server.
        return any(self.held >> at & 1 or not self.is_dropped for at in stale)

    def _find_stale(self, view: Sequence[Message], place: int) -> set[int]:
        stale: set[int] = set()
        if not any(message.role == "assistant" and self._may_hold(message) for message in view):
            return stale
        valid: list[int] = []
        places: list[int] = []
        has_chains = self._has_chains
        for at, message in enumerate(view):
            place = self._log.after(place, message)
            if not self._log.holds(place, message):
                continue
            if not self._log.is_made(place):
                stale.add(at)
                continue
            if has_chains:
                # What is later was made without the rest, so it is the rest that has to go.
                first, end = self._log.count_valid(place, places)
                stale.update(valid[:first], valid[end:])
                del valid[end:], valid[:first], places[end:], places[:first]
            valid.append(at)
            places.append(place)
        return {at for at in stale if self._may_hold(view[at])}

    @property
    def _has_chains(self) -> bool:
        """Whether reasoning is bound to that before it, as far as is known."""
        binding = limits.binds_reasoning(self.model) if self.model else None
        return binding is None or binding.refuses

    def _may_hold(self, message: Message) -> bool:
        """Return whether a reply has reasoning, as far as is known."""
        holds = message.holds_reasoning
        # Of another model's payload nothing is known either; it is left alone.
        return bool(self.model) if holds is None else holds

    def _as_text(self, messages: Sequence[Message]) -> list[Message]:
        """Return a loop with its calls and outputs as text, between the user's own messages."""
        runs = [list(run) for _, run in itertools.groupby(messages, key=_is_users)]
        texts = tuple(_flatten(run) for run in runs if not _is_users(run[0]))
        # The same objects for the same messages: a request that was drafted again is the same.
        if self._texts != texts:
            self._texts = texts
        later = iter(self._texts)
        parts = (run if _is_users(run[0]) else [next(later)] for run in runs)
        return [message for part in parts for message in part]

    def _replaced(self, view: list[Message], stale: Collection[int]) -> list[Message]:
        before, self._stripped = self._stripped, {}
        messages = list(view)
        for at in stale:
            if at < len(view):
                key = id(view[at])
                pair = before.get(key) or (view[at], view[at].without_reasoning())
                self._stripped[key] = pair
                messages[at] = pair[1]
        return messages


def _longer(chain: ReasoningChain | None, place: int) -> ReasoningChain:
    return ReasoningChain(place, 1 if chain is None else chain.length + 1)


def _is_without(message: Message) -> bool:
    return message.origin is not None and message.origin.without_reasoning


def _is_users(message: Message) -> bool:
    return message.role == "user"


def _loop_start(view: Sequence[Message]) -> int:
    """Return where the running tool loop begins, as a provider sees it.

    A request right behind results, whose turn was broken off, does not end it: both are one message
    of the user's.
    """
    start = len(view)
    while start:
        before = start
        while before and _is_users(view[before - 1]):
            before -= 1
        if before < start and (not before or view[before - 1].role != "tool"):
            break
        start = before - (before == start)
    return start


def _flatten(messages: Sequence[Message]) -> Message:
    """Return calls and their outputs as text: a request that holds them as calls would be refused.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> call = Message("assistant", "I look.", tool_calls=[ToolCall("c1", "read", '{"path": "a"}')])
    >>> answer = Message("tool", tool_results=[ToolResult("c1", "read", "Buy milk.")])
    >>> print(_flatten([call, answer]).content)
    What was done for this request so far, as a record:
    <BLANKLINE>
    I look.
    <BLANKLINE>
    read({"path": "a"}) returned:
    Buy milk.
    """
    calls = {call.id: call for message in messages for call in message.tool_calls}
    parts: list[str] = [_FLAT]
    media: list[Media] = []
    for message in messages:
        parts += [message.content] if message.content.strip() else []
        for result in message.tool_results:
            call = calls.get(result.call_id)
            name = f"{call.name}({call.arguments})" if call else result.name
            parts.append(f"{name} returned:\n{result.text}")
        media += message.all_media
    return Message("user", "\n\n".join(parts), media=media)
