"""Which reasoning is stale: what precedes it has changed since it was made.

A model that binds its reasoning accepts it only behind the request that produced it; the models and
the rules are in `agentic.limits`. A *place* is a number for the beginning of a request: the system
prompt, the tools and some messages, as the provider reads them. Requests that begin alike share
their places, so a conversation that was rewound or forked finds its earlier places again. Reasoning
is stale if it was not made at the place where it would be sent.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Literal, TypeAlias

import attrs

from agentic import limits
from agentic._tool_definition import ToolDefinition
from agentic.messages import Media, Message, find_summary, prefix_length, request_meaning_of

Mode: TypeAlias = Literal["auto", "keep", "strip"]
"""`auto`: stale reasoning is left out for a model that binds it, and for one that is not known.
`keep`: never. `strip`: for every model."""
_FLAT = "What was done for this request so far, as a record:"


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

    _places: dict[Hashable, int] = attrs.field(factory=dict, init=False)
    _made: set[int] = attrs.field(factory=set, init=False)
    """The places behind a reply that was made at the place before it."""
    _tools: list[tuple[ToolDefinition, ...]] = attrs.field(factory=list, init=False)

    def start(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> int:
        """Return the place before the first message."""
        listed = tuple(tools)
        # A schema cannot be hashed, and a conversation seldom has more than one set of tools.
        if listed not in self._tools:
            self._tools.append(listed)
        return self._place((None, system_prompt, self._tools.index(listed)))

    def after(self, place: int, message: Message) -> int:
        """Return the place behind a message."""
        return self._place((place, *request_meaning_of(message)))

    def end_of(self, place: int, messages: Iterable[Message]) -> int:
        """Return the place behind several messages."""
        for message in messages:
            place = self.after(place, message)
        return place

    def note(self, place: int, messages: Iterable[Message]) -> None:
        """Record the replies at the start of some messages as made at this place."""
        for message in messages:
            if message.role != "assistant":
                break
            place = self.after(place, message)
            self._made.add(place)

    def assume(self, place: int, messages: Sequence[Message], first: int) -> None:
        """Record every reply from index `first` on as made where it is, if it has its reasoning."""
        for at, message in enumerate(messages):
            place = self.after(place, message)
            if at >= first and message.role == "assistant" and not _is_without(message):
                self._made.add(place)

    def is_made(self, place: int) -> bool:
        """Return whether this is the place behind a reply that was made there."""
        return place in self._made

    def _place(self, key: Hashable) -> int:
        return self._places.setdefault(key, len(self._places))


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
    _stripped: dict[int, tuple[Message, Message]] = attrs.field(factory=dict, init=False)
    """The messages without their reasoning, by the id of the original, which is kept alive."""
    _text: Message | None = attrs.field(default=None, init=False)
    """The message that holds the running turn as text."""

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
        """Return whether a new epoch now would cost the running turn its reasoning."""
        running = messages[_turn_start(messages) :]
        return self.is_active and any(
            message.role == "assistant" and self._may_hold(message) for message in running
        )

    def note_replies(self, fresh: Iterable[Message]) -> None:
        """Record the replies to the last request, which are the first of these messages."""
        if self._end is not None:
            self._log.note(self._end, fresh)

    def sent(
        self,
        view: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        *,
        extended: int,
    ) -> None:
        """Record a request; its first `extended` messages are the last request."""
        place = self._end if extended and self._end is not None else None
        if place is None:
            place, extended = self._log.start(system_prompt, tools), 0
        self._end = self._log.end_of(place, view[extended:])

    def assume(
        self,
        view: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        first: int,
    ) -> None:
        """Take the reasoning from index `first` on for valid: nothing tells where it was made."""
        self._log.assume(self._log.start(system_prompt, tools), view, first)

    def first_valid(self, view: Sequence[Message]) -> int:
        """Return from where on reasoning can be valid in a history that was made elsewhere.

        Nothing tells whether its beginning was sent as it is now. What a compaction kept is stale.
        """
        summary = find_summary(view)
        kept = prefix_length(view) + summary.messages_kept if summary else 0
        # The running turn has to come back whole, so its reasoning is tried.
        return max(kept, _turn_start(view)) if self.is_refused else kept

    def left_out_of(self, view: Sequence[Message]) -> tuple[tuple[int, ...], int | None]:
        """Return where reasoning was left out of a view, and where the running turn is a text."""
        text = next((at for at, each in enumerate(view) if each is self._text), None)
        return tuple(at for at, each in enumerate(view) if _is_without(each)), text

    def leave_out(
        self, view: list[Message], positions: Collection[int], turn: int | None
    ) -> list[Message]:
        """Return a view without the reasoning at these positions, and a running turn as text."""
        kept = self._replaced(view if turn is None else view[:turn], positions)
        return kept if turn is None else [*kept, self._as_text(view[turn:])]

    def strip(
        self, view: list[Message], system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> list[Message]:
        """Return a view without its stale reasoning; the same list if there is none."""
        if not self.is_active:
            return view
        stale = self._find_stale(view, self._log.start(system_prompt, tools))
        turn = _turn_start(view)
        running = {at for at in stale if at >= turn}
        if running and self.is_dropped:
            # In a running tool loop some models ask for all of its reasoning.
            stale -= running
        elif running and (self.is_refused or (self.mode == "auto" and not self.model)):
            # Of an unknown model, too: some refuse stale reasoning, some a loop without reasoning.
            return [*self._replaced(view[:turn], stale), self._as_text(view[turn:])]
        return self._replaced(view, stale) if stale else view

    def _find_stale(self, view: list[Message], place: int) -> set[int]:
        stale = set()
        for at, message in enumerate(view):
            place = self._log.after(place, message)
            if message.role == "assistant" and self._may_hold(message):
                stale |= set() if self._log.is_made(place) else {at}
        return stale

    def _may_hold(self, message: Message) -> bool:
        """Return whether a reply has reasoning, as far as is known."""
        holds = message.holds_reasoning
        # Of another model's payload nothing is known either; it is left alone.
        return bool(self.model) if holds is None else holds

    def _as_text(self, messages: Sequence[Message]) -> Message:
        # The same object for the same messages: a request that was drafted again is the same.
        text = _flatten(messages)
        if self._text is None or self._text != text:
            self._text = text
        return self._text

    def _replaced(self, view: list[Message], stale: Collection[int]) -> list[Message]:
        before, self._stripped = self._stripped, {}
        replaced = list(view)
        for at in stale:
            if at < len(view):
                key = id(view[at])
                pair = before.get(key) or (view[at], view[at].without_reasoning())
                self._stripped[key] = pair
                replaced[at] = pair[1]
        return replaced


def _is_without(message: Message) -> bool:
    return message.origin is not None and message.origin.without_reasoning


def _turn_start(view: Sequence[Message]) -> int:
    """Return where the messages behind the latest request begin."""
    late = range(len(view) - 1, -1, -1)
    return next((at + 1 for at in late if view[at].role == "user"), 0)


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
    called = {call.id: call for message in messages for call in message.tool_calls}
    parts: list[str] = [_FLAT]
    media: list[Media] = []
    for message in messages:
        parts += [message.content] if message.content.strip() else []
        for result in message.tool_results:
            call = called.get(result.call_id)
            name = f"{call.name}({call.arguments})" if call else result.name
            parts.append(f"{name} returned:\n{result.text}")
        media += message.all_media
    return Message("user", "\n\n".join(parts), media=media)
