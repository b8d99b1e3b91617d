"""Encode messages and tools for the wire, each message from its payload or its typed fields.

Blocks that are sent back are changed if the model wrote something that Bedrock rejects: arguments
must be an object (https://github.com/vercel/ai/pull/19023), and an invalid tool name that a model
made up would make every later request fail (https://github.com/vercel/ai/pull/17769).

What only some models behind Converse accept is known by the model family in the `modelId`.

Explicit caching: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (read on
2026-11-22). Claude accepts a `cachePoint` after tools, after system and in messages; Nova only
after system and in messages (https://github.com/NousResearch/hermes-agent/issues/97281). Any other
model rejects the request. At most four are allowed. The encoder of Anthropic's own API explains
the choice of places.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import attrs

from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds
from agentic.providers.bedrock._decoding import (
    NAME,
    DocumentNames,
    decode_payload,
    encode_media,
    is_blank,
    is_sound,
    read_call,
    read_media,
    without_reasoning,
)
from agentic.providers.kit import (
    NameRule,
    UniqueIds,
    arguments_as_object,
    at,
    items_at,
    native_payload,
    place_record,
    plain,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._json import UNPARSED, is_deep, json_text
from agentic.providers.kit._media import text_with_media
from agentic.providers.kit._messages import payload_facts, write_calls
from agentic.providers.kit._record import RecordRole
from agentic.tools import ToolDefinition

# Llama 4: https://github.com/strands-agents/harness-sdk/issues/1223. Mistral Large: the integration
# tests of https://github.com/langchain-ai/langchain-aws expect a rejection. Recorded: Claude 4.5
# accepts both, Nova 2 text next to results, Nova Micro and Kimi K2 text next to calls. The Decider
# recognizes others by their error (https://github.com/langchain-ai/langchain-aws/issues/141,
# https://github.com/BerriAI/litellm/issues/6053, https://github.com/microsoft/autogen/issues/6480).
_TWO_KINDS_REFUSED = ("meta.llama", "mistral.")

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html
# (2026-11): only Claude and Nova; Llama, too, accepts documents (recorded). The ARN of a profile
# does not name its family.
_IMAGES_IN_RESULTS = ("anthropic.", "amazon.nova", ":application-inference-profile/")
_SEE_BELOW = {"text": "(See the image after the results.)"}

_TALK = {
    *("text", "image", "document", "video", "audio"),
    *("guardContent", "citationsContent", "searchResult"),
}

# The short turn that splits a turn of a role, since roles have to alternate.
_BETWEEN = {
    "user": {"role": "assistant", "content": [{"text": "(The results have arrived.)"}]},
    "assistant": {"role": "user", "content": [{"text": "(Go on.)"}]},
}

# Claude since 3.5 Haiku. 3.5 Sonnet has a cache only for participants of a preview.
_CLAUDE = re.compile(r"anthropic\.claude-(?!v\d|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet)")
# From 4.6 on: https://github.com/anomalyco/opencode/issues/29760 (2026-05) quotes the error.
_WITHOUT_PREFILL = re.compile(r"claude-[a-z]+-(4[-.][6-9]|[5-9])(?![0-9])")
_NOVA = re.compile(r"amazon\.nova-(?:micro|lite|pro|premier|2-lite)-")
_MARK = {"cachePoint": {"type": "default"}}


def refuses_two_kinds(model: str) -> bool:
    """Return whether a family rejects text next to calls or results in one turn.

    >>> refuses_two_kinds("us.meta.llama4-scout-17b-instruct-v1:0"), refuses_two_kinds("")
    (True, False)
    """
    return any(family in model for family in _TWO_KINDS_REFUSED)


def refuses_last_reply(model: str) -> bool:
    """Return whether a model rejects a reply as the last message, which it cannot continue.

    >>> refuses_last_reply("us.anthropic.claude-opus-4-6-v1"), refuses_last_reply("")
    (True, False)
    """
    return _WITHOUT_PREFILL.search(model) is not None


def shows_images_in_results(model: str) -> bool:
    """Return whether a family accepts images in a result; True if the id does not name a family.

    >>> shows_images_in_results("us.amazon.nova-lite-v1:0"), shows_images_in_results("meta.llama4")
    (True, False)
    """
    return not model or any(family in model for family in _IMAGES_IN_RESULTS)


def wants_results_first(model: str) -> bool:
    """Return whether a family, such as Claude, expects results at the start of their message.

    >>> wants_results_first("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    True
    """
    # https://github.com/nulib/dc-api-v2/pull/296 quotes the error.
    return "anthropic." in model


def fit_family(messages: list[Any], model: str) -> list[Any]:
    """Return the messages as the family requires them; unchanged for an unknown family."""
    if not shows_images_in_results(model):
        messages = list(map(_images_after_results, messages))
    if refuses_two_kinds(model):
        return part_turns(messages)
    return list(map(_results_first, messages)) if wants_results_first(model) else messages


def _images_after_results(message: Any) -> Any:
    """Return the message with the images of its results as blocks after the others."""
    images: list[Any] = []
    blocks: list[Any] = []
    for block in items_at(message, "content"):
        content = items_at(block, "toolResult", "content")
        shown = [part for part in content if isinstance(at(part, "image"), dict)]
        rest = [part for part in content if part not in shown] or [_SEE_BELOW]
        result = {**block["toolResult"], "content": rest} if shown else None
        blocks.append({**block, "toolResult": result} if shown else block)
        images += shown
    return {**message, "content": blocks + images} if images else message


def part_turns(messages: list[Any]) -> list[Any]:
    """Split each turn of two kinds in two, with a short turn of the other role in between.

    Results come before the other content and calls after it, as in the whole turn.

    >>> used = {"toolUse": {"toolUseId": "t1", "name": "now", "input": {}}}
    >>> turns = part_turns([{"role": "assistant", "content": [{"text": "I look."}, used]}])
    >>> [turn["content"] == [used] for turn in turns]
    [False, False, True]
    """
    return [part for message in messages for part in _parts(message)]


def _parts(message: Any) -> Iterator[Any]:
    if not is_two_kinds(message):
        yield message
        return
    blocks, role = items_at(message, "content"), text_at(message, "role")
    parts = [list(filter(_is_talk, blocks)), [block for block in blocks if not _is_talk(block)]]
    first, second = parts if role == "assistant" else reversed(parts)
    yield {**message, "content": first}
    yield _BETWEEN["assistant" if role == "assistant" else "user"]
    yield {**message, "content": second}


def is_two_kinds(message: Any) -> bool:
    """Return whether a message has text or media in addition to calls or results."""
    blocks = items_at(message, "content")
    return any(map(_is_tool_block, blocks)) and any(map(_is_talk, blocks))


def says_before_results(message: Any) -> bool:
    """Return whether text or media come before a result in a user message."""
    kinds = [
        _is_tool_block(b) for b in items_at(message, "content") if _is_tool_block(b) or _is_talk(b)
    ]
    return at(message, "role") == "user" and kinds != sorted(kinds, reverse=True)


def _results_first(message: Any) -> Any:
    if not says_before_results(message):
        return message
    # A stable sort: within each kind the order stays.
    return {**message, "content": sorted(items_at(message, "content"), key=_is_talk)}


def _is_tool_block(block: Any) -> bool:
    return isinstance(at(block, "toolUse"), dict) or isinstance(at(block, "toolResult"), dict)


def _is_talk(block: Any) -> bool:
    return isinstance(block, dict) and not _TALK.isdisjoint(block)


def _has_prompt_cache(model: str) -> bool:
    """Return whether the model of a `modelId` accepts cache marks. An ARN may not name its model.

    >>> _has_prompt_cache("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    True
    >>> _has_prompt_cache("anthropic.claude-3-haiku-20240307-v1:0")
    False
    """
    return bool(_CLAUDE.search(model) or _NOVA.search(model))


def mark_for_cache(request: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the request with cache marks added, or unchanged if the caller has set any.

    The request passed in is not modified.

    >>> request = {"messages": [{"role": "user", "content": [{"text": "Why?"}]}]}
    >>> mark_for_cache(request, "amazon.nova-lite-v1:0")["messages"][0]["content"]
    [{'text': 'Why?'}, {'cachePoint': {'type': 'default'}}]
    """
    # The caller decides on all marks, since the API rejects lifetimes in the wrong order.
    if not _has_prompt_cache(model) or any(at(part, "cachePoint") for part in _markable(request)):
        return dict(request)
    result = {**request, "messages": _mark_messages(items_at(request, "messages"))}
    if system := items_at(request, "system"):
        result["system"] = [*system, _MARK]
    if _CLAUDE.search(model) and (tools := items_at(request, "toolConfig", "tools")):
        result["toolConfig"] = {**request["toolConfig"], "tools": [*tools, _MARK]}
    return result


def _markable(request: Mapping[str, Any]) -> Iterator[Any]:
    yield from items_at(request, "toolConfig", "tools")
    yield from items_at(request, "system")
    for message in items_at(request, "messages"):
        yield from items_at(message, "content")


def _mark_messages(messages: list[Any]) -> list[Any]:
    result = list(messages)
    users = [place for place, each in enumerate(messages) if at(each, "role") == "user"]
    # As for Anthropic: the last mark writes the cache, and the one before it reads it.
    for place in [place for place in users if items_at(messages[place], "content")][-2:]:
        result[place] = {**messages[place], "content": [*messages[place]["content"], _MARK]}
    return result


TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), 64)
"""The rules for names and ids:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html (2026-11)."""
# boto3 puts it in place of a block that it does not know, and refuses to send it.
_UNKNOWN = "SDK_UNKNOWN_MEMBER"
_NO_OUTPUT = "(no output)"
_GO_ON = "Continue."
_OPENING = "(The conversation continues.)"
_GONE = "No longer available. Do not call it."


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `messages`. A truncated history is not repaired; see `encode_request`.

    System messages become user text in tags here: only a whole request has a field for them.

    >>> encode([Message("user", "Hi"), Message("user", "there")])
    [{'role': 'user', 'content': [{'text': 'Hi'}, {'text': 'there'}]}]
    """
    messages = place_record(messages)
    parts = _as_they_came(messages)
    wire: list[Any] = []
    by_position: dict[int, list[Any]] = {}
    role_before, own_before = "", False
    for part, is_own in _written(messages) if parts is None else parts:
        role = text_at(part, "role")
        # Older versions of the service reject consecutive user messages:
        # https://github.com/langchain-ai/langchain-aws/issues/130
        joins = role == role_before and role in {"user", "assistant"}
        # Two of the caller's own messages that came from the wire were accepted as they were.
        if joins and not (is_own and own_before):
            # A list for every message, nearly always of one, cost half as much as all the rest.
            by_position.setdefault(len(wire) - 1, [wire[-1]]).append(part)
        else:
            wire.append(part)
        role_before, own_before = role, is_own
    for place, turn in by_position.items():
        wire[place] = _joined(turn)
    return wire


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    model: str = "",
    record_role: RecordRole = "user",
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results are left out. If the conversation does not start with a
    user message, one is added. A summary is a user message of its own, the first block of the
    user's message that follows it, or a part of `system` if that is the `record_role`. If the
    `modelId` is passed as `model`, turns are written as the model's family requires, and end with a
    user message if the model cannot continue a reply. For boto3, pass the result through
    `for_boto3`.

    >>> encode_request([Message("user", "Hi")], system_prompt="Be brief.")
    {'system': [{'text': 'Be brief.'}], 'messages': [{'role': 'user', 'content': [{'text': 'Hi'}]}]}
    """
    history = place_record(close_open_rounds(list(messages), answer_async=True), record_role)
    leading, rest = _split_system(history)
    if refuses_last_reply(model):
        rest = list(_with_requests_between(rest))
    system = [{"text": system_prompt}] if system_prompt.strip() else []
    for message in leading:
        system += _system_blocks(message)
    wire = list(map(_with_blocks, encode(rest)))
    # https://github.com/pydantic/pydantic-ai/issues/4495
    if not wire or at(wire[0], "role") == "assistant":
        wire.insert(0, {"role": "user", "content": [{"text": _OPENING}]})
    if refuses_last_reply(model) and at(wire[-1], "role") == "assistant":
        wire.append({"role": "user", "content": [{"text": _GO_ON}]})
    wire = fit_family(wire, model)
    config = _tool_config(wire, tools)
    return {
        **({"system": replace_surrogates(system)} if system else {}),
        "messages": replace_surrogates(wire),
        **({"toolConfig": config} if config else {}),
    }


