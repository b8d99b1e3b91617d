import itertools
from collections import Counter
from collections.abc import Container

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import kit

IDS = st.lists(st.sampled_from(["", "a", "a_2", "b", "call"]), max_size=12)


@given(IDS)
def test_taken_ids_are_unique(wanted: list[str]) -> None:
    """No id is given twice or empty, and the first of a name keeps it."""
    ids = kit.UniqueIds()

    taken = [ids.take(each) for each in wanted]

    assert len({*taken}) == len(taken)
    assert all(taken)
    assert wanted[:1] in ([], [""], taken[:1])


@given(IDS)
def test_numbered_results_follow_their_calls(names: list[str]) -> None:
    """Whatever calls are named, each result still answers the call that it answered."""
    rounds = [
        message
        for place, name in enumerate(names)
        for message in (
            Message("assistant", tool_calls=[ToolCall(name, f"tool_{place}")]),
            Message("tool", tool_results=[ToolResult(name, f"tool_{place}", "text")]),
        )
    ]

    numbered = kit.number_ids(rounds)

    calls = {call.id: call.name for message in numbered for call in message.tool_calls}
    results = {one.call_id: one.name for message in numbered for one in message.tool_results}
    assert calls == results
    assert len(calls) == len(names)


def test_numbering_leaves_unique_ids_alone() -> None:
    """A message whose ids stay is the same object, with the payload that it came with."""
    call = Message("assistant", tool_calls=[ToolCall("a", "read"), ToolCall("b", "read")])
    results = Message("tool", tool_results=[ToolResult("b", "read"), ToolResult("a", "read")])

    numbered = kit.number_ids([call, results])

    assert numbered[0] is call
    assert numbered[1] is results


@given(st.lists(st.sampled_from(["user", "tool"])))
def test_merging_keeps_every_item_in_order(kinds: list[str]) -> None:
    """Items that `merge` makes one of stand where they stood; no other item is touched."""
    items = [(kind, [place]) for place, kind in enumerate(kinds)]

    merged = kit.merge_consecutive(
        items, lambda a, b: ("tool", a[1] + b[1]) if a[0] == b[0] == "tool" else None
    )

    assert [place for _, places in merged for place in places] == list(range(len(kinds)))
    assert Counter(kind for kind, _ in merged)["user"] == kinds.count("user")
    assert all({a[0], b[0]} != {"tool"} for a, b in itertools.pairwise(merged))


class Counted(Container[str]):
    """Counts how often somebody looks whether an id is taken."""

    def __init__(self, *ids: str) -> None:
        self.ids, self.looks = set(ids), 0

    def __contains__(self, wanted: object) -> bool:
        self.looks += 1
        return wanted in self.ids


@pytest.mark.parametrize("wanted", ["", "c"])
def test_each_id_is_tried_once(wanted: str) -> None:
    """However many calls are called alike, none looks at what was given out before."""
    reserved = Counted(wanted)
    ids = kit.UniqueIds(first=1, reserved=reserved)

    given = [ids.take(wanted) for _ in range(1000)]

    assert len(set(given)) == 1000
    assert reserved.looks <= 1000


def test_reserved_ids_are_passed_by_once() -> None:
    """Not again for every call."""
    reserved = Counted(*(f"call_{number}" for number in range(1, 501)))
    ids = kit.UniqueIds(first=1, reserved=reserved)

    given = [ids.take("") for _ in range(500)]

    assert (given[0], reserved.looks) == ("call_501", 1000)
