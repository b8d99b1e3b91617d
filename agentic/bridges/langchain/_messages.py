"""One message of LangChain as a `Message`, and a `Message` as messages of LangChain.

LangChain has no field for a pin, a time, the kind of a tool's error or the notice below its output.
They are kept under `agentic` in `additional_kwargs`, which no provider's package sends.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import attrs
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.messages.tool import invalid_tool_call, tool_call

from agentic.bridges.langchain._blocks import (
    Content,
    media_block,
    read_content,
    with_text,
    without_thinking,
)
from agentic.errors import ConfigError
from agentic.messages import (
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
    from_plain,
    to_plain,
)
from agentic.messages._message import Role
from agentic.providers.kit import native_payload, plain, text_at
from agentic.providers.kit._iterations import is_server_call, last_request_in, requests_in
from agentic.providers.kit._messages import decoded_native, encodable
from agentic.usage import Usage

_NAME = "langchain"
_KEY = "agentic"
"""The key in `additional_kwargs`."""
_ROLES: Mapping[str, Role] = {
    "ai": "assistant",
    "assistant": "assistant",
    "developer": "system",
    "function": "tool",
    "human": "user",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
}
_OURS = ("pinned", "timestamp", "summary", "usage", "last_request")
_THINKING = "reasoning_content"
"""Where the packages of several vendors put thinking that they do not send back."""
_ITEM = "reasoning"
"""Where langchain-openai put the item of reasoning before version 1, which it sends back."""


def to_message(message: BaseMessage, /) -> Message:
    """Return a message of LangChain as a Message, which keeps it as its payload.

    Calls whose arguments are not JSON (`invalid_tool_calls`) are calls, too. Blocks of a type that
    is unknown here become text.

    >>> to_message(HumanMessage("Why?")).role
    'user'

    Raises:
        ConfigError: it is a RemoveMessage, or not a message of LangChain.
    """
    value: object = message
    if not isinstance(value, BaseMessage) or isinstance(value, RemoveMessage):
        requirement = "a message of langchain_core, other than a RemoveMessage"
        raise ConfigError("message", message, requirement)
    payload = message_to_dict(message)
    payload["data"].pop("artifact", None)  # any object of the tool's, which is never sent
    return attrs.evolve(read_message(message), native=ProviderPayload(_NAME, plain(payload)))


def from_message(message: Message, /) -> list[BaseMessage]:
    """Return a Message as messages of LangChain: several for a tool message with several results.

    >>> from_message(Message("user", "Why?"))
    [HumanMessage(content='Why?', additional_kwargs={}, response_metadata={})]

    An unchanged result of `to_message` returns an equal message of LangChain. Arguments that are
    not a JSON object become `invalid_tool_calls`. A lone surrogate becomes U+FFFD.
    """
    payload = native_payload(message, _NAME, _read_payload, str, _payload_without_reasoning)
    if payload is not None:
        return messages_from_dict([payload])
    message = encodable(message)
    return list(_tool_messages(message)) if message.role == "tool" else [_message(message)]


def read_message(message: BaseMessage) -> Message:
    """Return a message of LangChain as a Message without a payload."""
    role = _role_of(message)
    read = read_content(message.content, "" if role == "assistant" else "\n")
    text = read.text
    fields: dict[str, Any] = {"media": read.media, "id": message.id or None}
    if isinstance(message, AIMessage):
        thinking = message.additional_kwargs.get(_THINKING)
        # Where langchain-openai puts the words of a refusal, which has no content.
        text = text or text_at(message.additional_kwargs, "refusal")
        fields["reasoning"] = read.thinking or (thinking if isinstance(thinking, str) else "")
        fields["tool_calls"] = tuple(_calls(message))
        fields |= _read_usage(message)
        fields["native"] = _read_reasoning(message)
    elif role == "tool":
        fields["tool_results"], text = (_result(message, text),), ""
    return Message(role, text, **{**fields, **_read_ours(message, role)})


def edit(original: BaseMessage, before: Message, after: Message) -> BaseMessage:
    """Return a copy of a message of LangChain with the changes that were made to its Message.

    `before` is how the original is read, and `after` the edited copy.
    """
    if after.origin is not None and after.origin.without_reasoning:
        original = _leave_out_reasoning(original)
    changes: dict[str, Any] = {}
    if after.media != before.media:
        changes["content"] = _content(after)
    elif _text(after) != _text(before):
        changes["content"] = with_text(original.content, _text(after))
    if after.tool_calls != before.tool_calls:
        changes |= _call_fields(after.tool_calls)
    if isinstance(original, ToolMessage) and after.tool_results:
        changes["status"] = "error" if after.tool_results[0].error else "success"
    return original.model_copy(update=changes)


def is_empty_reply(message: BaseMessage) -> bool:
    """Return whether a reply has neither content nor calls.

    >>> is_empty_reply(AIMessage(""))
    True
    """
    if not isinstance(message, AIMessage) or message.content:
        return False
    return not (message.tool_calls or message.invalid_tool_calls)


def _leave_out_reasoning(message: BaseMessage) -> BaseMessage:
    """Return a copy of a reply without the reasoning that its provider would be sent back."""
    extras = {key: each for key, each in message.additional_kwargs.items() if key != _ITEM}
    changes = {"content": without_thinking(message.content), "additional_kwargs": extras}
    return message.model_copy(update=changes)


def _read_reasoning(message: AIMessage) -> ProviderPayload | None:
    """Return a payload that says that a reply has reasoning, which is sent back; None if not."""
    is_kept = without_thinking(message.content) == message.content
    if is_kept and _ITEM not in message.additional_kwargs:
        return None
    return decoded_native(_NAME, message.content, holds_reasoning=True)


def _role_of(message: BaseMessage) -> Role:
    if isinstance(message, ChatMessage):
        role = _ROLES.get(message.role, "user")
        return "user" if role == "tool" else role  # nothing says which call it would answer
    # The type of a chunk is the name of its class, such as AIMessageChunk.
    kind = message.type.removesuffix("MessageChunk").lower()
    return _ROLES.get(kind, "user")


def _calls(message: AIMessage) -> Iterator[ToolCall]:
    for call in message.tool_calls:
        arguments = json.dumps(call["args"], ensure_ascii=False, default=str)
        yield ToolCall(call["id"] or "", call["name"] or "", arguments)
    # Malformed calls have to be answered, too: OpenAI refuses a call without a result.
    for invalid in message.invalid_tool_calls:
        yield ToolCall(invalid["id"] or "", invalid["name"] or "", invalid["args"] or "")
    legacy = message.additional_kwargs.get("function_call")
    if legacy and not message.tool_calls and not message.invalid_tool_calls:
        yield ToolCall("", text_at(legacy, "name"), text_at(legacy, "arguments"))


def _result(message: BaseMessage, text: str) -> ToolResult:
    call_id, name = getattr(message, "tool_call_id", "") or "", message.name or ""
    results = _stored(message, "tool", "tool_results").tool_results
    if results and results[0].text == text:  # otherwise somebody edited the message since
        return attrs.evolve(results[0], call_id=call_id, name=name)
    return _bare_result(call_id, name, text, is_error=getattr(message, "status", "") == "error")


def _read_ours(message: BaseMessage, role: Role) -> dict[str, Any]:
    """Return the fields that `from_message` kept; a summary counts only in a system message."""
    names = [name for name in _OURS if name != "summary" or role == "system"]
    own = _stored(message, role, *names)
    fields = {name: getattr(own, name) for name in names if getattr(own, name)}
    return fields | ({"extra": own.extra} if own.extra else {})


def _stored(message: BaseMessage, role: Role, *names: str) -> Message:
    """Return a message with what `from_message` kept; without, if a client wrote anything else."""
    ours = message.additional_kwargs.get(_KEY)
    if isinstance(ours, Mapping):
        fields = {name: ours[name] for name in names if name in ours}
        extra = ours.get("extra")
        with suppress(ConfigError):
            read = from_plain({"role": role, **fields})
            return attrs.evolve(read, extra=dict(extra) if isinstance(extra, Mapping) else {})
    return Message(role)


def _read_usage(message: AIMessage) -> dict[str, Usage | None]:
    """Return what a reply used, and the part of its last request if it took several."""
    usage = _usage(message.usage_metadata)
    if usage is None:
        return {}
    # Where langchain-anthropic puts the provider's own counts of a reply that was not streamed.
    counts = message.response_metadata.get("usage")
    requests = requests_in(counts)
    kinds = {text_at(block, "type") for block in message.content if isinstance(block, dict)}
    # langchain-openai may put the items of the provider's tools there.
    ran = bool(message.additional_kwargs.get("tool_outputs")) or any(map(is_server_call, kinds))
    if len(requests) > 1 or (ran and not requests):
        last = last_request_in(counts)
        return {"usage": attrs.evolve(usage, summed=True), "last_request": last}
    return {"usage": usage}


def _usage(usage: Mapping[str, Any] | None) -> Usage | None:
    """Return the usage of a reply; LangChain's input, too, includes what a cache read and wrote."""
    if not usage:
        return None
    input_details, output_details = (
        usage.get("input_token_details") or {},
        usage.get("output_token_details") or {},
    )
    return Usage(
        usage.get("input_tokens", 0),
        usage.get("output_tokens", 0),
        usage.get("total_tokens", 0),
        cache_read=input_details.get("cache_read", 0),
        cache_write=input_details.get("cache_creation", 0),
        reasoning=output_details.get("reasoning", 0),
    )


