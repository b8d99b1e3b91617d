"""Encode messages as input items for the wire, and conversations as request fields.

A message is sent back as the items that it came from while it still says the same as they do.
Otherwise it is rebuilt:

- A text becomes a message in its short form, `{role, content}`; images and files become parts of
  it.
- An assistant's calls become `function_call` items after its text, without item ids, since such an
  id ties the item to a reasoning item that is no longer there. Reasoning is left out.
- Results directly follow their calls. A failed result says so in its text, as the API has no flag.
- The leading system messages are joined to the `instructions`, or are a first item of the role
  `developer` for the models that bill `instructions` uncached (see `puts_instructions_last`); a
  later one stays in place. Pinned messages are not treated specially.
- An empty message is left out. If nothing is left, a neutral user text is sent.
- OpenAI accepts any text as the arguments of a call, but vLLM and llama.cpp reject the whole
  history if one is not JSON: https://github.com/local-inference-lab/vllm/issues/684,
  https://github.com/am17an/llama.cpp/issues/43.

A conversation that is sent back unchanged, item by item, takes a fast path: the facts needed about
each message's items are computed once and stored with them. The fast path follows the same rules as
the writer, which takes over if anything has to change.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import attrs

from agentic.messages import Message, ToolCall, close_open_rounds
from agentic.protocols import RequestPrefix
from agentic.providers.kit import (
    NameRule,
    UniqueIds,
    arguments_as_text,
    at,
    native_payload,
    place_record,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._json import parse_object, with_arguments, with_object_text
from agentic.providers.kit._media import text_with_media
from agentic.providers.kit._messages import (
    describe_prompt_change,
    join_runs,
    merge_replies,
    payload_facts,
    tool_parameters,
    write_calls,
)
from agentic.providers.kit._record import RecordRole
from agentic.providers.openai_responses._decoding import (
    ANSWERS,
    NAME,
    OUTPUTS,
    UNSEEN_CALLS,
    OpenCalls,
    answer,
    answered_within,
    call_id_of,
    can_answer,
    decode,
    has_openais_id,
    kept_items,
    message_of,
    own_id,
    parts_of,
    runs_on_server,
    tool_call,
    type_of,
    without_reasoning,
    written_calls,
)
from agentic.tools import ToolDefinition

# https://github.com/AnswerDotAI/fastllm/issues/45 quotes the error for a longer id. An id may have
# any characters, but at least one: https://github.com/orchidfiles/ungate/pull/41,
# https://github.com/earendil-works/pi/issues/2917.
MAX_ID_CHARS = 64
# https://github.com/langchain-ai/deepagents/pull/5953 quotes OpenAI's documentation.
TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
# This type is also accepted as the output of other calls (recorded for `tool_search_call`).
_ANY_CALL = "function_call_output"
_NEUTRAL = "Continue."
# Not gpt-35, which is Azure's name of GPT-3.5, nor gpt-4o, whose version ends in a letter.
_GPT = re.compile(r"\bgpt-(?!35)(\d{1,2})(?:\.(\d+))?(?![\da-z])")
_INSTRUCTIONS_LAST = (6, 2)
_FUNCTIONS = {"function_call", "custom_tool_call"}


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `input`. A truncated history is not repaired; see `encode_request`.

    >>> encode([Message("assistant", "Hello.")])
    [{'type': 'message', 'role': 'assistant', 'content': 'Hello.'}]
    """
    return _encode(place_record(messages))


def _encode(messages: list[Message]) -> list[dict[str, Any]]:
    # Alone, so that the messages after a record need not be rebuilt with it.
    if len(messages) > 1 and messages[0].summary is not None:
        return [*_encode(messages[:1]), *_encode(messages[1:])]
    items = _items_as_they_came(messages)
    if items is None:
        items = replace_surrogates(list(_ItemWriter().write(messages)))
    return items


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    model: str = "",
    record_role: RecordRole = "user",
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results and empty messages are left out. A summary is a user
    message of its own, or a part of the system prompt if that is the `record_role`. `model` decides
    where the system prompt is sent: from GPT-6.2 on, it is the first item, of the role `developer`.

    >>> encode_request([Message("user", "Hi.")], system_prompt="Be brief.")
    {'instructions': 'Be brief.', 'input': [{'role': 'user', 'content': 'Hi.'}]}
    """
    history = place_record(join_runs(_close(list(messages)), _join), record_role)
    leading = list(takewhile(_is_instruction, history))
    request: dict[str, Any] = {**_instructions(leading, system_prompt)}
    request["input"] = _input(history[len(leading) :])
    # What came as `instructions`, and nothing was added to, is the caller's own choice.
    if puts_instructions_last(model) and not _is_callers(leading, system_prompt):
        request["input"] = [*_developer(request.pop("instructions", "")), *_as_items(request)]
    if tools:
        request["tools"] = encode_tools(tools)
    return request


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the definitions of the tools that the model may call.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["strict"]
    False
    """
    return [
        {
            "type": "function",
            "name": TOOL_NAMES.wire(tool.name),
            "description": replace_surrogates(tool.description),
            "parameters": tool_parameters(tool),
            # If it is left out, the API takes the schema for strict, and demands more of it than
            # JSON Schema does: https://platform.openai.com/docs/guides/function-calling#strict-mode
            "strict": False,
        }
        for tool in tools
    ]


