"""Which wires an item of a list has the form of, so that the form of another one is refused.

A decoder reads what it knows. The calls and results of another wire are not among it: they would be
read as an empty message, sent as they are, and counted as nothing. Only what tells one wire from
another is looked at here: roles, calls, results and reasoning. Texts and media are read alike by
several wires, and a field that nobody knows may be a newer one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agentic.errors import ConfigError
from agentic.providers.kit import at, items_at, plain, text_at

_ALL = frozenset(
    {"anthropic", "bedrock", "cohere", "gemini", "ollama", "openai_chat", "openai_responses"}
)
_CHATS = frozenset({"cohere", "ollama", "openai_chat"})
_WITHOUT_ROLE = frozenset({"gemini", "openai_responses"})
_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "redacted_thinking", "server_tool_use"}
_BEDROCK_BLOCKS = {"toolUse", "toolResult", "reasoningContent"}
_GEMINI_PARTS = {"functionCall", "function_call", "functionResponse", "function_response"}
_PART_FIELDS = _GEMINI_PARTS | {"text", "inlineData", "inline_data", "fileData", "file_data"}


def check_wire(position: int, item: Any, wire: str) -> None:
    """Raise unless an item has the form of a wire.

    Raises:
        ConfigError: it has the form of another one, or of none.
    """
    # Not every item: a whole copy of a dict costs more than the look at it.
    data = item if isinstance(item, dict) else plain(item)
    if not isinstance(data, Mapping):
        return
    wires = _wires_of(data)
    if wire in wires:
        return
    name = f"messages[{position}]"
    if wires:
        adapters = " or ".join(f"providers.{each}" for each in sorted(wires))
        remedy = f"it has the form of another wire: pass {adapters} to Conversation"
        raise ConfigError(name, item, f"an item of {wire}", remedy)
    needed = "a role" if wire not in _WITHOUT_ROLE else "a form of its own"
    remedy = f"pass the items as the provider documents them, each with {needed}"
    raise ConfigError(name, item, f"an item of {wire}, with {needed}", remedy)


def _wires_of(item: Mapping[str, Any]) -> frozenset[str]:
    """Return the adapters whose wire has the form of an item; none if no wire has it.

    >>> sorted(_wires_of({"role": "model", "parts": [{"text": "So."}]}))
    ['gemini']
    >>> sorted(_wires_of({"role": "tool", "tool_call_id": "c1", "content": "x = 1"}))
    ['cohere', 'openai_chat']
    """
    role = item.get("role")
    # First, because a content of Gemini's may have no role, and another key besides.
    if "parts" in item or role == "model" or (not _GEMINI_PARTS.isdisjoint(item) and role is None):
        return frozenset({"gemini"})
    if role is None:
        return _without_role(item)
    wires = _of_calls(item, str(role)) & _of_blocks(items_at(item, "content"))
    return wires - {"gemini"} if "content" in item or wires != _ALL else wires


def _without_role(item: Mapping[str, Any]) -> frozenset[str]:
    # An item of Responses has a type, and a reference to one an id alone.
    if (item.get("type") and "data" not in item) or set(item) == {"id"}:
        return frozenset({"openai_responses"})
    return frozenset() if _PART_FIELDS.isdisjoint(item) else frozenset({"gemini"})


def _of_calls(item: Mapping[str, Any], role: str) -> frozenset[str]:
    """Return the wires whose messages have the calls or the result beside the content."""
    calls = items_at(item, "tool_calls")
    if role == "function" or (isinstance(item.get("function_call"), Mapping) and not calls):
        return frozenset({"openai_chat"})
    if item.get("tool_plan"):
        return frozenset({"cohere"})
    if role == "tool":
        return _of_result(item)
    if not calls:
        return _ALL
    wires = _CHATS
    for call in calls:
        wires &= _of_call(call)
    return wires


def _of_result(item: Mapping[str, Any]) -> frozenset[str]:
    if "tool_name" in item or "tool_call_id" not in item:
        return frozenset({"ollama"})
    documents = any(at(block, "document") for block in items_at(item, "content"))
    return frozenset({"cohere"}) if documents else frozenset({"cohere", "openai_chat"})


def _of_call(call: Any) -> frozenset[str]:
    function = at(call, "function")
    if not isinstance(function, Mapping):
        return frozenset({"openai_chat"} if isinstance(at(call, "custom"), Mapping) else ())
    arguments = function.get("arguments")
    if not arguments or (isinstance(arguments, str) and not arguments.strip()):
        return _CHATS
    if not isinstance(arguments, Mapping):
        return frozenset({"cohere", "openai_chat"})
    # Some servers of Chat Completions send an object, with an id; Ollama's older ones send no id.
    return frozenset({"ollama", "openai_chat"} if text_at(call, "id") else {"ollama"})


def _of_blocks(blocks: Iterable[Any]) -> frozenset[str]:
    """Return the wires that have the calls, results and reasoning among the blocks of a content."""
    wires = _ALL
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        kind = block.get("type")
        is_signed = kind == "thinking" and isinstance(block.get("thinking"), str)
        if kind in _ANTHROPIC_BLOCKS or (is_signed and "signature" in block):
            wires &= {"anthropic"}
        elif not _BEDROCK_BLOCKS.isdisjoint(block) and kind is None:
            wires &= {"bedrock"}
    return wires
