"""What was billed and how large a request was are two figures, in every adapter and bridge."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from google.genai import types as genai
from hypothesis import given
from hypothesis import strategies as st

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.view import View
from agentic.durable._records import decode_decision, encode_decision
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, from_plain, to_plain
from agentic.providers import anthropic, gemini, openai_chat, openai_responses
from agentic.providers.overflow._detection import read_silent_overflow
from agentic.tokens import CharCounter, ContextMeter
from agentic.usage import StopReason, Usage

# Written after the shape that Anthropic's SDK 2.14 documents (types/beta/beta_usage.py): five
# rounds of a server's search, each of which reads the same prefix again.
ROUNDS = [
    {"type": "message", "input_tokens": 3_000, "cache_read_input_tokens": 57_000 + 750 * at}
    for at in range(5)
]
SEARCHED = {
    "content": [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "It is green."},
    ],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 15_000,
        "cache_read_input_tokens": 292_500,
        "output_tokens": 500,
        "server_tool_use": {"web_search_requests": 4},
    },
}
WITH_ROUNDS = {
    **SEARCHED,
    "usage": {
        **SEARCHED["usage"],  # type: ignore[dict-item]
        "iterations": [{**each, "output_tokens": 100} for each in ROUNDS],
    },
}
LAST_ROUND = Usage(63_000, 100, cache_read=60_000)


def _anthropic(**usage: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "Yes."}], "usage": usage}


def _chat(usage: dict[str, Any], **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Yes.", **message}
    return {"choices": [{"message": said, "finish_reason": "stop"}], "usage": usage}


def _responses(*types: str) -> dict[str, Any]:
    said = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}
    items = [*({"type": each, "id": f"i{at}"} for at, each in enumerate(types)), said]
    used = {"input_tokens": 90_000, "output_tokens": 50, "total_tokens": 90_050}
    return {"status": "completed", "output": items, "usage": used}


def _continued() -> genai.GenerateContentResponse:
    """Return what google-genai makes of a reply that took three requests."""
    used = genai.GenerateContentResponseUsageMetadata(
        prompt_token_count=210, candidates_token_count=90, total_token_count=300
    )
    # Set by the SDK where it joins the parts: google/genai/_extra_utils.py, 3.6.1.
    used._initial_prompt_token_count = 10
    said = genai.Content(role="model", parts=[genai.Part(text="Yes.")])
    return genai.GenerateContentResponse(
        candidates=[genai.Candidate(content=said)], usage_metadata=used
    )


_ITERATIONS = [
    {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
    {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
]
CASES: list[tuple[str, Callable[[Any], Decision], Any, Usage | None]] = [
    ("rounds of a server tool", anthropic.decode_response, WITH_ROUNDS, LAST_ROUND),
    ("only their sum", anthropic.decode_response, SEARCHED, None),
    (
        "only their sum, of a connector",
        anthropic.decode_response,
        {**_anthropic(input_tokens=9), "content": [{"type": "mcp_tool_use", "id": "m1"}]},
        None,
    ),
    (
        "a compaction before the reply",
        anthropic.decode_response,
        _anthropic(input_tokens=23_000, output_tokens=1_000, iterations=_ITERATIONS),
        Usage(23_000, 1_000),
    ),
    (
        "a compaction alone",
        anthropic.decode_response,
        _anthropic(input_tokens=0, output_tokens=0, iterations=_ITERATIONS[:1]),
        None,
    ),
    (
        "a fallback model",
        anthropic.decode_response,
        _anthropic(
            input_tokens=70,
            output_tokens=9,
            iterations=[
                {"type": "message", "input_tokens": 30, "output_tokens": 4},
                {"type": "advisor_message", "input_tokens": 900, "output_tokens": 80},
                {"type": "fallback_message", "input_tokens": 40, "output_tokens": 5},
            ],
        ),
        Usage(40, 5),
    ),
    ("one request", anthropic.decode_response, _anthropic(input_tokens=7), Usage(7)),
    (
        "no hosted tool",
        openai_responses.decode_response,
        _responses("reasoning"),
        Usage(90_000, 50),
    ),
    (
        "the caller's own tool",
        openai_responses.decode_response,
        _responses("function_call", "shell_call"),
        Usage(90_000, 50),
    ),
    ("a hosted search", openai_responses.decode_response, _responses("web_search_call"), None),
    ("a hosted mcp", openai_responses.decode_response, _responses("mcp_call"), None),
    (
        "a hosted shell",
        openai_responses.decode_response,
        _responses("shell_call", "shell_call_output"),
        None,
    ),
    ("a hosted program", openai_responses.decode_response, _responses("program"), None),
    ("a compaction", openai_responses.decode_response, _responses("compaction"), None),
    (
        "pages that are not sent again",
        gemini.decode_response,
        {
            "usageMetadata": {
                "promptTokenCount": 2_000,
                "toolUsePromptTokenCount": 150_000,
                "candidatesTokenCount": 300,
                "thoughtsTokenCount": 40,
                "totalTokenCount": 152_340,
            }
        },
        Usage(2_000, 340, reasoning=40),
    ),
    ("a reply continued by the SDK", gemini.decode_response, _continued(), Usage(10, 90)),
    (
        "LiteLLM's sum with a compaction",
        openai_chat.decode_response,
        _chat(
            {
                "prompt_tokens": 203_000,
                "completion_tokens": 4_500,
                "total_tokens": 207_500,
                "iterations": _ITERATIONS,
            }
        ),
        Usage(23_000, 1_000),
    ),
    (
        "LiteLLM's reading of Gemini's pages",
        openai_chat.decode_response,
        _chat(
            {
                "prompt_tokens": 152_000,
                "completion_tokens": 300,
                "total_tokens": 152_300,
                "prompt_tokens_details": {"tool_use_tokens": 150_000},
            }
        ),
        Usage(2_000, 300),
    ),
    (
        # With a grounded search, LiteLLM leaves the pages out of the prompt: nothing to take off.
        "LiteLLM's reading of Gemini's search",
        openai_chat.decode_response,
        _chat(
            {
                "prompt_tokens": 2_000,
                "completion_tokens": 300,
                "total_tokens": 152_300,
                "prompt_tokens_details": {"tool_use_tokens": 150_000, "text_tokens": 2_000},
            }
        ),
        Usage(2_000, 300),
    ),
    (
        "LiteLLM's continuations",
        openai_chat.decode_response,
        _chat(
            {
                "prompt_tokens": 210,
                "completion_tokens": 90,
                "total_tokens": 300,
                "prompt_tokens_details": {"initial_prompt_tokens": 10},
            }
        ),
        Usage(10, 90),
    ),
    (
        "searches behind a gateway",
        openai_chat.decode_response,
        _chat(
            {
                "prompt_tokens": 333_000,
                "completion_tokens": 9,
                "server_tool_use": {"web_search_requests": 4},
            }
        ),
        None,
    ),
    (
        "xAI's agent",
        openai_chat.decode_response,
        _chat(
            {
                "prompt_tokens": 90_000,
                "completion_tokens": 9,
                "num_server_side_tools_used": 3,
            }
        ),
        None,
    ),
    (
        "xAI's agent, with its context",
        openai_responses.decode_response,
        {
            **_responses("web_search_call"),
            "usage": {
                "input_tokens": 7_583,
                "output_tokens": 3_192,
                "num_server_side_tools_used": 3,
                "context_details": {"input_tokens": 5_993, "output_tokens": 2_995},
            },
        },
        Usage(5_993, 2_995),
    ),
    (
        "xAI's agent, whose calls look like the caller's",
        openai_responses.decode_response,
        {
            **_responses("custom_tool_call"),
            "usage": {
                "input_tokens": 7_583,
                "output_tokens": 3_192,
                "server_side_tool_usage_details": {"x_search_calls": 3, "mcp_calls": 0},
            },
        },
        None,
    ),
    (
        "Groq's agent",
        openai_chat.decode_response,
        _chat({"prompt_tokens": 90_000, "completion_tokens": 9}, executed_tools=[{"index": 0}]),
        None,
    ),
    (
        "no tool of the server",
        openai_chat.decode_response,
        _chat(
            {
                "prompt_tokens": 90,
                "completion_tokens": 9,
                "server_tool_use": {"web_search_requests": 0},
                "num_server_side_tools_used": 0,
            }
        ),
        Usage(90, 9),
    ),
]


def _sizes(usage: Usage | None) -> tuple[int, int] | None:
    return None if usage is None else (usage.input, usage.output)


@pytest.mark.parametrize(
    ("decode", "response", "expected"),
    [each[1:] for each in CASES],
    ids=[each[0] for each in CASES],
)
def test_size_of_the_last_request(
    decode: Callable[[Any], Decision], response: Any, expected: Usage | None
) -> None:
    """It is the last request's, or unknown; what was billed stays the sum."""
    assert _sizes(decode(response).request_usage) == _sizes(expected)