def write_change(before: RequestPrefix, after: RequestPrefix) -> list[Message] | None:
    """Return a message that says what has changed; none if the wire is the same.

    None if a tool was removed or has another definition: there is no item for that. The shapes are
    those of the SDK (openai 3, `AdditionalTools`).

    >>> change = write_change(RequestPrefix("Be brief."), RequestPrefix("Be kind."))
    >>> encode(change or [])[0]["role"]
    'developer'
    """
    former, latest = encode_tools(before.tools), encode_tools(after.tools)
    if any(tool not in latest for tool in former):
        return None
    new = [tool for tool in latest if tool not in former]
    items: list[dict[str, Any]] = []
    if new:
        items.append({"type": "additional_tools", "role": "developer", "tools": new})
    text = describe_prompt_change(before.system_prompt, after.system_prompt)
    items += _developer(replace_surrogates(text))
    return [message for item in items for message in decode([item])]


def _is_id(call_id: str) -> bool:
    """Return whether the API accepts a call id.

    >>> _is_id("call_1"), _is_id(""), _is_id("x" * 65)
    (True, False, False)
    """
    return 0 < len(call_id) <= MAX_ID_CHARS


def _hashed(wish: str, number: int) -> str:
    # A hash, since an id with a number appended might exceed the maximum length.
    seed = f"{wish}#{number}".encode("utf-8", "surrogatepass")
    return f"call_{hashlib.sha256(seed).hexdigest()[:24]}"


@attrs.frozen
class _Facts:
    """The facts about a message's items that may conflict with other messages of a request."""

    own_ids: frozenset[str]
    calls: tuple[tuple[str, str], ...]
    """The ids of an assistant's calls, all different, with the types of their answers."""
    answers: tuple[tuple[str, str], ...]
    """The ids of the calls that a tool message answers, all different, with the answers' types."""


def _items_as_they_came(messages: Iterable[Message]) -> list[Any] | None:
    """Return the items of untouched messages; None if any of them may have to change."""
    items: list[Any] = []
    ids: set[str] = set()
    waiting: dict[str, str] = {}
    role: str = ""
    for message in messages:
        facts = payload_facts(message, NAME, _facts)
        if facts is None or message.native is None:
            return None
        before, role = role, message.role
        # Results answer only the calls of the latest run of replies.
        if waiting and role == "assistant" and before != "assistant":
            waiting = {}
        if facts.own_ids:
            if not ids.isdisjoint(facts.own_ids):
                return None
            ids |= facts.own_ids
        if facts.calls and not (role == "assistant" and _note_calls(facts.calls, waiting)):
            return None
        if facts.answers and not (role == "tool" and _match_answers(facts.answers, waiting)):
            return None
        items += message.native.payload
    return items


def _note_calls(calls: tuple[tuple[str, str], ...], waiting: dict[str, str]) -> bool:
    """Add calls to `waiting`; return False if one has the id of a call that is already waiting."""
    for call_id, kind in calls:
        if call_id in waiting:
            return False
        waiting[call_id] = kind
    return True


def _match_answers(answers: tuple[tuple[str, str], ...], waiting: dict[str, str]) -> bool:
    """Remove answered calls from `waiting`; return whether each answer has the right type."""
    for call_id, kind in answers:
        asked_for = waiting.pop(call_id, kind)
        if kind not in (_ANY_CALL, asked_for):
            return False
    return True


