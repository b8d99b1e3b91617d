"""Encode messages and tools for the wire.

`encode` keeps unchanged what came from the wire. `encode_request` also makes sure that the API
accepts the conversation, even if it was truncated or edited.

A message without a usable payload is rebuilt as blocks, none of them empty. Thinking is left out:
the API accepts it only with its signature, which is in the payload
(https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows, 2026-11). The rules for
the role `system`, which newer models support:
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (2026-11).
"""

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from agentic.messages import (
    Media,
    Message,
    ToolCall,
    ToolResult,
    close_open_rounds,
    leading_system_count,
)
from agentic.providers.anthropic._decoding import (
    INVALID_JSON,
    NAME,
    blocks_of,
    input_text,
    read_payload,
    system_part,
    text_block,
    text_of,
    wire_message,
    without_thinking,
)
from agentic.providers.anthropic._turns import Turn, join, name_calls
from agentic.providers.kit import (
    NameRule,
    RecordRole,
    arguments_as_object,
    at,
    items_at,
    native_payload,
    place_record,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._json import json_text, with_arguments
from agentic.providers.kit._media import text_with_media, to_base64
from agentic.providers.kit._messages import payload_facts, write_calls
from agentic.tools import ToolDefinition

# https://github.com/BerriAI/litellm/pull/26788.
TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
# Values of a tool's callers that the API defines; any other value is defined by the host:
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling (2026-11).
_CALLERS = ("direct", "code_execution_")
WITHOUT_PREFILL = re.compile(r"claude-[a-z]+-(4[-.][6-9]|[5-9])(?![0-9])")
"""Models from version 4.6 on: https://github.com/strands-agents/sdk-python/issues/1694, and
https://platform.claude.com/docs/en/about-claude/models/migration-guide (2026-11)."""
# Added where a truncated conversation lacks a user message, at its start or at its end.
_GO_ON = Turn({"role": "user", "content": [text_block("Continue.")]})
_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    r"""Return a request's `messages`. A truncated history is not repaired; see `encode_request`.

    System messages become user text in tags here: only a whole request has a field for them.

    >>> encode([Message("system", "Be brief.")])
    [{'role': 'user', 'content': '<system>\nBe brief.\n</system>'}]
    """
    turns = join(_turns(place_record(messages)))
    if not all(turn.native for turn in turns):
        turns = name_calls(turns)  # leaves alone what came from the wire
    return [_wire(turn) for turn in turns]


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    record_role: RecordRole = "user",
    model: str = "",
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results are left out. If the conversation begins or ends with a
    rebuilt reply, a user message is added there; `model` decides whether it may end with one that
    came from the API. What was added behind a reply stays there when another reply follows. A
    summary is a user message of its own, or a part of `system` if that is the `record_role`.

    >>> encode_request([Message("user", "Why?")], system_prompt="Be brief.")
    {'system': 'Be brief.', 'messages': [{'role': 'user', 'content': 'Why?'}]}
    """
    closed = place_record(close_open_rounds(list(messages), answer_async=True), record_role)
    leading = leading_system_count(closed)
    request: dict[str, Any] = {}
    system = _system(system_prompt, closed[:leading])
    if system is not None:
        request["system"] = replace_surrogates(system)
    turns = name_calls(join(_settle(_turns(closed, leading), model)), rename_reused=True)
    messages = [_with_inputs(_wire(turn), _as_object) for turn in turns]
    request["messages"] = replace_surrogates(messages)
    if tools:
        request["tools"] = encode_tools(tools)
    return request


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the definitions of the tools that the model may call.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["name"]
    'now'
    """
    return [_tool(tool) for tool in tools]


def _turns(messages: Sequence[Message], leading: int = 0) -> Iterator[Turn]:
    """Encode messages; of the leading ones, only those that came from the wire's `messages`."""
    for position, message in enumerate(messages):
        turn = payload_facts(message, NAME, _turn)
        if turn is None:
            turn = _turn(_payload(message))
        if turn is not None:
            yield turn
        # Leading system messages that were not among the `messages` are in the request's `system`.
        elif position >= leading:
            yield from _written_anew(message)


def _payload(message: Message) -> Any:
    return native_payload(
        message, NAME, read_payload, TOOL_NAMES.wire, without_thinking, edit=_edit
    )


def _turn(payload: Any) -> Turn | None:
    """Return the turn for a payload's wire message; None if it has none."""
    wire = _with_inputs(wire_message(payload), with_arguments)
    if wire is None:
        return None
    between = at(payload, "between")
    return Turn(
        wire,
        native=True,
        places=tuple(at(payload, "at") or ()),
        # A tuple, to be compared with one: a payload that was stored has a list.
        between=(at(between, 0), at(between, 1)) if between else None,
    )


def _with_inputs(wire: Any, change: Callable[..., Any]) -> Any:
    """Return the wire message with `change` applied to the blocks that are calls."""
    if text_at(wire, "role") != "assistant":
        return wire
    content = items_at(wire, "content")
    blocks = [
        change(block, "input", {}) if text_at(block, "type") == "tool_use" else block
        for block in content
    ]
    return wire if all(map(operator.is_, blocks, content)) else {**wire, "content": blocks}


def _as_object(block: dict[str, Any], key: str, empty: dict[str, Any]) -> dict[str, Any]:
    value = block.get(key) or empty
    if isinstance(value, dict):
        return block
    return {**block, key: arguments_as_object(json_text(value), INVALID_JSON)}


def _edit(payload: Any, message: Message) -> Any | None:
    """Return the payload of a reply with the message's calls, which keeps the signed thinking."""
    wire = wire_message(payload)
    blocks = write_calls(items_at(wire, "content"), message.tool_calls, _edit_call, _is_call)
    if not blocks:
        return None
    edited = {**wire, "content": blocks}
    return edited if wire is payload else {**payload, "message": edited}


def _is_call(block: Any) -> bool:
    return text_at(block, "type") == "tool_use"


def _edit_call(block: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    edited = {**block, "id": call.id}
    if input_text(at(block, "input")) != call.arguments:
        edited["input"] = arguments_as_object(call.arguments, INVALID_JSON)
    return edited


def _written_anew(message: Message) -> Iterator[Turn]:
    blocks = _rebuild(message)
    if blocks:
        role = "assistant" if message.role == "assistant" else "user"
        is_record = message.summary is not None and role == "user"
        yield Turn({"role": role, "content": blocks}, is_record=is_record)


def _wire(turn: Turn) -> Any:
    """Return the wire message; a single rebuilt text is sent as a string, not as a list."""
    # A string and one text block say the same. The string is what people write and read in logs.
    if not turn.native and len(turn.blocks) == 1 and list(turn.blocks[0]) == ["type", "text"]:
        return {**turn.message, "content": turn.blocks[0]["text"]}
    return turn.message


def _system(system_prompt: str, leading: Iterable[Message]) -> Any:
    """Return the request's `system`: a string, or blocks if there are several; None if empty."""
    parts: list[Any] = [system_prompt] if system_prompt.strip() else []
    for message in leading:
        payload = _payload(message)
        part = system_part(payload)
        if part is not None:
            parts.append(part)
        elif wire_message(payload) is None and (text := text_with_media(message)).strip():
            parts.append(text)
    if len(parts) < 2:  # noqa: PLR2004  one part stays what it is
        return parts[0] if parts else None
    # A blank text is accepted alone, if it came so, and not as a block.
    filled = [part for part in parts if isinstance(part, list) or part.strip()]
    return [block for part in filled for block in blocks_of(part)]


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    written: dict[str, Any] = {"name": TOOL_NAMES.wire(tool.name)}
    if tool.description:
        written["description"] = tool.description
    written["input_schema"] = dict(tool.parameters)
    # A caller that the host defines is for its own executor, and means nothing to the API.
    callers = [caller for caller in tool.allowed_callers if caller.startswith(_CALLERS)]
    if any(caller.startswith("code_execution_") for caller in callers):
        written["allowed_callers"] = callers
    wire: dict[str, Any] = replace_surrogates(written)
    return wire


def _rebuild(message: Message) -> list[dict[str, Any]]:
    r"""Return blocks for a message, none if it is empty.

    >>> _rebuild(Message("system", "Be brief."))
    [{'type': 'text', 'text': '<system>\nBe brief.\n</system>'}]
    """
    # Results come first: the API refuses a turn in which other content precedes them.
    blocks = [_result(result) for result in message.tool_results]
    takes_media = message.role in {"user", "tool"}
    failed = [part for result in message.tool_results if result.error for part in result.media]
    media = [_media_block(media) for media in (*failed, *message.media) if takes_media]
    # The API takes no media from the model: a message names what it cannot show.
    text = message.content if takes_media else text_with_media(message)
    said: list[dict[str, Any]] = []
    if text.strip():
        # Only newer models support the role in the middle, and not between two user messages.
        marked = f"<system>\n{text}\n</system>" if message.role == "system" else text
        said = [text_block(marked)]
    # Images go before a question about them, and after the text of a record.
    blocks += [*said, *media] if message.summary is not None else [*media, *said]
    blocks += [_call(call) for call in message.tool_calls]
    written: list[dict[str, Any]] = replace_surrogates(blocks)
    return written


def _result(result: ToolResult) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    # A result without text is accepted; one with a blank text block is not.
    if result.text.strip():
        block["content"] = result.text
    if result.error is not None:
        block["is_error"] = True
    # A failed result may only contain text, so its media are sent after it:
    # https://github.com/vellum-ai/vellum-assistant/pull/18387.
    elif result.media:
        said = [text_block(result.text)] if result.text.strip() else []
        block["content"] = [*said, *map(_media_block, result.media)]
    return block


def _call(call: ToolCall) -> dict[str, Any]:
    """Return the block for a call.

    >>> _call(ToolCall("c1", "read", "{oops"))["input"]
    {'INVALID_JSON': '{oops'}
    """
    arguments = arguments_as_object(call.arguments, INVALID_JSON)
    name = TOOL_NAMES.wire(call.name)
    return {"type": "tool_use", "id": call.id, "name": name, "input": arguments}


def _media_block(media: Media) -> dict[str, Any]:
    """Return the block for some media, or a text that names what is left out, such as audio.

    >>> _media_block(Media("audio/wav", url="https://example.com/a.wav"))["text"]
    '[left out: audio/wav at https://example.com/a.wav, which this provider does not read]'
    """
    kind = "image" if media.media_type.startswith("image/") else "document"
    source = _source(media)
    if source is not None:
        return {"type": kind, "source": source}
    place = f" at {media.url}" if media.url else ""
    return text_block(f"[left out: {media.media_type}{place}, which this provider does not read]")


def _source(media: Media) -> dict[str, Any] | None:
    file_id = media.extra.get("file_id")
    if isinstance(file_id, str) and file_id:
        return {"type": "file", "file_id": file_id}
    if media.data and media.media_type in _IMAGES | {"application/pdf"}:
        data = to_base64(media.data)
        return {"type": "base64", "media_type": media.media_type, "data": data}
    # The one document type whose source holds text instead of base64.
    if media.data and media.media_type == "text/plain":
        text = media.data.decode("utf-8", "replace")
        return {"type": "text", "media_type": "text/plain", "data": text}
    # Any image: the type of an address is often only assumed (`image/*`).
    readable = media.media_type.startswith("image/") or media.media_type == "application/pdf"
    if readable and media.url.startswith(("http://", "https://")):
        return {"type": "url", "url": media.url}
    return None


def _settle(turns: Iterable[Turn], model: str) -> list[Turn]:
    """Return turns that begin, alternate and end as the API requires.

    A turn that came from the wire and is still at its original position is left alone.
    """
    may_continue = WITHOUT_PREFILL.search(model) is None
    settled = _without_empty_runs(_with_system_in_place(list(turns)), may_continue=may_continue)
    first = next((turn for turn in settled if turn.role != "system"), None)
    # A conversation that began with the model came so from the wire, where it was accepted.
    came_first = first is not None and first.between is not None and first.between[0] is None
    if first is None or (first.role == "assistant" and not came_first):
        settled.insert(0, _GO_ON)
    return list(_with_requests_between(settled, may_continue=may_continue))


def _with_requests_between(turns: Sequence[Turn], *, may_continue: bool) -> Iterator[Turn]:
    """Put a request behind each reply that the model cannot continue.

    A reply that follows another one was made by a request that ended so, and keeps it, since newer
    models bind their thinking to all that precedes it. Parts of one turn from elsewhere are joined
    instead, and so is what came from the wire behind a reply.
    """
    for turn, after in itertools.zip_longest(turns, turns[1:]):
        yield turn
        if turn.role != "assistant" or _may_end(turn, may_continue=may_continue):
            continue
        is_last = after is None
        if is_last or (after.role == "assistant" and (turn.native or after.native)):
            before = after.between[0] if after is not None and after.between else None
            if before != "assistant":
                yield _GO_ON


def _may_end(turn: Turn, *, may_continue: bool) -> bool:
    """Return whether a request may end with a reply: with calls, or to be continued."""
    # What is sent back unchanged is a turn that the server paused, or a prefill by the caller.
    if not turn.native:
        return bool(_has_calls(turn))
    if _has_calls(turn) or is_paused(turn.message):
        return True
    block = turn.blocks[-1] if turn.blocks else None
    # The API refuses both (see `validate`).
    ends_in_thought = text_at(block, "type") in {"thinking", "redacted_thinking"}
    text = text_at(block, "text")
    return may_continue and not ends_in_thought and text == text.rstrip()


def _has_calls(turn: Turn) -> bool:
    return any(text_at(block, "type") == "tool_use" for block in turn.blocks)


def is_paused(message: Any) -> bool:
    """Return whether a reply ends as one that the server paused, which is sent back to go on."""
    kind = text_at(message, "content", -1, "type")
    is_server_call = kind.endswith(("_tool_use", "_tool_result"))
    return is_server_call or kind == "compaction"


def _with_system_in_place(turns: list[Turn]) -> list[Turn]:
    """Turn system messages that are no longer at a valid position into user text in tags."""
    placed: list[Turn] = []
    for position, turn in enumerate(turns):
        if turn.role != "system" or _may_stand(turn, placed, turns[position + 1 :]):
            placed.append(turn)
            continue
        text = "\n\n".join(filter(None, map(text_of, turn.blocks)))
        placed += _written_anew(Message("system", text))
    return placed


def _may_stand(turn: Turn, before: Sequence[Turn], after: Sequence[Turn]) -> bool:
    if directive_only(turn.message):
        return True
    beside = (before[-1].role if before else None, after[0].role if after else None)
    # Between the same two roles it was accepted before.
    if turn.between == beside:
        return True
    # Only the ends of a run of system messages have to fit.
    earlier = next((other for other in reversed(before) if other.role != "system"), None)
    later = next((other for other in after if other.role != "system"), None)
    fits = later is None or later.role == "assistant"
    return fits and earlier is not None and follows_well(earlier.message)


def directive_only(message: Any) -> bool:
    """Return whether a system message holds settings and no text: it is allowed anywhere."""
    return at(message, "content") == [] and at(message, "output_config") is not None


def follows_well(message: Any) -> bool:
    """Return whether a system message may follow: after a user or a server tool's result."""
    if at(message, "role") == "user":
        return True
    kind = at(message, "content", -1, "type")
    return isinstance(kind, str) and kind.endswith("_tool_result")


def _without_empty_runs(turns: list[Turn], *, may_continue: bool) -> list[Turn]:
    """Leave out empty turns; only a reply at the very end may be empty, if it may be continued."""
    kept: list[Turn] = []
    seen = 0
    for role, run in itertools.groupby(turns, key=lambda turn: turn.role):
        group = list(run)
        seen += len(group)
        is_reply = role == "assistant" and may_continue
        at_the_end = is_reply and seen == len(turns) and not group[-1].blocks
        if role == "system" or at_the_end or any(map(_says_something, group)):
            kept += group
    return kept


def _says_something(turn: Turn) -> bool:
    # A model may reply with white space alone: https://github.com/nick1udwig/kibitz/issues/78
    content = at(turn.message, "content")
    texts = [text_at(block, "type") == "text" and text_at(block, "text") for block in turn.blocks]
    blank = all(isinstance(text, str) and not text.strip() for text in texts)
    return not blank or not isinstance(content, str | list)
