"""The real material beside the checkout, if it is there."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentic.messages import Message, ToolCall, ToolResult
from agentic.usage import Usage

Reported: TypeAlias = list[tuple[int, Usage]]


@pytest.fixture(scope="session")
def deepseek_sessions(
    recorded_path: Callable[[str], Path], read_lines: Callable[[Path], list[Any]]
) -> list[tuple[list[Message], Reported]]:
    """Return sessions with what DeepSeek reported: messages sent, and the usage of that call."""
    truth = recorded_path("usage_ground_truth") / "deepseek_calls.jsonl"
    transcripts = recorded_path("transcripts")
    reported: dict[str, Reported] = defaultdict(list)
    for call in read_lines(truth):
        usage = call["usage"]
        tokens = Usage(usage["prompt_tokens"], usage["completion_tokens"])
        reported[call["file"]].append((call["n_messages_before"], tokens))
    return [
        ([_decode(line) for line in read_lines(transcripts / name)], calls)
        for name, calls in reported.items()
    ]


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
