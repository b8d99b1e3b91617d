"""Anthropic's Messages API: https://platform.claude.com/docs/en/api/messages (2026-11-27)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.testing._model_server._cache import CacheRules, TokenPrices
from agentic.testing._model_server._reasoning import BindingRules, Mismatch
from agentic.testing._model_server._request import (
    Block,
    Kind,
    ModelReply,
    ReadRequest,
    Refusal,
    canonical,
    size_of,
)
from agentic.testing._model_server._structure import StructureRules
from agentic.testing._model_server._wire import ModelWire, ServerEvent

__all__ = ["ANTHROPIC"]

_BETA = "thinking-binding-controls-2026-08-01"
_COMPACT_BETA = "compact-2026-09-04"
_CHANGES_BETA = "mid-conversation-tool-changes-2026-07-01"
_INLINE_BETA = "inline-tools-2026-09-15"
_BEHAVIORS = ("error", "drop_block")
_KINDS: Mapping[str, Kind] = {
    "text": "text",
    "tool_use": "call",
    "tool_result": "result",
    "thinking": "reasoning",
    "redacted_thinking": "reasoning",
    "compaction": "compaction",
}
_LIFETIMES = {"5m": 300.0, "1h": 3_600.0}


def _read(body: Mapping[str, Any], headers: Mapping[str, str], _: str) -> ReadRequest:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refusal("empty", "messages: at least one message is required")
    thinking = body.get("thinking") or {}
    betas = headers.get("anthropic-beta", "") + ",".join(body.get("betas") or ())
    offered = _check_tool_changes(body, messages, betas)
    blocks = [*_tools(body), *_system(body), *_content(messages)]
    if body.get("cache_control"):
        blocks = _marked_at_the_end(blocks, body["cache_control"])
    return ReadRequest(
        model=str(body.get("model", "")),
        blocks=tuple(blocks),
        tool_names=tuple(offered),
        stream=bool(body.get("stream")),
        thinks=thinking.get("type") != "disabled",
        on_mismatch=_on_mismatch(thinking, _BETA in betas),
        controls=_BETA in betas,
        compacts=_asks_for_summary(body, betas),
        settings=canonical({"thinking": body.get("thinking"), "choice": body.get("tool_choice")}),
    )


def _on_mismatch(thinking: Mapping[str, Any], controls: bool) -> Any:
    binding = thinking.get("block_binding")
    if binding is None:
        return None
    if not controls:
        message = (
            "thinking.block_binding: Extra inputs are not permitted. This setting requires the "
            f"value `{_BETA}` in the `anthropic-beta` header."
        )
        raise Refusal("control", message)
    behavior = binding.get("prefix_mismatch_behavior")  # each field is optional
    if behavior not in (None, *_BEHAVIORS):
        path = "thinking.block_binding.prefix_mismatch_behavior"
        raise Refusal("control", f"{path}: Input should be 'error' or 'drop_block'")
    return behavior


def _asks_for_summary(body: Mapping[str, Any], betas: str) -> bool:
    """https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand (2026-11-27)."""
    if body.get("compaction") is None:
        return False
    if _COMPACT_BETA not in betas or body["compaction"].get("type") != "summarize":
        raise Refusal("control", "compaction: Extra inputs are not permitted")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise Refusal("control", "compaction: `tool_choice` forces tool use")
    return True


def _check_tool_changes(body: Mapping[str, Any], messages: list[Any], betas: str) -> list[str]:
    """Return the names of the tools that the model may call now, in order.

    Refuse what is no `tool_addition` or `tool_removal`: in a system message, of a known tool. The
    shapes are those of the SDK (anthropic 2.14, `BetaRequestToolAdditionBlockParam`).
    """
    tools = [tool for tool in body.get("tools") or () if "name" in tool]
    offered = [tool["name"] for tool in tools]
    names = set(offered)
    for number, message in enumerate(messages):
        for place, block in enumerate(_blocks_of(message.get("content"))):
            kind, path = block.get("type"), f"messages.{number}.content.{place}"
            if kind in ("tool_addition", "tool_removal"):
                if message.get("role") != "system":
                    raise Refusal("tools", f"{path}: `{kind}` is only allowed in a system message")
                name = _changed_tool(block, path, names, betas)
                names.add(name)
                offered = [each for each in offered if each != name]
                offered += [name] if kind == "tool_addition" else []
            elif kind != "text" and message.get("role") == "system":
                raise Refusal("tools", f"{path}: `{kind}` is not allowed in a system message")
    return offered


def _changed_tool(block: Mapping[str, Any], path: str, names: set[Any], betas: str) -> Any:
    """Return the name of the tool that a block adds or removes."""
    tool = block.get("tool")
    tool = tool if isinstance(tool, Mapping) else {}
    name = tool.get("name")
    if tool.get("type") == "tool_definition" and block["type"] == "tool_addition":
        if _INLINE_BETA not in betas:
            words = f"requires the value `{_INLINE_BETA}` in the `anthropic-beta` header"
            raise Refusal("control", f"{path}.tool: an inline definition {words}")
        return (tool.get("definition") or {}).get("name")
    if _CHANGES_BETA not in betas and _INLINE_BETA not in betas:
        words = f"requires the value `{_CHANGES_BETA}` in the `anthropic-beta` header"
        raise Refusal("control", f"{path}: `{block['type']}` {words}")
    if tool.get("type") != "tool_reference" or name not in names:
        raise Refusal("tools", f"{path}.tool: {name!r} is no tool of this request")
    return name


def _tools(body: Mapping[str, Any]) -> Iterator[Block]:
    for number, tool in enumerate(body.get("tools") or ()):
        # A deferred tool is not in the prompt until the model looks for it.
        if not tool.get("defer_loading"):
            path, mark = f"tools.{number}", _lifetime(tool)
            yield Block.of(tool, role="tools", kind="other", path=path, mark_seconds=mark)


def _system(body: Mapping[str, Any]) -> Iterator[Block]:
    for number, block in enumerate(_blocks_of(body.get("system") or [])):
        path = f"system.{number}"
        if not block.get("text", "").strip():
            raise Refusal("empty", f"{path}.text: text content blocks must be non-empty")
        mark = _lifetime(block)
        yield Block.of(block, role="system", kind="text", path=path, mark_seconds=mark)


def _content(messages: list[Any]) -> Iterator[Block]:
    for number, message in enumerate(messages):
        role, content = message.get("role"), _blocks_of(message.get("content"))
        if role not in ("user", "assistant", "system"):
            words = f"messages.{number}.role: Input should be 'user' or 'assistant'"
            raise Refusal("roles", words)
        if role == "system" and number == 0:
            raise Refusal("roles", ANTHROPIC.structure.first_role)
        # https://github.com/anthropics/claude-code/issues/6774: but for an empty last reply.
        if not content and not (role == "assistant" and number == len(messages) - 1):
            words = "all messages must have non-empty content except for the optional final"
            raise Refusal("empty", f"messages.{number}: {words} assistant message")
        for place, block in enumerate(content):
            path = f"messages.{number}.content.{place}"
            if block.get("type") == "compaction":
                if number or place:
                    raise Refusal("roles", f"{path}: a `compaction` block must come first")
                if block.get("content") is None:
                    continue  # a summary that failed says nothing
            yield _block(block, role, path, number, once=bool(message.get("clear_at")))


def _block(block: Mapping[str, Any], role: str, path: str, number: int, *, once: bool) -> Block:
    kind = _KINDS.get(block.get("type", ""), "other")
    text = block.get("text") or ""
    # https://github.com/anthropics/claude-code/issues/23369: the model's own text may be blank.
    if kind == "text" and not (text if role == "assistant" else text.strip()):
        what = "contain non-whitespace text" if text else "be non-empty"
        raise Refusal("empty", f"messages.{number}: text content blocks must {what}")
    if kind == "result":
        block = {**block, "content": _blocks_of(block.get("content") or "")}
    elif kind == "reasoning" and role != "assistant":
        raise Refusal("roles", f"{path}: thinking blocks may only be in assistant messages")
    proof = block.get("signature") or block.get("data") or ""
    call_id = block.get("id") if kind == "call" else block.get("tool_use_id")
    fields: dict[str, Any] = {
        "role": role,
        "kind": kind,
        "path": path,
        "message": number,
        "id": str(call_id or ""),
        "proof": proof if kind == "reasoning" else "",
        "mark_seconds": _lifetime(block),
        "bound": not once,
        "words": block.get("thinking") or text,
    }
    return Block.of(block, **fields)


def _blocks_of(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _lifetime(block: Mapping[str, Any]) -> float | None:
    mark = block.get("cache_control")
    return _LIFETIMES.get(mark.get("ttl", "5m"), 300.0) if mark else None


def _marked_at_the_end(blocks: list[Block], mark: Mapping[str, Any]) -> list[Block]:
    seconds = _LIFETIMES.get(mark.get("ttl", "5m"), 300.0)
    return [*blocks[:-1], attrs.evolve(blocks[-1], mark_seconds=seconds)]


def _write(reply: ModelReply) -> dict[str, Any]:
    if reply.is_compaction:
        block = {"type": "compaction", "content": reply.text}
        # Two compactions may say the same, and stand for different messages.
        return _message(reply, [{**block, "encrypted_content": f"cmp_{reply.id}"}], "compaction")
    content: list[dict[str, Any]] = []
    if reply.proof:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": reply.proof})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        for call in reply.calls
    ]
    stop = "tool_use" if reply.calls else "end_turn"
    return _message(reply, content, "max_tokens" if reply.truncated else stop)


def _message(reply: ModelReply, content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    usage = {
        "input_tokens": reply.uncached,
        "cache_creation_input_tokens": reply.written,
        "cache_read_input_tokens": reply.read,
        "output_tokens": reply.output,
        "output_tokens_details": {"thinking_tokens": reply.thinking_tokens},
    }
    body: dict[str, Any] = {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    if reply.transformations:
        body["input_transformations"] = [dict(each) for each in reply.transformations]
    return body


def _replay(body: Mapping[str, Any]) -> list[Block]:
    return list(_content([{"role": "assistant", "content": body["content"]}]))


def _stream(body: Mapping[str, Any]) -> Iterator[ServerEvent]:
    usage = body["usage"]
    start = {**body, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(body["content"]):
        empty, deltas = _pieces(block)
        event = {"type": "content_block_start", "index": index, "content_block": empty}
        yield "content_block_start", event
        for delta in deltas:
            event = {"type": "content_block_delta", "index": index, "delta": delta}
            yield "content_block_delta", event
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def _pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block as it starts, and what is added to it."""
    if block["type"] == "thinking":
        text = {"type": "thinking_delta", "thinking": block["thinking"]}
        signature = {"type": "signature_delta", "signature": block["signature"]}
        empty = {**block, "thinking": "", "signature": ""}
        return empty, [text, signature] if block["thinking"] else [signature]
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "compaction":
        return {**block, "content": None}, [{**block, "type": "compaction_delta"}]
    written = json.dumps(block["input"])
    half = size_of(written)
    parts = [written[:half], written[half:]]
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts if part]
    return {**block, "input": {}}, deltas


