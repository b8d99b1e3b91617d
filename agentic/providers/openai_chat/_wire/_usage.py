"""How many tokens a call used, in the conventions of OpenAI and of the servers that follow it.

`prompt_tokens` includes what was cached, `completion_tokens` includes reasoning, audio and
predictions, rejected ones too (2026-11):
https://platform.openai.com/docs/api-reference/chat/object
Where a server counts otherwise, its own total gives it away.
"""

from collections.abc import Iterator
from typing import Any

from agentic.providers._plain import at, items_at, plain
from agentic.usage import Usage

__all__ = ["find_usage", "usage"]

_CACHE_READ = [
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # https://api-docs.deepseek.com/guides/kv_cache
    ("cached_tokens",),  # Moonshot
    ("num_cached_tokens",),  # Mistral
    ("cache_read_input_tokens",),  # Anthropic, through a gateway
    ("prompt_token_details", "cached_tokens"),  # Writer
    ("input_tokens_details", "cached_tokens"),
]
_CACHE_WRITE = [
    # https://openrouter.ai/docs/guides/best-practices/prompt-caching
    ("prompt_tokens_details", "cache_write_tokens"),
    ("prompt_tokens_details", "cache_creation_tokens"),  # LiteLLM
    # https://www.alibabacloud.com/help/en/model-studio/context-cache
    ("prompt_tokens_details", "cache_creation_input_tokens"),
    ("prompt_tokens_details", "cache_creation", "ephemeral_5m_input_tokens"),
    ("cache_creation_input_tokens",),  # Anthropic, through a gateway
    ("cache_write_tokens",),
    ("input_tokens_details", "cache_write_tokens"),
]
_REASONING = [
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),
]


def usage(response: Any, /) -> Usage:
    """Read what a reply used; what the server does not say is 0.

    >>> usage({"usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
    Usage(input=7, output=3, total=10, cache_read=0, cache_write=0, reasoning=0)
    """
    found = find_usage(plain(response))
    return Usage() if found is None else _convert(found)


def find_usage(body: Any) -> dict[str, Any] | None:
    """Find the numbers where each server has them; None where there are none."""
    return next((found for found in _places(body) if isinstance(found, dict) and found), None)


def _places(body: Any) -> Iterator[Any]:
    yield at(body, "usage")
    yield at(body, "x_groq", "usage")  # https://console.groq.com/docs/api-reference, streams
    for choice in items_at(body, "choices"):
        yield at(choice, "usage")  # https://platform.moonshot.ai/docs/api/chat, streams
    timings = at(body, "timings")  # llama.cpp's server, which may leave `usage` out
    if isinstance(timings, dict):
        cached = _count(timings, "cache_n")
        yield {
            "prompt_tokens": _count(timings, "prompt_n") + cached,
            "completion_tokens": _count(timings, "predicted_n"),
            "cached_tokens": cached,
        }
    if at(body, "prompt_tokens") is not None:
        yield body  # the numbers themselves were handed in


def _convert(found: dict[str, Any]) -> Usage:
    prompt = _count(found, "prompt_tokens") or _count(found, "input_tokens")
    completion = _count(found, "completion_tokens") or _count(found, "output_tokens")
    total, reasoning = _count(found, "total_tokens"), _first(found, _REASONING)
    read, write = _first(found, _CACHE_READ), _first(found, _CACHE_WRITE)
    if _cache_is_beside(total, prompt, completion, read, write):
        prompt += read + write
    hidden = total - prompt - completion if total and prompt else 0
    if hidden > 0 and hidden >= reasoning:
        # Grok counts reasoning beside the completion, Gemini's /openai in the total alone:
        # https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning
        # https://github.com/mozilla-ai/any-llm/issues/1290 (2026-11)
        completion, reasoning = completion + hidden, hidden
    elif reasoning > completion:
        # Perplexity's deep research has it nowhere else, and bills it by itself:
        # https://github.com/bgeneto/open-webui-cost-tracker/issues/6
        completion += reasoning
    total = max(total, prompt + completion) if total else 0
    return Usage(prompt, completion, total, read, min(write, prompt - read), reasoning)


def _cache_is_beside(total: int, prompt: int, completion: int, read: int, write: int) -> bool:
    """Find Anthropic's convention behind a gateway: what was cached is not in the prompt.

    A part that is larger than the prompt cannot be in it. Two parts that only together are larger
    overlap, where the total holds neither: OpenRouter may count what it read as written, too.
    """
    said = prompt + completion
    if max(read, write) > prompt or (total and total == said + read + write != said):
        return True
    return total != said and read + write > prompt


def _first(found: dict[str, Any], paths: list[tuple[str, ...]]) -> int:
    return next((number for path in paths if (number := _count(found, *path))), 0)


def _count(found: Any, *path: str) -> int:
    """Read a number of tokens as Usage does: whatever is none is 0."""
    return Usage(at(found, *path)).input