def test_sum_stays_what_was_billed() -> None:
    """The size of the last round takes nothing off the bill."""
    usage = anthropic.decode_response(WITH_ROUNDS).usage

    assert usage == Usage(307_500, 500, cache_read=292_500)


def test_searches_do_not_fill_the_window() -> None:
    """A conversation of 63,000 tokens is not cut because its searches were billed for 307,500."""
    conversation = Conversation(anthropic, Policy(context_window=200_000))
    talk: list[dict[str, Any]] = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": f"Part {at}. " + "word " * 900}
        for at in range(15)
    ]
    assert conversation.fit(talk) is talk

    conversation.report(SEARCHED)
    talk = [*talk, {"role": "assistant", "content": SEARCHED["content"]}]
    talk.append({"role": "user", "content": "And now?"})

    assert conversation.fit(talk) is talk


def test_sum_of_usages_is_marked() -> None:
    """An empty one adds nothing, and no second request."""
    one, two = Usage(100, 20), Usage(130, 5)

    assert (one + two).summed
    assert sum([one, two, Usage()], Usage()).summed
    assert not (Usage() + one).summed
    assert not sum([one], Usage()).summed
    assert one + two == Usage(230, 25, 255)


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", "Yes.", usage=Usage(230, 25, 255, summed=True)),
        Message("assistant", "Yes.", usage=Usage(230, 25), last_request=Usage(130, 5)),
    ],
)
def test_size_survives_storage(message: Message) -> None:
    """A store reads back what was known of the last request."""
    read = from_plain(to_plain(message))

    assert read == message
    assert _sizes(read.request_usage) == _sizes(message.request_usage)


