"""A provider on this machine for each wire: a call first, then a text, whole or as a stream."""

import json
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs


@attrs.frozen
class Wire:
    """What a provider replies."""

    call: Any
    """A whole reply with a call of `read`."""
    text: Any
    """A whole reply with the text "Done."."""
    stream: bytes
    """The same text as a stream."""


def _sse(*events: Any) -> bytes:
    lines = (each if isinstance(each, str) else json.dumps(each) for each in events)
    return b"".join(f"data: {line}\n\n".encode() for line in lines)


def _typed(*events: Mapping[str, Any]) -> bytes:
    """Write events that repeat their type before their data."""
    return b"".join(
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events
    )


def _frame(kind: str, body: Any) -> bytes:
    """Write one event of Amazon's event stream.

    https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html (2026-11)
    """
    fields = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    headers = b""
    for name, value in fields.items():
        headers += bytes([len(name)]) + name.encode()
        headers += b"\x07" + struct.pack("!H", len(value)) + value.encode()
    payload = json.dumps(body).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _chat(delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "mine"}
    return {**head, "choices": [choice]}


def _completion(message: Mapping[str, Any], finish: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 8, "completion_tokens": 4, "total_tokens": 12}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    head = {"id": "1", "object": "chat.completion", "created": 0, "model": "mine"}
    return {**head, "choices": [choice], "usage": usage}


_ARGUMENTS = {"path": "a.py"}
_AS_TEXT = json.dumps(_ARGUMENTS)
_FUNCTION = {"name": "read", "arguments": _AS_TEXT}
_CHAT_CALL = {"id": "call_1", "type": "function", "function": _FUNCTION}

OPENAI_CHAT = Wire(
    _completion({"content": None, "tool_calls": [_CHAT_CALL]}, "tool_calls"),
    _completion({"content": "Done."}, "stop"),
    _sse(_chat({"role": "assistant", "content": "Done."}, None), _chat({}, "stop"), "[DONE]"),
)


def _response(*output: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 8,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 12,
    }
    head = {"id": "resp_1", "object": "response", "created_at": 0, "model": "mine"}
    rest = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {**head, **rest, "status": "completed", "output": list(output), "usage": usage}


REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c2VhbGVk"}
_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
}
_ITEM = {"id": "fc_1", "type": "function_call", "call_id": "call_1", **_FUNCTION}

OPENAI_RESPONSES = Wire(
    _response(REASONING, {**_ITEM, "status": "completed"}),
    _response(_MESSAGE),
    _typed(
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Done.",
            "sequence_number": 1,
        },
        {"type": "response.completed", "response": _response(_MESSAGE), "sequence_number": 2},
    ),
)


def _anthropic(content: list[Any], stop: str | None) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mine"}
    usage = {"input_tokens": 8, "output_tokens": 4}
    return {**head, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}


_USE = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": _ARGUMENTS}
THINKING = {"type": "thinking", "thinking": "Look.", "signature": "c2ln"}
_STOPPED = {"stop_reason": "end_turn", "stop_sequence": None}

ANTHROPIC = Wire(
    _anthropic([THINKING, _USE], "tool_use"),
    _anthropic([{"type": "text", "text": "Done."}], "end_turn"),
    _typed(
        {"type": "message_start", "message": _anthropic([], None)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Done."},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": _STOPPED, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ),
)


def _gemini(*parts: Any) -> dict[str, Any]:
    usage = {
        "promptTokenCount": 8,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 12,
    }
    content = {"role": "model", "parts": list(parts)}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "mine"}


GEMINI_CALL = {"functionCall": {"name": "read", "args": _ARGUMENTS}, "thoughtSignature": "c2ln"}

GEMINI = Wire(
    _gemini({"text": "Look.", "thought": True}, GEMINI_CALL),
    _gemini({"text": "Done."}),
    _sse(_gemini({"text": "Done."})),
)


def _converse(*content: Any, stop: str = "end_turn") -> dict[str, Any]:
    usage = {"inputTokens": 8, "outputTokens": 4, "totalTokens": 12}
    message = {"role": "assistant", "content": list(content)}
    return {
        "output": {"message": message},
        "stopReason": stop,
        "usage": usage,
        "metrics": {"latencyMs": 1},
    }


_BEDROCK_USE = {"toolUse": {"toolUseId": "tooluse_1", "name": "read", "input": _ARGUMENTS}}
BEDROCK_REASONING = {"reasoningContent": {"reasoningText": {"text": "Look.", "signature": "c2ln"}}}

BEDROCK = Wire(
    _converse(BEDROCK_REASONING, _BEDROCK_USE, stop="tool_use"),
    _converse({"text": "Done."}),
    b"".join(
        (
            _frame("messageStart", {"role": "assistant"}),
            _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Done."}}),
            _frame("contentBlockStop", {"contentBlockIndex": 0}),
            _frame("messageStop", {"stopReason": "end_turn"}),
            _frame(
                "metadata",
                {
                    "usage": {"inputTokens": 8, "outputTokens": 4, "totalTokens": 12},
                    "metrics": {"latencyMs": 1},
                },
            ),
        )
    ),
)

_TOKENS = {"input_tokens": 8, "output_tokens": 4}
_COHERE_USAGE = {"billed_units": _TOKENS, "tokens": _TOKENS}


def _cohere(message: Mapping[str, Any], finish: str) -> dict[str, Any]:
    whole = {"role": "assistant", **message}
    return {"id": "1", "finish_reason": finish, "message": whole, "usage": _COHERE_USAGE}


COHERE = Wire(
    _cohere({"tool_plan": "I look.", "tool_calls": [_CHAT_CALL]}, "TOOL_CALL"),
    _cohere({"content": [{"type": "text", "text": "Done."}]}, "COMPLETE"),
    _typed(
        {"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant"}}},
        {
            "type": "content-start",
            "index": 0,
            "delta": {"message": {"content": {"type": "text", "text": ""}}},
        },
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Done."}}}},
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": _COHERE_USAGE}},
    ),
)


def _ollama(message: Mapping[str, Any], *, done: bool = True) -> dict[str, Any]:
    counts = {"done_reason": "stop", "prompt_eval_count": 8, "eval_count": 4} if done else {}
    whole = {"role": "assistant", "content": "", **message}
    return {"model": "mine", "message": whole, "done": done, **counts}


_OLLAMA_CALL = {"function": {"name": "read", "arguments": _ARGUMENTS}}

OLLAMA = Wire(
    _ollama({"tool_calls": [_OLLAMA_CALL]}),
    _ollama({"content": "Done."}),
    b"".join(
        json.dumps(each).encode() + b"\n"
        for each in (_ollama({"content": "Done."}, done=False), _ollama({}))
    ),
)


@attrs.define(eq=False)
class Served:
    """Where a provider listens, and what it was sent."""

    address: str
    bodies: list[Any] = attrs.field(factory=list)


@contextmanager
def serving(wire: Wire) -> Iterator[Served]:
    """Serve a wire on 127.0.0.1: a call to the first request, a text to every later one."""
    served = Served("")

    class Provider(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            served.bodies.append(json.loads(self.rfile.read(size)))
            is_stream = "tream" in self.path or bool(served.bodies[-1].get("stream"))
            whole = wire.text if len(served.bodies) > 1 else wire.call
            body = wire.stream if is_stream else json.dumps(whole).encode()
            self.send_response(200)
            self.send_header("Content-Type", self._type(is_stream=is_stream))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _type(self, *, is_stream: bool) -> str:
            if wire is BEDROCK and is_stream:
                return "application/vnd.amazon.eventstream"
            return "text/event-stream" if is_stream else "application/json"

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    served.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
