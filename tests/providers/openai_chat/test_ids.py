import pytest

from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import openai_chat


@pytest.mark.parametrize("wanted", ["", "c", "x" * 41])
def test_many_rounds_of_one_id_make_a_request(wanted: str) -> None:
    """Calls and results agree."""
    rounds = [
        Message("assistant", tool_calls=[ToolCall(wanted, "read")]),
        Message("tool", tool_results=[ToolResult(wanted, "read", "text")]),
    ]

    request = openai_chat.encode_request([Message("user", "Read."), *rounds * 300])

    assert openai_chat.validate(request) == []
    assert len({m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"}) == 300