def _facts(payload: Any) -> _Facts | None:
    """Return the facts about a payload's items; None if the items may need changes."""
    if not isinstance(payload, list) or not payload or replace_surrogates(payload) is not payload:
        return None
    if any(_with_arguments(item) is not item for item in payload):
        return None
    kinds = list(map(type_of, payload))
    own_ids = [own for item in payload if (own := own_id(item))]
    calls, answers = [], []
    for item, kind in zip(payload, kinds, strict=True):
        if kind in OUTPUTS:
            answers.append((text_at(item, "call_id"), kind))
        elif kind in ANSWERS and not runs_on_server(item):
            calls.append((text_at(item, "call_id"), ANSWERS[kind]))
    # A shell call without a call id may be named by its item's id, so it takes the slow path.
    # A reply that ends with reasoning was cut off, and its end may have to be removed.
    ids = [call_id for call_id, _ in calls + answers]
    plain = all(map(_is_id, ids)) and not (calls and answers) and kinds[-1] != "reasoning"
    unique = len({*own_ids}) == len(own_ids) and len({*ids}) == len(ids)
    return _Facts(frozenset(own_ids), tuple(calls), tuple(answers)) if plain and unique else None


def _with_arguments(item: Any) -> Any:
    return with_arguments(item) if type_of(item) == "function_call" else item


def _close(messages: list[Message]) -> list[Message]:
    """Close open rounds and drop orphaned results, but keep results whose calls the server has."""
    result: list[Message] = []
    stretch: list[Message] = []
    for message in messages:
        if _answers_unseen(message):
            result += [*close_open_rounds(stretch), message]
            stretch = []
        else:
            stretch.append(message)
    return [*result, *close_open_rounds(stretch)]


def _join(replies: list[Message]) -> list[Message]:
    # Texts then precede all calls: DeepSeek expects outputs next to their calls.
    return replies if any(map(_payload, replies)) else [merge_replies(replies)]


def _answers_unseen(message: Message) -> bool:
    payload = message.native.payload if message.native else None
    return message.role == "tool" and isinstance(payload, Mapping) and UNSEEN_CALLS in payload


def _is_instruction(message: Message) -> bool:
    return message.role == "system" and not isinstance(_payload(message), list)


def _instructions(leading: list[Message], system_prompt: str) -> dict[str, Any]:
    if _is_callers(leading, system_prompt):
        return {"instructions": replace_surrogates(_payload(leading[0])["instructions"])}
    texts = [system_prompt, *map(text_with_media, leading)]
    text = replace_surrogates("\n\n".join(text for text in texts if text))
    return {"instructions": text} if text else {}


def _is_callers(leading: list[Message], system_prompt: str) -> bool:
    """Return whether the system prompt is nothing but the `instructions` of a decoded request."""
    return len(leading) == 1 and not system_prompt and bool(_payload(leading[0]))


def puts_instructions_last(model: str) -> bool:
    """Return whether a model puts `instructions` behind the input, where they are never cached.

    GPT-6.2 and later models do; an unknown newer one is taken for one of them:
    https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (2026-11).

    >>> puts_instructions_last("openai/gpt-6.2-sol"), puts_instructions_last("gpt-6-mini")
    (True, False)
    """
    match = _GPT.search(model)
    return match is not None and (int(match[1]), int(match[2] or 0)) >= _INSTRUCTIONS_LAST


def _developer(text: str) -> list[dict[str, Any]]:
    return [{"role": "developer", "content": text}] if text else []


def _as_items(request: Mapping[str, Any]) -> list[Any]:
    value = request["input"]
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


def _input(messages: list[Message]) -> str | list[dict[str, Any]]:
    payload = _payload(messages[0]) if len(messages) == 1 else None
    if isinstance(payload, str) and payload:
        text: str = replace_surrogates(payload)
        return text
    items = [
        with_object_text(item) if type_of(item) == "function_call" else item
        for item in encode(messages)
        if not _is_void(item)
    ]
    return items or [{"role": "user", "content": _NEUTRAL}]


def _is_void(item: Any) -> bool:
    """Return whether a message's content is missing or null, which is rejected."""
    return type_of(item) == "message" and not isinstance(at(item, "content"), str | list)


def _payload(message: Message) -> Any:
    return native_payload(message, NAME, message_of, TOOL_NAMES.wire, without_reasoning, edit=_edit)


def _edit(payload: Any, message: Message) -> Any | None:
    """Return the items of a reply with the message's calls, which keeps their reasoning."""
    if not isinstance(payload, list):
        return None
    ids = answered_within(payload)

    def is_call(item: Any) -> bool:
        call = tool_call(item)
        return call is not None and call.id not in ids

    return write_calls(payload, message.tool_calls, _edit_call, is_call)


