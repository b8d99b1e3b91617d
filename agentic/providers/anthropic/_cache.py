"""Where a request is marked for the prompt cache.

The cache holds prefixes of a request (tools, system, messages, in this order), each up to a mark. A
request reads the longest prefix that is there, and looks for one at its marks and at the 20 blocks
before each of them. So the newest message is marked, which writes what the next request will read,
and so is the end of the request before this one, which finds it however many blocks a turn has
added. The marks on the tools and on the system prompt are what a compaction leaves of the prefix.

At most four marks, five minutes of life, no effect below 512 to 4,096 tokens, depending on the
model: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (read on 2026-11-22).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers.anthropic._decoding import blocks_of
from agentic.providers.kit import at, items_at, text_at

__all__ = ["mark_for_cache"]

_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
_MARKABLE = {"text", "image", "document", "search_result", "tool_result"}
"""Blocks of a user's message that take a mark; thinking takes none."""


def mark_for_cache(body: Mapping[str, Any], *, summaries: int = 0) -> dict[str, Any]:
    """Return the request with marks for the cache; with the caller's own only if it has any.

    Nothing of the given request is changed. `summaries` is how many blocks at the end of `system`
    will be others after the next compaction.

    >>> marked = mark_for_cache({"messages": [{"role": "user", "content": "Why?"}]})
    >>> marked["messages"][0]["content"]
    [{'type': 'text', 'text': 'Why?', 'cache_control': {'type': 'ephemeral'}}]
    """
    if "cache_control" in body or any(at(part, "cache_control") for part in _parts(body)):
        return dict(body)
    marked = {**body, "messages": _mark_messages(items_at(body, "messages"))}
    if system := blocks_of(body.get("system")):
        marked["system"] = _mark(system, max(len(system) - 1 - summaries, 0))
    if tools := items_at(body, "tools"):
        marked["tools"] = _mark(tools, len(tools) - 1)
    return marked


def _parts(body: Mapping[str, Any]) -> Iterator[Any]:
    """Yield all that may be marked, results' own blocks included."""
    waiting = [*items_at(body, "tools"), *blocks_of(body.get("system"))]
    waiting += items_at(body, "messages")
    while waiting:
        part = waiting.pop()
        yield part
        waiting += items_at(part, "content")


def _mark_messages(messages: list[Any]) -> list[Any]:
    marked, left = list(messages), _MARKED_MESSAGES
    for place in reversed(range(len(marked))):
        blocks = blocks_of(at(marked[place], "content"))
        ends = [end for end, block in enumerate(blocks) if _takes_mark(block)]
        if at(marked[place], "role") == "user" and ends:
            marked[place] = {**marked[place], "content": _mark(blocks, ends[-1])}
            left -= 1
        if not left:
            break
    return marked


def _takes_mark(block: Any) -> bool:
    kind = text_at(block, "type")
    return kind in _MARKABLE and (kind != "text" or bool(text_at(block, "text").strip()))


def _mark(blocks: list[Any], place: int) -> list[Any]:
    marked = {**blocks[place], "cache_control": _MARK}
    return [*blocks[:place], marked, *blocks[place + 1 :]]
