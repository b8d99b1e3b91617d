"""A decider that calls a model through Cohere's Chat API, and the replies that it reads.

`usage.tokens` counts everything that the model read and wrote, including the prompt that Cohere
adds around tools; `billed_units` is what is paid for, and less. `cached_tokens` is part of the
input: https://docs.cohere.com/reference/chat (2026-11). Reasoning is not counted separately.

The events of a stream: https://docs.cohere.com/v2/docs/streaming and
https://docs.cohere.com/docs/tool-use-streaming (2026-11). They are message-start; content-start,
-delta and -end; tool-plan-delta; tool-call-start, -delta and -end; citation-start and -end;
message-end, with the finish reason, the usage and perhaps an error.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import attrs

from agentic.limits import ModelLimits
from agentic.loop import Decision, Input
from agentic.messages import Message
from agentic.providers._model import ModelDecider, ModelStream, reported_error
from agentic.providers.cohere._messages import (
    NAME,
    PLAN_END,
    TOOL_NAMES,
    IncrementalDecoder,
    decode,
    decode_message,
    decode_request,
    encode,
    encode_request,
)
from agentic.providers.kit import Adapter, RequestForm, Sdk, at, plain, text_at
from agentic.providers.kit._adapter import validator_in
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.kit._streamed_calls import StreamedCalls
from agentic.providers.kit._streamed_texts import GrowingText, add_fields, join_pieces
from agentic.providers.overflow import is_context_overflow
from agentic.usage import StopReason, StopWords, Usage, normalize

if TYPE_CHECKING:
    from cohere import AsyncClientV2

STOP_WORDS = StopWords(
    NAME,
    {
        "COMPLETE": StopReason.STOP,
        "STOP_SEQUENCE": StopReason.STOP,
        "TOOL_CALL": StopReason.TOOL,
        "MAX_TOKENS": StopReason.MAX_TOKENS,
        "ERROR": StopReason.ERROR,
        "TIMEOUT": StopReason.ERROR,
    },
)
"""https://docs.cohere.com/reference/chat (2026-11)."""
_PIECES = ("text", "thinking")
"""The texts of a part that arrive in pieces."""


def decode_response(response: Any, /) -> Decision:
    """Read a reply.

    >>> message = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    >>> decode_response({"message": message, "finish_reason": "COMPLETE"}).reply
    'Done.'
    """
    body = plain(response)
    message = _message(body)
    return Decision(
        message.content,
        message.tool_calls,
        usage(body) if isinstance(at(body, "usage"), dict) else None,
        _reason(body, message),
        message.native,
        stop_word=text_at(body, "finish_reason"),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_id=text_at(body, "id"),
    )


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended.

    >>> stop_reason({"finish_reason": "MAX_TOKENS"})
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    body = plain(response)
    return _reason(body, _message(body))


def usage(response: Any, /) -> Usage:
    """Return a reply's token usage; counts that the server does not report are 0.

    >>> tokens = {"input_tokens": 1442, "output_tokens": 29}
    >>> usage({"usage": {"tokens": tokens, "cached_tokens": 1040}})
    Usage(input=1442, output=29, total=1471, cache_read=1040, cache_write=0, reasoning=0)
    """
    counts = at(plain(response), "usage")
    # The billed units leave out the prompt that Cohere adds, but are better than no count at all.
    tokens = at(counts, "tokens") or at(counts, "billed_units")
    # A Usage takes the SDK's floats, and reads what is no count as 0.
    read, output = at(tokens, "input_tokens"), at(tokens, "output_tokens")
    return normalize(Usage(read, output, cache_read=at(counts, "cached_tokens")))


def _message(body: Any) -> Message:
    """Return the message of a reply, with the payload to send back."""
    wire = at(body, "message")
    if not isinstance(wire, dict) or not wire:
        return Message("assistant")
    return decode_message({**wire, "role": "assistant"})


def _reason(body: Any, message: Message) -> StopReason:
    word = text_at(body, "finish_reason").upper() or None
    return STOP_WORDS.reason(word, has_tool_calls=bool(message.tool_calls))


@attrs.define(eq=False)
class _Pieces:
    """One part of the message: its fields, and the texts that arrive in pieces."""

    fields: dict[str, Any]
    texts: defaultdict[str, GrowingText] = attrs.field(factory=lambda: defaultdict(GrowingText))


