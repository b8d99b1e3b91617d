"""A conversation as data: one JSON object a line, in which nothing can pose as an instruction.

A line break inside a text is escaped, so that no text can end the line it stands in, nor open a
section of the prompt around it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agentic.context.compactors._clip import clip
from agentic.messages import Media, Message, split_rounds

__all__ = ["entries"]


def entries(messages: Sequence[Message], max_output_chars: int) -> Iterator[str]:
    """Write each message as a line; tool outputs are shortened, orphaned results left out.

    System messages that the conversation starts with are passed over, summaries among them: what
    was summarized before is not told again.

    >>> list(entries([Message("user", "Is it green?")], 500))
    ['{"user": "Is it green?"}']
    """
    started = False
    for found in split_rounds(messages):
        started = started or found.messages[0].role != "system"
        if not started or found.messages[0].summary is not None:
            continue
        for message in found.sendable:
            entry = _entry(message, max_output_chars)
            if entry:
                text = json.dumps(entry, ensure_ascii=False, default=str)
                yield text.encode("utf-8", "replace").decode()


def _entry(message: Message, max_output_chars: int) -> dict[str, Any]:
    entry: dict[str, Any] = {message.role: message.content} if message.content.strip() else {}
    if message.tool_results:
        results = [clip(each.text, max_output_chars) for each in message.tool_results]
        entry = {"results": results}
    if message.media:
        entry["attached"] = [clip(_attached(part), max_output_chars) for part in message.media]
    if message.tool_calls:
        entry["calls"] = [f"{call.name} {call.arguments}" for call in message.tool_calls]
        entry["calls"] = [clip(call, max_output_chars) for call in entry["calls"]]
    return entry


def _attached(part: Media) -> str:
    """Name a picture by its address, by which it may be found again; bytes say nothing."""
    is_address = part.url and not part.url.startswith("data:")
    return f"{part.media_type} {part.url}" if is_address else part.media_type
