"""Whether providers would accept the structure of a session's requests, checked incrementally.

A request is invalid if a call is separated from its results, or if an adapter's encoding of it
breaks a rule of the adapter's validator. If the next request begins with all of a request, that
request is a part of the next. So of a series of requests that only grow, only the last is checked.
The others are checked one by one if the last is refused, or if they end in a reply, which needs a
check of its own. Only rounds of a new shape, or with neighbours of a new shape, are checked: the
rules concern adjacent messages, except for ids, which the encoders keep unique. The shape of a
message is all that a rule reads of it: who speaks, whether a text is blank, the names of its calls,
and whether their arguments are an object. So most of a long request is known to be valid, whichever
policy made it. If that check refuses a request, the whole request is checked, and that decides.
"""

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

import attrs

from agentic.app.replay._records import MessageMemo
from agentic.messages import Message, ToolCall, close_open_rounds
from agentic.providers._registry import find_adapter
from agentic.providers.kit import Adapter

# How many rounds before and after the new ones are checked with them.
_BESIDE = 2
# In the place of rounds that are not checked: most providers want a user message at the beginning.
_OTHERS = Message("user", "And so on.")


_Neighbours: TypeAlias = tuple[int, int, int]
"""The shapes of a message's left neighbour, of itself and of its right neighbour."""


def adapters_of(names: Sequence[str]) -> tuple[Adapter, ...]:
    """Return adapters by name.

    >>> [adapter.name for adapter in adapters_of(["anthropic", "anthropic"])]
    ['anthropic']

    Raises:
        ConfigError: there is no adapter of that name.
    """
    return tuple(map(find_adapter, dict.fromkeys(names)))


def refusal_of(view: list[Message], adapters: Sequence[Adapter] = ()) -> str:
    """Return why a request would be refused; empty if it would not.

    >>> from agentic.messages import ToolResult
    >>> refusal_of([Message("tool", tool_results=[ToolResult("c1", "run")])])
    'a call is separated from its result'
    """
    # It returns the same list if there was nothing to repair.
    if close_open_rounds(view) is not view:
        return "a call is separated from its result"
    for adapter in adapters:
        for problem in adapter.validate(adapter.encode_request(view)):
            return f"{adapter.name}: {problem.problem}"
    return ""


