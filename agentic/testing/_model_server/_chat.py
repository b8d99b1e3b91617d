"""Chat Completions, as OpenAI has it and as the chat templates of local models restrict it.

https://developers.openai.com/api/reference/chat (2026-11-27). It has no reasoning to send back.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.testing._model_server._cache import CacheRules, TokenPrices
from agentic.testing._model_server._reasoning import Mismatch
from agentic.testing._model_server._request import Block, ModelReply, ReadRequest, Refusal
from agentic.testing._model_server._structure import StructureRules
from agentic.testing._model_server._wire import ModelWire, ServerEvent

__all__ = ["OPENAI_CHAT", "QWEN_CHAT"]

_ROLES = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant"}


def _read(body: Mapping[str, Any], _: Mapping[str, str], __: str) -> ReadRequest:
    messages = body.get("messages")
    if not messages:
        raise Refusal("empty", "Invalid 'messages': empty array.", "empty_array")
    tools = [tool for tool in body.get("tools") or () if "function" in tool]
    head = [
        Block.of(tool, role="tools", kind="other", path=f"tools[{number}]")
        for number, tool in enumerate(tools)
    ]
    return ReadRequest(
        model=str(body.get("model", "")),
        blocks=(*head, *_content(messages)),
        tool_names=tuple(tool["function"]["name"] for tool in tools),
        stream=bool(body.get("stream")),
        thinks=False,
    )


def _content(messages: list[Any]) -> Iterator[Block]:
    for number, message in enumerate(messages):
        role, path = message.get("role"), f"messages[{number}]"
        fields: dict[str, Any] = {"path": path, "message": number}
        if role == "tool":
            call_id = str(message.get("tool_call_id", ""))
            result = {"id": call_id, "content": list(_parts(message))}
            yield Block.of(result, role="tool", kind="result", id=call_id, **fields)
            continue
        if role not in _ROLES:
            raise Refusal("roles", f"Invalid value: '{role}'.", "invalid_value")
        parts, calls = list(_parts(message)), message.get("tool_calls") or ()
        if not parts and not calls:
            words = f"Invalid value for 'content': expected a string, got null. ({path})"
            raise Refusal("empty", words)
        for part in parts:
            text = part.get("text") or ""
            yield Block.of(part, role=_ROLES[role], kind="text", words=text, **fields)
        for call in calls:
            call_id = str(call.get("id", ""))
            known = {"id": call_id, "function": call.get("function")}
            yield Block.of(known, role="assistant", kind="call", id=call_id, **fields)


def _parts(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
    yield from (part for part in parts if part.get("type") != "text" or part.get("text"))


def _write(reply: ModelReply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in reply.calls
        ]
    tokens = reply.read + reply.written + reply.uncached
    return {
        "id": f"chatcmpl-{reply.id}",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": _stop(reply),
            }
        ],
        "usage": {
            "prompt_tokens": tokens,
            "prompt_tokens_details": {"cached_tokens": reply.read},
            "completion_tokens": reply.output,
            "total_tokens": tokens + reply.output,
        },
    }


def _stop(reply: ModelReply) -> str:
    if reply.truncated:
        return "length"
    return "tool_calls" if reply.calls else "stop"


def _replay(body: Mapping[str, Any]) -> list[Block]:
    return list(_content([choice["message"] for choice in body["choices"]]))


def _stream(body: Mapping[str, Any]) -> Iterator[ServerEvent]:
    choice = body["choices"][0]
    message = choice["message"]
    rest = {key: body[key] for key in ("id", "created", "model")}
    chunk = {**rest, "object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": message["content"] or ""}]
    for number, call in enumerate(message.get("tool_calls", ())):
        deltas.append({"tool_calls": [{"index": number, **call}]})
    for delta in deltas:
        yield "", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield "", {**chunk, "choices": [last]}
    yield "", {**chunk, "choices": [], "usage": body["usage"]}
    yield "", "[DONE]"


def _error(refusal: Refusal) -> dict[str, Any]:
    error = {"message": refusal.message, "type": "invalid_request_error", "param": "messages"}
    return {"error": {**error, "code": refusal.code or None}}


def _overflow(tokens: int, window: int) -> tuple[str, str]:
    words = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted "
        f"in {tokens} tokens. Please reduce the length of the messages."
    )
    return words, "context_length_exceeded"


def _no_reasoning(block: Block, *_: bool) -> str:
    return f"{block.path}: this wire has no reasoning"


def _no_transformation(mismatch: Mismatch) -> Mapping[str, Any]:
    return {"type": "reasoning", "reason": mismatch.reason}


OPENAI_CHAT = ModelWire(
    name="openai_chat",
    path=r"/chat/completions",
    read=_read,
    write=_write,
    replay=_replay,
    stream=_stream,
    error=_error,
    mismatch=_no_reasoning,
    tampered=_no_reasoning,
    transformation=_no_transformation,
    overflow=_overflow,
    structure=StructureRules(
        unanswered=(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            "{ids}"
        ),
        orphaned=(
            "Invalid parameter: messages with role 'tool' must be a response to a preceding "
            "message with 'tool_calls'."
        ),
        duplicate="Duplicate value for 'tool_call_id' of {id} in message[{message}]",
        lost_reasoning="",
    ),
    cache=CacheRules(automatic=True),
    # https://developers.openai.com/api/docs/pricing, GPT-5.1.
    prices=TokenPrices(
        uncached=1.25, read=0.125, written=1.25, written_for_an_hour=1.25, output=10
    ),
)

QWEN_CHAT = attrs.evolve(
    OPENAI_CHAT,
    name="qwen_chat",
    # https://github.com/vllm-project/vllm/issues/41114: the template raises this.
    structure=attrs.evolve(
        OPENAI_CHAT.structure, late_system="System message must be at the beginning."
    ),
)
