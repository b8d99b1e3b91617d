"""Messages of LangChain: what `messages_to_dict` of langchain-core 1.8 returns (2026-11).

A message is a `type` (`human`, `ai`, `system`, `tool`, ...) and `data`. A reply's calls are in
`tool_calls`; its content may repeat them in the form of its provider, so calls in the content count
only where there are no others. https://docs.langchain.com/oss/python/langchain/messages
"""

from collections.abc import Sequence

import attrs

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._formats._usage import whole_usage
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result, read_output, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.messages._message import Role
from agentic.providers.kit import at, text_at

_ROLES: dict[str, Role] = {
    "system": "system",
    "human": "user",
    "HumanMessageChunk": "user",
    "chat": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "function": "tool",
}


def is_message(data: Entry) -> bool:
    """Return whether an object is a message of LangChain.

    >>> is_message({"type": "human", "data": {"content": "Hi."}})
    True
    """
    inner = data.get("data")
    return text_at(data, "type") in _ROLES and isinstance(inner, dict) and "content" in inner


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages."""
    for value in values:
        role, data = _ROLES.get(text_at(value.data, "type")), value.data.get("data")
        if role is None or not isinstance(data, dict):
            kind = value.data.get("type")
            reading.skip_entry(value.line, f"found a message of the type {kind!r}", value.data)
        elif role == "tool":
            _read_result(data, reading)
        elif role == "assistant":
            reading.add(_reply(data, reading), data)
        else:
            for message in read_parts(data.get("content"), reading).messages(role):
                reading.add(message, data)


def _read_result(data: Entry, reading: Reading) -> None:
    text, media = read_output(data.get("content"))
    is_error = data.get("status") == "error"
    call_id, name = text_at(data, "tool_call_id"), text_at(data, "name")
    result = make_result(call_id, name, text, is_error=is_error, media=media)
    reading.add(Message("tool", tool_results=[result]))


def _reply(data: Entry, reading: Reading) -> Message:
    metadata = data.get("response_metadata")
    reading.use_model(at(metadata, "model_name") or at(metadata, "model"))
    parts = read_parts(data.get("content"), reading)
    calls = [
        make_call(text_at(each, "id"), text_at(each, "name"), each.get("args"))
        for each in (*objects_at(data, "tool_calls"), *objects_at(data, "invalid_tool_calls"))
    ]
    parts.thoughts += filter(None, [text_at(data, "additional_kwargs", "reasoning_content")])
    usage = whole_usage(data.get("usage_metadata"), "input_tokens", "output_tokens")
    if usage is not None:
        details = at(data, "usage_metadata", "input_token_details")
        cache_read, cache_write = at(details, "cache_read"), at(details, "cache_creation")
        usage = attrs.evolve(usage, cache_read=cache_read, cache_write=cache_write)
    # Results of the provider's own tools stand in the content.
    own = {result.call_id for result in parts.results}
    parts.calls = calls or [call for call in parts.calls if call.id not in own]
    if parts.results:
        reading.skip("result in a reply", [result.text for result in parts.results])
        parts.results = []
    return parts.messages("assistant", usage=usage)[0]


FORMAT = Format(name="LangChain messages", recognizes=is_message, read=read)
