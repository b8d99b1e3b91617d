"""OpenAI's Responses API: https://developers.openai.com/api/reference/responses (2026-11-27)."""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.testing._model_server._cache import CacheRules, TokenPrices
from agentic.testing._model_server._reasoning import BindingRules, Mismatch
from agentic.testing._model_server._request import (
    Block,
    ModelReply,
    ReadRequest,
    Refusal,
    size_of,
)
from agentic.testing._model_server._structure import StructureRules
from agentic.testing._model_server._wire import ModelWire, ServerEvent

__all__ = ["OPENAI_RESPONSES"]

_VERSION = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
_INSTRUCTIONS_LAST = (6, 2)
"""From this version on, `instructions` stand behind the input and are never cached."""
_NOT_COMPACTED = ("tools", "text")
"""What the endpoint that compacts does not take: openai 3, `ResponseCompactParams`."""
_NOT_STORED = ("previous_response_id", "conversation", "prompt")


def _read(body: Mapping[str, Any], _: Mapping[str, str], path: str) -> ReadRequest:
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not items:
        raise Refusal("empty", "Missing required parameter: 'input'.", "missing_required_parameter")
    for field in _NOT_STORED:
        if body.get(field):
            raise Refusal(
                "malformed", f"Previous response with {field!r} not found: send it whole."
            )
    compacts = path.endswith("/compact")
    for field in _NOT_COMPACTED if compacts else ():
        if body.get(field):
            raise Refusal("malformed", f"Unknown parameter: '{field}'.", "unknown_parameter")
    model = str(body.get("model", ""))
    last = _version(model) >= _INSTRUCTIONS_LAST
    system = _instructions(body, bound=not last)
    blocks = [*_head(body), *([] if last else system), *_content(items), *(system if last else [])]
    return ReadRequest(
        model=model,
        blocks=tuple(blocks),
        tool_names=tuple(_tool_names(body, items)),
        stream=bool(body.get("stream")),
        # https://developers.openai.com/api/docs/guides/compaction
        compacts=compacts,
    )


def _version(model: str) -> tuple[int, int]:
    match = _VERSION.match(model)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _tool_names(body: Mapping[str, Any], items: list[Any]) -> Iterator[str]:
    """Yield the tools that the model may call: those of the request and of its items."""
    more = (item for item in items if item.get("type") == "additional_tools")
    for place in (body, *more):
        yield from (tool["name"] for tool in place.get("tools") or () if "name" in tool)


def _instructions(body: Mapping[str, Any], *, bound: bool) -> list[Block]:
    text = body.get("instructions")
    fields: dict[str, Any] = {"kind": "text", "path": "instructions", "bound": bound}
    return [Block.of(text, role="system", **fields)] if text else []


def _head(body: Mapping[str, Any]) -> Iterator[Block]:
    for number, tool in enumerate(body.get("tools") or ()):
        yield Block.of(tool, role="tools", kind="other", path=f"tools[{number}]")
    shape = (body.get("text") or {}).get("format") or {"type": "text"}
    if shape != {"type": "text"}:  # the default, whether or not it is said
        yield Block.of(shape, role="tools", kind="other", path="text.format")


def _content(items: list[Any]) -> Iterator[Block]:
    for number, (item, after) in enumerate(itertools.zip_longest(items, items[1:])):
        path, kind = f"input[{number}]", item.get("type") or "message"
        fields: dict[str, Any] = {"path": path, "message": number}
        if kind == "message":
            yield from _message(item, fields)
        elif kind in ("function_call", "custom_tool_call"):
            _check_arguments(item, path)
            call = {key: item.get(key) for key in ("type", "call_id", "name", "arguments", "input")}
            fields["id"] = str(item.get("call_id") or "")
            # Without the item's own id, the server cannot know which reasoning led to it.
            fields["tied"] = bool(item.get("id"))
            yield Block.of(call, role="assistant", kind="call", **fields)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            result = {key: item.get(key) for key in ("type", "call_id", "output")}
            fields["id"] = str(item.get("call_id") or "")
            yield Block.of(result, role="user", kind="result", **fields)
        elif kind == "reasoning":
            yield _reasoning(item, after, fields)
        elif kind == "additional_tools":
            yield _additional_tools(item, path, fields)
        elif kind == "item_reference":
            raise Refusal("malformed", f"Item with id '{item.get('id')}' not found.")
        else:
            compaction = kind == "compaction"
            role = "assistant" if compaction else "system"
            yield Block.of(item, role=role, kind="compaction" if compaction else "other", **fields)


