"""Each row of the table of `read-usage.md` is what the adapters read, and what the libraries do."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest
from genai_prices.data_snapshot import get_snapshot

from agentic._base import _imports
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from agentic.usage import StopReason, Usage

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "read-usage.md"


def _rows(heading: str) -> dict[str, list[str]]:
    """Return the cells of the table below a line, by the first of each row."""
    lines = PAGE.read_text().partition(heading)[2].split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("|---"))
    table = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return {name: rest for name, *rest in table}


MEANINGS = _rows("## What each API's usage means")
WORDS = _rows("Why a reply stopped, in each API's words:")
GENAI_PRICES = "genai-prices 0.2.3"


@attrs.frozen
class Row:
    """A body of the form that a row describes, and what it says."""

    adapter: ModuleType
    body: dict[str, Any]
    usage: Usage
    size: tuple[int, int] | None
    """Input and output of the last request."""
    ended: Callable[[str], dict[str, Any]]
    """Returns a reply that ended with a word."""
    flavor: tuple[str, str] | None = None
    """The provider and the form in which genai-prices reads the body."""


def _chat(usage: dict[str, Any], **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Yes.", **message}
    return {"choices": [{"message": said, "finish_reason": "stop"}], "usage": usage, "model": "m"}


def _chat_ended(word: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": "Yes."}, "finish_reason": word}]}


def _plain_chat(provider: str, flavor: str = "chat", **details: Any) -> Row:
    """Return the row of an API whose counts include everything, as OpenAI's."""
    counts = {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130, **details}
    used = Usage(100, 30, 130, cache_read=80, reasoning=20)
    return Row(openai_chat, _chat(counts), used, (100, 30), _chat_ended, (provider, flavor))


def _responses_ended(word: str) -> dict[str, Any]:
    if word in {"completed", "cancelled", "failed"}:
        return {"status": word}
    return {"status": "incomplete", "incomplete_details": {"reason": word}}


_DETAILS = {
    "prompt_tokens_details": {"cached_tokens": 80},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
_ROUNDS = [
    {
        "type": "message",
        "input_tokens": 10,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 0,
        "output_tokens": 4,
    },
    {
        "type": "message",
        "input_tokens": 20,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 5,
        "output_tokens": 6,
    },
]
_SUMMED = {
    "input_tokens": 30,
    "cache_read_input_tokens": 190,
    "cache_creation_input_tokens": 5,
    "output_tokens": 10,
    "output_tokens_details": {"thinking_tokens": 3},
}
_COMPACTED = [{**_ROUNDS[0], "type": "compaction"}, _ROUNDS[1]]

ROWS = {
    "Anthropic, SDK 2.14": Row(
        anthropic,
        {
            "content": [{"type": "server_tool_use", "id": "s1", "name": "web_search"}],
            "usage": {**_SUMMED, "iterations": _ROUNDS},
            "model": "m",
        },
        Usage(225, 10, cache_read=190, cache_write=5, reasoning=3),
        (125, 6),
        lambda word: {"content": [], "stop_reason": word},
        ("anthropic", "default"),
    ),
    "OpenAI Chat, SDK 3.57": _plain_chat("openai", **_DETAILS),
    "OpenAI Responses, SDK 3.57": Row(
        openai_responses,
        {
            "status": "completed",
            "output": [{"type": "web_search_call", "id": "w1"}],
            "model": "m",
            "usage": {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 0},
                "output_tokens": 30,
                "output_tokens_details": {"reasoning_tokens": 20},
                "total_tokens": 130,
            },
        },
        Usage(100, 30, 130, cache_read=80, reasoning=20),
        None,
        _responses_ended,
        ("openai", "responses"),
    ),
    "Gemini, SDK 3.6.1": Row(
        gemini,
        {
            "modelVersion": "m",
            "usageMetadata": {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 80,
                "toolUsePromptTokenCount": 500,
                "candidatesTokenCount": 10,
                "thoughtsTokenCount": 20,
                "totalTokenCount": 630,
            },
        },
        Usage(600, 30, 630, cache_read=80, reasoning=20),
        (100, 30),
        lambda word: {"candidates": [{"finishReason": word}]},
        ("google", "default"),
    ),
    "Bedrock Converse, boto3 1.44": Row(
        bedrock,
        {
            "usage": {
                "inputTokens": 10,
                "cacheReadInputTokens": 85,
                "cacheWriteInputTokens": 5,
                "outputTokens": 30,
                "totalTokens": 130,
            }
        },
        Usage(100, 30, 130, cache_read=85, cache_write=5),
        (100, 30),
        lambda word: {"stopReason": word},
    ),
    "Cohere v2, SDK 7.3": Row(
        cohere,
        {
            "usage": {
                "billed_units": {"input_tokens": 7.0, "output_tokens": 30.0},
                "tokens": {"input_tokens": 100.0, "output_tokens": 30.0},
                "cached_tokens": 80.0,
            }
        },
        Usage(100, 30, 130, cache_read=80),
        (100, 30),
        lambda word: {"finish_reason": word},
    ),
    "Ollama": Row(
        ollama,
        {
            "message": {"content": "Yes."},
            "prompt_eval_count": 100,
            "prompt_eval_cached_count": 80,
            "eval_count": 30,
        },
        Usage(100, 30, cache_read=80),
        (100, 30),
        lambda word: {"done_reason": word},
    ),
    "Mistral": _plain_chat("mistral", "default", num_cached_tokens=80, **_DETAILS),
    "DeepSeek": _plain_chat(
        "deepseek", prompt_cache_hit_tokens=80, prompt_cache_miss_tokens=20, **_DETAILS
    ),
    "Groq": Row(
        openai_chat,
        _chat(
            {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130, **_DETAILS},
            executed_tools=[{"index": 0, "type": "search"}],
        ),
        Usage(100, 30, 130, cache_read=80, reasoning=20),
        None,
        _chat_ended,
        ("groq", "default"),
    ),
    "xAI": Row(
        openai_chat,
        _chat(
            {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 130,
                "num_server_side_tools_used": 2,
                "context_details": {"input_tokens": 60, "output_tokens": 25},
                **_DETAILS,
            }
        ),
        Usage(100, 30, 130, cache_read=80, reasoning=20),
        (60, 25),
        _chat_ended,
        ("x-ai", "chat"),
    ),
    "OpenRouter": Row(
        openai_chat,
        _chat(
            {
                "prompt_tokens": 100,
                "completion_tokens": 30,
                "total_tokens": 130,
                "prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 20},
                "server_tool_use": {"web_search_requests": 1},
                "cost": 0.01,
            }
        ),
        Usage(100, 30, 130, cache_read=80, cache_write=5, reasoning=20),
        None,
        _chat_ended,
        ("openrouter", "chat"),
    ),
    "GitHub Copilot": _plain_chat("github-copilot", **_DETAILS),
    "LiteLLM 1.110, of Anthropic": Row(
        openai_chat,
        _chat(
            {
                "prompt_tokens": 225,
                "completion_tokens": 10,
                "total_tokens": 235,
                "cache_read_input_tokens": 190,
                "cache_creation_input_tokens": 5,
                "iterations": _COMPACTED,
            }
        ),
        Usage(225, 10, 235, cache_read=190, cache_write=5),
        (125, 6),
        _chat_ended,
    ),
    "LiteLLM 1.110, of Gemini": Row(
        openai_chat,
        _chat(
            {
                "prompt_tokens": 600,
                "completion_tokens": 30,
                "total_tokens": 630,
                "prompt_tokens_details": {"tool_use_tokens": 500},
                "completion_tokens_details": {"reasoning_tokens": 20},
            }
        ),
        Usage(600, 30, 630, reasoning=20),
        (100, 30),
        _chat_ended,
    ),
}


