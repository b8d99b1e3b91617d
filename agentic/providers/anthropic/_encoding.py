"""Encode messages and tools for the wire.

`encode` keeps unchanged what came from the wire. `encode_request` also makes sure that the API
accepts the conversation, even if it was truncated or edited.

A message without a usable payload is rebuilt as blocks, none of them empty. Thinking is left out:
the API accepts it only with its signature, which is in the payload
(https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows, 2026-11). The rules for
the role `system`, which newer models support:
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (2026-11).

Also here: the messages of a request while it is assembled, and its marks for the prompt cache.

To the API, consecutive messages of one role are one turn, so they need not be joined. Rebuilt
messages are joined anyway, since all results of a turn belong in one message
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/parallel-tool-use, 2026-11).

The cache holds prefixes of a request (tools, system, messages, in this order), each up to a mark. A
request reads the longest cached prefix, which the API looks for at each of its marks and at the 20
blocks before it. So two places in the messages are marked: the newest message, to write what the
next request will read, and the end of the previous request, to find that prefix however many blocks
the turn has added. The marks on the tools and on the system prompt are for the part of the prefix
that survives a compaction.

A request may have at most four marks. Entries live for five minutes. Prefixes below a minimum of
512 to 4,096 tokens, depending on the model, are not cached:
https://platform.claude.com/docs/en/build-with-claude/prompt-caching (read on 2026-11-22).
"""