def _message(item: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[Block]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        words = "Supported values are: 'assistant', 'system', 'developer', and 'user'."
        raise Refusal("roles", f"Invalid value: '{role}'. {words}", "invalid_value")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts or ():
        text = part.get("text") or part.get("refusal") or ""
        # An input's text and an output's read the same, whatever else an SDK adds to them.
        block = {"type": "text", "text": text} if text else part
        yield Block.of(block, role=role, kind="text", words=text, **fields)


def _additional_tools(item: Mapping[str, Any], path: str, fields: Mapping[str, Any]) -> Block:
    # The shape is that of the SDK: openai 3, `AdditionalTools`.
    if item.get("role") != "developer":
        raise Refusal("tools", f"Invalid value for '{path}.role': 'developer' is supported.")
    if not item.get("tools") or not all(tool.get("type") for tool in item["tools"]):
        raise Refusal("tools", f"Invalid value for '{path}.tools': expected a list of tools.")
    return Block.of({**item, "id": None}, role="system", kind="other", **fields)


def _check_arguments(item: Mapping[str, Any], path: str) -> None:
    if not isinstance(item.get("arguments", item.get("input")), str):
        words = f"Invalid type for '{path}.arguments': expected a string."
        raise Refusal("malformed", words, "invalid_type")


def _reasoning(item: Mapping[str, Any], after: Any, fields: Mapping[str, Any]) -> Block:
    item_id = str(item.get("id", ""))
    follows = (after or {}).get("role", "assistant") == "assistant" and after is not None
    if not follows or str(after.get("type")).endswith("_output"):
        words = f"Item '{item_id}' of type 'reasoning' was provided without its required"
        raise Refusal("roles", f"{words} following item.")
    cipher = item.get("encrypted_content")
    if cipher is not None and cipher != _seal(item_id):
        words = f"The encrypted content for item {item_id} could not be verified."
        raise Refusal("signature", words, "invalid_encrypted_content")
    proof = item_id.removeprefix("rs_")
    summary = "".join(part.get("text", "") for part in item.get("summary") or ())
    return Block.of(
        item_id, role="assistant", kind="reasoning", proof=proof, words=summary, **fields
    )


def _seal(item_id: str) -> str:
    """Return the encrypted content of an item of reasoning: nothing that anybody could read."""
    return hashlib.blake2b(item_id.encode()).hexdigest() * 5


def _write(reply: ModelReply) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if reply.is_compaction:
        item_id = f"cmp_{reply.id}"
        output = [{"id": item_id, "type": "compaction", "encrypted_content": _seal(item_id)}]
        kind = {"id": f"resp_{reply.id}", "object": "response.compaction", "created_at": 0}
        return {**kind, "output": output, "usage": _usage(reply)}
    if reply.proof:
        item_id = f"rs_{reply.proof}"
        summary = [{"type": "summary_text", "text": reply.thinking}] if reply.thinking else []
        item = {"id": item_id, "type": "reasoning", "summary": summary}
        output.append({**item, "encrypted_content": _seal(item_id), "status": None})
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"id": f"msg_{reply.id}", "type": "message", "role": "assistant"}
        output.append({**message, "status": "completed", "content": [part]})
    for call in reply.calls:
        item = {"id": f"fc_{call.id}", "type": "function_call", "call_id": call.id}
        arguments = json.dumps(dict(call.arguments))
        output.append({**item, "name": call.name, "arguments": arguments, "status": "completed"})
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if reply.truncated else "completed",
        "model": reply.model,
        "output": output,
        "usage": _usage(reply),
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if reply.truncated else None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": None,
        "top_p": None,
        "tool_choice": "auto",
        "tools": [],
        "input_transformations": [dict(each) for each in reply.transformations],
    }


def _usage(reply: ModelReply) -> dict[str, Any]:
    tokens = reply.read + reply.written + reply.uncached
    return {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": reply.read, "cache_write_tokens": reply.written},
        "output_tokens": reply.output,
        "output_tokens_details": {"reasoning_tokens": reply.thinking_tokens},
        "total_tokens": tokens + reply.output,
    }