def _edit_call(item: dict[str, Any], call: ToolCall) -> Any:
    before = tool_call(item)
    copy = {**item, "call_id": call.id} if call_id_of(item) != call.id else item
    if before is None or before.arguments == call.arguments:
        return copy
    if type_of(item) == "function_call":
        return {**copy, "arguments": call.arguments}
    # Of any other call, which has its action in the place of arguments, the message is rebuilt.
    if type_of(item) == "custom_tool_call":
        return {**copy, "input": text_at(parse_object(call.arguments), "input")}
    return copy


def _without_loose_reasoning(items: list[Any]) -> list[Any]:
    """Leave out reasoning at the end of a reply that its limit cut off while thinking."""
    # OpenAI rejects it without the item that would have followed (see `validate`). Other servers,
    # whose ids do not begin with rs_, accept it.
    end = len(items)
    while end and type_of(items[end - 1]) == "reasoning" and has_openais_id(items[end - 1]):
        end -= 1
    return items[:end]


def _answers_after(messages: list[Message], number: int) -> list[Message]:
    """Return the tool messages after the run of assistant messages that begins at `number`."""
    while number + 1 < len(messages) and messages[number + 1].role == "assistant":
        number += 1
    end = number + 1
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    return messages[number + 1 : end]


@attrs.define
class _ItemWriter:
    """Writes a conversation in order, so that no id is used twice."""

    _ids: UniqueIds = attrs.field(
        factory=lambda: UniqueIds(accept=_is_id, stem=str, make=_hashed, first=1), init=False
    )
    """The ids of items and of calls."""
    _open: OpenCalls = attrs.field(factory=OpenCalls, init=False)

    def write(self, messages: list[Message]) -> Iterator[Any]:
        answers: list[Message] = []
        for number, message in enumerate(messages):
            if message.role == "assistant":
                # Results answer only the calls of the latest run of replies.
                if not number or messages[number - 1].role != "assistant":
                    self._open, answers = OpenCalls(), _answers_after(messages, number)
                yield from self._assistant(message, answers)
            elif message.role == "tool":
                yield from self._tool(message)
            else:
                yield from self._said(message)

    def _assistant(self, message: Message, answers: list[Message]) -> Iterator[Any]:
        payload = _payload(message)
        # A rebuilt answer has the form that its call asks for, so the call must be one that can be
        # answered so.
        anew = [answer for answer in answers if _payload(answer) is None]
        if isinstance(payload, list) and can_answer(payload, anew) and self._are_free(payload):
            for call_id, item in written_calls(payload):
                self._open.add(call_id, item)
            yield from map(_with_arguments, _without_loose_reasoning(payload))
            return
        if text := text_with_media(message):
            # llama.cpp's server accepts an assistant's short form only with a type.
            yield {"type": "message", "role": "assistant", "content": text}
        for call in message.tool_calls:
            yield self._call(call)

    def _are_free(self, items: list[Any]) -> bool:
        """Return whether the ids of items and calls are unused; if so, mark them as used."""
        calls = written_calls(items)
        # Then the message is rebuilt, and the call gets another id.
        if any(type_of(item) in _FUNCTIONS and not _is_id(call_id) for call_id, item in calls):
            return False
        # Ids of items and of calls are counted apart, in one set.
        names = [f"item {own_id(item)}" for item in items if own_id(item)]
        ids = [call_id for call_id, _ in calls]
        # A call may have the same id as one of an earlier turn, which is not waiting any more.
        if len({*ids}) < len(ids) or any(map(self._open.is_waiting, ids)):
            return False
        if len({*names}) < len(names) or not self._ids.used.isdisjoint(names):
            return False
        self._ids.used.update(names, ids)
        return True

    def _call(self, call: ToolCall) -> dict[str, Any]:
        item = {
            "type": "function_call",
            "call_id": self._ids.take(call.id),
            "name": TOOL_NAMES.wire(call.name),
            "arguments": arguments_as_text(call.arguments),
            **({"async": True} if call.is_async else {}),
        }
        self._open.add(call.id, item)
        return item

    def _tool(self, message: Message) -> Iterator[Any]:
        items, ids = kept_items(_payload(message)), [one.call_id for one in message.tool_results]
        if items and all(map(self._open.awaits, ids, items)) and self._are_free(items):
            for call_id in ids:
                self._open.take(call_id)
            yield from items
        else:
            yield from answer(message, self._open)

    def _said(self, message: Message) -> Iterator[Any]:
        payload = _payload(message)
        if isinstance(payload, list) and self._are_free(payload):
            yield from payload
            return
        parts = parts_of(message.media) if message.role == "user" else []
        if parts:
            content = [{"type": "input_text", "text": message.content}] if message.content else []
            yield {"role": "user", "content": [*content, *parts]}
        elif text := text_with_media(message):
            yield {"role": message.role, "content": text}