import itertools
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import (
    Media,
    Message,
    ToolCall,
    ToolResult,
    close_open_rounds,
    leading_system_count,
)
from agentic.protocols import RequestPrefix
from agentic.providers.anthropic._decoding import (
    INVALID_JSON,
    NAME,
    blocks_of,
    decode,
    input_text,
    read_payload,
    system_part,
    text_block,
    text_of,
    wire_message,
    without_thinking,
)
from agentic.providers.kit import (
    NameRule,
    UniqueIds,
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
from agentic.providers.kit._messages import describe_prompt_change, payload_facts, write_calls
from agentic.providers.kit._record import RecordRole
from agentic.tools import ToolDefinition

# https://github.com/langchain-ai/langchain/pull/37756; no maximum length is documented.
_CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
_RESULT = "tool_result"
_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
# Blocks of a user message that accept a mark; thinking does not.
_MARKABLE = {"text", "image", "document", "search_result", "tool_result"}


@attrs.frozen
class Turn:
    """One wire message, either as received or rebuilt."""

    message: Any
    native: bool = False
    places: tuple[int, ...] = ()
    """The original positions of its blocks, if it is a part of a message."""
    between: tuple[Any, Any] | None = None
    """The roles of the original neighbors, if its position matters."""
    is_record: bool = False
    """Whether it is the record of earlier conversation, which is a message of its own."""

    @property
    def role(self) -> Any:
        """Return the role on the wire."""
        return at(self.message, "role")

    @property
    def blocks(self) -> list[Any]:
        """Return the content as a list of blocks."""
        return blocks_of(at(self.message, "content"))


def join(turns: Iterable[Turn]) -> list[Turn]:
    """Join the parts of one message, and each rebuilt message with its neighbors."""
    # `kit.merge_consecutive` would cost a function call for each pair of untouched messages.
    result: list[Turn] = []
    # The turns that become the next message, merged at the end: one by one would be quadratic.
    run: list[Turn] = []
    for turn in turns:
        alone = run[0] if len(run) == 1 else None
        is_native = alone is not None and alone.native
        if alone is not None and turn.places and _are_one(alone, turn):
            run = [_put_together(alone, turn)]
        # Two whole messages that came from the wire are sent as they came, even if their roles are
        # equal. A native reply must stay unchanged: its thinking is signed.
        elif (
            run
            and not (is_native and turn.native)
            and not (run[0].is_record or turn.is_record)
            and turn.role == run[0].role
            and (turn.role == "user" or not (is_native or turn.native))
        ):
            run.append(turn)
        else:
            result += run if alone else _merged(run)
            run = [turn]
    return result + (run if len(run) == 1 else _merged(run))


def _merged(run: list[Turn]) -> list[Turn]:
    """Merge turns of one role. Results come first, as the API requires."""
    if not run:
        return []
    blocks = [block for turn in run for block in turn.blocks]
    blocks.sort(key=lambda block: at(block, "type") != _RESULT)
    return [Turn({**run[0].message, "content": blocks})]


def _put_together(first: Turn, second: Turn) -> Turn:
    parts = zip(first.places + second.places, first.blocks + second.blocks, strict=True)
    blocks = [block for _, block in sorted(parts, key=lambda pair: pair[0])]
    return Turn({**first.message, "content": blocks}, native=True)


def _are_one(first: Turn, second: Turn) -> bool:
    """Return whether two parts form a complete message, even if of two different ones."""
    if not (first.places and second.places):
        return False
    places = first.places + second.places
    return sorted(places) == list(range(len(places)))


def name_calls(turns: Sequence[Turn], *, rename_reused: bool = False) -> list[Turn]:
    """Assign a unique id that the API accepts to each rebuilt call and to its result.

    Calls that are sent back unchanged keep their ids, even if a later turn uses an id again:
    servers that number the calls of each reply from 0 accept that. With `rename_reused`, only the
    first call with an id in a turn keeps it.
    """
    # Calls that are sent back unchanged come first: a rebuilt one can take another id, they cannot.
    theirs = {call_id for turn in turns if turn.native for call_id in _call_ids(turn)}
    ids = UniqueIds(used=theirs, stem=str)
    ids_by_call: dict[str, list[str]] = {}
    fixed: set[str] = set()
    result: list[Turn] = []
    for turn in turns:
        if turn.role != "assistant":
            result.append(_answered(turn, ids_by_call))
            continue
        if not (result and result[-1].role == "assistant"):
            # Calls that are sent back unchanged may use ids of earlier turns again.
            ids_by_call, fixed = defaultdict(list), set()
        keep = turn.native and not rename_reused
        result.append(turn if keep else _renamed(turn, ids_by_call, ids, fixed))
    return result


def _call_ids(turn: Turn) -> list[str]:
    ids = [at(block, "id") for block in turn.blocks if at(block, "type") == "tool_use"]
    return [call_id for call_id in ids if isinstance(call_id, str)]


def _renamed(
    turn: Turn, ids_by_call: dict[str, list[str]], ids: UniqueIds, fixed: set[str]
) -> Turn:
    """Name the calls of a reply; `fixed` has the ids that this turn's unchanged calls keep."""
    blocks = []
    for block in turn.blocks:
        new, old = block, at(block, "id")
        if at(block, "type") == "tool_use" and isinstance(old, str):
            # An id that came from the wire was accepted, whatever its characters, but not twice in
            # a turn: https://github.com/anthropics/claude-code/issues/20901.
            if turn.native and old not in fixed:
                fixed.add(old)
                call_id = old
            else:
                call_id = ids.take(old if turn.native else _CALL_IDS.wire(old))
            ids_by_call[old].append(call_id)
            new = block if call_id == old else {**block, "id": call_id}
        blocks.append(new)
    if blocks == turn.blocks:
        return turn
    return attrs.evolve(turn, message={**turn.message, "content": blocks})


def _answered(turn: Turn, ids_by_call: dict[str, list[str]]) -> Turn:
    """Rename results like their calls: an id's second result answers its second call."""
    # A copy: the turn's own list may be the payload of a message.
    blocks = list(items_at(turn.message, "content"))
    for place, block in enumerate(blocks):
        waiting = (
            ids_by_call.get(text_at(block, "tool_use_id")) if at(block, "type") == _RESULT else None
        )
        if waiting:
            # In order, because nothing else tells two results of one id apart.
            blocks[place] = {**block, "tool_use_id": waiting.pop(0)}
    if blocks == items_at(turn.message, "content"):
        return turn
    return attrs.evolve(turn, message={**turn.message, "content": blocks})


def mark_for_cache(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with cache marks added, or unchanged if the caller has set any.

    The request passed in is not modified.

    >>> marked = mark_for_cache({"messages": [{"role": "user", "content": "Why?"}]})
    >>> marked["messages"][0]["content"]
    [{'type': 'text', 'text': 'Why?', 'cache_control': {'type': 'ephemeral'}}]
    """
    # The caller decides on all marks, since the API rejects lifetimes in the wrong order.
    if "cache_control" in body or any(at(part, "cache_control") for part in _parts(body)):
        return dict(body)
    result = {**body, "messages": _mark_messages(items_at(body, "messages"))}
    if system := blocks_of(body.get("system")):
        result["system"] = _mark(system, len(system) - 1)
    if tools := items_at(body, "tools"):
        result["tools"] = _mark(tools, len(tools) - 1)
    return result


def _parts(body: Mapping[str, Any]) -> Iterator[Any]:
    """Yield everything that can have a mark, including the blocks inside results."""
    waiting = [*items_at(body, "tools"), *blocks_of(body.get("system"))]
    waiting += items_at(body, "messages")
    while waiting:
        part = waiting.pop()
        yield part
        waiting += items_at(part, "content")


def _mark_messages(messages: list[Any]) -> list[Any]:
    result, marks = list(messages), _MARKED_MESSAGES
    # The newest two: the last one writes the cache, and the one before it finds what the last
    # request wrote.
    for place in reversed(range(len(result))):
        blocks = blocks_of(at(result[place], "content"))
        ends = [end for end, block in enumerate(blocks) if _takes_mark(block)]
        if at(result[place], "role") == "user" and ends:
            result[place] = {**result[place], "content": _mark(blocks, ends[-1])}
            marks -= 1
        if not marks:
            break
    return result


def _takes_mark(block: Any) -> bool:
    # An empty text takes no mark: https://github.com/stakpak/agent/pull/511 quotes the error.
    kind = text_at(block, "type")
    return kind in _MARKABLE and (kind != "text" or bool(text_at(block, "text").strip()))


def _mark(blocks: list[Any], place: int) -> list[Any]:
    copy = {**blocks[place], "cache_control": _MARK}
    return [*blocks[:place], copy, *blocks[place + 1 :]]


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
_TOOL_CHANGES = {"tool_addition", "tool_removal"}
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
    history = place_record(close_open_rounds(list(messages), answer_async=True), record_role)
    leading = leading_system_count(history)
    request: dict[str, Any] = {}
    system = _system(system_prompt, history[:leading])
    if system is not None:
        request["system"] = replace_surrogates(system)
    turns = name_calls(join(_settle(_turns(history, leading), model)), rename_reused=True)
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


def write_change(before: RequestPrefix, after: RequestPrefix) -> list[Message]:
    """Return a system message that says what has changed; nothing if the wire is the same.

    A tool is removed by its name and added by its definition; one that has changed is both. The
    shapes are those of the SDK (anthropic 2.14, `BetaRequestToolAdditionBlockParam`).

    >>> change = write_change(RequestPrefix("Be brief."), RequestPrefix("Be kind."))
    >>> encode_request([Message("user", "Why?"), *change])["messages"][-1]["role"]
    'system'
    """
    former = {tool["name"]: tool for tool in encode_tools(before.tools)}
    latest = {tool["name"]: tool for tool in encode_tools(after.tools)}
    blocks: list[dict[str, Any]] = [
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}
        for name, tool in former.items()
        if latest.get(name) != tool
    ]
    blocks += [
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool}}
        for name, tool in latest.items()
        if former.get(name) != tool
    ]
    text = describe_prompt_change(before.system_prompt, after.system_prompt)
    blocks += [text_block(replace_surrogates(text))] if text else []
    return decode([{"role": "system", "content": blocks}]) if blocks else []


def changes_tools(messages: Iterable[Any]) -> bool:
    """Return whether a system message of a request adds or removes tools, which needs a beta."""
    return any(
        text_at(block, "type") in _TOOL_CHANGES
        for message in messages
        if at(message, "role") == "system"
        for block in items_at(message, "content")
    )


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
    copy = {**wire, "content": blocks}
    return copy if wire is payload else {**payload, "message": copy}


def _is_call(block: Any) -> bool:
    return text_at(block, "type") == "tool_use"


def _edit_call(block: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    copy = {**block, "id": call.id}
    if input_text(at(block, "input")) != call.arguments:
        copy["input"] = arguments_as_object(call.arguments, INVALID_JSON)
    return copy


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
    texts = [part for part in parts if isinstance(part, list) or part.strip()]
    return [block for part in texts for block in blocks_of(part)]


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    result: dict[str, Any] = {"name": TOOL_NAMES.wire(tool.name)}
    if tool.description:
        result["description"] = tool.description
    result["input_schema"] = dict(tool.parameters)
    # A caller that the host defines is for its own executor, and means nothing to the API.
    callers = [caller for caller in tool.allowed_callers if caller.startswith(_CALLERS)]
    if any(caller.startswith("code_execution_") for caller in callers):
        result["allowed_callers"] = callers
    wire: dict[str, Any] = replace_surrogates(result)
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
    texts: list[dict[str, Any]] = []
    if text.strip():
        # Only newer models support the role in the middle, and not between two user messages.
        body_text = f"<system>\n{text}\n</system>" if message.role == "system" else text
        texts = [text_block(body_text)]
    # Images go before a question about them, and after the text of a record.
    blocks += [*texts, *media] if message.summary is not None else [*media, *texts]
    blocks += [_call(call) for call in message.tool_calls]
    content: list[dict[str, Any]] = replace_surrogates(blocks)
    return content


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
        content = [text_block(result.text)] if result.text.strip() else []
        block["content"] = [*content, *map(_media_block, result.media)]
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
    result = _without_empty_runs(_with_system_in_place(list(turns)), may_continue=may_continue)
    first = next((turn for turn in result if turn.role != "system"), None)
    # A conversation that began with the model came so from the wire, where it was accepted.
    came_first = first is not None and first.between is not None and first.between[0] is None
    # The API's own compaction comes first, or is refused.
    is_compaction = first is not None and any(
        text_at(block, "type") == "compaction" for block in first.blocks
    )
    if first is None or (first.role == "assistant" and not came_first and not is_compaction):
        result.insert(0, _GO_ON)
    return list(_with_requests_between(result, may_continue=may_continue))


def _with_requests_between(turns: Sequence[Turn], *, may_continue: bool) -> Iterator[Turn]:
    """Put a request behind each reply that the model cannot continue.

    A reply that follows another one was made by a request that ended so, and keeps it, since newer
    models bind their thinking to all that precedes it. Parts of one turn from elsewhere are joined
    instead, and so is what came from the wire behind a reply. Nothing parts a call from its result,
    which may stand behind a whole run of replies.
    """
    has_open_calls = False
    for turn, after in itertools.zip_longest(turns, turns[1:]):
        yield turn
        if turn.role != "assistant":
            has_open_calls = False
            continue
        has_open_calls = has_open_calls or _has_calls(turn)
        if has_open_calls or _may_end(turn, may_continue=may_continue):
            continue
        is_last = after is None
        if is_last or (after.role == "assistant" and (turn.native or after.native)):
            before = after.between[0] if after is not None and after.between else None
            if before != "assistant":
                yield _GO_ON


def without_go_on(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a request's messages without the word of ours at their end.

    A conversation that is to be summarized may end with a reply, and what is kept of it has to
    follow that reply directly:
    https://platform.claude.com/docs/en/build-with-claude/compaction-keep-recent-turns (2026-11-28).
    """
    return messages[:-1] if messages[1:] and messages[-1] == _wire(_GO_ON) else messages


def _may_end(turn: Turn, *, may_continue: bool) -> bool:
    """Return whether a request may end with a reply without calls, which is to be continued."""
    # What is sent back unchanged is a turn that the server paused, or a prefill by the caller.
    if not turn.native:
        return False
    if is_paused(turn.message):
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
    result: list[Turn] = []
    for position, turn in enumerate(turns):
        if turn.role != "system" or _may_stand(turn, result, turns[position + 1 :]):
            result.append(turn)
            continue
        text = "\n\n".join(filter(None, map(text_of, turn.blocks)))
        result += _written_anew(Message("system", text))
    return result


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
    result: list[Turn] = []
    position = 0
    for role, run in itertools.groupby(turns, key=lambda turn: turn.role):
        group = list(run)
        position += len(group)
        is_reply = role == "assistant" and may_continue
        at_the_end = is_reply and position == len(turns) and not group[-1].blocks
        if role == "system" or at_the_end or any(map(_says_something, group)):
            result += group
    return result


def _says_something(turn: Turn) -> bool:
    # A model may reply with white space alone: https://github.com/nick1udwig/kibitz/issues/78
    content = at(turn.message, "content")
    texts = [text_at(block, "type") == "text" and text_at(block, "text") for block in turn.blocks]
    blank = all(isinstance(text, str) and not text.strip() for text in texts)
    return not blank or not isinstance(content, str | list)
