"""An adapter for Acme, a provider that does not exist: copy it, and change it into yours.

What goes over Acme's wire:

    request   {"rules": "Be brief.", "talk": [item, ...], "tools": [...]}
    item      {"by": "human" | "acme", "parts": [part, ...]}
    part      {"text": ...} or {"thought": ..., "seal": ...} or {"use": tool, "ref": id, "with": {}}
              or {"result": id, "text": ..., "failed": true}
    response  {"parts": [...], "ended": word, "spent": {"fresh", "cached", "stored", ...}}

It has the traps that real wires have: human and acme take turns, and a human begins; results stand
inside a human's item, before anything said; a sealed thought goes back as it came; arguments are
an object; `spent` keeps the cache beside the input and thinking beside the output; a stream sends
all of it in pieces. `docs/how-to/write-an-adapter.md` explains it, and `test_acme.py` proves it.
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from agentic import loop
from agentic.errors import ContextOverflow, IncompleteReply, ProviderError, RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.messages import (
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolResult,
    close_open_rounds,
    leading_system_count,
)
from agentic.providers.kit import (
    Adapter,
    RequestForm,
    Step,
    Violation,
    arguments_as_object,
    at,
    find_unpaired,
    items_at,
    merge_consecutive,
    native_payload,
    number_ids,
    plain,
    replace_surrogates,
    text_at,
)
from agentic.tools import ToolDefinition
from agentic.usage import StopReason, StopWords, Usage

NAME = "acme"
DOCS = "https://acme.example/docs"
LIMITS = {"acme-1": ModelLimits(context_window=32_000, max_output=4_000)}


# 1. Words and numbers

STOP_WORDS = StopWords(
    NAME,
    {
        "finished": StopReason.STOP,
        "needs_tools": StopReason.TOOL,
        "out_of_room": StopReason.MAX_TOKENS,
        "withheld": StopReason.CONTENT_FILTER,
        "hung_up": StopReason.ABORT,
        "broke_down": StopReason.ERROR,
    },
)


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended."""
    data = plain(response)
    calls = any(_is(part, "use") for part in items_at(data, "parts"))
    return STOP_WORDS.reason(text_at(data, "ended") or None, has_tool_calls=calls)


def usage(response: Any, /) -> Usage:
    """Count what a reply used. None of Acme's five numbers includes another: they are added."""
    spent = at(plain(response), "spent")
    cached, stored, thought = (at(spent, name) for name in ("cached", "stored", "thought"))
    return (
        Usage(input=at(spent, "fresh"), output=at(spent, "said"))
        + Usage(input=cached, cache_read=cached)
        + Usage(input=stored, cache_write=stored)
        + Usage(output=thought, reasoning=thought)
    )


def is_context_overflow(error: Any, /) -> bool:
    """Return whether an error says that the request does not fit the window."""
    return text_at(plain(error), "error", "code") == "talk_too_long"


# 2. From the wire


