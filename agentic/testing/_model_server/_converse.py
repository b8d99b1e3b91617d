"""Bedrock's Converse API, with Claude's models behind it.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and
https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.html
(both 2026-11-27).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.testing._model_server._anthropic import ANTHROPIC
from agentic.testing._model_server._request import (
    Block,
    Kind,
    ModelReply,
    ReadRequest,
    Refusal,
    canonical,
)
from agentic.testing._model_server._wire import ServerEvent

__all__ = ["BEDROCK"]

_KINDS: Mapping[str, Kind] = {
    "text": "text",
    "toolUse": "call",
    "toolResult": "result",
    "reasoningContent": "reasoning",
}
_POINT_SECONDS = 300.0


def _read(body: Mapping[str, Any], _: Mapping[str, str], path: str) -> ReadRequest:
    extra = body.get("additionalModelRequestFields") or {}
    settings = {"thinking": extra.get("thinking"), "anthropic_beta": extra.get("anthropic_beta")}
    betas = ",".join(extra.get("anthropic_beta") or ())
    tools = (body.get("toolConfig") or {}).get("tools") or []
    if not body.get("messages"):
        raise Refusal("empty", "A conversation must start with a user message.")
    # The control is Anthropic's own, and so are its rules.
    probe = {"messages": [{"role": "user", "content": "-"}], "thinking": extra.get("thinking")}
    control = ANTHROPIC.read(probe, {"anthropic-beta": betas}, path)
    blocks = [
        *_marked(_head("tools", tools)),
        *_marked(_head("system", body.get("system") or [])),
        *_marked(_content(body["messages"])),
    ]
    return attrs.evolve(
        control,
        model=_model(path),
        blocks=tuple(blocks),
        tool_names=tuple(each["toolSpec"]["name"] for each in tools if "toolSpec" in each),
        stream=path.endswith("-stream"),
        settings=canonical(settings),
    )


def _model(path: str) -> str:
    """Return the name of Claude's model in an id such as `us.anthropic.claude-opus-5-5-v1:0`."""
    model_id = path.split("/model/")[1].split("/", maxsplit=1)[0]
    return model_id.partition("anthropic.")[2] or model_id


def _head(role: str, items: list[Any]) -> Iterator[Block | None]:
    for number, item in enumerate(items):
        path = f"{role}.{number}"
        yield None if "cachePoint" in item else Block.of(item, role=role, kind="other", path=path)


def _content(messages: list[Any]) -> Iterator[Block | None]:
    """Yield the blocks, and None for a mark behind them."""
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content") or []
        if not content:
            words = f"The content field in the Message object at messages.{number} is empty."
            raise Refusal("empty", f"{words} Add a ContentBlock object to the content field.")
        for place, block in enumerate(content):
            if "cachePoint" in block:
                yield None
                continue
            fields = {"path": f"messages.{number}.content.{place}", "message": number}
            yield _block(block, role, fields)


def _block(block: Mapping[str, Any], role: str, fields: Mapping[str, Any]) -> Block:
    name = next(iter(block), "")
    kind: Kind = _KINDS.get(name, "other")
    value: Any = block.get(name)
    if kind == "text" and not (value or "").strip():
        words = f"The text field in the ContentBlock object at {fields['path']} is blank."
        raise Refusal("empty", f"{words} Add text to the text field, and try again.")
    reasoning = value.get("reasoningText") or {} if kind == "reasoning" else {}
    call_id = value.get("toolUseId", "") if kind in ("call", "result") else ""
    words = value if kind == "text" else reasoning.get("text", "")
    proof = reasoning.get("signature", "")
    return Block.of(block, role=role, kind=kind, id=call_id, proof=proof, words=words, **fields)


def _marked(blocks: Iterator[Block | None]) -> list[Block]:
    """Return the blocks, each mark put on the one before it."""
    result: list[Block] = []
    for block in blocks:
        if block is not None:
            result.append(block)
        elif result:
            result[-1] = attrs.evolve(result[-1], mark_seconds=_POINT_SECONDS)
    return result


def _write(reply: ModelReply) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if reply.proof:
        reasoning = {"text": reply.thinking, "signature": reply.proof}
        content.append({"reasoningContent": {"reasoningText": reasoning}})
    if reply.text:
        content.append({"text": reply.text})
    for call in reply.calls:
        use = {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}
        content.append({"toolUse": use})
    tokens = reply.read + reply.written + reply.uncached
    transformations = [dict(each) for each in reply.transformations]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": _stop(reply),
        "usage": {
            "inputTokens": reply.uncached,
            "outputTokens": reply.output,
            "totalTokens": tokens + reply.output,
            "cacheReadInputTokens": reply.read,
            "cacheWriteInputTokens": reply.written,
        },
        "metrics": {"latencyMs": 1},
        "additionalModelResponseFields": {"input_transformations": transformations},
    }


def _stop(reply: ModelReply) -> str:
    if reply.truncated:
        return "max_tokens"
    return "tool_use" if reply.calls else "end_turn"


def _replay(body: Mapping[str, Any]) -> list[Block]:
    blocks = _content([body["output"]["message"]])
    return [block for block in blocks if block is not None]


def _stream(body: Mapping[str, Any]) -> Iterator[ServerEvent]:
    yield "messageStart", {"role": "assistant"}
    for index, block in enumerate(body["output"]["message"]["content"]):
        place = {"contentBlockIndex": index}
        start, delta = _pieces(block)
        if start:
            yield "contentBlockStart", {**place, "start": start}
        for piece in delta:
            yield "contentBlockDelta", {**place, "delta": piece}
        yield "contentBlockStop", place
    extra = body["additionalModelResponseFields"]
    yield "messageStop", {"stopReason": body["stopReason"], "additionalModelResponseFields": extra}
    yield "metadata", {"usage": body["usage"], "metrics": body["metrics"]}


def _pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if "toolUse" in block:
        use = block["toolUse"]
        start = {"toolUse": {key: use[key] for key in ("toolUseId", "name")}}
        return start, [{"toolUse": {"input": json.dumps(use["input"])}}]
    if "reasoningContent" in block:
        reasoning = block["reasoningContent"]["reasoningText"]
        return {}, [{"reasoningContent": {key: value}} for key, value in reasoning.items() if value]
    return {}, [{"text": block["text"]}]


def _error(refusal: Refusal) -> dict[str, Any]:
    return {"message": refusal.message}


BEDROCK = attrs.evolve(
    ANTHROPIC,
    name="bedrock",
    path=r"/model/[^/]+/converse(-stream)?",
    read=_read,
    write=_write,
    replay=_replay,
    stream=_stream,
    error=_error,
    call_ids="tooluse_",
    structure=attrs.evolve(
        ANTHROPIC.structure,
        unanswered=(
            "Expected toolResult blocks at messages.{message}.content for the following Ids: {ids}"
        ),
        orphaned=(
            "The number of toolResult blocks at messages.{message}.content exceeds the number of "
            "toolUse blocks of previous turn."
        ),
        first_role=(
            "A conversation must start with a user message. Try again with a conversation that "
            "starts with a user message."
        ),
        alternation=(
            "A conversation must alternate between user and assistant roles. Make sure the "
            "conversation alternates between user and assistant roles and try again."
        ),
    ),
)
