"""The adapter over generated conversations and junk."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.context.strategies import FitContextWindow
from agentic.messages import Message
from agentic.providers import openai_responses
from agentic.providers.openai_responses import decode, decode_response, encode, encode_request
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

_TYPES = [
    *("message", "user", "assistant", "reasoning", "function_call", "function_call_output"),
    *("local_shell_call", "local_shell_call_output", "shell_call_output", "tool_search_call"),
]
_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "role", "content", "output", "call_id", "usage", "error", "status"),
                    *("item", "id", "name", "arguments", "summary", "tools", "input", "execution"),
                ]
            ),
            inner | st.sampled_from(_TYPES),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@MANY
@given(messages=conversations(), budget=st.none() | st.integers(1, 400), prompt=st.text(max_size=3))
def test_what_is_written_anew_is_accepted(
    messages: list[Message], budget: int | None, prompt: str
) -> None:
    """Whatever the conversation and whatever a strategy left of it."""
    strategy = FitContextWindow(budget, CharCounter(1.0)) if budget else None
    view = strategy.compact(messages) if strategy else messages

    request = encode_request(view, system_prompt=prompt, tools=[ToolDefinition("files.read")])

    assert openai_responses.validate({"model": "gpt-5", **request}) == []
    assert openai_responses.validate({"model": "deepseek-v4-flash", **request}) == []
    json.dumps(request, ensure_ascii=False).encode()


@MANY
@given(messages=conversations())
def test_written_items_round_trip(messages: list[Message]) -> None:
    """The items of any conversation round-trip."""
    items = encode(messages)

    assert json.dumps(encode(decode(items))) == json.dumps(items)


@MANY
@given(messages=conversations(), budget=st.integers(1, 400))
def test_native_items_survive_a_cut(messages: list[Message], budget: int) -> None:
    """A strategy drops whole rounds, whose items go together."""
    decoded = decode(encode_request(messages)["input"])

    view = FitContextWindow(budget, CharCounter(1.0)).compact(decoded)

    assert openai_responses.validate({"model": "gpt-5", **encode_request(view)}) == []


@MANY
@given(junk=_JUNK)
def test_nothing_that_a_server_sends_raises(junk: object) -> None:
    """Reading is total: what makes no sense reads as absent."""
    decision = decode_response(junk)

    assert decision.reply == "" or isinstance(junk, dict)
    openai_responses.usage(junk)
    openai_responses.stop_reason(junk)
    openai_responses.decode_request(junk)  # type: ignore[arg-type]
    openai_responses.validate(junk)  # type: ignore[arg-type]
    decode_response({"output": [junk], "usage": junk, "incomplete_details": junk})
    encode(decode([junk]))


_ODD = st.sampled_from([["x"], {"x": 1}, 3, None, 1.5, True, "", "c1", [], {}])
_FIELDS = [
    *("role", "id", "call_id", "content", "name", "arguments", "output", "status", "summary"),
    *("execution", "environment", "action", "encrypted_content", "caller"),
]
_ITEMS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from([*_TYPES, "item_reference"]) | _ODD},
        optional=dict.fromkeys(_FIELDS, _ODD),
    ),
    max_size=4,
)


@MANY
@given(items=_ITEMS, key=_ODD)
def test_no_odd_item_field_raises(items: list[object], key: object) -> None:
    """Wherever a text is expected, anything may stand; what is read is written again."""
    request = {"model": key, "store": key, "tools": items, "input": items}

    openai_responses.validate(request)
    encode_request(openai_responses.decode_request({**request, "previous_response_id": key}))
    encode_request(decode(items))
    decode_response({"output": items, "status": key, "error": {"code": key}})