@attrs.define
class StreamedResponse(ModelStream):
    """Builds the response from the events of a stream.

    >>> streamed = StreamedResponse()
    >>> pieces = [
    ...     streamed.feed({"type": "content-delta", "index": 0, "delta": {"message": message}})
    ...     for message in ({"content": {"text": "It is "}}, {"content": {"text": "green."}})
    ... ]
    >>> streamed.feed({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}), pieces
    ('', ['It is ', 'green.'])
    >>> streamed.response()["message"]
    {'role': 'assistant', 'content': [{'type': 'text', 'text': 'It is green.'}]}
    """

    _id: str = attrs.field(default="", init=False)
    _plan: GrowingText = attrs.field(factory=GrowingText, init=False)
    _content: dict[Any, _Pieces] = attrs.field(factory=dict, init=False)
    _calls: StreamedCalls = attrs.field(factory=StreamedCalls, init=False)
    _citations: list[Any] = attrs.field(factory=list, init=False)
    _end: Any = attrs.field(default=None, init=False)

    def _process(self, event: Any) -> str:
        data = plain(event)
        kind, message = text_at(data, "type"), at(data, "delta", "message")
        if kind == "message-end":
            self._end = at(data, "delta") or {}
            if problem := text_at(self._end, "error"):
                raise reported_error({"message": problem}, NAME, self.model, None, problem)
        elif kind == "message-start":
            self._id = text_at(data, "id")
        elif kind == "tool-plan-delta":
            return self._plan.add(text_at(message, "tool_plan"))
        elif kind in {"content-start", "content-delta"}:
            return self._content_piece(_key(data), at(message, "content"))
        # The start of a call already has its name, and may have the first of its arguments.
        elif kind in {"tool-call-start", "tool-call-delta"}:
            if isinstance(call := at(message, "tool_calls"), dict):
                self._calls.add({**call, "index": at(data, "index")})
        elif kind == "citation-start" and at(message, "citations"):
            self._citations.append(at(message, "citations"))
        return ""

    def _built(self) -> dict[str, Any] | None:
        if self._end is None:
            return None
        fields = {
            "tool_plan": str(self._plan),
            "tool_calls": [_whole_call(call) for call in self._calls.whole()],
            "content": [part for part in map(_whole_part, self._content.values()) if part],
            "citations": self._citations,
        }
        message = {key: value for key, value in fields.items() if value}
        body = {"id": self._id, "message": {"role": "assistant", **message}}
        end = {key: at(self._end, key) for key in ("finish_reason", "usage")}
        return body | {key: value for key, value in end.items() if value is not None}

    def _content_piece(self, key: Any, content: Any) -> str:
        part = self._content.setdefault(key, _Pieces({}))
        if isinstance(content, dict):
            rest = {name: value for name, value in content.items() if name not in _PIECES}
            add_fields(part.fields, rest)
        part.texts["thinking"].add(text_at(content, "thinking"))
        text = text_at(content, "text")
        # As `decode_message` joins them, so that what is streamed is what the reply says.
        has_text = any(each.texts["text"] for each in self._content.values())
        part.texts["text"].add(text)
        is_first = text and self._plan and not has_text
        return PLAN_END + text if is_first else text


@attrs.frozen
class Decider(ModelDecider):
    """Calls one model with the official SDK's `chat` and `chat_stream`."""

    _provider = NAME
    # The SDK's clients for Bedrock and SageMaker use AWS's.
    _sdks = frozenset({"boto3", "botocore", "cohere"})
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    _stream_type = StreamedResponse
    client: "AsyncClientV2" = attrs.field(repr=False)
    """It supplies the API key, the server address and timeouts."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call, such as temperature, max_tokens and thinking. `tools` are
    added after those of the request."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)

    async def _whole(self, request: Input) -> Any:
        chat: Any = self.client.chat
        body = plain(await chat(**self._call(request)))
        # An error has its text where a reply has an object.
        if problem := text_at(body, "message"):
            raise reported_error(body, NAME, self.model, None, problem)
        if not isinstance(at(body, "message"), dict):
            raise self._without("a message", body)
        return body

    async def _open(self, request: Input) -> Any:
        chat_stream: Any = self.client.chat_stream
        # The SDK's generator closes its connection only when it is closed itself.
        return aclosing(chat_stream(**self._call(request)))

    async def list_models(self) -> list[str]:
        """Return the names of the models that the provider offers.

        Raises:
            Exception: what the SDK raises.
        """
        # The largest page: by default it has 20 models.
        answer: Any = await self.client.models.list(page_size=1000, endpoint="chat")
        return [str(model.name) for model in answer.models]

    def _call(self, request: Input) -> dict[str, Any]:
        body = encode_request(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            record_role=self.record_role,
        )
        tools = [*body.pop("tools", ()), *(self.options.get("tools") or ())]
        options = {key: value for key, value in self.options.items() if key != "tools"}
        # The options go first: they do not replace the conversation.
        return {"model": self.model, **options, **body, **({"tools": tools} if tools else {})}


def _key(data: Any) -> str:
    """Return the index of a part; what has none belongs to one part."""
    # A text, because whatever a server sends as the index has to be hashable.
    return str(at(data, "index"))


def _whole_part(part: _Pieces) -> dict[str, Any]:
    """Return a part of the content; an empty dict if nothing of it arrived."""
    texts = {key: str(part.texts[key]) for key in _PIECES if part.texts[key]}
    if not texts:
        return {}
    # Without its start event, a part has the type of its text.
    return {"type": next(iter(texts)), **join_pieces(part.fields), **texts}


def _whole_call(call: dict[str, Any]) -> dict[str, Any]:
    function = {"name": "", "arguments": "", **(at(call, "function") or {})}
    return {**call, "id": text_at(call, "id"), "type": "function", "function": function}


ADAPTER = Adapter(
    name=NAME,
    stop_words=STOP_WORDS,
    decode=decode,
    decode_request=decode_request,
    decode_response=decode_response,
    usage=usage,
    stop_reason=stop_reason,
    streamed_response=StreamedResponse,
    list_decoder=IncrementalDecoder,
    encode=encode,
    encode_request=encode_request,
    validate=validator_in("agentic.providers.cohere._validation"),
    is_context_overflow=is_context_overflow,
    decider=Decider,
    form=RequestForm("messages", replies="answered"),
    sdk=Sdk(install="agentic-weave[cohere]", module="cohere", make=lambda sdk: sdk.AsyncClientV2()),
)
