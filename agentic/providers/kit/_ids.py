"""Names of tools and ids of calls: what is sent in place of those that a provider refuses.

Rewriting is deterministic, so that a tool and its calls, a call and its result, and the requests of
one history agree. A digest keeps apart what the rewriting of a name would make alike.
"""

import hashlib
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Sequence

import attrs

from agentic.loop import Decision
from agentic.messages import Message
from agentic.tools import ToolDefinition

__all__ = ["KnownIds", "NameRule", "UniqueIds", "number_ids"]

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


@attrs.frozen
class NameRule:
    """What a provider takes as the name of a tool, or as the id of a call."""

    accepted: re.Pattern[str]
    """Matches the whole of it. What starts with _, and has letters, digits, _ and - after it, is
    to be accepted up to `longest`."""
    longest: int
    """In characters."""

    def accept(self, name: object) -> bool:
        """Return whether a name is sent as it is."""
        return isinstance(name, str) and self.accepted.fullmatch(name) is not None

    def wire(self, name: str) -> str:
        """Return the name to send: the tool's own where that will do.

        >>> rule = NameRule(re.compile("[a-z_][a-z0-9_]*"), 64)
        >>> rule.wire("read"), rule.wire("files.read"), rule.wire("2 files")
        ('read', 'files_read_601e4eb6', '_2_files_ad2c7750')
        """
        if self.accept(name):
            return name
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        rewritten = f"{_OTHER.sub('_', name)[: self.longest - 10]}_{digest}"
        return rewritten if self.accept(rewritten) else f"_{rewritten}"

    def restore(self, decision: Decision, tools: Iterable[ToolDefinition]) -> Decision:
        """Return a decision whose calls have the tools' own names again."""
        ours = {self.wire(tool.name): tool.name for tool in tools}
        calls = [
            attrs.evolve(call, name=ours.get(call.name, call.name)) for call in decision.tool_calls
        ]
        return attrs.evolve(decision, tool_calls=calls)


def _stem(wanted: str) -> str:
    return wanted or "call"


def _numbered(stem: str, number: int) -> str:
    return f"{stem}_{number}"


@attrs.define
class UniqueIds:
    """The ids of the calls of one request: each names one call.

    Naming n calls takes some 2 n looks, whatever they are called.

    >>> ids = UniqueIds()
    >>> ids.take("call_1"), ids.take("call_1"), ids.take("")
    ('call_1', 'call_1_2', 'call_2')
    """

    accept: Callable[[str], bool] = attrs.field(default=bool, kw_only=True)
    """Whether a provider takes an id. An empty one is refused by most."""
    stem: Callable[[str], str] = attrs.field(default=_stem, kw_only=True)
    """From a wanted id to the beginning of those that are made in its place."""
    make: Callable[[str, int], str] = attrs.field(default=_numbered, kw_only=True)
    """From a stem and a number to an id, which the provider takes."""
    first: int = attrs.field(default=2, kw_only=True)
    """The number in the first id that is made of a stem."""
    reserved: Container[str] = attrs.field(default=(), kw_only=True)
    """Ids that are never made up, used or not."""
    used: set[str] = attrs.field(factory=set, kw_only=True)
    """Those that name a call already. Add what is sent as it is."""
    _made: Counter[str] = attrs.field(factory=Counter, init=False)
    """How many ids were tried of a stem: no try is repeated."""

    def take(self, wanted: str) -> str:
        """Return an id that names no call yet, the wanted one if it is accepted and unused."""
        fresh = wanted
        if not self.accept(wanted) or wanted in self.used:
            fresh = self._derive(self.stem(wanted))
        self.used.add(fresh)
        return fresh

    def _derive(self, stem: str) -> str:
        while True:
            fresh = self.make(stem, self.first + self._made[stem])
            self._made[stem] += 1
            if fresh not in self.used and fresh not in self.reserved:
                return fresh


def number_ids(messages: Sequence[Message]) -> list[Message]:
    """Return messages in which no id names two calls: its n-th result answers its n-th call.

    A message that changes loses its payload, as by every `replace`.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> round_ = [
    ...     Message("assistant", tool_calls=[ToolCall("call_0", "read")]),
    ...     Message("tool", tool_results=[ToolResult("call_0", "read", "text")]),
    ... ]
    >>> [result.call_id for message in number_ids(round_ * 2) for result in message.tool_results]
    ['call_0', 'call_0_2']
    """
    ids = UniqueIds(reserved={call.id for message in messages for call in message.tool_calls})
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    numbered: list[Message] = []
    for message in messages:
        calls, results = [], []
        for call in message.tool_calls:
            waiting[call.id].append(ids.take(call.id))
            calls.append(attrs.evolve(call, id=waiting[call.id][-1]))
        for result in message.tool_results:
            asked = waiting[result.call_id]
            call_id = asked.popleft() if asked else result.call_id
            results.append(attrs.evolve(result, call_id=call_id))
        same = tuple(calls) == message.tool_calls and tuple(results) == message.tool_results
        changed = message if same else message.replace(tool_calls=calls, tool_results=results)
        numbered.append(changed)
    return numbered


@attrs.define
class KnownIds:
    """What ids stand for, as far as a list was read: the tool of a call, the call of an item.

    >>> names = KnownIds()
    >>> names.add(3, "call_1", "read")
    >>> names.rewind(3)
    >>> names.values
    {}
    """

    values: dict[str, str] = attrs.field(factory=dict, init=False)
    _former: list[tuple[int, str, str | None]] = attrs.field(factory=list, init=False)
    """Where an id was given a meaning, the id, and its meaning before."""

    def add(self, position: int, known_id: str, value: str) -> None:
        """Note the meaning of an id in the item at a position."""
        self._former.append((position, known_id, self.values.get(known_id)))
        self.values[known_id] = value

    def rewind(self, position: int) -> None:
        """Forget what stands in the items from a position on."""
        while self._former and self._former[-1][0] >= position:
            _, known_id, before = self._former.pop()
            if before is None:
                del self.values[known_id]
            else:
                self.values[known_id] = before