def _read_payload(payload: Any) -> Message | None:
    try:
        return read_message(messages_from_dict([payload])[0])
    except (KeyError, TypeError, ValueError):
        return None


def _payload_without_reasoning(payload: Any) -> Any:
    message = messages_from_dict([payload])[0]
    return plain(message_to_dict(_leave_out_reasoning(message)))


def _message(message: Message) -> BaseMessage:
    fields: dict[str, Any] = {"additional_kwargs": _write_ours(message), "id": message.id}
    if message.role == "system":
        return SystemMessage(_content(message), **fields)
    if message.role == "user":
        return HumanMessage(_content(message), **fields)
    if message.reasoning:
        fields["additional_kwargs"][_THINKING] = message.reasoning
    return AIMessage(
        _content(message),
        **fields,
        **_call_fields(message.tool_calls),
        usage_metadata=_usage_metadata(message.usage),
    )


def _tool_messages(message: Message) -> Iterator[ToolMessage]:
    """Yield a message for each result; the last one has the media and the text of the message."""
    last = len(message.tool_results) - 1
    for at, result in enumerate(message.tool_results):
        text = "\n".join(filter(None, (result.text, message.content if at == last else "")))
        blocks = [media_block(part) for part in message.media] if at == last else []
        results = to_plain(Message("tool", tool_results=[result]))["tool_results"]
        ours = _write_ours(message) if at == last else {}
        is_error = result.error is not None
        if result != _bare_result(result.call_id, result.name, result.text, is_error=is_error):
            ours.setdefault(_KEY, {})["tool_results"] = results
        yield ToolMessage(
            [{"type": "text", "text": text}, *blocks] if blocks else text,
            tool_call_id=result.call_id,
            name=result.name or None,
            status="error" if is_error else "success",
            additional_kwargs=ours,
            # Of two messages with one id, LangGraph keeps only the later one.
            id=message.id if at == last else None,
        )


