"""The cost of an adapter's `decode` and `encode` for each message, in the forms of all five wires.

    python benchmarks/wire.py

The input is the transcripts in shared/data next to the checkout, written once by each adapter's
`encode`. If they are missing, it is a generated conversation. The figures are microseconds of
processor time for each message, the best of 7 runs:

- decode: the wire's items to messages; `/chat` is its ratio to that of `openai_chat`
- first: messages that `decode` has just returned, which are encoded as they were received
- encode: the same messages, from the second time on
- one edited: the same messages, with one in fifty edited
- copied: equal copies of the same messages, which must be compared with their payloads
- json: `json.loads` of the same items, for comparison

Ratios are measured within one run, so they depend less on the machine. A line that misses a goal
says so.
"""

import copy
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from agentic.app.replay import read_transcripts
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ADAPTERS = (openai_chat, anthropic, gemini, openai_responses, bedrock)
RUNS, TURNS, EDITED = 7, 1_000, 50
GOALS = (10.0, 1.0)
"""Microseconds for `decode`, and for `encode` of an untouched message, from the second time on."""


def main() -> None:
    """Print a line for each adapter."""
    messages = read_messages()
    print(f"{len(messages)} messages, us per message")
    columns = ["decode", "/chat", "first", "encode", "edited", "copied", "json", "decode/json"]
    print(f"{'':18}" + "".join(f"{name:>{max(9, len(name) + 2)}}" for name in columns))
    chat = 0.0
    for adapter in ADAPTERS:
        decoding, first, encoding, edited, copied, parsing = measure(adapter, messages)
        chat = chat or decoding
        missed = decoding > GOALS[0] or encoding > GOALS[1]
        print(
            f"{adapter.ADAPTER.name:18}{decoding:9.2f}{decoding / chat:9.1f}{first:9.2f}"
            f"{encoding:9.2f}"
            f"{edited:9.2f}{copied:9.2f}{parsing:9.2f}{decoding / parsing:13.1f}"
            + f"   the goal is {GOALS[0]:.0f} and {GOALS[1]:.0f}"
            * missed
        )


def measure(adapter: ModuleType, messages: Sequence[Message]) -> tuple[float, ...]:
    """Return the microseconds per message for each of the figures."""
    wire = adapter.encode(messages)
    decoded = adapter.decode(wire)
    edited = [
        message.replace(content=message.content + ".") if number % EDITED == 0 else message
        for number, message in enumerate(decoded)
    ]
    texts = list(map(json.dumps, wire))
    each = 1e6 / len(decoded)
    fresh = [adapter.decode(wire) for _ in range(RUNS)]
    return (
        seconds(adapter.decode, wire) * each,
        seconds(lambda: adapter.encode(fresh.pop())) * each,
        seconds(adapter.encode, decoded) * each,
        seconds(adapter.encode, edited) * each,
        seconds(adapter.encode, list(map(copy.copy, decoded))) * each,
        seconds(lambda: list(map(json.loads, texts))) * each,
    )


def seconds(work: Callable[..., object], *arguments: Any) -> float:
    """Return the shortest processor time of a few runs, in seconds."""
    taken = []
    for _ in range(RUNS):
        start = time.process_time()
        work(*arguments)
        taken.append(time.process_time() - start)
    return min(taken)


def read_messages() -> list[Message]:
    """Return all transcripts as one conversation, or a generated one if there are none."""
    paths = sorted((DATA / "transcripts").glob("*.jsonl"))
    found = [
        message
        for path in paths
        if path.name != "index.jsonl"
        for transcript in read_transcripts(path)
        for message in transcript.messages
    ]
    return found or [message for turn in range(TURNS) for message in generated_turn(turn)]


def generated_turn(turn: int) -> list[Message]:
    """Return one turn: a request, a call, its result, a reply."""
    call = ToolCall(f"call_{turn}", "read", json.dumps({"path": f"src/part_{turn}.py"}))
    result = ToolResult(call.id, call.name, "def run() -> None: ...\n" * 20)
    return [
        Message("user", f"Read part {turn}, please."),
        Message("assistant", "I look at it.", tool_calls=[call]),
        Message("tool", tool_results=[result]),
        Message("assistant", "It defines a function without a body."),
    ]


if __name__ == "__main__":
    main()
