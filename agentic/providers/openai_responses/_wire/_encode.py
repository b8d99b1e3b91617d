"""From messages to the wire's input items, and to what a request holds of a conversation.

A message goes back as the items that it came from, as long as it still says what they say.
Otherwise it is written anew:

- A text is a message in its short form, `{role, content}`; images and files are parts of it.
- An assistant's calls are `function_call` items after its text, without ids of their own, since
  an id ties the item to a reasoning item that is no longer there. Reasoning is left out.
- Results follow their calls directly; a failed one says so in its text, for the API has no flag.
- The leading system messages, a summary among them, are joined to the `instructions`; one further
  down stays where it is. Pinned messages are nothing special to the wire.
- An empty message is left out; where nothing is left, a neutral text stands for the user.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import attrs

from agentic.messages import Message, ToolCall, close_open_rounds
from agentic.providers._as_text import text_with_media
from agentic.providers._native import native_payload
from agentic.providers._plain import at, text_at
from agentic.providers._runs import join_runs, written_as_one
from agentic.providers._sendable import sendable, sendable_arguments
from agentic.providers.openai_responses._wire._answers import (
    OpenCalls,
    answer,
    can_answer,
    written_calls,
)
from agentic.providers.openai_responses._wire._calls import TOOL_NAMES, Ids, is_id
from agentic.providers.openai_responses._wire._decode import (
    UNSEEN_CALLS,
    kept_items,
    message_of,
)
from agentic.providers.openai_responses._wire._items import own_id, type_of
from agentic.providers.openai_responses._wire._media import parts_of
from agentic.providers.openai_responses._wire._name import NAME
from agentic.providers.openai_responses._wire._untouched import items_as_they_came
from agentic.tools import ToolDefinition

__all__ = ["encode", "encode_request", "encode_tools"]

_NEUTRAL = "Continue."
_FUNCTIONS = {"function_call", "custom_tool_call"}


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Write a request's `input`; a history that was cut is not repaired, see `encode_request`.

    >>> encode([Message("assistant", "Hello.")])
    [{'type': 'message', 'role': 'assistant', 'content': 'Hello.'}]
    """
    items = items_as_they_came(messages)
    if items is None:
        items = sendable(list(_Writer().write(list(messages))))
    return items


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Write the tools that the model may call.

    Without `strict`, the API takes a schema as strict, which demands more of it than JSON Schema:
    https://platform.openai.com/docs/guides/function-calling#strict-mode

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["strict"]
    False
    """
    return [
        {
            "type": "function",
            "name": TOOL_NAMES.wire(tool.name),
            "description": sendable(tool.description),
            "parameters": sendable(dict(tool.parameters)),
            "strict": False,
        }
        for tool in tools
    ]


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
) -> dict[str, Any]:
    """Write all that a request holds of a conversation, so that the provider accepts it.

    Open rounds are closed, orphaned results left out, and so is what says nothing.

    >>> encode_request([Message("user", "Hi.")], system_prompt="Be brief.")
    {'instructions': 'Be brief.', 'input': [{'role': 'user', 'content': 'Hi.'}]}
    """
    closed = join_runs(_close(list(messages)), _join)
    leading = list(takewhile(_is_instruction, closed))
    request: dict[str, Any] = {**_instructions(leading, system_prompt)}
    request["input"] = _input(closed[len(leading) :])
    if tools:
        request["tools"] = encode_tools(tools)
    return request


def _close(messages: list[Message]) -> list[Message]:
    """Answer what is open and drop what answers nothing, but for calls that the server holds."""
    closed: list[Message] = []
    stretch: list[Message] = []
    for message in messages:
        if _answers_unseen(message):
            closed += [*close_open_rounds(stretch), message]
            stretch = []
        else:
            stretch.append(message)
    return [*closed, *close_open_rounds(stretch)]


def _join(replies: list[Message]) -> list[Message]:
    """Say first and call then: DeepSeek wants outputs beside their calls, as `validate` says."""
    return replies if any(map(_payload, replies)) else [written_as_one(replies)]


def _answers_unseen(message: Message) -> bool:
    payload = message.native.payload if message.native else None
    return message.role == "tool" and isinstance(payload, Mapping) and UNSEEN_CALLS in payload


def _is_instruction(message: Message) -> bool:
    return message.role == "system" and not isinstance(_payload(message), list)


def _instructions(leading: list[Message], system_prompt: str) -> dict[str, Any]:
    kept = [_payload(message) for message in leading]
    if len(kept) == 1 and kept[0] and not system_prompt:
        return {"instructions": kept[0]["instructions"]}
    said = [system_prompt, *map(text_with_media, leading)]
    text = sendable("\n\n".join(text for text in said if text))
    return {"instructions": text} if text else {}


def _input(messages: list[Message]) -> str | list[dict[str, Any]]:
    payload = _payload(messages[0]) if len(messages) == 1 else None
    if isinstance(payload, str) and payload:
        text: str = sendable(payload)
        return text
    items = [item for item in encode(messages) if not _is_void(item)]
    return items or [{"role": "user", "content": _NEUTRAL}]


def _is_void(item: Any) -> bool:
    """Tell a message whose content is missing or null, which is refused (see `validate`)."""
    return type_of(item) == "message" and not isinstance(at(item, "content"), str | list)


def _payload(message: Message) -> Any:
    return native_payload(message, NAME, message_of, TOOL_NAMES.wire)


def _without_loose_reasoning(items: list[Any]) -> list[Any]:
    """Leave out the reasoning that a reply ends with when its limit cut it off while thinking.

    OpenAI refuses it without the item that would have followed, as `validate` says; other servers,
    whose ids do not begin with rs_, do not.
    """
    end = len(items)
    while end and type_of(items[end - 1]) == "reasoning" and _is_openais(items[end - 1]):
        end -= 1
    return items[:end]


def _is_openais(item: Any) -> bool:
    return text_at(item, "id").startswith("rs_")


def _answers_after(messages: list[Message], number: int) -> list[Message]:
    """Return the tool messages after the run that a message is in."""
    while number + 1 < len(messages) and messages[number + 1].role == "assistant":
        number += 1
    end = number + 1
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    return messages[number + 1 : end]


@attrs.define
class _Writer:
    """Writes a conversation from its start, so that no id is used twice."""

    _ids: Ids = attrs.field(factory=Ids, init=False)
    _open: OpenCalls = attrs.field(factory=OpenCalls, init=False)

    def write(self, messages: list[Message]) -> Iterator[Any]:
        for number, message in enumerate(messages):
            if message.role == "assistant":
                if not number or messages[number - 1].role != "assistant":
                    self._open = OpenCalls()
                yield from self._assistant(message, _answers_after(messages, number))
            elif message.role == "tool":
                yield from self._tool(message)
            else:
                yield from self._said(message)

    def _assistant(self, message: Message, answers: list[Message]) -> Iterator[Any]:
        payload = _payload(message)
        anew = [answer for answer in answers if _payload(answer) is None]
        if isinstance(payload, list) and can_answer(payload, anew) and self._are_free(payload):
            for call_id, item in written_calls(payload):
                self._open.add(call_id, item)
            yield from _without_loose_reasoning(payload)
            return
        if text := text_with_media(message):
            # llama.cpp's server takes an assistant's short form only with its type.
            yield {"type": "message", "role": "assistant", "content": text}
        for call in message.tool_calls:
            yield self._call(call)

    def _are_free(self, items: list[Any]) -> bool:
        """Tell whether no item and no open call has been written, and note that they are now.

        An id may name a call of an earlier turn again. A call whose id is refused is not free
        either, and gets another.
        """
        calls = written_calls(items)
        if any(type_of(item) in _FUNCTIONS and not is_id(call_id) for call_id, item in calls):
            return False
        named = [f"item {own_id(item)}" for item in items if own_id(item)]
        asked = [call_id for call_id, _ in calls]
        if len({*asked}) < len(asked) or any(map(self._open.is_waiting, asked)):
            return False
        if not self._ids.free(named):
            return False
        self._ids.used.update(asked)
        return True

    def _call(self, call: ToolCall) -> dict[str, Any]:
        item = {
            "type": "function_call",
            "call_id": self._ids.take(call.id),
            "name": TOOL_NAMES.wire(call.name),
            "arguments": sendable_arguments(call.arguments),
        }
        self._open.add(call.id, item)
        return item

    def _tool(self, message: Message) -> Iterator[Any]:
        kept, ids = kept_items(_payload(message)), [one.call_id for one in message.tool_results]
        if kept and all(map(self._open.awaits, ids, kept)) and self._are_free(kept):
            for call_id in ids:
                self._open.take(call_id)
            yield from kept
        else:
            yield from answer(message, self._open)

    def _said(self, message: Message) -> Iterator[Any]:
        payload = _payload(message)
        if isinstance(payload, list) and self._are_free(payload):
            yield from payload
            return
        parts = parts_of(message.media) if message.role == "user" else []
        if parts:
            said = [{"type": "input_text", "text": message.content}] if message.content else []
            yield {"role": "user", "content": [*said, *parts]}
        elif text := text_with_media(message):
            yield {"role": message.role, "content": text}