def test_stored_usage_of_older_versions_is_of_one_request() -> None:
    """They stored nothing else with a reply."""
    stored = {"v": 1, "role": "assistant", "content": "Yes.", "usage": {"input": 9, "output": 2}}

    assert from_plain(stored).request_usage == Usage(9, 2)


_COUNTS = st.integers(1_000, 400_000)
_REQUESTS = st.lists(st.builds(Usage, _COUNTS, _COUNTS), min_size=1, max_size=4)


@given(st.lists(st.tuples(_REQUESTS, st.booleans()), max_size=6), st.booleans())
def test_sum_never_anchors(replies: list[tuple[list[Usage], bool]], stored: bool) -> None:
    """Whatever replies took, the anchor is the last request's figures that are known, or absent."""
    view = View(Policy(context_window=10_000_000), counter=CharCounter())
    history: list[Message] = []
    expected: int | None = None
    for at, (requests, each_is_known) in enumerate(replies):
        history.append(Message("user", f"Question {at}"))
        view.prepare_sync(history)
        last = requests[-1] if each_is_known else None
        reply = Message("assistant", f"Reply {at}", usage=sum(requests, Usage()))
        reply = attrs.evolve(reply, last_request=last)
        history.append(from_plain(to_plain(reply)) if stored else reply)
        if last is not None or len(requests) == 1:
            expected = requests[-1].input + requests[-1].output
    view.prepare_sync(history)

    tokens = view.state()["size"]["reported_tokens"]
    assert tokens == (expected or 0)


def test_meter_ignores_a_sum() -> None:
    """Where only a sum is known, what was reported before it counts on."""
    meter = ContextMeter(CharCounter())
    asked, reply = [Message("user", "Why?" * 10)], Message("assistant", "So.")
    meter.report(asked, reply, Usage(1_000, 20))

    meter.report([*asked, reply], reply, Usage(1_000, 20) + Usage(1_100, 20))

    assert meter.measure([*asked, reply]) == 1_020


def test_sum_is_no_silent_overflow() -> None:
    """Four rounds of 60,000 tokens fit a window of 200,000."""
    rounds = sum([Usage(60_000, 100)] * 4, Usage())

    assert read_silent_overflow(rounds, StopReason.STOP, 200_000) is None


class _Searching:
    """A decider whose replies took several requests."""

    def __init__(self, last: Usage | None) -> None:
        self.last = last

    async def decide(self, request: Input, /) -> Decision:
        """Reply."""
        used = Usage(60_000, 100) + Usage(63_000, 200)
        return Decision("Found.", usage=used, last_request=self.last)


@pytest.mark.parametrize("last", [Usage(63_000, 200), None])
def test_runner_stores_both_figures(last: Usage | None) -> None:
    """The bill is in the result, the size of the last request with the stored reply."""
    store = MemoryStore()

    result = Runner(_Searching(last), store=store).run_sync("Search.")

    stored = asyncio.run(store.load())[-1]
    assert result.usage == Usage(123_000, 300, 123_300)
    assert stored.usage == Usage(123_000, 300, 123_300)
    assert _sizes(stored.request_usage) == _sizes(last)


@pytest.mark.parametrize("last", [Usage(63_000, 200), None])
def test_durable_record_keeps_both_figures(last: Usage | None) -> None:
    """A decision that a replay reads back says what the first run knew."""
    decision = asyncio.run(_Searching(last).decide(Input(user_message="", history=())))

    read = decode_decision(json.loads(json.dumps(encode_decision(decision))))

    assert read == decision
    assert _sizes(read.request_usage) == _sizes(last)
