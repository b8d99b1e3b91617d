"""What the API refuses in a request's settings: the length of the reply, thinking, the cache."""

from collections.abc import Iterator
from typing import Any

from agentic.providers._plain import at, items_at, text_at
from agentic.providers._violation import Violation

__all__ = ["find_refused_settings"]

_SCHEMA = "https://platform.claude.com/docs/en/api/messages/create"
_BUDGET = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
_FORCED = "https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows"
_MARKS = "https://github.com/tghamm/Anthropic.SDK/issues/50"

_LEAST_BUDGET = 1024
_MOST_MARKS = 4
"""https://platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-11)."""
_SAMPLING = {
    "metadata",
    "service_tier",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
}
"""What no request for a count of tokens holds: such a one needs no max_tokens."""


def find_refused_settings(request: Any) -> Iterator[Violation]:
    """Look at what stands beside the messages, but for the system prompt and the tools."""
    yield from _max_tokens(request)
    if at(request, "thinking", "type") == "enabled":
        yield from _budget(request)
        yield from _forced(request)
    marks = sum(at(block, "cache_control") is not None for block in _cacheable(request))
    if marks > _MOST_MARKS:
        problem = f"{marks} blocks have cache_control, and {_MOST_MARKS} may"
        yield Violation("cache", None, problem, _MARKS)


def _max_tokens(request: Any) -> Iterator[Violation]:
    given = at(request, "max_tokens")
    if given is None and not any(at(request, key) is not None for key in _SAMPLING):
        return
    if not _is_whole(given) or given < 0:
        problem = f"max_tokens is {given!r}, not a whole number"
        yield Violation("max_tokens", None, problem, _SCHEMA)


def _is_whole(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _budget(request: Any) -> Iterator[Violation]:
    """Look at the budget of thinking, which is a part of the reply.

    With tools it may be more: thinking between the calls has one budget for all replies of a turn.
    """
    budget, longest = at(request, "thinking", "budget_tokens"), at(request, "max_tokens")
    if not _is_whole(budget) or budget < _LEAST_BUDGET:
        problem = f"budget_tokens is {budget!r}, not a whole number of {_LEAST_BUDGET} or more"
        yield Violation("thinking", None, problem, _BUDGET)
    elif _is_whole(longest) and budget >= longest and not items_at(request, "tools"):
        problem = f"budget_tokens is {budget}, not less than max_tokens, {longest}"
        yield Violation("thinking", None, problem, _BUDGET)


def _forced(request: Any) -> Iterator[Violation]:
    choice = text_at(request, "tool_choice", "type")
    if choice in {"any", "tool"}:
        problem = f"tool_choice {choice!r} forces a call, which thinking with a budget forbids"
        yield Violation("thinking", None, problem, _FORCED)


def _cacheable(request: Any) -> Iterator[Any]:
    yield from items_at(request, "tools")
    yield from items_at(request, "system")
    for message in items_at(request, "messages"):
        yield from items_at(message, "content")
