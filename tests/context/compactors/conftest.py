import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.context.compactors import Digest
from agentic.messages import ContextSummary, Message, ToolCall, ToolError, ToolResult


@pytest.fixture
def digest() -> Callable[..., str]:
    """Digest messages, with the options of `Digest`."""

    def run(*messages: Message, **options: Any) -> str:
        return asyncio.run(Digest(**options).compact(list(messages)))

    return run


@pytest.fixture
def called() -> Callable[..., list[Message]]:
    """Make the two messages of a call and its answer."""

    def make(name: str, output: str = "", error: str = "", /, **arguments: Any) -> list[Message]:
        call = ToolCall("c1", name, json.dumps(arguments))
        result = ToolResult("c1", name, output, ToolError(error) if error else None)
        return [Message("assistant", tool_calls=[call]), Message("tool", tool_results=[result])]

    return make


@pytest.fixture
def summary() -> Callable[[str], Message]:
    """Make the message that a former digest, or anybody's prose, comes back as."""
    return lambda text: ContextSummary(text, 10).to_message()


@pytest.fixture
def section() -> Callable[[str, str], str]:
    """Cut one section out of a digest, by its title."""

    def cut(text: str, title: str) -> str:
        _, _, rest = text.partition(f"\n## {title}\n")
        return rest.partition("\n\n## ")[0].partition("\n\n<!-- ranks ")[0]

    return cut


@pytest.fixture
def transcripts(
    recorded_path: Callable[[str], Path], read_lines: Callable[[Path], list[Any]]
) -> list[list[Message]]:
    """The real sessions that lie beside the checkout."""
    files = sorted(recorded_path("transcripts").glob("*.jsonl"))
    return [list(map(_message, read_lines(path))) for path in files if path.name != "index.jsonl"]


def _message(wire: dict[str, Any]) -> Message:
    content = wire.get("content") or ""
    if wire["role"] == "tool":
        failed = bool(wire.get("x_is_error"))
        result = ToolResult(
            wire["tool_call_id"],
            wire.get("name") or "",
            "" if failed else content,
            ToolError(content) if failed else None,
        )
        return Message("tool", tool_results=[result])
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in wire.get("tool_calls") or []
    ]
    return Message(wire["role"], content, tool_calls=calls)
