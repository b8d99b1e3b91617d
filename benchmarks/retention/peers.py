"""Libraries that trim a history without a model, called through their public functions.

They are optional: `pip install langchain-core ctx-compact`. One that is absent has no row.
"""

import importlib.util
from importlib import import_module
from typing import Any

from agentic.messages import Message
from benchmarks.retention.cuts import Cut
from benchmarks.retention.shown import CHARS_PER_TOKEN, newest, text_of

__all__ = ["INSTALL", "absent_peers", "peer_cuts"]

INSTALL = "pip install langchain-core ctx-compact"
_PACKAGES = {"langchain-core trim_messages": "langchain_core", "ctx-compact compact": "ctx_compact"}


def absent_peers() -> list[str]:
    """Name the peers that are not installed."""
    return [
        name for name, package in _PACKAGES.items() if importlib.util.find_spec(package) is None
    ]


def peer_cuts() -> dict[str, Cut]:
    """Return the ways of the peers that are installed."""
    ways: dict[str, Cut] = {
        "langchain-core trim_messages": _langchain_trim,
        "ctx-compact compact": _ctx_compact,
    }
    return {name: way for name, way in ways.items() if name not in absent_peers()}


def _langchain_trim(past: list[Message], budget: int) -> str:
    trim_messages = import_module("langchain_core.messages").trim_messages

    wire = _wire(past)

    # It counts the whole list again for each message that it considers.
    sizes = [len(text_of([message])) for message in past]

    def count(messages: list[Any]) -> int:
        return sum(sizes[int(message.id)] for message in messages) // CHARS_PER_TOKEN

    trimmed = trim_messages(wire, max_tokens=budget, token_counter=count, strategy="last")
    return _kept(past, [int(message.id) for message in trimmed], budget)


def _ctx_compact(past: list[Message], budget: int) -> str:
    compact = import_module("ctx_compact").compact

    def count(message: dict[str, Any]) -> int:
        return len(text_of([past[int(message["id"])]])) // CHARS_PER_TOKEN

    kept = compact(_wire(past), max_tokens=budget, count_tokens=count).messages
    return _kept(past, [int(message["id"]) for message in kept if "id" in message], budget)


def _kept(past: list[Message], positions: list[int], budget: int) -> str:
    return newest([past[position] for position in positions], budget)[0]


def _wire(messages: list[Message]) -> list[dict[str, Any]]:
    """Return the form of the chat API; the id is the position."""
    return [{**_chat(message), "id": str(at)} for at, message in enumerate(messages)]


def _chat(message: Message) -> dict[str, Any]:
    if message.tool_results:
        result = message.tool_results[0]
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in message.tool_calls
    ]
    chat: dict[str, Any] = {"role": message.role, "content": message.content}
    return {**chat, "tool_calls": calls} if calls else chat
