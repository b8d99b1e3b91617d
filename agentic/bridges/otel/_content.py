"""Messages as JSON texts for the attributes of a span.

Their form is that of gen-ai-input-messages.json, gen-ai-output-messages.json,
gen-ai-system-instructions.json and gen-ai-tool-definitions.json in model/gen-ai of
https://github.com/open-telemetry/semantic-conventions-genai (0.1.0, read on 2026-11-23). An
attribute of the API holds no nested data, so JSON text is what the conventions allow instead.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentic.loop import Decision, Input
from agentic.messages import Message, ToolCall, ToolResult

_Json = dict[str, Any]


def texts_of(request: str, reply: str, finish_reason: str) -> Mapping[str, str]:
    """Return the contents of a run: the user's words, if it was not resumed, and the last reply.

    >>> texts_of("Hi.", "", "stop")
    {'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Hi."}]}]'}
    """
    texts = {}
    if request:
        texts["gen_ai.input.messages"] = _dump([_message(Message("user", request))])
    if reply:
        texts["gen_ai.output.messages"] = _dump([_output(_text(reply), finish_reason)])
    return texts


def asked_content(request: Input) -> Mapping[str, str]:
    """Return the contents of a request: instructions, messages, and the names of the tools."""
    content = {"gen_ai.input.messages": _dump(map(_message, request.history))}
    if request.system_prompt:
        content["gen_ai.system_instructions"] = _dump(_text(request.system_prompt))
    if request.tools:
        # Only what is required: a schema may be large, and is the same in every request.
        tools = [{"type": "function", "name": tool.name} for tool in request.tools]
        content["gen_ai.tool.definitions"] = _dump(tools)
    return content


def decided_content(decision: Decision, finish_reason: str) -> Mapping[str, str]:
    """Return the contents of a reply."""
    parts = _parts(decision.reasoning, decision.reply, decision.tool_calls)
    return {"gen_ai.output.messages": _dump([_output(parts, finish_reason)])}


def _output(parts: list[_Json], finish_reason: str) -> _Json:
    """Return what a model has just written; the schema requires the reason."""
    return {"role": "assistant", "parts": parts, "finish_reason": finish_reason}


def _message(message: Message) -> _Json:
    parts = _parts(message.reasoning, message.content, message.tool_calls)
    parts += map(_result, message.tool_results)
    # Not the bytes: an image would make a span of megabytes.
    parts += [
        {"type": "uri", "mime_type": media.media_type, "uri": media.url}
        if media.url
        else {"type": "media", "mime_type": media.media_type, "size": len(media.data)}
        for media in message.media
    ]
    return {"role": message.role, "parts": parts}


def _parts(reasoning: str, text: str, calls: Sequence[ToolCall]) -> list[_Json]:
    parts = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    return [*parts, *_text(text), *map(_call, calls)]


def _text(text: str) -> list[_Json]:
    return [{"type": "text", "content": text}] if text else []


def _call(call: ToolCall) -> _Json:
    try:
        arguments: Any = call.parse()
    except ValueError:
        arguments = call.arguments
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments}


def _result(result: ToolResult) -> _Json:
    return {"type": "tool_call_response", "id": result.call_id, "response": result.text}


def _dump(items: Iterable[_Json]) -> str:
    # Escaped, since half an emoji cannot be exported as UTF-8.
    return json.dumps(list(items))
