"""What is no part of a session of Codex: turns that were rolled back, and its own summary."""

from typing import Any

from agentic.app.replay._formats._format import Entry
from agentic.app.replay._json_values import objects_at
from agentic.providers.kit import text_at

_INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
"""How user messages begin that Codex wrote, not the user."""


def drop_summary(items: list[Entry], summary: str) -> None:
    """Remove the reply that is the summary of the compaction which follows, and its reasoning."""
    if not items or not summary:
        return
    text = _text_of(items[-1])
    if items[-1].get("role") == "assistant" and text.strip() and text.strip() in summary:
        items.pop()
        while items and items[-1].get("type") == "reasoning":
            items.pop()


def roll_back(items: list[Entry], turns: Any) -> int:
    """Remove the latest turns, each of which begins with what the user wrote; return how many."""
    requests = [place for place, item in enumerate(items) if _is_request(item)]
    if not isinstance(turns, int) or turns < 1 or not requests:
        return 0
    first = requests[-min(turns, len(requests))]
    count = len(items) - first
    del items[first:]
    return count


def _is_request(item: Entry) -> bool:
    return item.get("role") == "user" and not _text_of(item).lstrip().startswith(_INJECTED)


def _text_of(item: Entry) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(text_at(part, "text") for part in objects_at(content))
