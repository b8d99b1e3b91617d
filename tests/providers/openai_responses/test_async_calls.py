"""OpenAI's asynchronous calls, whose outputs may come in a later request.

https://developers.openai.com/api/docs/guides/async-tool-calling (2026-11)
"""

import json
from typing import Any

import pytest

from agentic.bridges.dicts import Conversation
from agentic.context import budget
from agentic.messages import ToolCall
from agentic.providers import anthropic, bedrock, cohere, gemini, ollama, openai_chat
from agentic.providers import openai_responses as responses
from agentic.tokens import CharCounter


def _said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _reply(text: str, n: int = 0) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{n}", "role": "assistant", "content": content}


def _output(call_id: str = "call_1", text: str = "12 C") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "forecast",
    "arguments": "{}",
    "status": "completed",
    "async": True,
}
CUSTOM = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "call_1",
    "name": "sql",
    "input": "select 1",
    "async": True,
}
CALLS = pytest.mark.parametrize(
    "call",
    [CALL, {**{k: v for k, v in CALL.items() if k != "async"}, "async_": True}, CUSTOM],
    ids=["async", "the SDK's async_", "custom"],
)


def _answer(call: dict[str, Any]) -> dict[str, Any]:
    kind = f"{call['type'].removesuffix('_call')}_call_output"
    return {**_output(), "type": kind}


@CALLS
def test_async_calls_are_read(call: dict[str, Any]) -> None:
    """By the field of the API, and by the one of the SDK's objects."""
    decision = responses.decode_response({"output": [call], "status": "completed"})

    assert [each.is_async for each in decision.tool_calls] == [True]
    assert (
        responses.decode([{**call, "async": False, "async_": None}])[0].tool_calls[0]
        == (decision.tool_calls[0])
    )


@CALLS
def test_open_async_call_gets_no_output(call: dict[str, Any]) -> None:
    """The model went on; a request says nothing of how the call ended."""
    items = [_said("Weather?"), call, _reply("Pack a coat."), _said("And now?")]

    assert responses.encode_request(responses.decode(items))["input"] == items
    assert responses.validate({"input": items}) == []


@CALLS
def test_late_output_is_sent_where_it_came(call: dict[str, Any]) -> None:
    """Turns after the call, also once the conversation has gone on."""
    items = [
        *(_said("Weather?"), call, _reply("Pack a coat."), _said("And now?"), _reply("Wait.", 1)),
        *(_answer(call), _reply("It is 12 C.", 2)),
    ]

    assert responses.encode_request(responses.decode(items))["input"] == items
    assert responses.validate({"input": items}) == []


def test_call_that_is_not_async_is_still_closed() -> None:
    """Only the provider says which calls may stay open."""
    plain = {k: v for k, v in CALL.items() if k != "async"}

    sent = responses.encode_request(responses.decode([_said("Hi."), plain, _said("And?")]))

    assert [item["type"] for item in sent["input"] if "type" in item] == [
        *("function_call", "function_call_output")
    ]
    assert [each.rule for each in responses.validate({"input": [_said("Hi."), plain]})] == [
        "unanswered_call"
    ]


def test_rebuilt_async_call_stays_async() -> None:
    """A message that was edited is written from its fields."""
    (message,) = responses.decode([CALL])
    edited = message.replace(content="I look.")

    assert responses.encode([edited])[-1] == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "forecast",
        "arguments": "{}",
        "async": True,
    }


@pytest.mark.parametrize(
    "adapter",
    [anthropic, bedrock, cohere, gemini, ollama, openai_chat],
    ids=lambda each: each.ADAPTER.name,
)
def test_other_providers_get_the_output_after_the_call(adapter: Any) -> None:
    """They have no asynchronous calls; what is still running is said to be."""
    other = {**CALL, "id": "fc_2", "call_id": "call_2"}
    items = [_said("Weather?"), CALL, other, _reply("Hm."), _said("So?"), _reply("."), _output()]
    history = responses.decode([*items, _said("Go on.")])

    request = adapter.encode_request(history)

    assert adapter.validate(request) == []
    text = json.dumps(request)
    assert text.index("12 C") < text.index("So?")
    assert text.count("still running") == 1
    assert "Whether it took effect" not in text


def _long(items: list[dict[str, Any]], turns: int, first: int = 10) -> list[dict[str, Any]]:
    for n in range(first, first + turns):
        items += [_said(f"Request {n}. " + "x" * 400), _reply("Done. " + "y" * 400, n)]
    return items


def _conversation() -> Conversation:
    policy = budget.Policy(context_window=2_000, reserve_tokens=200, keep_last=4)
    return Conversation(responses, policy, counter=CharCounter())


def test_awaited_call_outlives_a_compaction() -> None:
    """Its output comes after the summary, and the model sees both."""
    conversation = _conversation()
    items = _long([_said("Weather?"), CALL, _reply("Pack a coat.")], 12)

    shorter = conversation.fit(items)

    assert len(shorter) < len(items)
    assert CALL in shorter
    late = conversation.fit([*items, _output(), _said("So?")])
    assert late.index(CALL) < late.index(_output())
    assert responses.validate({"input": late}) == []


def test_answered_call_leaves_with_its_output() -> None:
    """When both are old, neither is kept for the other's sake."""
    conversation = _conversation()
    items = _long([_said("Weather?"), CALL, _reply("Pack."), _said("So?"), _reply(".", 1)], 2)
    items = _long([*items, _output()], 12, 30)

    shorter = conversation.fit(items)

    assert CALL not in shorter
    assert _output() not in shorter
    assert responses.validate({"input": shorter}) == []


def test_output_of_a_call_that_is_gone_is_left_out() -> None:
    """Somebody else's cut took the call: the output is an orphan, in the history but not sent."""
    history = responses.decode([_said("Hi."), _reply("Hello."), _output()])

    assert history[-1].tool_results[0].output == "12 C"
    sent = responses.encode_request(history)["input"]
    assert [item for item in sent if item.get("type") == "function_call_output"] == []


def test_loop_gives_results_of_async_calls_at_once() -> None:
    """A call that is executed before the next request is answered like any other."""
    call = responses.decode([CALL])[0].tool_calls[0]

    assert call == ToolCall("call_1", "forecast", "{}")
    items = [_said("Weather?"), CALL, _output(), _reply("12 C.", 1)]
    assert responses.encode_request(responses.decode(items))["input"] == items
