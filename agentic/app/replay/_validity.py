"""Whether providers would accept the structure of a session's requests, checked incrementally.

A request is invalid if a call is separated from its results, or if an adapter's encoding of it
breaks a rule of the adapter's validator. If the next request begins with all of a request, that
request is a part of the next. So of a series of requests that only grow, only the last is checked.
The others are checked one by one if the last is refused, or if they end in a reply, which needs a
check of its own. Only rounds that are new or have new neighbours are checked: the rules concern
adjacent messages, except for ids, which the encoders keep unique. So after a cut, most of a request
is known to be valid, and policies side by side, which send mostly the same, know it from each
other. Outputs that differ in nothing but their words are the same here: no rule reads them. If that
check refuses a request, the whole request is checked, and that decides.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from types import ModuleType

import attrs

from agentic import providers
from agentic.errors import ConfigError
from agentic.messages import Message, close_open_rounds
from agentic.replay._records import MessageMemo

ADAPTERS = ("anthropic", "openai_chat", "openai_responses", "gemini", "bedrock", "cohere", "ollama")
# How many rounds before and after the new ones are checked with them.
_BESIDE = 2
# In the place of rounds that are not checked: most providers want a user message at the beginning.
_OTHERS = Message("user", "And so on.")


def adapters_of(names: Sequence[str]) -> tuple[ModuleType, ...]:
    """Return adapters by name.

    >>> [adapter.NAME for adapter in adapters_of(["anthropic"])]
    ['anthropic']

    Raises:
        ConfigError: there is no adapter of that name.
    """
    for name in names:
        if name not in ADAPTERS:
            raise ConfigError("provider", name, f"one of {', '.join(ADAPTERS)}")
    return tuple(getattr(providers, name) for name in dict.fromkeys(names))


def refusal_of(view: list[Message], adapters: Sequence[ModuleType] = ()) -> str:
    """Return why a request would be refused; empty if it would not.

    >>> from agentic.messages import ToolResult
    >>> refusal_of([Message("tool", tool_results=[ToolResult("c1", "run")])])
    'a call is separated from its result'
    """
    # It returns the same list if there was nothing to repair.
    if close_open_rounds(view) is not view:
        return "a call is separated from its result"
    for adapter in adapters:
        for found in adapter.validate(adapter.encode_request(view)):
            return f"{adapter.NAME}: {found.problem}"
    return ""


@attrs.define(eq=False)
class SoundNeighbours:
    """Messages of valid requests, each with its neighbours; policies may share one."""

    _known: set[tuple[Hashable, Hashable, Hashable]] = attrs.field(factory=set, init=False)
    """The keys of a message's left neighbour, of itself and of its right neighbour."""
    _key: MessageMemo[Hashable] = attrs.field(factory=lambda: MessageMemo(_key_of), init=False)

    def add(self, view: Sequence[Message]) -> None:
        """Add a valid request."""
        self._known.update(self._neighbours(view))

    def unknown(self, view: Sequence[Message]) -> list[int]:
        """Return the positions of the messages that are new or have new neighbours."""
        return [at for at, found in enumerate(self._neighbours(view)) if found not in self._known]

    def _neighbours(self, view: Sequence[Message]) -> Iterator[tuple[Hashable, Hashable, Hashable]]:
        """Yield the keys of each message and its neighbours; None if there is no neighbour."""
        keys = [None, *map(self._key, view), None]
        return zip(keys, keys[1:], keys[2:], strict=False)


@attrs.define(eq=False)
class Validity:
    """Checks the requests of one session, in order."""

    adapters: tuple[ModuleType, ...] = ()
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
        refused = bool(self._lengths) and self._refusal(view)
        starts = _starts(view)
        for length in self._lengths:
            problem = ""
            if refused:
                problem = refusal_of(view[:length], self.adapters)
            elif length and view[length - 1].role == "assistant":
                problem = self._refusal_at_end(view, length, starts)
            if problem:
                self.refusals[self._concluded] = problem
            self._concluded += 1
        self._lengths.clear()

    def _refusal(self, view: list[Message]) -> str:
        """Do what `refusal_of` does, checking only what is not known to be valid."""
        stretches = list(_stretches(self.sound.unknown(view), _starts(view), len(view)))
        # A request without messages has no part that could be checked.
        accepted = bool(view) and not any(
            refusal_of(_part(view, *stretch), self.adapters) for stretch in stretches
        )
        problem = "" if accepted else refusal_of(view, self.adapters)
        if not problem:
            # Added as a whole, so that what is only cut off or grown needs no check next time.
            self.sound.add(view)
        return problem

    def _refusal_at_end(self, view: list[Message], length: int, starts: list[int]) -> str:
        """Check the beginning of a valid request as if it were all: only its end is new."""
        # With the rounds before the end, on which the rules about an end may depend.
        [(first, _)] = _stretches([length - 1], starts, length)
        end = view[first:length]
        if not refusal_of([_OTHERS, *end] if first else end, self.adapters):
            return ""
        return refusal_of(view[:length], self.adapters)


def _key_of(message: Message) -> Hashable:
    """Return what tells a message from others: its object, or of outputs all but their words.

    >>> from agentic.messages import ToolResult
    >>> outputs = [ToolResult("c1", "run", "1 passed"), ToolResult("c1", "run", "[Cleared]")]
    >>> len({_key_of(Message("tool", tool_results=[each])) for each in outputs})
    1
    """
    results = message.tool_results
    if message.role != "tool" or message.native or message.media or message.content:
        return id(message)
    if any(each.media or each.extra for each in results):
        return id(message)
    return tuple(
        # Blank texts have rules of their own.
        (each.call_id, each.name, each.error is None, bool(each.text), bool(each.text.strip()))
        for each in results
    )


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
