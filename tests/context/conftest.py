"""Where the real sessions lie, if they are there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.messages import Message, ToolCall, ToolResult


@pytest.fixture(scope="session")
def sessions(
    recorded_path: Callable[[str], Path], read_lines: Callable[[Path], list[Any]]
) -> dict[str, list[Message]]:
    """Return the recorded sessions, which lie beside the checkout."""
    return {
        path.stem: [_read(chat) for chat in read_lines(path)]
        for path in sorted(recorded_path("transcripts").glob("*.jsonl"))
        if path.name != "index.jsonl"
    }


def _read(chat: dict[str, Any]) -> Message:
    """Read a message in the form of the chat API."""
    content = chat.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text") or "" for part in content)
    if chat["role"] == "tool":
        return Message("tool", tool_results=[ToolResult(chat["tool_call_id"], output=content)])
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"] or "")
        for call in chat.get("tool_calls") or ()
    ]
    return Message(chat["role"], content, tool_calls=calls)