def _with_requests_between(messages: Sequence[Message]) -> Iterator[Message]:
    """Put a request behind each reply without calls that another one follows.

    The other one was made by a request that ended so, and keeps it. Parts of one turn from
    elsewhere are joined instead. Nothing parts a call from its result, which may stand behind a
    whole run of replies.
    """
    before: Message | None = None
    has_open_calls = False
    for message in messages:
        if _is_silent(message):
            continue
        if message.role != "assistant":
            has_open_calls = False
        elif before is not None and not has_open_calls and _answers(message, before):
            yield Message("user", _GO_ON)
        yield message
        has_open_calls = has_open_calls or bool(message.tool_calls)
        before = message


def _answers(message: Message, before: Message) -> bool:
    are_replies = before.role == message.role == "assistant"
    return are_replies and any(map(_payload, (before, message)))


def _is_silent(message: Message) -> bool:
    """Return whether nothing is sent for a message."""
    payload = _payload(message)
    if payload is not None:
        return all(map(is_blank, items_at(payload, "content")))
    says = message.content.strip() or message.media
    return not (says or message.tool_calls or message.tool_results)


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the tools that the model may call, as entries of `toolConfig.tools`.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["toolSpec"]["description"]
    'Tell the time.'
    """
    return [_spec(tool.name, tool.description, plain(tool.parameters)) for tool in tools]


def _wire_input(arguments: Any) -> dict[str, Any]:
    """Return a call's arguments as an object, which holds their text if they are not a valid one.

    >>> _wire_input('{"path": "a.py"}'), _wire_input(None), _wire_input("{oops")
    ({'path': 'a.py'}, {}, {'unparsed_arguments': '{oops'})
    """
    if arguments is None or isinstance(arguments, str):
        return arguments_as_object(arguments or "")
    if is_deep(arguments):
        return {UNPARSED: replace_surrogates(json_text(arguments))}
    return arguments if isinstance(arguments, dict) else {UNPARSED: arguments}


def _fresh_ids(ids: Iterable[str]) -> UniqueIds:
    # Short enough that a number of nine digits can be appended.
    return UniqueIds(used=set(ids), stem=lambda base: base[:54])


@attrs.define
class _CallIds:
    """The call ids of one request, which are unique and the same for a call and its result."""

    _fresh: UniqueIds = attrs.field(converter=_fresh_ids)
    """Generates new ids; created from the ids of calls that are sent unchanged."""
    kept: set[str] = attrs.field(init=False, factory=set)
    """The ids of the last run's calls that were sent unchanged."""
    # A queue each: results come in the order of their calls, and nothing else tells two of one id
    # apart.
    _waiting: defaultdict[str, deque[str]] = attrs.field(
        init=False, factory=lambda: defaultdict(deque)
    )
    """For the calls that may still be answered: from the original id to the ids sent."""

    def keep(self, call_id: str) -> str:
        """Return the id for a call from a payload: its own unless that would be rejected."""
        # Models make ids too long to be sent back (https://github.com/BerriAI/litellm/issues/34239)
        # and the same twice in a turn (https://github.com/BerriAI/litellm/issues/20048); a later
        # turn may use an id again.
        if not CALL_IDS.accept(call_id) or call_id in self.kept:
            return self.give(call_id)
        self.kept.add(call_id)
        self._waiting[call_id].append(call_id)
        return call_id

    def give(self, call_id: str) -> str:
        """Return the id for a rebuilt call."""
        # As a tool's name: not every model accepts an id with . or :.
        fresh = self._fresh.take(TOOL_NAMES.wire(call_id))
        self._waiting[call_id].append(fresh)
        return fresh

    def answer(self, call_id: str) -> str:
        """Return the id for a result: that of the first call it may answer."""
        waiting = self._waiting[call_id]
        return waiting.popleft() if waiting else CALL_IDS.wire(call_id)

    def close(self) -> None:
        """Forget the last run's calls: no later message may answer them."""
        self._waiting.clear()
        self.kept.clear()


