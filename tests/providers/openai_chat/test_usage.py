from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.providers import openai_chat
from agentic.usage import Usage

REPORTED: dict[str, tuple[dict[str, Any], Usage]] = {
    "OpenAI: everything is inside": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 10},
            "completion_tokens_details": {
                "reasoning_tokens": 30,
                "audio_tokens": 5,
                "accepted_prediction_tokens": 3,
                "rejected_prediction_tokens": 4,
            },
        },
        Usage(100, 50, 150, cache_read=64, reasoning=30),
    ),
    "DeepSeek: hits and misses are the prompt": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
        },
        Usage(100, 50, 150, cache_read=64),
    ),
    "xAI: reasoning is beside the completion": (
        {
            "prompt_tokens": 12,
            "completion_tokens": 1,
            "total_tokens": 303,
            "completion_tokens_details": {"reasoning_tokens": 290},
        },
        Usage(12, 291, 303, reasoning=290),
    ),
    "Gemini's /openai: thoughts are in the total only": (
        {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109},
        Usage(35, 74, 109, reasoning=62),
    ),
    "Moonshot": (
        {"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 50, "cached_tokens": 10},
        Usage(20, 30, 50, cache_read=10),
    ),
    "Mistral": (
        {"prompt_tokens": 64, "completion_tokens": 6, "total_tokens": 70, "num_cached_tokens": 32},
        Usage(64, 6, 70, cache_read=32),
    ),
    "Alibaba: written to the cache, with its lifetime": (
        {
            "prompt_tokens": 2000,
            "completion_tokens": 10,
            "total_tokens": 2010,
            "prompt_tokens_details": {
                "cached_tokens": 0,
                "cache_creation_input_tokens": 1500,
                "cache_creation": {"ephemeral_5m_input_tokens": 1500},
                "cache_type": "ephemeral",
            },
        },
        Usage(2000, 10, 2010, cache_write=1500),
    ),
    "Alibaba: the lifetime alone": (
        {
            "prompt_tokens": 2000,
            "completion_tokens": 10,
            "total_tokens": 2010,
            "prompt_tokens_details": {"cache_creation": {"ephemeral_5m_input_tokens": 1500}},
        },
        Usage(2000, 10, 2010, cache_write=1500),
    ),
    "written to the cache, by a name of its own": (
        {"prompt_tokens": 2000, "completion_tokens": 10, "cache_write_tokens": 1500},
        Usage(2000, 10, cache_write=1500),
    ),
    "a gateway whose total leaves the cache out": (
        {
            "prompt_tokens": 50,
            "completion_tokens": 50,
            "total_tokens": 100,
            "cache_read_input_tokens": 30_000,
        },
        Usage(30_050, 50, 30_100, cache_read=30_000),
    ),
    "Perplexity: reasoning is beside all that is counted": (
        {
            "prompt_tokens": 33,
            "completion_tokens": 7163,
            "total_tokens": 7196,
            "citation_tokens": 26_180,
            "reasoning_tokens": 95_305,
        },
        Usage(33, 102_468, 102_501, reasoning=95_305),
    ),
    "numbers as texts": (
        {"prompt_tokens": "12", "completion_tokens": "3", "total_tokens": "15"},
        Usage(12, 3, 15),
    ),
    "OpenRouter: what is read is said to be written, too": (
        {
            "prompt_tokens": 2168,
            "completion_tokens": 100,
            "total_tokens": 2268,
            "cost": 0.1,
            "prompt_tokens_details": {"cached_tokens": 2161, "cache_write_tokens": 2161},
        },
        Usage(2168, 100, 2268, cache_read=2161, cache_write=7),
    ),
    "a gateway that passes on Anthropic's convention": (
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15_015,
            "cache_read_input_tokens": 12_000,
            "cache_creation_input_tokens": 3_000,
        },
        Usage(15_010, 5, 15_015, cache_read=12_000, cache_write=3_000),
    ),
    "LiteLLM: Anthropic's, counted in": (
        {
            "prompt_tokens": 15_010,
            "completion_tokens": 5,
            "total_tokens": 15_015,
            "cache_read_input_tokens": 12_000,
            "cache_creation_input_tokens": 3_000,
        },
        Usage(15_010, 5, 15_015, cache_read=12_000, cache_write=3_000),
    ),
    "no total": ({"prompt_tokens": 7, "completion_tokens": 3}, Usage(7, 3)),
    "only a total": ({"total_tokens": 10}, Usage(0, 0, 10)),
    "the names of other interfaces": ({"input_tokens": 7, "output_tokens": 3}, Usage(7, 3)),
    "nonsense": (
        {
            "prompt_tokens": "seven",
            "completion_tokens": -3,
            "total_tokens": None,
            "prompt_tokens_details": [],
            "completion_tokens_details": {"reasoning_tokens": True},
        },
        Usage(),
    ),
    "fractions and infinities": (
        {"prompt_tokens": 7.9, "completion_tokens": float("inf"), "total_tokens": float("nan")},
        Usage(7),
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_every_convention_becomes_ours(name: str) -> None:
    """Input includes what is cached, output includes reasoning."""
    reported, expected = REPORTED[name]

    assert openai_chat.usage({"usage": reported}) == expected
    assert openai_chat.decode_response({"usage": reported}).usage == expected


@pytest.mark.parametrize(
    "body",
    [
        {"x_groq": {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}},
        {"usage": None, "choices": [{"usage": {"prompt_tokens": 7, "completion_tokens": 3}}]},
        {"prompt_tokens": 7, "completion_tokens": 3},
        {"timings": {"prompt_n": 7, "predicted_n": 3, "cache_n": 0}},
    ],
)
def test_usage_is_found_wherever_put(body: dict[str, Any]) -> None:
    """Groq, Moonshot, the numbers alone, and llama.cpp's timings."""
    assert openai_chat.usage(body) == Usage(7, 3)


@pytest.mark.parametrize("junk", [None, 3, "text", [], {}, {"usage": []}, {"usage": {}}])
def test_no_usage_means_nothing_used(junk: Any) -> None:
    """A decision without it says so."""
    assert openai_chat.usage(junk) == Usage()
    assert openai_chat.decode_response(junk).usage is None


COUNTS = st.none() | st.booleans() | st.integers(-9, 99_999) | st.sampled_from(["7", "x", 2.5])
NAMES = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "cache_read_input_tokens",
]


@given(st.dictionaries(st.sampled_from(NAMES), COUNTS))
def test_no_part_exceeds_its_whole(reported: dict[str, Any]) -> None:
    """Whatever a server reports."""
    used = openai_chat.usage({"usage": reported})

    assert used.cache_read + used.cache_write <= used.input
    assert used.reasoning <= used.output
    assert used.total == 0 or used.input + used.output <= used.total
