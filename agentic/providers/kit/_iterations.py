"""Whether a reply took several requests, and Anthropic's counts of each of them.

`usage.iterations` lists the requests (types/beta/beta_usage.py of the SDK, 2.14.0). Gateways pass
it on: LiteLLM keeps it next to a usage in the form of Chat Completions, in which it has added up
all of them, compactions included (llms/anthropic/chat/transformation.py, 1.110.2).
"""

from typing import Any

from agentic.providers.kit._json import at, count_at, items_at, text_at
from agentic.usage import Usage

# The request that made the reply; a fallback model's is the last one of its reply.
_REPLIES = {"message", "fallback_message"}
_SERVER_CALLS = {"server_tool_use", "mcp_tool_use", "program"}
_CALLERS = {
    *("function_call", "custom_tool_call", "computer_call", "shell_call", "local_shell_call"),
    *("apply_patch_call", "tool_search_call", "tool_call", "invalid_tool_call"),
}
"""Calls of OpenAI's Responses, and of LangChain, that the caller answers."""
_ADVISOR = "advisor_message"
"""Another model's request, which is no part of the conversation."""


def read_counts(counts: Any) -> Usage:
    """Return Anthropic's counts as a usage: cached tokens are counted separately there.

    >>> read_counts({"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7})
    Usage(input=95, output=7, total=0, cache_read=90, cache_write=0, reasoning=0)
    """
    read = count_at(counts, "cache_read_input_tokens")
    cache_write = count_at(counts, "cache_creation_input_tokens") or _written(counts)
    return Usage(
        input=count_at(counts, "input_tokens") + read + cache_write,
        output=at(counts, "output_tokens"),
        cache_read=read,
        cache_write=cache_write,
        reasoning=at(counts, "output_tokens_details", "thinking_tokens"),
    )


def _written(counts: Any) -> int:
    """Return the tokens written to the cache, with lifetimes of five minutes and one hour."""
    lifetimes = at(counts, "cache_creation")
    return sum(map(count_at, lifetimes.values())) if isinstance(lifetimes, dict) else 0


def requests_in(counts: Any) -> list[Any]:
    """Return the counts of each request of the conversation itself; none if they are not listed."""
    return [each for each in items_at(counts, "iterations") if text_at(each, "type") != _ADVISOR]


def last_request_in(counts: Any) -> Usage | None:
    """Return the counts of the last request, if they are listed and say how large the context is.

    Those of a compaction do not: they are much smaller than the context that it closed, and the
    context that it opened is its summary alone.

    >>> rounds = [{"type": "message", "input_tokens": n, "output_tokens": 1} for n in (60, 65)]
    >>> last_request_in({"input_tokens": 125, "iterations": rounds})
    Usage(input=65, output=1, total=0, cache_read=0, cache_write=0, reasoning=0)
    >>> last_request_in({"input_tokens": 125}) is None
    True
    """
    requests = requests_in(counts)
    is_reply = bool(requests) and text_at(requests[-1], "type") in _REPLIES
    return read_counts(requests[-1]) if is_reply else None


def is_server_call(kind: str) -> bool:
    """Return whether an item of this type in a reply is a call of a tool that the provider runs.

    After it, the provider sends the conversation to the model again, and adds up what that took.

    >>> is_server_call("server_tool_use"), is_server_call("web_search_call")
    (True, True)
    >>> is_server_call("tool_use"), is_server_call("function_call")
    (False, False)
    """
    return kind in _SERVER_CALLS or (kind.endswith("_call") and kind not in _CALLERS)


def used_server_tools(counts: Any) -> bool:
    """Return whether a usage counts calls of tools that the server ran.

    Anthropic and gateways to it count them by `server_tool_use`, xAI by two others
    (https://docs.x.ai/developers/tools/tool-usage-details, 2026-11).

    >>> used_server_tools({"server_tool_use": {"web_search_requests": 2}})
    True
    >>> used_server_tools({"num_server_side_tools_used": 0})
    False
    """
    calls = (at(counts, "server_tool_use"), at(counts, "server_side_tool_usage_details"))
    counts_of_tools = [each for call in calls if isinstance(call, dict) for each in call.values()]
    return any(map(count_at, [*counts_of_tools, at(counts, "num_server_side_tools_used")]))


def context_in(counts: Any) -> Usage | None:
    """Return how large the context is, where xAI says it next to the sum over its own requests.

    The field is not on the page; replies that others recorded in 2026 have it.

    >>> context_in({"input_tokens": 75, "context_details": {"input_tokens": 59}})
    Usage(input=59, output=0, total=0, cache_read=0, cache_write=0, reasoning=0)
    """
    context = at(counts, "context_details")
    return read_counts(context) if count_at(context, "input_tokens") else None