def _mend(message: Any, ids: _CallIds) -> Any | None:
    """Return a wire message fixed for sending, itself if it is valid; None if nothing is left."""
    content = at(message, "content")
    if not isinstance(content, list):
        return message
    # A blank text next to other content is accepted from the user (recorded), and not from the
    # model: https://github.com/NousResearch/hermes-agent/pull/67978
    strict = at(message, "role") == "assistant" or all(map(is_blank, content))
    blocks = [_mend_block(block, ids) for block in content if not _is_refused(block, strict)]
    if len(blocks) == len(content) and all(map(is_, blocks, content)):
        return message if blocks else None
    return {**message, "content": blocks} if blocks else None


def _is_refused(block: Any, strict: bool) -> bool:
    """Return whether a block would be rejected: an empty text; if `strict`, a blank one, too."""
    # gpt-oss produces them: https://github.com/strands-agents/harness-sdk/pull/3029
    is_bad = is_blank(block) if strict else block == {"text": ""}
    return is_bad or (isinstance(block, dict) and _UNKNOWN in block)


def _mend_block(block: Any, ids: _CallIds) -> Any:
    if isinstance(at(block, "toolUse"), dict):
        return _mend_call(block, ids)
    if isinstance(at(block, "toolResult"), dict):
        call_id = text_at(block, "toolResult", "toolUseId")
        answer = ids.answer(call_id)
        if answer != call_id:
            return {**block, "toolResult": {**block["toolResult"], "toolUseId": answer}}
    return block


