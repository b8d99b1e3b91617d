"""The real material beside the checkout, if it is there."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentic.messages import Message, ToolCall, ToolResult
from agentic.usage import Usage

Reported: TypeAlias = list[tuple[int, Usage]]


@pytest.fixture(scope="session")
def deepseek_sessions() -> list[tuple[list[Message], Reported]]:
    """Return sessions with what DeepSeek reported: messages sent, and the usage of that call."""
    root = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
    data = root.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("the recorded sessions do not lie beside this checkout")
    reported: dict[str, Reported] = defaultdict(list)
    for call in _lines(data / "usage_ground_truth" / "deepseek_calls.jsonl"):
        usage = call["usage"]
        tokens = Usage(usage["prompt_tokens"], usage["completion_tokens"])
        reported[call["file"]].append((call["n_messages_before"], tokens))
    return [
        ([_decode(line) for line in _lines(data / "transcripts" / name)], calls)
        for name, calls in reported.items()
    ]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def _decode(plain: dict[str, Any]) -> Message:
    text = plain.get("content") or ""
    if plain["role"] == "tool":
        return Message("tool", tool_results=[ToolResult(plain["tool_call_id"], output=text)])
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in plain.get("tool_calls") or ()
    ]
    reasoning = plain.get("reasoning_content") or ""
    return Message(plain["role"], text, reasoning=reasoning, tool_calls=calls)