def _replay(body: Mapping[str, Any]) -> list[Block]:
    return list(_content(list(body["output"])))


def _stream(body: Mapping[str, Any]) -> Iterator[ServerEvent]:
    for number, (name, data) in enumerate(_events(body)):
        yield name, {"type": name, "sequence_number": number, **data}


def _events(body: Mapping[str, Any]) -> Iterator[ServerEvent]:
    start = {**body, "output": [], "status": "in_progress", "usage": None}
    yield "response.created", {"response": start}
    for index, item in enumerate(body["output"]):
        begun = {key: [] if key == "content" else value for key, value in item.items()}
        if item["type"] == "function_call":
            begun["arguments"] = ""
        yield "response.output_item.added", {"output_index": index, "item": begun}
        yield from _item_events({"item_id": item["id"], "output_index": index}, item)
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{body['status']}", {"response": dict(body)}


def _item_events(place: dict[str, Any], item: Mapping[str, Any]) -> Iterator[ServerEvent]:
    if item["type"] == "function_call":
        name, arguments = "response.function_call_arguments", item["arguments"]
        half = size_of(arguments)
        for piece in (arguments[:half], arguments[half:]):
            yield f"{name}.delta", {**place, "delta": piece}
        yield f"{name}.done", {**place, "name": item["name"], "arguments": arguments}
    elif item["type"] == "message":
        part = item["content"][0]
        place = {**place, "content_index": 0}
        yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
        fields = {**place, "logprobs": []}
        yield "response.output_text.delta", {**fields, "delta": part["text"]}
        yield "response.output_text.done", {**fields, "text": part["text"]}
        yield "response.content_part.done", {**place, "part": part}


def _error(refusal: Refusal) -> dict[str, Any]:
    code = refusal.code or None
    error = {"message": refusal.message, "type": "invalid_request_error", "param": "input"}
    return {"error": {**error, "code": code}}


def _tampered(block: Block) -> str:
    item_id = json.loads(block.text)
    return (
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false."
    )


def _mismatch(block: Block, _: bool) -> str:
    return f"{block.path}: reasoning behind a changed prefix"


def _transformation(mismatch: Mismatch) -> Mapping[str, Any]:
    reason = mismatch.reason.replace("_binding", "")
    item_id = json.loads(mismatch.block.text)
    return {"type": "reasoning", "id": item_id, "action": "removed", "reason": reason}


def _overflow(_: int, __: int) -> tuple[str, str]:
    words = "Your input exceeds the context window of this model."
    return f"{words} Please adjust your input and try again.", "context_length_exceeded"


OPENAI_RESPONSES = ModelWire(
    name="openai_responses",
    path=r"/responses(/compact)?",
    read=_read,
    write=_write,
    replay=_replay,
    stream=_stream,
    error=_error,
    mismatch=_mismatch,
    tampered=_tampered,
    transformation=_transformation,
    overflow=_overflow,
    proof_chars=48,
    # https://developers.openai.com/api/docs/guides/preserved-reasoning
    binding=BindingRules(
        always=(*(f"gpt-6.{minor}" for minor in range(2, 10)), "gpt-7"),
        on_mismatch="remove",
        # https://developers.openai.com/api/docs/guides/keep-prefix-unchanged, on compaction.
        summary_without_tools=True,
        chain=False,
    ),
    structure=StructureRules(
        # https://github.com/openai/codex/issues/620
        unanswered="No tool output found for function call {id}.",
        # https://github.com/continuedev/continue/issues/10092
        orphaned="No tool call found for function call output with call_id {id}.",
        # https://github.com/continuedev/continue/issues/10723
        duplicate="Duplicate item found with id {id}. Remove duplicate items and try again.",
        # https://github.com/vercel/ai/issues/7099
        lost_reasoning=(
            "Item 'fc_{id}' of type 'function_call' was provided without its required "
            "'reasoning' item: 'rs_{proof}'."
        ),
        adjacent=False,
    ),
    cache=CacheRules(automatic=True),
    # https://developers.openai.com/api/docs/pricing, GPT-5.1: what is written costs the same.
    prices=TokenPrices(
        uncached=1.25, read=0.125, written=1.25, written_for_an_hour=1.25, output=10
    ),
)