@attrs.define(eq=False)
class SoundNeighbours:
    """Messages of valid requests, each with its neighbours; policies may share one."""

    _known: set[_Neighbours] = attrs.field(factory=set, init=False)
    _numbers: dict[Hashable, int] = attrs.field(factory=dict, init=False)
    """A number for each shape, from 1 on: 0 is no message."""
    _shape: MessageMemo[int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._shape = MessageMemo(self._number_of)

    def _number_of(self, message: Message) -> int:
        return self._numbers.setdefault(_shape_of(message), len(self._numbers) + 1)

    def of(self, view: Sequence[Message]) -> list[_Neighbours]:
        """Return each message of a view with its neighbours; 0 if there is no neighbour."""
        shapes = [0, *self._shape.of_each(view), 0]
        return list(zip(shapes, shapes[1:], shapes[2:], strict=False))

    def unknown(self, neighbours: Sequence[_Neighbours]) -> list[int]:
        """Return the positions of the messages that are new or have new neighbours."""
        return [at for at, each in enumerate(neighbours) if each not in self._known]

    def add(self, neighbours: Iterable[_Neighbours]) -> None:
        """Add those of a valid request."""
        self._known.update(neighbours)


@attrs.define(eq=False)
class Validity:
    """Checks the requests of one session, in order."""

    adapters: tuple[Adapter, ...] = ()
    sound: SoundNeighbours = attrs.field(factory=SoundNeighbours)
    refusals: dict[int, str] = attrs.field(factory=dict, init=False)
    """Why requests would be refused, by number from 0; complete once their series is concluded."""
    _lengths: list[int] = attrs.field(factory=list, init=False)
    """The lengths of the requests that only grew, in order."""
    _concluded: int = attrs.field(default=0, init=False)

    def note(self, length: int) -> None:
        """Record a request of this many messages that begins with the one before it."""
        self._lengths.append(length)

    def conclude(self, view: list[Message]) -> None:
        """Check the requests since the last conclusion; `view` is the latest of them."""
        refusal = bool(self._lengths) and self._refusal(view)
        starts = _starts(view)
        for length in self._lengths:
            problem = ""
            if refusal:
                problem = refusal_of(view[:length], self.adapters)
            elif length and view[length - 1].role == "assistant":
                problem = self._refusal_at_end(view, length, starts)
            if problem:
                self.refusals[self._concluded] = problem
            self._concluded += 1
        self._lengths.clear()

    def _refusal(self, view: list[Message]) -> str:
        """Do what `refusal_of` does, checking only what is not known to be valid."""
        # Shapes do not tell whether a result answers its call, and the rest relies on it.
        if not is_paired(view):
            return refusal_of(view, self.adapters)
        neighbours = self.sound.of(view)
        unknown = self.sound.unknown(neighbours)
        stretches = list(_stretches(unknown, _starts(view), len(view))) if unknown else []
        # A request without messages has no part that could be checked.
        is_accepted = bool(view) and not any(
            refusal_of(_part(view, *stretch), self.adapters) for stretch in stretches
        )
        problem = "" if is_accepted else refusal_of(view, self.adapters)
        if not problem:
            self.sound.add(neighbours[at] for at in unknown)
        return problem

    def _refusal_at_end(self, view: list[Message], length: int, starts: list[int]) -> str:
        """Check the beginning of a valid request as if it were all: only its end is new."""
        # With the rounds before the end, on which the rules about an end may depend.
        [(first, _)] = _stretches([length - 1], starts, length)
        end = view[first:length]
        if not refusal_of([_OTHERS, *end] if first else end, self.adapters):
            return ""
        return refusal_of(view[:length], self.adapters)


def is_paired(view: Sequence[Message]) -> bool:
    """Return whether all results stand right behind their calls, and each call has one.

    A quick look that `close_open_rounds` confirms where it is not so.
    """
    waiting: list[str] = []
    for message in view:
        for result in message.tool_results:
            if result.call_id not in waiting:
                return False
            waiting.remove(result.call_id)
        if message.role != "tool":
            if waiting:
                return False
            waiting = [call.id for call in message.tool_calls]
    return not waiting


_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""An id that every provider takes as it is."""


def _shape_of(message: Message) -> Hashable:
    """Return what the rules read of a message; of one with a payload or media, all of it.

    >>> from agentic.messages import ToolResult
    >>> outputs = [ToolResult("c1", "run", "1 passed"), ToolResult("c2", "run", "[Cleared]")]
    >>> len({_shape_of(Message("tool", tool_results=[each])) for each in outputs})
    1
    """
    results, calls = message.tool_results, message.tool_calls
    if message.native or message.edited_native or message.media or message.extra:
        return id(message)
    if any(each.media or each.extra for each in results) or any(each.extra for each in calls):
        return id(message)
    return (
        message.role,
        message.summary is not None,
        _fill_of(message.content),
        _fill_of(message.reasoning),
        tuple(_shape_of_call(call) for call in calls),
        tuple(
            (_id_of(each.call_id), each.name, each.error is None, _fill_of(each.text))
            for each in results
        ),
    )


def _shape_of_call(call: ToolCall) -> Hashable:
    try:
        call.parse()
        is_object = True
    except ValueError:
        is_object = False
    # Arguments that are no object are sent in a form that depends on what they are.
    return _id_of(call.id), call.name, is_object or call.arguments, call.is_async


def _id_of(call_id: str) -> str:
    """Return an id that a provider may refuse; the encoders keep all others apart."""
    return "" if _ID.fullmatch(call_id) else call_id or "none"


def _fill_of(text: str) -> int:
    """Return whether a text is empty, blank or more: blank texts have rules of their own."""
    return 0 if not text else 1 if text.isspace() else 2


def _starts(view: Sequence[Message]) -> list[int]:
    """Return the positions where rounds begin, if no round is broken."""
    return [at for at, message in enumerate(view) if message.role != "tool" or not at]


def _stretches(
    positions: Sequence[int], starts: Sequence[int], length: int
) -> Iterator[tuple[int, int]]:
    """Yield the stretches of rounds around these positions, without overlaps."""
    first = last = 0
    for position in positions:
        round_of = bisect_right(starts, position) - 1
        begin = starts[max(0, round_of - _BESIDE)]
        after = round_of + 1 + _BESIDE
        if begin > last:
            if last:
                yield first, last
            first = begin
        last = min(starts[after], length) if after < len(starts) else length
    if last:
        yield first, last


def _part(view: list[Message], first: int, last: int) -> list[Message]:
    """Return a stretch; a user message takes the place of what comes before and after it."""
    before = [_OTHERS] if first else []
    after = [_OTHERS] if last < len(view) else []
    return [*before, *view[first:last], *after] if before or after else view
