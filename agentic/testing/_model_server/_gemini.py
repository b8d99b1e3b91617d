"""Gemini's generateContent: https://ai.google.dev/api/generate-content (2026-11-27).

Reasoning is a `thoughtSignature` on the part behind it, and is bound to no prefix. The calls of the
running turn need it: https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agentic.testing._model_server._cache import CacheRules, TokenPrices
from agentic.testing._model_server._reasoning import Mismatch
from agentic.testing._model_server._request import Block, ModelReply, ReadRequest, Refusal
from agentic.testing._model_server._structure import StructureRules
from agentic.testing._model_server._wire import ModelWire, ServerEvent

__all__ = ["GEMINI"]

_ROLES = {"user": "user", "function": "user", "model": "assistant"}


def _read(body: Mapping[str, Any], _: Mapping[str, str], path: str) -> ReadRequest:
    contents = body.get("contents")
    if not contents:
        words = "* GenerateContentRequest.contents: contents is not specified"
        raise Refusal("empty", words)
    tools = [
        declaration
        for tool in body.get("tools") or ()
        for declaration in tool.get("functionDeclarations") or ()
    ]
    system = (body.get("systemInstruction") or {}).get("parts") or ()
    model, method = path.rpartition("/models/")[2].split(":")
    head = [(tool, "tools") for tool in tools] + [(part, "system") for part in system]
    blocks = [
        Block.of(item, role=role, kind="other", path=f"{role}[{number}]")
        for number, (item, role) in enumerate(head)
    ]
    return ReadRequest(
        model=model,
        blocks=(*blocks, *_content(contents)),
        tool_names=tuple(str(tool["name"]) for tool in tools),
        stream=method.startswith("stream"),
    )


def _content(contents: list[Any]) -> Iterator[Block]:
    open_ids: list[str] = []
    for number, content in enumerate(contents):
        role, parts = content.get("role") or "user", content.get("parts") or []
        if role not in _ROLES:
            raise Refusal("roles", "Please use a valid role: user, model.")
        if not parts:
            words = f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not"
            raise Refusal("empty", f"{words} be empty.")
        # Calls and responses without ids belong together by their order.
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        if calls:
            open_ids = [call.get("id") or f"{number}.{at}" for at, call in enumerate(calls)]
        ids = iter(open_ids)
        for place, part in enumerate(parts):
            path = f"contents[{number}].parts[{place}]"
            yield from _part(part, ids, {"role": _ROLES[role], "message": number, "path": path})


def _part(part: Mapping[str, Any], ids: Iterator[str], fields: dict[str, Any]) -> Iterator[Block]:
    if part.get("thought"):
        return  # summaries of thoughts are not read
    signature = part.get("thoughtSignature")
    if signature:
        place = {**fields, "path": f"{fields['path']}.thoughtSignature"}
        yield Block.of(signature, kind="reasoning", proof=signature, **place)
    rest = {key: value for key, value in part.items() if key != "thoughtSignature"}
    if "functionCall" in part:
        call = {key: part["functionCall"].get(key) for key in ("name", "args")}
        yield Block.of(call, kind="call", id=next(ids), **fields)
    elif "functionResponse" in part:
        response = part["functionResponse"]
        answer = {key: response.get(key) for key in ("name", "response")}
        yield Block.of(answer, kind="result", id=response.get("id") or next(ids, ""), **fields)
    else:
        yield Block.of(rest, kind="text", words=part.get("text", ""), **fields)


def _write(reply: ModelReply) -> dict[str, Any]:
    thoughts = [{"text": reply.thinking, "thought": True}] if reply.thinking else []
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    for call in reply.calls:
        function = {"id": call.id, "name": call.name, "args": dict(call.arguments)}
        parts.append({"functionCall": function})
    if reply.proof:
        # On the first call, and on the text only where there is no call.
        parts[-len(reply.calls) or -1]["thoughtSignature"] = reply.proof
    tokens = reply.read + reply.written + reply.uncached
    stop = "MAX_TOKENS" if reply.truncated else "STOP"
    candidate = {"content": {"role": "model", "parts": thoughts + parts}, "finishReason": stop}
    return {
        "candidates": [{**candidate, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": tokens,
            "cachedContentTokenCount": reply.read,
            "candidatesTokenCount": reply.output - reply.thinking_tokens,
            "thoughtsTokenCount": reply.thinking_tokens,
            "totalTokenCount": tokens + reply.output,
        },
        "modelVersion": reply.model,
        "responseId": reply.id,
    }


def _replay(body: Mapping[str, Any]) -> list[Block]:
    return list(_content([body["candidates"][0]["content"]]))


def _stream(body: Mapping[str, Any]) -> Iterator[ServerEvent]:
    candidate = body["candidates"][0]
    parts = candidate["content"]["parts"]
    for part in parts[:-1]:
        content = {"role": "model", "parts": [part]}
        yield (
            "",
            {
                "candidates": [{"content": content, "index": 0}],
                "modelVersion": body["modelVersion"],
            },
        )
    last = {**candidate, "content": {"role": "model", "parts": parts[-1:]}}
    yield "", {**body, "candidates": [last]}


def _error(refusal: Refusal) -> dict[str, Any]:
    return {"error": {"code": 400, "message": refusal.message, "status": "INVALID_ARGUMENT"}}


def _tampered(block: Block) -> str:
    return f"{block.path}: Thought signature is not valid"


def _transformation(mismatch: Mismatch) -> Mapping[str, Any]:
    return {"path": mismatch.block.path, "reason": mismatch.reason}


def _overflow(tokens: int, window: int) -> tuple[str, str]:
    words = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed"
    return f"{words} ({window}).", ""


_COUNTS = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
GEMINI = ModelWire(
    name="gemini",
    path=r"/models/[^/:]+:(generateContent|streamGenerateContent)",
    read=_read,
    write=_write,
    replay=_replay,
    stream=_stream,
    error=_error,
    mismatch=lambda block, _: _tampered(block),
    tampered=_tampered,
    transformation=_transformation,
    overflow=_overflow,
    structure=StructureRules(
        unanswered=_COUNTS,
        orphaned=_COUNTS,
        duplicate=_COUNTS,
        first_role=(
            "Please ensure that function call turn comes immediately after a user turn or after a "
            "function response turn."
        ),
        lost_reasoning=(
            "Function call is missing a thought_signature in functionCall parts. This is required "
            "for tools to work correctly, and missing thought_signature may lead to degraded "
            "model performance. ({path})"
        ),
    ),
    cache=CacheRules(automatic=True),
    # https://ai.google.dev/gemini-api/docs/pricing, Gemini 3 Pro: what is written costs the same.
    prices=TokenPrices(uncached=2, read=0.2, written=2, written_for_an_hour=2, output=12),
)
