"""Adapt messages to a wire format, and decide when a message's original items may be sent.

The original items hold what the typed fields cannot: thinking signatures, the provider's ids, and
unknown fields. They may be sent back only while they still say the same as the message. If messages
of one role may not follow each other, they are joined.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, TypeVar

import attrs

from agentic.messages import (
    Media,
    Message,
    Round,
    ToolCall,
    ToolResult,
    from_plain,
    split_rounds,
    to_plain,
)
from agentic.messages._decoding import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
    is_untouched,
    payload_facts,
)
from agentic.providers.kit._json import replace_surrogates, text_at
from agentic.tools import ToolDefinition

__all__ = [
    "Decoded",
    "answer_each_reply",
    "decoded_call",
    "decoded_message",
    "decoded_native",
    "decoded_result",
    "describe_prompt_change",
    "encodable",
    "ensure_user_message",
    "function_tools",
    "insert_user_message",
    "is_untouched",
    "join_runs",
    "merge_consecutive",
    "merge_replies",
    "native_payload",
    "payload_facts",
    "tool_parameters",
    "write_calls",
]

_Item = TypeVar("_Item")
_SYSTEM = {"system", "developer"}


def native_payload(
    message: Message,
    provider: str,
    decode: Callable[[Any], Message | None],
    wire_name: Callable[[str], str] = str,
    without_reasoning: Callable[[Any], Any] | None = None,
    *,
    edit: Callable[[Any, Message], Any | None] | None = None,
) -> Any | None:
    """Return the payload to send for a message; None if it must be rebuilt from its fields.

    `decode` reads one payload the way the adapter reads a reply. `wire_name` returns the name that
    a tool is sent under, which is the one in the payload. `without_reasoning` returns a payload
    without the reasoning that a model binds to its request, for messages that are sent so.

    A payload is not sent if it belongs to another provider, cannot be read, or no longer says the
    same as the message. If a message is unchanged since an adapter of this library decoded it, its
    payload is not read again.

    `edit` writes the changes of a reply made by `Message.edit` into a copy of its payload, and
    returns None if it cannot. The copy is sent only if it says the same as the message: nothing is
    sent unedited, and the reasoning next to an edited call goes back.
    """
    origin = message.origin
    if origin is None or origin.provider != provider:
        return None
    if is_untouched(message, provider):
        return origin.payload
    payload = origin.payload
    if origin.without_reasoning and without_reasoning is not None:
        payload = without_reasoning(payload)
    if message.native is None:
        before = decode(payload)
        may_edit = edit is not None and before is not None and before.role == message.role
        payload = edit(payload, message) if edit is not None and may_edit else None
    message_of_payload = None if payload is None else decode(payload)
    if message_of_payload is None or not _says_the_same(message, message_of_payload, wire_name):
        return None
    return payload


def describe_prompt_change(before: str, after: str) -> str:
    """Return what a system message says of a changed system prompt; empty if it has not changed.

    >>> print(describe_prompt_change("Be brief.", "Be kind."))
    From now on, these instructions replace those at the beginning:
    <BLANKLINE>
    Be kind.
    """
    if before.strip() == after.strip():
        return ""
    if not after.strip():
        return "From now on, the instructions at the beginning hold no longer."
    start = "From now on, these instructions replace those at the beginning:"
    return f"{start}\n\n{after}" if before.strip() else after


def _is_object(item: Any) -> bool:
    return isinstance(item, dict)


def write_calls(
    items: Sequence[Any],
    calls: Sequence[ToolCall],
    write: Callable[[Any, ToolCall], Any],
    is_call: Callable[[Any], bool] = _is_object,
) -> list[Any] | None:
    """Return the items with each call written anew; None if they are not as many as `calls`.

    >>> write_calls([{"id": "c1"}], [ToolCall("c2", "now")], lambda item, call: {"id": call.id})
    [{'id': 'c2'}]
    """
    places = [place for place, item in enumerate(items) if is_call(item)]
    if len(places) != len(calls):
        return None
    result = list(items)
    for place, call in zip(places, calls, strict=True):
        result[place] = write(items[place], call)
    return result


def _says_the_same(message: Message, own: Message, wire_name: Callable[[str], str]) -> bool:
    # Only what is sent: a message may have been pinned, or given an id and a time, since.
    if message.origin is not None and message.origin.without_reasoning:
        # Where reasoning is not bound, its text may still be sent.
        own = attrs.evolve(own, reasoning="")
    fields = _sent_fields(message, wire_name)
    others = (own, _pooled(own))
    return any(fields == _sent_fields(other, wire_name) for other in others)


def _pooled(message: Message) -> Message:
    """Return a message with the media of its results as its own."""
    # As sessions have it that were stored before `ToolResult.media` existed: adapters decoded media
    # of a result as media of the message.
    if message.media == message.all_media:
        return message
    results = [attrs.evolve(result, media=()) for result in message.tool_results]
    return attrs.evolve(message, tool_results=results, media=message.all_media)


def _sent_fields(message: Message, wire_name: Callable[[str], str]) -> tuple[object, ...]:
    return (
        message.role,
        message.content,
        message.reasoning,
        [(call.id, wire_name(call.name), call.arguments) for call in message.tool_calls],
        [
            # `text` includes the error's message, which is all that a wire has of an error.
            (result.call_id, result.text, result.error is None, _sent_media(result.media))
            for result in message.tool_results
        ],
        _sent_media(message.media),
    )


def _sent_media(media: Iterable[Media]) -> list[object]:
    return [(part.media_type, part.data, part.url) for part in media]


@attrs.frozen
class Decoded:
    """Wire items that are read together, and the resulting messages."""

    items: int
    """The number of items."""
    messages: tuple[Message, ...]
    is_open: bool = False
    """Whether a later item may change how these are read."""


def merge_consecutive(
    items: Iterable[_Item], merge: Callable[[_Item, _Item], _Item | None]
) -> list[_Item]:
    """Return the items, each merged into the one before it unless `merge` returns None.

    Wire formats that expect all results of a turn in one message do not allow consecutive tool
    messages, which is how other providers write them.

    >>> from agentic.messages import ToolResult
    >>> def merge(first: Message, second: Message) -> Message | None:
    ...     if not (first.role == second.role == "tool"):
    ...         return None
    ...     return Message("tool", tool_results=[*first.tool_results, *second.tool_results])
    >>> results = [Message("tool", tool_results=[ToolResult(name)]) for name in ("c1", "c2")]
    >>> [message.role for message in merge_consecutive([*results, Message("user", "Go.")], merge)]
    ['tool', 'user']
    """
    result: list[_Item] = []
    for item in items:
        together = merge(result[-1], item) if result else None
        if together is None:
            result.append(item)
        else:
            result[-1] = together
    return result


def tool_parameters(tool: ToolDefinition) -> dict[str, Any]:
    """Return the schema of a tool's parameters, which always has properties.

    >>> tool_parameters(ToolDefinition("now", parameters={"type": "object"}))
    {'type': 'object', 'properties': {}}
    """
    # OpenAI answers 400 "object schema missing properties" to what JSON Schema, and so MCP, allows:
    # https://github.com/langchain-ai/langchain-mcp-adapters/issues/137 (2026-11).
    schema = tool.parameters
    return dict(replace_surrogates({**schema, "properties": schema.get("properties", {})}))


def function_tools(
    tools: Iterable[ToolDefinition], wire_name: Callable[[str], str] = str
) -> list[dict[str, Any]]:
    """Return the definitions of tools in the format of Chat Completions.

    >>> function_tools([ToolDefinition("now", "Tell the time.")])[0]["function"]["name"]
    'now'
    """
    return [
        {
            "type": "function",
            "function": {
                "name": wire_name(tool.name),
                "description": replace_surrogates(tool.description),
                "parameters": tool_parameters(tool),
            },
        }
        for tool in tools
    ]


def ensure_user_message(
    wire: list[dict[str, Any]], messages: Iterable[Message], provider: str, text: str
) -> None:
    """Insert a user message after the leading system messages unless a user speaks first there.

    The chat templates of local models raise without a user message, and some raise for one that
    begins with a reply: https://github.com/vllm-project/vllm/issues/36432 (2026-11).

    >>> wire = [{"role": "system", "content": "Be brief."}]
    >>> ensure_user_message(wire, [Message("system", "Be brief.")], "acme", "Go on.")
    >>> wire[1]
    {'role': 'user', 'content': 'Go on.'}
    """
    # What the caller sent without a user message before may be sent so again.
    if not (wire and all(each.native and each.native.provider == provider for each in messages)):
        insert_user_message(wire, text)


def insert_user_message(wire: list[Any], text: str) -> None:
    """Insert a user message after the leading system messages unless a user speaks first there.

    Whether one is inserted follows from how the conversation begins, so that it stays there when
    the user says something later.
    """
    places = (place for place, each in enumerate(wire) if text_at(each, "role") not in _SYSTEM)
    place = next(places, len(wire))
    begins_with_reply = place < len(wire) and text_at(wire[place], "role") == "assistant"
    if begins_with_reply or not any(text_at(each, "role") == "user" for each in wire):
        wire.insert(place, {"role": "user", "content": text})


def encodable(message: Message) -> Message:
    r"""Return a message that UTF-8 can encode, without its payload if it is another one.

    >>> encodable(Message("user", "cut in two: \ud83d")).content == "cut in two: \ufffd"
    True
    """
    fields = to_plain(message.replace())
    clean = replace_surrogates(fields)
    return message if clean is fields else from_plain(clean)


def join_runs(
    messages: list[Message], join: Callable[[list[Message]], Sequence[Message]]
) -> list[Message]:
    """Return a closed conversation with each round's assistant messages merged by `join`.

    `join` is called only for rounds with several of them. If there are no such rounds, the list
    itself is returned.
    """
    # Most conversations end here, without being split into rounds.
    pairs = pairwise(messages)
    if not any(caller.tool_calls and after.role == "assistant" for caller, after in pairs):
        return messages
    result: list[tuple[int, Message]] = []
    for group in split_rounds(messages):
        for position, stretch in _stretches(group):
            # In a closed conversation, the replies of a round come before all its results.
            replies = [message for message in stretch if message.role == "assistant"]
            run = [*(join(replies) if len(replies) > 1 else replies), *stretch[len(replies) :]]
            result += [(position, message) for message in run]
    # Only what is between the parts of a round with a late result is not in order already.
    return [message for _, message in sorted(result, key=itemgetter(0))]


def _stretches(group: Round) -> list[tuple[int, Sequence[Message]]]:
    """Return the parts of a round that other rounds separate, each with its first position."""
    first, last = group.positions[0], group.positions[-1]
    if last - first < len(group.positions):
        return [(first, group.messages)]
    stretches: list[tuple[int, list[Message]]] = []
    for position, message in zip(group.positions, group.messages, strict=True):
        if not stretches or stretches[-1][0] + len(stretches[-1][1]) != position:
            stretches.append((position, []))
        stretches[-1][1].append(message)
    return list(stretches)


def answer_each_reply(run: list[Message]) -> list[Message]:
    """Return a run of replies with the results of each right behind it.

    The run is of a view: the replies come before all results. A run in which nothing has to move is
    returned as the same list.

    >>> from agentic.messages import ToolResult
    >>> call, result = ToolCall("c1", "read"), ToolResult("c1", "read", "text")
    >>> run = [
    ...     Message("assistant", tool_calls=[call]),
    ...     Message("assistant", "I look."),
    ...     Message("tool", tool_results=[result]),
    ... ]
    >>> [message.role for message in answer_each_reply(run)]
    ['assistant', 'tool', 'assistant']
    """
    # Most runs end here.
    if not any(one.tool_calls and other.role == "assistant" for one, other in pairwise(run)):
        return run
    replies = [[message] for message in run if message.role == "assistant"]
    callers: dict[str, list[int]] = {}
    for place, (reply, *_) in enumerate(replies):
        for call in reply.tool_calls:
            callers.setdefault(call.id, []).append(place)
    for message in run[len(replies) :]:
        parts: dict[int, list[ToolResult]] = {}
        for result in message.tool_results:
            # Of several calls with one id, the latest is answered first: see `split_rounds`.
            waiting = callers.get(result.call_id)
            parts.setdefault(waiting.pop() if waiting else -1, []).append(result)
        media = message.media
        for place, results in sorted(parts.items()) or [(-1, [])]:
            is_whole = len(parts) <= 1
            part = message if is_whole else message.replace(tool_results=results, media=media)
            replies[place].append(part)
            media = ()
    return [message for group in replies for message in group]


def merge_replies(replies: Sequence[Message]) -> Message:
    r"""Return one message with the texts, calls and media of several. Thinking is left out.

    >>> merge_replies([Message("assistant", "I look."), Message("assistant", "Here.")]).content
    'I look.\n\nHere.'
    """
    return Message(
        "assistant",
        "\n\n".join(reply.content for reply in replies if reply.content),
        tool_calls=[call for reply in replies for call in reply.tool_calls],
        media=[part for reply in replies for part in reply.media],
    )
