"""Replace tool names and call ids that a provider rejects.

Rewriting is deterministic, so that the same name is used for a tool and its calls, the same id for
a call and its result, and both in every request of a history. A digest keeps rewritten names
distinct that would otherwise be equal.
"""

import hashlib
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Sequence

import attrs

from agentic.loop import Decision
from agentic.messages import Message
from agentic.messages._rounds import LastRun
from agentic.tools import ToolDefinition

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_NO_WORD = re.compile(r"[^a-zA-Z0-9_]")


@attrs.frozen
class NameRule:
    """What a provider accepts as the name of a tool or as the id of a call."""

    accepted: re.Pattern[str]
    """Must match the whole name. It has to accept any name of up to `longest` characters that
    consists of _ followed by letters, digits and _."""
    longest: int
    """The maximum length, in characters."""

    def accept(self, name: object) -> bool:
        """Return whether a name can be sent unchanged."""
        return isinstance(name, str) and self.accepted.fullmatch(name) is not None

    def wire(self, name: str) -> str:
        """Return the name to send: the original if it is accepted, else a rewritten one.

        >>> rule = NameRule(re.compile("[a-z_][a-z0-9_]*"), 64)
        >>> rule.wire("read"), rule.wire("files.read"), rule.wire("2 files")
        ('read', 'files_read_601e4eb6', '_2_files_ad2c7750')
        """
        if self.accept(name):
            return name
        # surrogatepass: a name with half a character in it has to get a digest, too.
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        # 10 is for the digest, the _ before it, and the _ that may come first.
        with_dashes = f"{_OTHER.sub('_', name)[: self.longest - 10]}_{digest}"
        words = f"{_NO_WORD.sub('_', name)[: self.longest - 10]}_{digest}"
        spellings = (with_dashes, f"_{with_dashes}", words)
        return next(filter(self.accept, spellings), f"_{words}")

    def restore(self, decision: Decision, tools: Iterable[ToolDefinition]) -> Decision:
        """Return the decision with the original tool names restored in its calls."""
        # A name that is missing here was made up by the model: the loop answers such a call.
        ours = {self.wire(tool.name): tool.name for tool in tools}
        calls = [
            attrs.evolve(call, name=ours.get(call.name, call.name)) for call in decision.tool_calls
        ]
        return attrs.evolve(decision, tool_calls=calls)


@attrs.define
class UniqueIds:
    """The call ids of one request, each of which identifies one call.

    Naming n calls takes about 2n lookups, whatever their ids are.

    >>> ids = UniqueIds()
    >>> ids.take("call_1"), ids.take("call_1"), ids.take("")
    ('call_1', 'call_1_2', 'call_2')
    """

    accept: Callable[[str], bool] = attrs.field(default=bool, kw_only=True)
    """Return whether the provider accepts an id. Most reject an empty one."""
    stem: Callable[[str], str] = attrs.field(default=lambda wanted: wanted or "call", kw_only=True)
    """Return the stem of the ids that may replace a requested id."""
    make: Callable[[str, int], str] = attrs.field(default="{}_{}".format, kw_only=True)
    """Return an id made of a stem and a number, which the provider must accept."""
    first: int = attrs.field(default=2, kw_only=True)
    """The number in the first id made from a stem."""
    reserved: Container[str] = attrs.field(default=(), kw_only=True)
    """Ids that are never generated, whether used or not."""
    used: set[str] = attrs.field(factory=set, kw_only=True)
    """The ids already in use. Add those that are sent unchanged."""
    # The number of ids tried for each stem. Without it, n equal ids would take n² lookups.
    _made: Counter[str] = attrs.field(factory=Counter, init=False)

    def take(self, wanted: str) -> str:
        """Return an unused id: the requested one if it is accepted and unused."""
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
    """Return messages in which each call has a unique id.

    A changed reply keeps its payload, into a copy of which an encoder writes the ids.

    If an id occurs more than once, its n-th result is taken to answer its n-th call.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> round_ = [
    ...     Message("assistant", tool_calls=[ToolCall("call_0", "read")]),
    ...     Message("tool", tool_results=[ToolResult("call_0", "read", "text")]),
    ... ]
    >>> [result.call_id for message in number_ids(round_ * 2) for result in message.tool_results]
    ['call_0', 'call_0_2']
    """
    # Reserved ahead, so that an id made for an early call is not a later one's own.
    ids = UniqueIds(reserved={call.id for message in messages for call in message.tool_calls})
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    numbered: list[Message] = []
    for message in messages:
        calls, results = [], []
        for call in message.tool_calls:
            waiting[call.id].append(ids.take(call.id))
            calls.append(attrs.evolve(call, id=waiting[call.id][-1]))
        for result in message.tool_results:
            ids_waiting = waiting[result.call_id]
            call_id = ids_waiting.popleft() if ids_waiting else result.call_id
            results.append(attrs.evolve(result, call_id=call_id))
        same = tuple(calls) == message.tool_calls and tuple(results) == message.tool_results
        copy = message if same else message.edit(tool_calls=calls, tool_results=results)
        numbered.append(copy)
    return numbered