def test_table_has_a_test_for_each_row() -> None:
    """And a row of words for each API that sends any."""
    assert [*ROWS, GENAI_PRICES] == list(MEANINGS)
    assert list(ROWS) == list(WORDS)


@pytest.mark.parametrize("name", ROWS)
def test_row_is_what_the_adapter_reads(name: str) -> None:
    """What was billed, and how large the last request was."""
    row = ROWS[name]

    decision = row.adapter.decode_response(row.body)

    assert decision.usage == row.usage
    size = decision.request_usage
    assert (size and (size.input, size.output)) == row.size
    assert row.size is not None or "unknown" in MEANINGS[name][3]
    # The body shows what the row explains.
    body = json.dumps(row.body)
    counts = re.findall(r"`([\w.]+)`", MEANINGS[name][0])
    assert [each for each in counts if f'"{each.rpartition(".")[2]}"' not in body] == []


@pytest.mark.parametrize("name", ROWS)
def test_words_are_those_of_the_adapter(name: str) -> None:
    """Each has the meaning that the row says; a call is not needed for the word of one."""
    for group in WORDS[name][0].split("; "):
        meaning, _, words = group.partition(": ")
        for word in re.findall("`(.+?)`", words):
            found = ROWS[name].adapter.stop_reason(ROWS[name].ended(word))
            assert (word, found) == (word, StopReason[meaning])


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.flavor])
def test_prices_are_of_the_same_reading(name: str) -> None:
    """genai-prices reads input, output and cache of each API as the adapter does."""
    row = ROWS[name]
    assert row.flavor is not None
    server, flavor = row.flavor
    provider = next(each for each in get_snapshot().providers if each.id == server)
    body = {**row.body, "model": "m"}

    _, read = provider.extract_usage(body, api_flavor=flavor)

    assert (read.input_tokens, read.output_tokens) == (row.usage.input, row.usage.output)
    assert (read.cache_read_tokens or 0) == row.usage.cache_read


def test_litellm_adds_up_anthropic_iterations() -> None:
    """The library itself, on Anthropic's counts: they come out as the row's body has them."""
    _imports.load("litellm")
    config = _imports.load("litellm.llms.anthropic.chat.transformation").AnthropicConfig()

    made = config.calculate_usage(
        usage_object={**_ROUNDS[1], "iterations": _COMPACTED}, reasoning_content=None
    )

    counts = made.model_dump(exclude_none=True)
    expected = ROWS["LiteLLM 1.110, of Anthropic"].body["usage"]
    assert {key: counts[key] for key in expected} == expected
    decision = openai_chat.decode_response(_chat(counts))
    assert decision.request_usage is not None
    assert decision.request_usage.input == 125


def test_litellm_counts_gemini_tools_in_the_prompt() -> None:
    """Unless the reply is grounded by a search: then they are in the total only."""
    _imports.load("litellm")
    made = _imports.load("litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini")
    counts = ROWS["Gemini, SDK 3.6.1"].body["usageMetadata"]

    for response, prompt in (
        ({"candidates": [], "usageMetadata": counts}, 600),
        ({"candidates": [{"groundingMetadata": {"webSearchQueries": ["q"]}}]}, 100),
    ):
        body = {"usageMetadata": counts, **response}
        usage = made.VertexGeminiConfig._calculate_usage(body)

        assert usage.prompt_tokens == prompt
        decision = openai_chat.decode_response(_chat(usage.model_dump(exclude_none=True)))
        assert decision.usage is not None
        assert decision.request_usage is not None
        assert (decision.usage.input, decision.usage.output) == (600, 30)
        assert decision.request_usage.input == 100
