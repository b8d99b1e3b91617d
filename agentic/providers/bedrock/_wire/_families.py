"""What only some of the models behind Converse refuse, by the family in their `modelId`."""

from collections.abc import Iterator
from typing import Any

from agentic.providers._plain import at, items_at, text_at

__all__ = [
    "fit_family",
    "is_tool_block",
    "is_two_kinds",
    "part_turns",
    "refuses_two_kinds",
    "says_before_results",
    "wants_results_first",
]

_TWO_KINDS_REFUSED = ("meta.llama", "mistral.")
"""Llama 4: https://github.com/strands-agents/harness-sdk/issues/1223. Mistral Large: the
integration tests of https://github.com/langchain-ai/langchain-aws expect it to refuse. Claude 4.5
takes both, Nova 2 words beside results, Nova Micro and Kimi K2 words beside calls (all recorded).
Others have refused, too, and are found out by asking (https://github.com/langchain-ai/langchain-aws/issues/141,
https://github.com/BerriAI/litellm/issues/6053, https://github.com/microsoft/autogen/issues/6480)."""
_TALK = {
    *("text", "image", "document", "video", "audio"),
    *("guardContent", "citationsContent", "searchResult"),
}
_BETWEEN = {
    "user": {"role": "assistant", "content": [{"text": "(The results have arrived.)"}]},
    "assistant": {"role": "user", "content": [{"text": "(Go on.)"}]},
}
"""The short turn that parts a turn of that role, as roles have to alternate."""


def refuses_two_kinds(model: str) -> bool:
    """Tell a family that refuses words beside calls, and beside results, in one turn.

    >>> refuses_two_kinds("us.meta.llama4-scout-17b-instruct-v1:0"), refuses_two_kinds("")
    (True, False)
    """
    return any(family in model for family in _TWO_KINDS_REFUSED)


def wants_results_first(model: str) -> bool:
    """Tell a family that looks for results at the beginning of their message: Claude.

    https://github.com/nulib/dc-api-v2/pull/296 quotes the refusal.

    >>> wants_results_first("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    True
    """
    return "anthropic." in model


def fit_family(messages: list[Any], model: str) -> list[Any]:
    """Give the messages as the family takes them; as they are where nothing is known of it."""
    if refuses_two_kinds(model):
        return part_turns(messages)
    return list(map(_results_first, messages)) if wants_results_first(model) else messages


def part_turns(messages: list[Any]) -> list[Any]:
    """Part each turn of two kinds in two, with a short turn of the other role between them.

    Results stand before the words beside them, calls after them, as in the whole turn.

    >>> used = {"toolUse": {"toolUseId": "t1", "name": "now", "input": {}}}
    >>> turns = part_turns([{"role": "assistant", "content": [{"text": "I look."}, used]}])
    >>> [turn["content"] == [used] for turn in turns]
    [False, False, True]
    """
    return [part for message in messages for part in _parts(message)]


def _parts(message: Any) -> Iterator[Any]:
    if not is_two_kinds(message):
        yield message
        return
    blocks, role = items_at(message, "content"), text_at(message, "role")
    parts = [list(filter(_is_talk, blocks)), [block for block in blocks if not _is_talk(block)]]
    first, second = parts if role == "assistant" else reversed(parts)
    yield {**message, "content": first}
    yield _BETWEEN["assistant" if role == "assistant" else "user"]
    yield {**message, "content": second}


def is_two_kinds(message: Any) -> bool:
    """Tell whether a message holds words, or media, beside calls or results."""
    blocks = items_at(message, "content")
    return any(map(is_tool_block, blocks)) and any(map(_is_talk, blocks))


def says_before_results(message: Any) -> bool:
    """Tell whether words or media of a user's message stand before one of its results."""
    kinds = [
        is_tool_block(b) for b in items_at(message, "content") if is_tool_block(b) or _is_talk(b)
    ]
    return at(message, "role") == "user" and kinds != sorted(kinds, reverse=True)


def _results_first(message: Any) -> Any:
    if not says_before_results(message):
        return message
    return {**message, "content": sorted(items_at(message, "content"), key=_is_talk)}


def is_tool_block(block: Any) -> bool:
    """Tell a call or a result."""
    return isinstance(at(block, "toolUse"), dict) or isinstance(at(block, "toolResult"), dict)


def _is_talk(block: Any) -> bool:
    return isinstance(block, dict) and not _TALK.isdisjoint(block)