def _bare_result(call_id: str, name: str, text: str, *, is_error: bool) -> ToolResult:
    """Return a result of which only the text and the status are known."""
    # `ToolResult.text` begins with this, and must not do so twice.
    error = ToolError(text.removeprefix("Error: ")) if is_error else None
    return ToolResult(call_id, name, "" if is_error else text, error)


def _write_ours(message: Message) -> dict[str, Any]:
    """Return `additional_kwargs` with what LangChain has no field for."""
    plain = to_plain(message)
    ours = {key: plain[key] for key in _OURS if key in plain}
    # This one has a field, unless it is a sum, which LangChain cannot say.
    if message.role == "assistant" and message.usage is not None and not message.usage.summed:
        ours.pop("usage", None)
    if message.extra:
        ours["extra"] = dict(message.extra)
    return {_KEY: ours} if ours else {}


def _text(message: Message) -> str:
    return "\n".join(
        filter(None, [*(result.text for result in message.tool_results), message.content])
    )


def _content(message: Message) -> Content:
    text = _text(message)
    blocks: Content = [media_block(part) for part in message.media]
    return [*([{"type": "text", "text": text}] if text else []), *blocks] if blocks else text


def _call_fields(calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {"tool_calls": [], "invalid_tool_calls": []}
    for call in calls:
        try:
            arguments = call.parse()
        except ValueError as problem:
            invalid = invalid_tool_call(
                name=call.name, args=call.arguments, id=call.id, error=str(problem)
            )
            fields["invalid_tool_calls"].append(invalid)
        else:
            fields["tool_calls"].append(tool_call(name=call.name, args=arguments, id=call.id))
    return fields


def _usage_metadata(usage: Usage | None) -> Any:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "total_tokens": usage.total or usage.input + usage.output,
        "input_token_details": {
            "cache_read": usage.cache_read,
            "cache_creation": usage.cache_write,
        },
        "output_token_details": {"reasoning": usage.reasoning},
    }
