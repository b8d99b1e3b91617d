"""An owner does anything to the list, in any order: each request is valid, and the owner's own.

The rules of the wires are written down here once more, from the providers' documentation: nothing
of ours reads what is sent.
"""

import asyncio
import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from agentic.bridges.dicts import Conversation
from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.errors import ContextOverflow
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter

_CHATS = {"openai_chat", "cohere", "ollama"}
_TURNS = {"anthropic", "bedrock", "gemini"}
_ANSWERED = {"openai_chat", "cohere"}
"""A reply with calls is followed by their results, and by nothing else."""
_MERGED = {"bedrock", "gemini"}
"""Replies that make calls are one item, which is followed by all results."""
_FILLERS = {"Continue.", "Understood.", "Go on."}
_HEADING = "[Context Summary"
_POLICIES: dict[str, Policy] = {
    "narrow": Policy(500, min_recent_messages=3),
    "wide": Policy(30_000),
    "counting": Policy(30_000, max_messages=20, min_recent_messages=4),
    "no epochs": Policy(500, min_recent_messages=3, epochs=False),
    "wide, no epochs": Policy(30_000, epochs=False),
}
_COUNTER = CharCounter()
_STRATEGIES: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "truncate": lambda: [strategies.TruncateToolOutputs(60)],
    "clear": lambda: [strategies.ClearToolOutputs(150, _COUNTER, keep_rounds=1, min_tokens=1)],
    "window": lambda: [strategies.FitContextWindow(400, _COUNTER)],
    "window with digest": lambda: [
        strategies.FitContextWindow(600, _COUNTER, digest=Digest(max_tokens=120))
    ],
    "trim": lambda: [strategies.TrimRounds(4)],
    "last": lambda: [strategies.KeepLast(7)],
    "importance": lambda: [strategies.Importance(min_score_threshold=0.2)],
    "all": lambda: [
        strategies.TruncateToolOutputs(60),
        strategies.ClearToolOutputs(300, _COUNTER, keep_rounds=1, min_tokens=1),
        strategies.FitContextWindow(700, _COUNTER),
    ],
}
_WAYS = st.sampled_from(
    ["sync", "sync", "sync", "async", "refused", "refused async", "restart", "forget"]
)
_PLACES = st.floats(0, 1, exclude_max=True)


class _Slow:
    """Summarizes after the event loop had a turn."""

    async def compact(self, messages: list[Message], /) -> str:
        await asyncio.sleep(0)
        return f"{len(messages)} messages."


@attrs.frozen
class _Part:
    """One thing in an item, as a provider reads it."""

    kind: str  # text, call or result
    role: str
    id: str
    text: str
    item: int


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(each.get("text", "") for each in content or ())


def _read_chat(item: Any) -> Iterator[tuple[str, str, str, str]]:
    role, text = item["role"], _text_of(item.get("content")) or item.get("tool_plan", "")
    if role == "tool":
        yield "result", "tool", item["tool_call_id"], text
        return
    if text:
        yield "text", role, "", text
    for call in item.get("tool_calls") or ():
        yield "call", role, call["id"], json.dumps(call["function"]["arguments"])


def _read_responses(item: Any) -> Iterator[tuple[str, str, str, str]]:
    kind = item.get("type", "message")
    if kind == "function_call":
        yield "call", "assistant", item["call_id"], item["arguments"]
    elif kind == "function_call_output":
        yield "result", "tool", item["call_id"], _text_of(item["output"])
    else:
        yield "text", item["role"], "", _text_of(item["content"])


