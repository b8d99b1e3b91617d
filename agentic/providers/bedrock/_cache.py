"""Which models have a prompt cache on Bedrock, and where a request is marked for it.

Explicit caching: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (read on
2026-11-22). Claude takes a `cachePoint` after tools, system and in messages, Nova after system and
in messages only (https://github.com/NousResearch/hermes-agent/issues/97281); any other model
refuses the request. At most four of them. Why these places: `agentic.providers.anthropic._cache`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers._plain import at, items_at

__all__ = ["has_prompt_cache", "mark_for_cache"]

_CLAUDE = re.compile(r"anthropic\.claude-(?!v\d|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet)")
"""Claude since 3.5 Haiku. 3.5 Sonnet has it for those who took part in a preview."""
_NOVA = re.compile(r"amazon\.nova-(?:micro|lite|pro|premier|2-lite)-")
_MARK = {"cachePoint": {"type": "default"}}
_MARKED_MESSAGES = 2


def has_prompt_cache(model: str) -> bool:
    """Return whether the model of a `modelId` takes marks; an ARN may not name its model.

    >>> has_prompt_cache("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    True
    >>> has_prompt_cache("anthropic.claude-3-haiku-20240307-v1:0")
    False
    """
    return bool(_CLAUDE.search(model) or _NOVA.search(model))


def mark_for_cache(request: Mapping[str, Any], model: str, *, summaries: int = 0) -> dict[str, Any]:
    """Return the request with marks for the cache; with the caller's own only if it has any.

    Nothing of the given request is changed. `summaries` is how many blocks at the end of `system`
    will be others after the next compaction.

    >>> request = {"messages": [{"role": "user", "content": [{"text": "Why?"}]}]}
    >>> mark_for_cache(request, "amazon.nova-lite-v1:0")["messages"][0]["content"]
    [{'text': 'Why?'}, {'cachePoint': {'type': 'default'}}]
    """
    if not has_prompt_cache(model) or any(at(part, "cachePoint") for part in _parts(request)):
        return dict(request)
    marked = {**request, "messages": _mark_messages(items_at(request, "messages"))}
    if system := items_at(request, "system"):
        end = max(len(system) - summaries, 1)
        marked["system"] = [*system[:end], _MARK, *system[end:]]
    if _CLAUDE.search(model) and (tools := items_at(request, "toolConfig", "tools")):
        marked["toolConfig"] = {**request["toolConfig"], "tools": [*tools, _MARK]}
    return marked


def _parts(request: Mapping[str, Any]) -> Iterator[Any]:
    yield from items_at(request, "toolConfig", "tools")
    yield from items_at(request, "system")
    for message in items_at(request, "messages"):
        yield from items_at(message, "content")


def _mark_messages(messages: list[Any]) -> list[Any]:
    marked, left = list(messages), _MARKED_MESSAGES
    for place in reversed(range(len(marked))):
        blocks = items_at(marked[place], "content")
        if left and blocks and at(marked[place], "role") == "user":
            marked[place] = {**marked[place], "content": [*blocks, _MARK]}
            left -= 1
    return marked