def _error(refusal: Refusal) -> dict[str, Any]:
    error = {"type": "invalid_request_error", "message": refusal.message}
    return {"type": "error", "error": error, "request_id": "req_fake"}


def _tampered(block: Block) -> str:
    kind = "compaction" if block.kind == "compaction" else "thinking"
    return f"{block.path}: Invalid `signature` in `{kind}` block"


def _mismatch(block: Block, controls: bool) -> str:
    # https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
    words = (
        f"{_tampered(block)}. The block is bound to a different conversation. Remove the block, "
        'or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )
    header = f" This setting requires the value `{_BETA}` in the `anthropic-beta` header."
    return words if controls else words + header


# The reasons are those of the SDK: anthropic 2.14, `BetaThinkingDroppedInputTransformation`.
def _transformation(mismatch: Mismatch) -> Mapping[str, Any]:
    kind = "thinking_dropped" if mismatch.dropped else "thinking_mismatch_allowed"
    return {"type": kind, "path": mismatch.block.path, "reason": mismatch.reason}


def _overflow(tokens: int, window: int) -> tuple[str, str]:
    return f"prompt is too long: {tokens} tokens > {window} maximum", ""


ANTHROPIC = ModelWire(
    name="anthropic",
    path=r"/v1/messages",
    read=_read,
    write=_write,
    replay=_replay,
    stream=_stream,
    error=_error,
    mismatch=_mismatch,
    tampered=_tampered,
    transformation=_transformation,
    overflow=_overflow,
    call_ids="toolu_",
    binding=BindingRules(
        summary_changes_role=True,
        always=("claude-fable-5-2", "claude-mythos-5-2"),
        new_accounts=(
            "claude-fable-5-1",
            "claude-mythos-5-1",
            "claude-opus-5-5",
            "claude-sonnet-5-5",
            "claude-haiku-5-5",
        ),
    ),
    structure=StructureRules(
        # https://github.com/anthropics/claude-code/issues/8210
        unanswered=(
            "messages.{message}: `tool_use` ids were found without `tool_result` blocks "
            "immediately after: {ids}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        ),
        orphaned=(
            "{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous "
            "message."
        ),
        duplicate="{path}: `tool_use` ids must be unique, and each has a single result: {id}",
        results_first=(
            "messages.{message}: `tool_result` blocks must come first in the message after "
            "`tool_use`"
        ),
        first_role='messages: first message must use the "user" role',
        late_system="messages.{message}: a system message is not allowed here",
        system_between_turns=True,
        prefill=(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        ),
        # https://github.com/router-for-me/CLIProxyAPI/issues/5321
        last_reasoning=(
            "messages.{message}: The final block in an assistant message cannot be `thinking`."
        ),
        # https://github.com/anomalyco/opencode/issues/3077
        lost_reasoning=(
            "messages.{message}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
            "found `tool_use`. When `thinking` is enabled, a final `assistant` message must start "
            "with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
            "blocks)."
        ),
    ),
    cache=CacheRules(automatic=False),
    # https://platform.claude.com/docs/en/about-claude/pricing, Claude Opus 4.5 and later.
    prices=TokenPrices(uncached=5, read=0.5, written=6.25, written_for_an_hour=10, output=25),
)