def _read_anthropic(item: Any) -> Iterator[tuple[str, str, str, str]]:
    role, content = item["role"], item["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block["type"] == "tool_use":
            yield "call", role, block["id"], json.dumps(block["input"])
        elif block["type"] == "tool_result":
            yield "result", role, block["tool_use_id"], _text_of(block["content"])
        else:
            yield "text", role, "", block["text"]


def _read_bedrock(item: Any) -> Iterator[tuple[str, str, str, str]]:
    for block in item["content"]:
        if "toolUse" in block:
            call = block["toolUse"]
            yield "call", item["role"], call["toolUseId"], json.dumps(call["input"])
        elif "toolResult" in block:
            result = block["toolResult"]
            yield "result", item["role"], result["toolUseId"], _text_of(result["content"])
        else:
            yield "text", item["role"], "", block["text"]


def _read_gemini(item: Any) -> Iterator[tuple[str, str, str, str]]:
    role = "assistant" if item["role"] == "model" else item["role"]
    for part in item["parts"]:
        if "functionCall" in part:
            call = part["functionCall"]
            yield "call", role, call["id"], json.dumps(call["args"])
        elif "functionResponse" in part:
            result = part["functionResponse"]
            yield "result", role, result["id"], "".join(map(str, result["response"].values()))
        else:
            yield "text", role, "", part["text"]


_READERS: dict[str, Callable[[Any], Iterator[tuple[str, str, str, str]]]] = {
    "openai_responses": _read_responses,
    "anthropic": _read_anthropic,
    "bedrock": _read_bedrock,
    "gemini": _read_gemini,
    **dict.fromkeys(_CHATS, _read_chat),
}


def _parts(name: str, items: list[Any]) -> list[_Part]:
    reader = _READERS[name]
    return [_Part(*each, item=at) for at, item in enumerate(items) for each in reader(item)]


def _check_pairs(name: str, parts: list[_Part]) -> None:
    """Every call has one result, where the wire wants it; no result is alone."""
    calls = [part.id for part in parts if part.kind == "call"]
    results = [part.id for part in parts if part.kind == "result"]
    assert len(set(calls)) == len(calls), "an id names two calls"
    assert sorted(calls) == sorted(results), "calls and results are not pairs"
    if name == "openai_responses":
        order = {part.id: at for at, part in enumerate(parts) if part.kind == "call"}
        late = [at > order[part.id] for at, part in enumerate(parts) if part.kind == "result"]
        assert all(late), "a result comes before its call"
        return
    # Chats: the tool messages follow the reply. The others: the next turn begins with the results.
    # Only some read several replies as one turn, and Converse wants all results in one item.
    by_item = {
        role
        for role, names in {"assistant": _ANSWERED | _MERGED, "user": {"bedrock"}}.items()
        if name in names
    }
    groups = [
        (key, list(run))
        for key, run in itertools.groupby(
            parts, key=lambda part: (part.role, part.role in by_item and part.item)
        )
    ]
    for (_, asked), (_, answer) in itertools.pairwise([*groups, ("", [])]):
        ids = [part.id for part in asked if part.kind == "call"]
        first = [part.id for part in answer[: len(ids)] if part.kind == "result"]
        assert sorted(ids) == sorted(first), f"calls {ids} are followed by {first}"


class _Owner(RuleBasedStateMachine):
    """Somebody who keeps a list, and sends what `fit` returns of it."""

    forms: ClassVar[Any]
    wire: ClassVar[ModuleType]

    def __init__(self) -> None:
        super().__init__()
        self.items: list[Any] = []
        self.other: list[Any] = []
        self.number = 0
        self.oldest = 0
        self.last: list[Any] | None = None
        """What was sent last by the present conversation."""

    @initialize(
        policy=st.sampled_from(sorted(_POLICIES)),
        strategy=st.sampled_from(sorted(_STRATEGIES)),
        slow=st.booleans(),
        as_system=st.booleans(),
        rounds=st.integers(0, 8),
    )
    def begin(self, policy: str, strategy: str, slow: bool, as_system: bool, rounds: int) -> None:
        """Choose how the conversation is kept short."""
        self.name = self.wire.ADAPTER.name
        self.settings = policy, strategy, slow
        self.record_role = "system" if as_system and self.name not in _TURNS else "user"
        self.conversation = self._make(None)
        if self.name not in _TURNS and rounds % 2:
            self.items = [{"role": "system", "content": "Be brief."}]
        for _ in range(rounds):
            self._grow(1, big=False)
        self._send("sync")

    def _make(self, state: Any) -> Conversation:
        policy, strategy, slow = self.settings
        return Conversation(
            self.wire,
            _POLICIES[policy],
            compactor=_Slow() if slow else Digest(max_tokens=100),
            strategies=_STRATEGIES[strategy](),
            counter=_COUNTER,
            record_role=self.record_role,  # type: ignore[arg-type]
            state=state,
        )

    # What the owner does.

    @rule(calls=st.integers(0, 3), big=st.booleans(), way=_WAYS)
    def append(self, calls: int, big: bool, way: str) -> None:
        """Add an exchange."""
        self._grow(calls, big=big)
        self._send(way)

    @rule(calls=st.integers(1, 3), way=_WAYS)
    def stop_in_the_middle(self, calls: int, way: str) -> None:
        """Add calls whose results are not there yet, or only some of them."""
        fresh = self._exchange(calls, big=False)
        is_result = [any(part.kind == "result" for part in self._read([each])) for each in fresh]
        first = is_result.index(True)
        self.items += fresh[: first + (calls > 2)]
        self._send(way)

    @rule(way=_WAYS)
    def ask(self, way: str) -> None:
        """Add a request alone."""
        self.items += self._exchange(0, big=False)[:1]
        self._send(way)

    @rule(place=_PLACES, way=_WAYS)
    def insert_orphan(self, place: float, way: str) -> None:
        """Put a result somewhere whose call is lost."""
        self.number += 1
        lost = f"c{self.number}_0"
        call = Message("assistant", tool_calls=[ToolCall(lost, "run", f'{{"n": {self.number}}}')])
        answer = Message("tool", tool_results=[ToolResult(lost, "run", f"r{self.number} late")])
        items = self.forms.to_items(self.wire, [Message("user", "Look."), call, answer])
        # A list of Responses that begins with one is refused: its call may be on the server.
        least = self._lead() + (self.name == "openai_responses")
        at = max(least, int(place * len(self.items)))
        if len(self.items) >= least:
            self.items[at:at] = items[2:]
        self._send(way)

    @rule(place=_PLACES, way=_WAYS)
    def insert_request(self, place: float, way: str) -> None:
        """Put words of the user's somewhere, but not between a call and its result."""
        at = self._behind_results(max(self._lead(), int(place * len(self.items))))
        self.items[at:at] = self._exchange(0, big=False)[:1]
        self._send(way)

    @rule(place=_PLACES, way=_WAYS)
    def remove(self, place: float, way: str) -> None:
        """Take one item out."""
        if self.items:
            del self.items[int(place * len(self.items))]
        self._send(way)

    @rule(place=_PLACES, way=_WAYS)
    def trim(self, place: float, way: str) -> None:
        """Take the oldest items out."""
        del self.items[: int(place * len(self.items))]
        self._send(way)

    @rule(calls=st.integers(0, 2), way=_WAYS)
    def prepend(self, calls: int, way: str) -> None:
        """Put older history in front, as an application does that loads a page more."""
        lead = self._lead()
        self.items[lead:lead] = self._exchange(calls, big=False)
        self._send(way)

    @rule(place=_PLACES, keep=st.booleans(), way=_WAYS)
    def rewind(self, place: float, keep: bool, way: str) -> None:
        """Go back; with `keep`, the former branch can be returned to."""
        if keep:
            self.other = self.items.copy()
        del self.items[int(place * len(self.items)) :]
        self._send(way)

    @rule(way=_WAYS)
    def swap(self, way: str) -> None:
        """Go on with the other branch."""
        self.items, self.other = self.other, self.items
        self._send(way)

    @rule(way=_WAYS)
    def reload(self, way: str) -> None:
        """Load the list anew: equal items, other objects."""
        self.items = json.loads(json.dumps(self.items))
        self._send(way)

    @rule(place=_PLACES, in_place=st.booleans(), way=_WAYS)
    def edit(self, place: float, in_place: bool, way: str) -> None:
        """Change what an item says; in place only behind the cut, where that is seen."""
        if self.items:
            at = int(place * len(self.items))
            edited = json.loads(
                re.sub(" (please|done|line) ", " else ", json.dumps(self.items[at]))
            )
            if in_place and at >= self.conversation.state()["covered"]:
                self.items[at].update(edited)
            else:
                self.items[at] = edited
        self._send(way)

    @rule(way=_WAYS)
    def do_nothing(self, way: str) -> None:
        """Send the same list again."""
        self._send(way)

    # How it is sent.

    def _send(self, way: str) -> None:
        if self.name == "openai_responses" and self._starts_with_result():
            self.items = []  # refused with a reason: see `insert_orphan`
        if not self.items:
            return
        if way in {"restart", "forget"}:
            self._restart(keep=way == "restart")
        before = copy.deepcopy(self.items)
        try:
            sent = self._fit(way)
        except ContextOverflow:
            assert "refused" in way
            sent = self._fit("sync")
        assert self.items == before, "the owner's list was changed"
        self._check(sent)

    def _fit(self, way: str) -> list[Any]:
        refused = "refused" in way and self.conversation.latest is not None
        if "async" in way:
            return asyncio.run(self.conversation.fit_async(self.items, refused=refused))
        return self.conversation.fit(self.items, refused=refused)

    def _restart(self, *, keep: bool) -> None:
        state = json.loads(json.dumps(self.conversation.state())) if keep else None
        self.last = None
        self.conversation = self._make(state)

    def _behind_results(self, at: int) -> int:
        """Return the first place from here on that no call before it waits across for its result.

        In a list of Responses each of a reply's calls is an item of its own.
        """
        parts = self._read(self.items)
        while waiting := [
            part.item
            for part in parts
            if part.kind == "result"
            and part.item >= at
            and any(p.kind == "call" and p.id == part.id and p.item < at for p in parts)
        ]:
            at = max(waiting) + 1
        while at < len(self.items) and self._has_result(self.items[at]):
            at += 1
        return at

    # What holds of every request.

    def _check(self, sent: list[Any]) -> None:
        parts = self._read(sent)
        assert [each for each in range(len(sent)) if not any(p.item == each for p in parts)] == []
        assert all(part.text.strip() for part in parts if part.kind != "result"), "empty"
        _check_pairs(self.name, parts)
        places = self._places_of(sent)
        self._check_roles(sent, places)
        self._check_record(parts)
        self._check_answers(parts)
        self._check_own(sent, places)
        self._check_loss({place for each in places for place in each})
        self._check_growth(sent)

    def _check_roles(self, sent: list[Any], places: list[list[int]]) -> None:
        """Two replies are neighbors only if they are the owner's, and are or were so there."""
        if self.name == "openai_responses":
            return
        before: int | None = -1
        last = "assistant"
        for at, item in enumerate(sent):
            role, place = self._role_of(item), next(iter(places[at]), None)
            end = next(reversed(places[at]), None)
            if role == "system":
                before = before if end is None else end
                continue
            is_neighbor = before is not None and place == before + 1
            # A result that answers nothing is not sent: it parts nobody.
            if before is not None and place is not None:
                is_neighbor |= all(map(self._has_result, self.items[before + 1 : place]))
            # An orphan that comes between them must not change what was sent before.
            is_neighbor = is_neighbor or at < len(self._extended())
            is_first = all(self._role_of(each) == "system" for each in sent[:at])
            if role == last == "assistant" and (is_first or self.name in _TURNS):
                assert is_neighbor, f"a reply follows a reply at {at}"
            if role == last == "user" and self.name == "bedrock":
                assert is_neighbor, f"two turns of the user's at {at}"
            before, last = end, role

    def _check_record(self, parts: list[_Part]) -> None:
        """One record at most, in front, and a note of what a strategy left out since."""
        records = [part for part in parts if part.text.startswith(_HEADING)]
        assert len(records) <= 1 + (self.settings[1] == "window with digest")
        for record in records:
            assert record.role == self.record_role
            front = [part for part in parts[: parts.index(record)] if part not in records]
            # A note stands where the first gap is: behind a pinned round or the task, for example.
            may_be_note = record is not records[0] or self.settings[1] == "window with digest"
            assert may_be_note or all(part.role == "system" for part in front)

    def _check_answers(self, parts: list[_Part]) -> None:
        """A call has its own arguments, and a result what its own tool returned."""
        own = {part.id: part.text for part in self._read(self.items) if part.kind == "result"}
        for part in parts:
            number = part.id[1:].partition("_")[0]
            if part.kind == "call":
                assert re.sub(r"\D", "", part.text) == number, part
            elif part.kind == "result" and part.id in own:
                starts = own[part.id][:3], "[Cleared", "[", "…"
                assert part.text.startswith(starts), (part, own[part.id])
                assert not re.search(rf"\br(?!{number}\b)\d+", part.text), part
            elif part.kind == "result":
                assert not re.search(r"\br\d", part.text), part

    def _check_own(self, sent: list[Any], places: list[list[int]]) -> None:
        """The owner's items are in the owner's order, and the very objects if unchanged."""
        order = [place for each in places for place in each]
        if self.name in _ANSWERED:
            order = [place for place in order if not self._has_result(self.items[place])]
        assert order == sorted(set(order)), f"out of order: {order}"
        by_id = {id(item) for item in self.items}
        assert len({id(item) for item in sent}) == len(sent), "the same object twice"
        for item, own in zip(sent, places, strict=True):
            if id(item) in by_id or len(own) > 1:
                continue
            assert item not in self.items or self._text(item) in _FILLERS, f"a copy: {item}"
            kinds = {part.kind for part in self._read([item])}
            is_ours = self._text(item) in _FILLERS or self._text(item).startswith("[")
            assert is_ours or "result" in kinds, f"not the owner's: {item} at {own}"

    def _check_loss(self, places: set[int]) -> None:
        """What is missing is explained, and the newest words of the user's are not missing."""
        gone = set(range(len(self.items))) - places
        explained = {at for each in self.conversation.explain() for at in each.positions}
        assert gone <= explained, f"missing without a reason: {gone - explained}"
        requests = [
            at
            for at, item in enumerate(self.items)
            if self._role_of(item) == "user" and not self._has_result(item)
        ]
        assert not requests or requests[-1] in places, "the latest request is missing"

    def _check_growth(self, sent: list[Any]) -> None:
        """A request that extends the last one begins with it."""
        before, now = self._extended(), sent
        if self.name in _MERGED:
            # The provider reads the blocks of a turn, however they come.
            before, now = (
                [attrs.astuple(each)[:-1] for each in self._read(i)] for i in (before, sent)
            )
        assert now[: len(before)] == before, f"not an extension: {before}, then {now}"
        self.last = copy.deepcopy(sent)

    def _extended(self) -> list[Any]:
        """Return the last request if this one extends it."""
        latest = self.conversation.latest
        assert latest is not None
        return (self.last or []) if latest.extends else []

    # Reading.

    def _read(self, items: list[Any]) -> list[_Part]:
        return _parts(self.name, items)

    def _text(self, item: Any) -> str:
        return "".join(part.text for part in self._read([item]) if part.kind == "text")

    def _role_of(self, item: Any) -> str:
        return self._read([item])[0].role

    def _has_result(self, item: Any) -> bool:
        return any(part.kind == "result" for part in self._read([item]))

    def _has_call(self, item: Any) -> bool:
        return any(part.kind == "call" for part in self._read([item]))

    def _place_of(self, item: Any) -> int | None:
        """Return where an item of a request is in the owner's list: the same, or edited."""
        at = next((at for at, own in enumerate(self.items) if own is item), None)
        if at is not None:
            return at
        ids = {(part.kind, part.id) for part in self._read([item]) if part.id}
        text = self._text(item)
        for at, own in enumerate(self.items):
            parts = self._read([own])
            if ids & {(part.kind, part.id) for part in parts if part.id}:
                return at
            # The record may be the first block of the user's item that follows it.
            words = self._text(own) if self._role_of(own) == "user" else ""
            if words and text.startswith(_HEADING) and text.endswith(words) and not ids:
                return at
        return None

    def _places_of(self, sent: list[Any]) -> list[list[int]]:
        """Return where each item of a request is in the owner's list; several may be one item."""
        places: list[list[int]] = []
        last = -1
        for item in sent:
            at = self._place_of(item)
            own = [] if at is None else [at]
            # Two replies with an orphan between them become one item, too, which has no ids.
            if self.name in _MERGED and (at is None or self.items[at] is not item):
                own = self._merged_places(item, last + 1) or own
            places.append(own)
            last = max([last, *own])
        return places

    def _merged_places(self, item: Any, start: int) -> list[int]:
        """Return the owner's items, from one on, whose parts an item begins with, in order."""
        missing = [part.id or part.text for part in self._read([item])]
        places: list[int] = []
        for place in range(start, len(self.items)):
            parts = self._read([self.items[place]])
            names = [part.id or part.text for part in parts]
            if parts and names == missing[: len(names)]:
                missing = missing[len(names) :]
                places.append(place)
        return places

    def _lead(self) -> int:
        """Return the number of system items at the start."""
        return int(bool(self.items) and self._role_of(self.items[0]) == "system")

    def _starts_with_result(self) -> bool:
        rest = self.items[self._lead() :]
        return bool(rest) and self._has_result(rest[0])

    def _exchange(self, calls: int, *, big: bool) -> list[Any]:
        self.number += 1
        made = self.forms.exchange(self.number, calls=calls)
        if big:
            made = [
                attrs.evolve(
                    each,
                    tool_results=[
                        attrs.evolve(result, output=result.output * 5)
                        for result in each.tool_results
                    ],
                )
                for each in made
            ]
        items: list[Any] = self.forms.to_items(self.wire, made)
        return items

    def _grow(self, calls: int, *, big: bool) -> None:
        self.items += self._exchange(calls, big=big)


def _run(forms: Any, wire: ModuleType, examples: int, steps: int, *, same: bool) -> None:
    machine = type("Owner", (_Owner,), {"forms": forms, "wire": wire})
    profile = settings.get_profile("full")
    run_state_machine_as_test(
        machine,
        settings=settings(
            profile, max_examples=examples, stateful_step_count=steps, derandomize=same
        ),
    )


def test_owner_may_do_anything(forms: Any, wire: ModuleType) -> None:
    """A few short lives, the same ones each time: what is new is looked for in the long test."""
    _run(forms, wire, examples=8, steps=12, same=True)


@pytest.mark.long
def test_owner_may_do_anything_for_long(forms: Any, wire: ModuleType) -> None:
    """Many long lives."""
    _run(forms, wire, examples=400, steps=50, same=False)