def _mend_call(block: Any, ids: _CallIds) -> Any:
    call = block["toolUse"]
    name, call_id, arguments = text_at(call, "name"), text_at(call, "toolUseId"), call.get("input")
    # A server tool has run: its result is in the same reply and refers to the id as it is.
    call_id_sent = call_id if call.get("type") == "server_tool_use" else ids.keep(call_id)
    tool_use = {
        "toolUseId": call_id_sent,
        "name": TOOL_NAMES.wire(name),
        "input": _wire_input(arguments),
    }
    if call_id_sent == call_id and TOOL_NAMES.accept(name) and tool_use["input"] is arguments:
        return block
    return {**block, "toolUse": {**call, **tool_use}}


def _as_they_came(messages: Sequence[Message]) -> list[tuple[Any, bool]] | None:
    """Return untouched messages' payloads like `_written`; None if any of them has to change.

    The record of earlier conversation at the start is the only one that may be rebuilt.
    """
    start = int(bool(messages) and messages[0].summary is not None)
    parts: list[tuple[Any, bool]] = list(_written(messages[:start]))
    asked: set[str] = set()
    role: str = ""
    for message in messages[start:]:
        calls = payload_facts(message, NAME, _calls_as_they_came)
        if calls is None or message.native is None:
            return None
        before, role = role, message.role
        # A run of replies is one turn: results may answer any call in it.
        if asked and role != "tool" and (before, role) != ("assistant", "assistant"):
            asked = set()
        if calls:
            if not asked.isdisjoint(calls):
                return None
            asked.update(calls)
        parts.append((message.native.payload, role == "user"))
    return parts


