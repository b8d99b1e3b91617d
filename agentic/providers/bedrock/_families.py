"""What only some models behind Converse accept, by the model family in the `modelId`.

Explicit caching: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (read on
2026-11-22). Claude accepts a `cachePoint` after tools, after system and in messages; Nova only
after system and in messages (https://github.com/NousResearch/hermes-agent/issues/97281). Any other
model rejects the request. At most four are allowed. `agentic.providers.anthropic._turns` explains
the choice of places.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers.kit import at, items_at, text_at

# Llama 4: https://github.com/strands-agents/harness-sdk/issues/1223. Mistral Large: the integration
# tests of https://github.com/langchain-ai/langchain-aws expect a rejection. Recorded: Claude 4.5
# accepts both, Nova 2 text next to results, Nova Micro and Kimi K2 text next to calls. The Decider
# recognizes others by their error (https://github.com/langchain-ai/langchain-aws/issues/141,
# https://github.com/BerriAI/litellm/issues/6053, https://github.com/microsoft/autogen/issues/6480).
_TWO_KINDS_REFUSED = ("meta.llama", "mistral.")

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html
# (2026-11): only Claude and Nova; Llama, too, accepts documents (recorded). The ARN of a profile
# does not name its family.
_IMAGES_IN_RESULTS = ("anthropic.", "amazon.nova", ":application-inference-profile/")
_SEE_BELOW = {"text": "(See the image after the results.)"}

_TALK = {
    *("text", "image", "document", "video", "audio"),
    *("guardContent", "citationsContent", "searchResult"),
}

# The short turn that splits a turn of a role, since roles have to alternate.
_BETWEEN = {
    "user": {"role": "assistant", "content": [{"text": "(The results have arrived.)"}]},
    "assistant": {"role": "user", "content": [{"text": "(Go on.)"}]},
}

# Claude since 3.5 Haiku. 3.5 Sonnet has a cache only for participants of a preview.
_CLAUDE = re.compile(r"anthropic\.claude-(?!v\d|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet)")
# From 4.6 on: https://github.com/anomalyco/opencode/issues/29760 (2026-05) quotes the error.
_WITHOUT_PREFILL = re.compile(r"claude-[a-z]+-(4[-.][6-9]|[5-9])(?![0-9])")
_NOVA = re.compile(r"amazon\.nova-(?:micro|lite|pro|premier|2-lite)-")
_MARK = {"cachePoint": {"type": "default"}}


def refuses_two_kinds(model: str) -> bool:
    """Return whether a family rejects text next to calls or results in one turn.

    >>> refuses_two_kinds("us.meta.llama4-scout-17b-instruct-v1:0"), refuses_two_kinds("")
    (True, False)
    """
    return any(family in model for family in _TWO_KINDS_REFUSED)


def refuses_last_reply(model: str) -> bool:
    """Return whether a model rejects a reply as the last message, which it cannot continue.

    >>> refuses_last_reply("us.anthropic.claude-opus-4-6-v1"), refuses_last_reply("")
    (True, False)
    """
    return _WITHOUT_PREFILL.search(model) is not None


def shows_images_in_results(model: str) -> bool:
    """Return whether a family accepts images in a result; True if the id does not name a family.

    >>> shows_images_in_results("us.amazon.nova-lite-v1:0"), shows_images_in_results("meta.llama4")
    (True, False)
    """
    return not model or any(family in model for family in _IMAGES_IN_RESULTS)


def wants_results_first(model: str) -> bool:
    """Return whether a family, such as Claude, expects results at the start of their message.

    >>> wants_results_first("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    True
    """
    # https://github.com/nulib/dc-api-v2/pull/296 quotes the error.
    return "anthropic." in model


def fit_family(messages: list[Any], model: str) -> list[Any]:
    """Return the messages as the family requires them; unchanged for an unknown family."""
    if not shows_images_in_results(model):
        messages = list(map(_images_after_results, messages))
    if refuses_two_kinds(model):
        return part_turns(messages)
    return list(map(_results_first, messages)) if wants_results_first(model) else messages


def _images_after_results(message: Any) -> Any:
    """Return the message with the images of its results as blocks after the others."""
    images: list[Any] = []
    blocks: list[Any] = []
    for block in items_at(message, "content"):
        content = items_at(block, "toolResult", "content")
        shown = [part for part in content if isinstance(at(part, "image"), dict)]
        rest = [part for part in content if part not in shown] or [_SEE_BELOW]
        result = {**block["toolResult"], "content": rest} if shown else None
        blocks.append({**block, "toolResult": result} if shown else block)
        images += shown
    return {**message, "content": blocks + images} if images else message


def part_turns(messages: list[Any]) -> list[Any]:
    """Split each turn of two kinds in two, with a short turn of the other role in between.

    Results come before the other content and calls after it, as in the whole turn.

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
    """Return whether a message has text or media in addition to calls or results."""
    blocks = items_at(message, "content")
    return any(map(_is_tool_block, blocks)) and any(map(_is_talk, blocks))


def says_before_results(message: Any) -> bool:
    """Return whether text or media come before a result in a user message."""
    kinds = [
        _is_tool_block(b) for b in items_at(message, "content") if _is_tool_block(b) or _is_talk(b)
    ]
    return at(message, "role") == "user" and kinds != sorted(kinds, reverse=True)


def _results_first(message: Any) -> Any:
    if not says_before_results(message):
        return message
    # A stable sort: within each kind the order stays.
    return {**message, "content": sorted(items_at(message, "content"), key=_is_talk)}


def _is_tool_block(block: Any) -> bool:
    return isinstance(at(block, "toolUse"), dict) or isinstance(at(block, "toolResult"), dict)


def _is_talk(block: Any) -> bool:
    return isinstance(block, dict) and not _TALK.isdisjoint(block)


def _has_prompt_cache(model: str) -> bool:
    """Return whether the model of a `modelId` accepts cache marks. An ARN may not name its model.

    >>> _has_prompt_cache("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    True
    >>> _has_prompt_cache("anthropic.claude-3-haiku-20240307-v1:0")
    False
    """
    return bool(_CLAUDE.search(model) or _NOVA.search(model))


def mark_for_cache(request: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the request with cache marks added, or unchanged if the caller has set any.

    The request passed in is not modified.

    >>> request = {"messages": [{"role": "user", "content": [{"text": "Why?"}]}]}
    >>> mark_for_cache(request, "amazon.nova-lite-v1:0")["messages"][0]["content"]
    [{'text': 'Why?'}, {'cachePoint': {'type': 'default'}}]
    """
    # The caller decides on all marks, since the API rejects lifetimes in the wrong order.
    if not _has_prompt_cache(model) or any(at(part, "cachePoint") for part in _markable(request)):
        return dict(request)
    marked = {**request, "messages": _mark_messages(items_at(request, "messages"))}
    if system := items_at(request, "system"):
        marked["system"] = [*system, _MARK]
    if _CLAUDE.search(model) and (tools := items_at(request, "toolConfig", "tools")):
        marked["toolConfig"] = {**request["toolConfig"], "tools": [*tools, _MARK]}
    return marked


def _markable(request: Mapping[str, Any]) -> Iterator[Any]:
    yield from items_at(request, "toolConfig", "tools")
    yield from items_at(request, "system")
    for message in items_at(request, "messages"):
        yield from items_at(message, "content")


def _mark_messages(messages: list[Any]) -> list[Any]:
    marked = list(messages)
    users = [place for place, each in enumerate(messages) if at(each, "role") == "user"]
    # As for Anthropic: the last mark writes the cache, and the one before it reads it.
    for place in [place for place in users if items_at(messages[place], "content")][-2:]:
        marked[place] = {**messages[place], "content": [*messages[place]["content"], _MARK]}
    return marked
