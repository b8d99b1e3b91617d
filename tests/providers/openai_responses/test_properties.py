"""The adapter over generated conversations and junk."""

import asyncio
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
from agentic.messages import Message
from agentic.providers import openai_responses
from agentic.providers.openai_responses import decode, decode_response, encode, encode_request
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "output", "call_id", "usage", "error", "status", "item"]
            ),
            inner | st.sampled_from(["message", "function_call", "reasoning", "shell_call_output"]),
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
def test_what_a_compaction_leaves_is_accepted(messages: list[Message]) -> None:
    """Its summary goes into the instructions."""
    manager = Manager(CharCounter(1.0), Digest(), Policy(context_window=4_000))
    compaction = asyncio.run(manager.compact_if_needed(messages, force=True))

    request = encode_request(compaction.messages)

    assert openai_responses.validate({"model": "gpt-5", **request}) == []


@MANY
@given(messages=conversations())
def test_what_was_written_is_read_and_written_again(messages: list[Message]) -> None:
    """The items of any conversation round-trip."""
    items = encode(messages)

    assert json.dumps(encode(decode(items))) == json.dumps(items)


@MANY
@given(messages=conversations(), budget=st.integers(1, 400))
def test_native_items_stay_acceptable_after_a_cut(messages: list[Message], budget: int) -> None:
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
