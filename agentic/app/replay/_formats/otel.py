"""Spans of OpenTelemetry that follow the conventions for generative AI.

The attributes `gen_ai.system_instructions`, `gen_ai.input.messages` and `gen_ai.output.messages`
hold messages with a role and parts, as JSON or as values
(https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/, 2026-11). A file has OTLP's JSON
(`resourceSpans`), one object per line as a collector writes it, or spans as the SDK's console
exporter writes them. Each request repeats the conversation so far, so that of every trace and agent
the largest request is read, with its reply.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import read_parts
from agentic.app.replay._reading import Reading
from agentic.messages._message import Role
from agentic.providers.kit import at, text_at

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def is_spans(data: Entry) -> bool:
    """Return whether an object is a span with messages, or holds spans.

    >>> is_spans({"name": "chat", "attributes": {"gen_ai.input.messages": "[]"}})
    True
    """
    attributes = data.get("attributes")
    is_span = isinstance(attributes, dict) and _INPUT in attributes
    return is_span or isinstance(data.get("resourceSpans"), list)


def _split(values: Sequence[Value]) -> Iterator[tuple[str, Sequence[Value]]]:
    largest: dict[tuple[str, str], tuple[int, Entry]] = {}
    for value in values:
        for trace, attributes in _spans(value.data):
            inputs = _messages(attributes, _INPUT)
            key = trace, text_at(attributes, "gen_ai.agent.name")
            if inputs and len(inputs) >= largest.get(key, (0, {}))[0]:
                largest[key] = len(inputs), attributes
    for (trace, agent), (_, attributes) in largest.items():
        yield f"{trace[:8]} {agent}".strip(), [Value(1, attributes)]


def _spans(data: Entry) -> Iterator[tuple[str, Entry]]:
    """Yield the trace and the attributes of each span."""
    if isinstance(data.get("attributes"), dict):
        yield str(at(data, "context", "trace_id") or ""), data["attributes"]
    for resource in objects_at(data, "resourceSpans"):
        for scope in objects_at(resource, "scopeSpans"):
            for span in objects_at(scope, "spans"):
                attributes = {
                    text_at(each, "key"): _value(each.get("value"))
                    for each in objects_at(span, "attributes")
                }
                yield text_at(span, "traceId"), attributes


def _value(value: Any) -> Any:
    """Return what an `AnyValue` of OTLP holds."""
    match value:
        case {"arrayValue": {"values": list(values)}}:
            return [_value(each) for each in values]
        case {"kvlistValue": {"values": list(pairs)}}:
            return {text_at(each, "key"): _value(at(each, "value")) for each in pairs}
        case dict():
            return next(iter(value.values()), None)
    return value


def _messages(attributes: Entry, name: str) -> list[Any]:
    value = attributes.get(name)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return value if isinstance(value, list) else []


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the request and the reply of one span."""
    attributes = values[0].data
    reading.use_model(
        attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
    )
    instructions = _messages(attributes, "gen_ai.system_instructions")
    if instructions:
        reading.extend(read_parts(instructions, reading).messages("system"))
    for message in (*_messages(attributes, _INPUT), *_messages(attributes, _OUTPUT)):
        role = _ROLES.get(text_at(message, "role"))
        if role is None:
            reading.skip_entry(None, f"found the role {at(message, 'role')!r}", message)
            continue
        for each in read_parts(at(message, "parts"), reading).messages(role):
            reading.add(each, message)


FORMAT = Format(name="OpenTelemetry spans", recognizes=is_spans, read=read, split=_split)