@attrs.define
class KnownIds:
    """The meaning of each id read so far: the tool of a call, or the call of an item.

    >>> names = KnownIds()
    >>> names.add(3, "call_1", "read")
    >>> names.rewind(3)
    >>> names.values
    {}
    """

    values: dict[str, str] = attrs.field(factory=dict, init=False)
    _former: list[tuple[int, str, str | None]] = attrs.field(factory=list, init=False)
    """For each `add`: the position, the id, and the id's previous meaning."""

    def add(self, position: int, known_id: str, value: str) -> None:
        """Record the meaning of an id, found in the item at a position."""
        self._former.append((position, known_id, self.values.get(known_id)))
        self.values[known_id] = value

    def rewind(self, position: int) -> None:
        """Undo what was recorded for the items at `position` and after it."""
        while self._former and self._former[-1][0] >= position:
            _, known_id, before = self._former.pop()
            if before is None:
                del self.values[known_id]
            else:
                self.values[known_id] = before


@attrs.define
class CallMatcher:
    """Finds the call that a result answers, in a conversation whose calls may have no ids.

    As in `messages.split_rounds`, it is a call of the nearest run before it.

    >>> calls = CallMatcher()
    >>> for name in ("id-1", "id-2"):
    ...     number = calls.begin(is_reply=True, has_calls=True)
    ...     calls.waiting.append((name, "read"))
    >>> calls.take(lambda call_id, name: name == "read"), calls.waiting
    ('id-1', [('id-2', 'read')])
    """

    waiting: list[tuple[str, str]] = attrs.field(factory=list, init=False)
    """The id and the name of each call of the latest run that has no result yet."""
    _last_run: LastRun = attrs.field(factory=LastRun, init=False)
    _seen: Counter[str] = attrs.field(factory=Counter, init=False)
    _former: list[tuple[str, list[tuple[str, str]], tuple[bool, bool]]] = attrs.field(
        factory=list, init=False
    )
    """For each item, its seed, and the calls that were waiting before it and how their run was."""

    def begin(
        self,
        seed: str = "",
        *,
        is_reply: bool = False,
        has_calls: bool = False,
        has_only_results: bool = False,
    ) -> int:
        """Begin the next item; return how many items with its seed there are so far.

        The seed is made of an item whose calls need ids, so that equal items get different ones.
        The calls of a reply, if it has any, are then added to `waiting`.
        """
        # A copy: a result removes its call from the list.
        run, is_waiting = self._last_run, bool(self.waiting)
        self._former.append((seed, self.waiting.copy(), (run.is_over, run.is_answered)))
        if is_reply and run.note_reply(has_calls=has_calls, is_waiting=is_waiting):
            self.waiting = []
        elif not is_reply and not has_only_results:
            run.is_over = True
        self._seen[seed] += 1
        return self._seen[seed]

    def rewind(self, items: int) -> None:
        """Forget all but the first `items` items."""
        while len(self._former) > items:
            seed, self.waiting, run = self._former.pop()
            self._last_run = LastRun(*run)
            self._seen[seed] -= 1

    def take(self, fits: Callable[[str, str], bool]) -> str:
        """Remove the first waiting call that fits; return its id, or "" if there is none."""
        found = next((call for call in self.waiting if fits(*call)), None)
        if found is None:
            return ""
        self._last_run.is_answered = True
        self.waiting.remove(found)
        return found[0]