def decode(talk: Iterable[Any], /) -> list[Message]:
    """Read the items of a talk."""
    return [message for item in plain(talk) if isinstance(item, dict) for message in _read(item)]


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, its rules as a system message."""
    data = plain(request)
    rules = text_at(data, "rules")
    return [Message("system", rules)] * bool(rules) + decode(items_at(data, "talk"))


def decode_response(response: Any, /) -> loop.Decision:
    """Read a reply."""
    data = plain(response)
    parts = items_at(data, "parts")
    reply = _read_reply({"by": "acme", "parts": parts})
    return loop.Decision(
        reply.content,
        reply.tool_calls,
        usage(data),
        stop_reason(data),
        reply.native if parts else None,
        stop_word=text_at(data, "ended"),
        reasoning=reply.reasoning,
        provider=NAME,
    )


def _read(item: dict[str, Any]) -> list[Message]:
    """Read one item; results and what a human says after them are two messages."""
    if text_at(item, "by") == "acme":
        return [_read_reply(item)]
    parts = items_at(item, "parts")
    results = [part for part in parts if _is(part, "result")]
    said = [part for part in parts if not _is(part, "result")]
    if not results:
        return [Message("user", _join(said, "text"), native=ProviderPayload(NAME, item))]
    of_tools = ProviderPayload(NAME, {**item, "parts": results})
    messages = [Message("tool", tool_results=map(_read_result, results), native=of_tools)]
    if said:
        of_user = ProviderPayload(NAME, {**item, "parts": said})
        messages.append(Message("user", _join(said, "text"), native=of_user))
    return messages


def _read_reply(item: dict[str, Any]) -> Message:
    parts = items_at(item, "parts")
    return Message(
        "assistant",
        _join(parts, "text"),
        reasoning=_join(parts, "thought"),
        tool_calls=[_read_call(part) for part in parts if _is(part, "use")],
        native=ProviderPayload(NAME, item),
    )


def _read_call(part: dict[str, Any]) -> ToolCall:
    return ToolCall(text_at(part, "ref"), text_at(part, "use"), json.dumps(part.get("with", {})))


def _read_result(part: dict[str, Any]) -> ToolResult:
    text = text_at(part, "text")
    if part.get("failed"):
        return ToolResult(text_at(part, "result"), error=text)
    return ToolResult(text_at(part, "result"), output=text)


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and kind in part


def _join(parts: list[Any], kind: str) -> str:
    return "".join(text_at(part, kind) for part in parts)


# 3. To the wire


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Write the items of a talk: what one side says in a row is one item."""
    items = [
        native_payload(message, NAME, _read_payload) or _write(message) for message in messages
    ]
    return merge_consecutive([item for item in items if item.get("parts") != []], _merge)


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Write what the model may call."""
    return [
        {"name": tool.name, "about": tool.description, "takes": dict(tool.parameters)}
        for tool in tools
    ]


def encode_request(
    messages: Sequence[Message], /, *, system_prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Write all that a request holds of a conversation, whatever happened to it before."""
    sound = number_ids(close_open_rounds(list(messages)))
    start = leading_system_count(sound)
    rules = [system_prompt, *(message.content for message in sound[:start])]
    talk = encode(sound[start:])
    if not talk or talk[0].get("by") != "human":
        talk.insert(0, {"by": "human", "parts": [{"text": "(The talk goes on.)"}]})
    body: dict[str, Any] = {"talk": talk}
    if any(rules):
        body["rules"] = "\n\n".join(filter(None, rules))
    if tools:
        body["tools"] = encode_tools(tools)
    # What cannot be sent as UTF-8, half of an emoji that was cut in two, is replaced.
    whole: dict[str, Any] = replace_surrogates(body)
    return whole


def _read_payload(payload: Any) -> Message | None:
    messages = decode([payload])
    return messages[0] if len(messages) == 1 else None


def _merge(last: dict[str, Any], item: dict[str, Any]) -> dict[str, Any] | None:
    """Return two items as one, if the same side has them and both have parts."""
    lists = isinstance(last.get("parts"), list) and isinstance(item.get("parts"), list)
    if not lists or last.get("by") != item.get("by"):
        return None
    return {**last, **item, "parts": last["parts"] + item["parts"]}


def _write(message: Message) -> dict[str, Any]:
    """Write a message from its fields alone. Its reasoning stays here: it has no seal."""
    parts = [
        {
            "result": result.call_id,
            "text": "\n".join(filter(None, [result.text, *map(_note, result.media)])),
            **({"failed": True} if result.error else {}),
        }
        for result in message.tool_results
    ]
    parts += [{"text": message.content}] * bool(message.content)
    parts += [{"text": _note(media)} for media in message.media]
    parts += [
        {"use": call.name, "ref": call.id, "with": arguments_as_object(call.arguments)}
        for call in message.tool_calls
    ]
    return {"by": "acme" if message.role == "assistant" else "human", "parts": parts}


def _note(media: Media) -> str:
    return f"[{media.media_type}: Acme reads text only]"