def _calls_as_they_came(payload: Any) -> frozenset[str] | None:
    """Return the ids of a payload's calls; None if something in the payload has to change.

    This does not check whether an earlier message of the same run uses one of the ids.
    """
    ids = _CallIds(_call_ids([payload]))
    if payload is None or isinstance(payload, list) or _mend(payload, ids) is not payload:
        return None
    return frozenset(ids.kept)


def _written(messages: Sequence[Message]) -> Iterator[tuple[Any, bool]]:
    """Yield wire messages, each with whether it is an unchanged user message."""
    payloads = list(map(_payload, messages))
    writer = _MessageWriter(_CallIds(_call_ids(payloads)), DocumentNames.beside(payloads))
    for message, payload in zip(messages, payloads, strict=True):
        part = writer.write(message, payload)
        if part is not None:
            yield part, payload is not None and message.role == "user"


def _split_system(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Split the messages into those for the `system` field and the others."""
    for position, message in enumerate(messages):
        if message.role != "system" or isinstance(_payload(message), dict):
            return list(messages[:position]), list(messages[position:])
    return list(messages), []


def _system_blocks(message: Message) -> list[Any]:
    payload = _payload(message)
    return payload if isinstance(payload, list) else _text_blocks(text_with_media(message))


def _payload(message: Message) -> Any:
    return native_payload(
        message, NAME, decode_payload, TOOL_NAMES.wire, without_reasoning, edit=_edit
    )


def _edit(payload: Any, message: Message) -> Any | None:
    """Return a reply with the message's calls, and without media that were removed.

    Its reasoning stays.
    """
    blocks = write_calls(items_at(payload, "content"), message.tool_calls, _edit_call, _is_call)
    if blocks is None:
        return None
    if not message.media and any(map(read_media, blocks)):
        rest = [b for b in blocks if read_media(b) is None and not isinstance(at(b, "text"), str)]
        # The text of a reply comes before its calls, and after its reasoning.
        place = next((n for n, block in enumerate(rest) if _is_call(block)), len(rest))
        blocks = [*rest[:place], *_text_blocks(message.content), *rest[place:]]
    return {**payload, "content": blocks}


def _is_call(block: Any) -> bool:
    return read_call(block) is not None


def _edit_call(block: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    copy = {**block["toolUse"], "toolUseId": call.id}
    if json_text(copy.get("input")) != call.arguments:
        copy["input"] = arguments_as_object(call.arguments)
    return {**block, "toolUse": copy}


def _call_ids(payloads: Iterable[Any]) -> Iterable[str]:
    for payload in payloads:
        for block in items_at(payload, "content"):
            yield text_at(block, "toolUse", "toolUseId")


def _joined(parts: list[Any]) -> Any:
    result: dict[str, Any] = {}
    # Fields that an application or a later API adds to a message are kept, the first of each name.
    for part in parts:
        result = {**part, **result}
    content = [block for part in parts for block in _content(part)]
    return {key: content if key == "content" else result[key] for key in {**parts[0], **result}}


def _with_blocks(message: Any) -> Any:
    # A string, which Converse does not take, is read from a caller's messages all the same.
    if isinstance(content := at(message, "content"), str):
        return {**message, "content": _text_blocks(content)}
    return message


def _content(part: Any) -> list[Any]:
    content = at(part, "content")
    return [{"text": content}] if isinstance(content, str) else items_at(part, "content")


def _text_blocks(text: str) -> list[dict[str, Any]]:
    # A blank text is rejected: https://github.com/earendil-works/pi/issues/4975
    return [{"text": replace_surrogates(text)}] if text.strip() else []


@attrs.define
class _MessageWriter:
    """Writes the messages of one request, in order."""

    ids: _CallIds
    documents: DocumentNames
    in_run: bool = False
    """Whether the last message was an assistant's. Results may answer the calls of a whole run."""

    def write(self, message: Message, payload: Any) -> Any | None:
        """Return the wire message, rebuilt if `payload` is None; None if the message is empty."""
        if message.role != "tool" and not (self.in_run and message.role == "assistant"):
            self.ids.close()
        self.in_run = message.role == "assistant"
        if payload is not None and not isinstance(payload, list):
            return _mend(payload, self.ids)
        role = "assistant" if message.role == "assistant" else "user"
        content = self._blocks(message)
        return {"role": role, "content": content} if content else None

    def _blocks(self, message: Message) -> list[dict[str, Any]]:
        if message.role == "system":
            return _text_blocks(_as_user(message))
        results = [self._result(result) for result in message.tool_results]
        if message.role == "assistant":
            content = _text_blocks(text_with_media(message))
            calls = [
                {
                    "toolUse": {
                        "toolUseId": self.ids.give(call.id),
                        "name": TOOL_NAMES.wire(call.name),
                        "input": _wire_input(call.arguments),
                    }
                }
                for call in message.tool_calls
            ]
            return content + calls
        return results + self._beside(message, _text_blocks(message.content))

    def _beside(self, message: Message, content: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add media blocks, including the sounds of results."""
        sounds = [part for each in message.tool_results for part in filter(is_sound, each.media)]
        media = [encode_media(part, self.documents) for part in (*sounds, *message.media)]
        # A document requires a text in its message (API_runtime_Message, `content`).
        silent = not any("text" in block for block in content + media)
        if silent and any("document" in block for block in media):
            content = [{"text": "See the document."}]
        return content + media

    def _result(self, result: ToolResult) -> dict[str, Any]:
        media = [encode_media(part, self.documents) for part in result.media if not is_sound(part)]
        content = _text_blocks(result.text) + media or [{"text": _NO_OUTPUT}]
        answer = {"toolUseId": self.ids.answer(result.call_id), "content": content}
        # Not every model accepts a status, so it is omitted on success
        # (API_runtime_ToolResultBlock).
        return {"toolResult": {**answer, "status": "error"} if result.error else answer}


def _as_user(message: Message) -> str:
    text = text_with_media(message)
    return f"<system>\n{text}\n</system>" if text.strip() else text


def _spec(name: str, description: str, parameters: Any) -> dict[str, Any]:
    text_field = {"description": replace_surrogates(description)} if description.strip() else {}
    return {
        "toolSpec": {
            "name": TOOL_NAMES.wire(name),
            **text_field,
            "inputSchema": {"json": replace_surrogates(parameters)},
        }
    }


def _tool_config(messages: list[Any], tools: Sequence[ToolDefinition]) -> dict[str, Any]:
    """Return the tool definitions; if there are none, placeholders for tools in the messages."""
    if tools:
        return {"tools": encode_tools(tools)}
    # Without definitions, calls and results are rejected, even if no tool is offered any more:
    # https://github.com/strands-agents/harness-sdk/issues/998
    nothing = {"type": "object", "properties": {}}
    names = _tool_names(messages)
    return {"tools": [_spec(name, _GONE, nothing) for name in names]} if names else {}


def _tool_names(messages: list[Any]) -> list[str]:
    """Return the names of the called tools; an arbitrary name if there are only results."""
    blocks = [block for message in messages for block in items_at(message, "content")]
    calls = [block for block in blocks if isinstance(at(block, "toolUse"), dict)]
    has_results = any(isinstance(at(block, "toolResult"), dict) for block in blocks)
    names = dict.fromkeys(text_at(block, "toolUse", "name") or "tool" for block in calls)
    return list(names) or ["tool"] * has_results
