from collections.abc import Container

import pytest

from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import openai_chat
from agentic.providers.openai_chat._encoding import call_ids


class Counted(Container[str]):
    """Counts how often somebody looks whether an id is taken."""

    def __init__(self, *ids: str) -> None:
        self.ids, self.looks = set(ids), 0

    def __contains__(self, wanted: object) -> bool:
        self.looks += 1
        return wanted in self.ids


@pytest.mark.parametrize("wanted", ["", "c", "x" * 41])
def test_each_id_is_tried_once(wanted: str) -> None:
    """However many calls are called alike, none looks at what was given out before."""
    reserved = Counted(wanted)
    ids = call_ids(reserved)

    given = [ids.take(wanted) for _ in range(1000)]

    assert len(set(given)) == 1000
    assert reserved.looks <= 1000


def test_reserved_ids_are_passed_by_once() -> None:
    """Not again for every call."""
    reserved = Counted(*(f"call_{number}" for number in range(1, 501)))
    ids = call_ids(reserved)

    given = [ids.take("") for _ in range(500)]

    assert (given[0], reserved.looks) == ("call_501", 1000)


@pytest.mark.parametrize("wanted", ["", "c"])
def test_many_rounds_of_one_id_make_a_request(wanted: str) -> None:
    """Calls and results agree."""
    rounds = [
        Message("assistant", tool_calls=[ToolCall(wanted, "read")]),
        Message("tool", tool_results=[ToolResult(wanted, "read", "text")]),
    ]

    request = openai_chat.encode_request([Message("user", "Read."), *rounds * 300])

    assert openai_chat.validate(request) == []
    assert len({m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"}) == 300