# 4. What Acme refuses


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Return why Acme would refuse a request for its shape."""
    talk = items_at(plain(request), "talk")
    found = find_unpaired(map(_step, range(len(talk)), talk), DOCS)
    if not talk:
        found.append(Violation("first_message", None, "a talk has an item", DOCS))
    for position, item in enumerate(talk):
        if text_at(item, "by") != ("human", "acme")[position % 2]:
            problem = "human and acme take turns, and a human begins"
            found.append(Violation("alternation", position, problem, DOCS))
        answers = [_is(part, "result") for part in items_at(item, "parts")]
        if not answers:
            found.append(Violation("empty_content", position, "an item has parts", DOCS))
        if answers != sorted(answers, reverse=True):
            found.append(Violation("order", position, "results come before words", DOCS))
    return found


def _step(position: int, item: Any) -> Step:
    parts = items_at(item, "parts")
    return Step(
        position,
        calls=tuple(text_at(part, "ref") for part in parts if _is(part, "use")),
        results=tuple(text_at(part, "result") for part in parts if _is(part, "result")),
    )


# 5. A reply as it comes


@attrs.define
class StreamedResponse:
    """Puts the events of a stream together.

    {"open": 0, "part": {...}} begins a part, {"add": 0, "text": ...} goes on with it (or "thought",
    "seal", "with"), {"end": word, "spent": {...}} is the last, and {"tick": ...} says nothing.
    """

    text: str = ""
    """What was said so far."""
    _parts: dict[Any, dict[str, Any]] = attrs.field(factory=dict)
    _last: Any = None

    def feed(self, event: Any, /) -> str:
        """Take the next event, and give the piece of text in it.

        Raises:
            ContextOverflow: the request does not fit.
            RequestFailed: any other error that comes down the stream.
        """
        data = plain(event)
        if at(data, "error"):
            raise failure(data)
        if _is(data, "end"):
            self._last = data
        if _is(data, "open"):
            self._parts[data["open"]] = dict(at(data, "part") or {})
        if _is(data, "add"):
            part = self._parts.setdefault(data["add"], {})
            for kind in ("text", "thought", "seal", "with"):
                if piece := text_at(data, kind):
                    part[kind] = part.get(kind, "") + piece
        said = text_at(data, "text")
        self.text += said
        return said

    def response(self) -> dict[str, Any]:
        """Return the response, as it would have come in one piece.

        Raises:
            IncompleteReply: the stream broke off.
        """
        if self._last is None:
            raise IncompleteReply(self.text)
        parts = [self._parts[index] for index in sorted(self._parts)]
        try:
            whole = [{**p, "with": json.loads(p["with"])} if "with" in p else p for p in parts]
        except ValueError as problem:
            raise IncompleteReply(self.text) from problem
        return {"parts": whole, "ended": self._last["end"], "spent": at(self._last, "spent")}


# 6. The decider


class Client(Protocol):
    """What speaks HTTP to Acme. Yours is the provider's SDK."""

    async def post(self, body: dict[str, Any], /) -> tuple[int, Any]:
        """Return the status and the JSON of the answer."""

    def events(self, body: dict[str, Any], /) -> AsyncIterator[Any]:
        """Return the events of a streamed answer."""


@attrs.frozen
class Decider:
    """Asks a model of Acme."""

    client: Client
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Further fields of the request, in Acme's words."""

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return f"{NAME}:{self.model}"

    def limits(self) -> ModelLimits:
        """Return the model's limits, in tokens."""
        return LIMITS.get(self.model) or lookup(self.model)

    async def decide(self, request: loop.Input, /) -> loop.Decision:
        """Ask, and wait for the whole reply."""
        status, answer = await self.client.post(self._body(request))
        if status != 200:  # noqa: PLR2004  HTTP's word for well
            raise failure(answer, status, self.model)
        return self._decision(answer)

    async def stream(self, request: loop.Input, /) -> AsyncIterator[str | loop.Decision]:
        """Ask, and give the reply as it comes."""
        reply = StreamedResponse()
        async for event in self.client.events({**self._body(request), "stream": True}):
            if piece := reply.feed(event):
                yield piece
        yield self._decision(reply.response())

    def _decision(self, response: Any) -> loop.Decision:
        return attrs.evolve(decode_response(response), request_model=self.model)

    def _body(self, request: loop.Input) -> dict[str, Any]:
        conversation = encode_request(
            request.history, system_prompt=request.system_prompt, tools=request.tools
        )
        return {"model": self.model, **self.options, **conversation}


def failure(answer: Any, status: int | None = None, model: str = NAME) -> ProviderError:
    """Make the error that callers can act on."""
    if is_context_overflow(answer):
        return ContextOverflow(model)
    return RequestFailed(NAME, status, text_at(answer, "error", "problem") or str(answer))


# 7. The record

ADAPTER = Adapter(
    name=NAME,
    stop_words=STOP_WORDS,
    decode=decode,
    decode_request=decode_request,
    decode_response=decode_response,
    usage=usage,
    stop_reason=stop_reason,
    streamed_response=StreamedResponse,
    encode=encode,
    encode_request=encode_request,
    form=RequestForm("talk", "rules", has_system_role=False, parts_replies=True, parts_users=True),
    validate=validate,
    is_context_overflow=is_context_overflow,
    decider=Decider,
)
