"""A decider that calls a model of Amazon Bedrock through Converse, with a client that may block.

A blocking client is called in daemon threads, so that the event loop is not blocked.
`asyncio.to_thread` is not used: `asyncio.run` waits for its threads at the end, so a cancelled run
would hang until the provider answers or boto3's read timeout expires (60 s). An abandoned daemon
thread ends when its call returns, and closes the response.

A streamed reply is assembled from its events.

`messageStop` ends the message; the usage comes after it, in `metadata`. An event is a dict with one
key, the name of its type, as boto3 yields it.
"""

import asyncio
import contextlib
import contextvars
import inspect
import re
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any

import attrs

from agentic.errors import ProviderError
from agentic.limits import ModelLimits
from agentic.loop import Input
from agentic.providers._bound_requests import (
    BINDING_BETA,
    BoundRequests,
    leave_out_blocks,
    with_drop,
)
from agentic.providers._model import ModelDecider, ModelStream, counted_tokens, reported_error
from agentic.providers.bedrock._decoding import (
    NAME,
    STOP_WORDS,
    IncrementalDecoder,
    as_json,
    decode,
    decode_request,
    decode_response,
    for_boto3,
    stop_reason,
    usage,
)
from agentic.providers.bedrock._encoding import (
    TOOL_NAMES,
    encode,
    encode_request,
    mark_for_cache,
    part_turns,
)
from agentic.providers.kit import Adapter, RequestForm, Sdk, at, items_at, text_at
from agentic.providers.kit._adapter import longest_reply, validator_in
from agentic.providers.kit._json import is_deep, parse_object
from agentic.providers.kit._media import from_base64, to_base64
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.kit._streamed_texts import GrowingText, index_in
from agentic.providers.overflow import is_context_overflow

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html (2026-11):
# an error in a stream arrives after the response's status; these are the equivalent statuses.
_STATUS = {
    "internalServerException": 500,
    "modelStreamErrorException": 424,
    "modelTimeoutException": 408,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}

# A field of random length, which hides the size of an event's content from the network.
_PADDING = "p"


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> reply = StreamedResponse()
    >>> reply.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi."}}})
    'Hi.'
    >>> reply.feed({"messageStop": {"stopReason": "end_turn"}})
    ''
    >>> reply.response()["output"]["message"]["content"]
    [{'text': 'Hi.'}]
    """

    _role: str = attrs.field(init=False, default="assistant")
    _blocks: dict[int, "_Block"] = attrs.field(init=False, factory=dict)
    _end: dict[str, Any] | None = attrs.field(init=False, default=None)
    _metadata: dict[str, Any] = attrs.field(init=False, factory=dict)

    def _process(self, event: Any) -> str:
        text = ""
        data = as_json(event)
        for kind, body in data.items() if isinstance(data, dict) else ():
            if kind.endswith("Exception"):
                raise self._failure(kind, body)
            if isinstance(body, dict):
                text += self._take(kind, body)
        return text

    def _take(self, kind: str, body: dict[str, Any]) -> str:
        if kind == "messageStart":
            self._role = text_at(body, "role") or self._role
        elif kind == "contentBlockStart":
            self._block(body).start(body.get("start"))
        elif kind == "contentBlockDelta":
            return self._block(body).add(body.get("delta"))
        elif kind == "messageStop":
            self._end = _unpadded(body)
        elif kind == "metadata":
            self._metadata |= _unpadded(body)
        elif kind == "ResponseMetadata":  # not an event of the service: the Decider adds it
            self._metadata[kind] = body
        return ""

    def _block(self, body: dict[str, Any]) -> "_Block":
        index = index_in(body.get("contentBlockIndex")) or 0
        if index not in self._blocks and isinstance(at(body, "delta", "toolUse"), dict):
            # Arguments under an index that no call began with continue the latest call.
            latest = next(reversed(self._blocks.values()), None)
            if latest is not None and latest.is_call:
                return latest
        return self._blocks.setdefault(index, _Block())

    def _failure(self, kind: str, body: Any) -> ProviderError:
        text = text_at(body, "message") or text_at(body, "originalMessage") or str(body)
        problem = f"{kind}: {text}"
        return reported_error({kind: body}, NAME, self.model, _STATUS.get(kind), problem)

    def _built(self) -> dict[str, Any] | None:
        if self._end is None:
            return None
        blocks = [self._blocks[index].build() for index in sorted(self._blocks)]
        content = [block for block in blocks if block is not None]
        message = {"role": self._role, "content": content}
        return {"output": {"message": message}, **self._end, **self._metadata}


def _unpadded(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != _PADDING}


@attrs.define
class _Block:
    """One content block, as received so far."""

    # Only calls, results and images are announced; the first delta begins any other block.
    _start: dict[str, Any] = attrs.field(factory=dict)
    _text: GrowingText = attrs.field(factory=GrowingText)
    _input: GrowingText | None = None
    """A call's arguments so far, which are JSON text."""
    _reasoning: dict[str, list[str]] = attrs.field(factory=dict)
    _results: list[dict[str, Any]] = attrs.field(factory=list)
    _citations: list[Any] = attrs.field(factory=list)
    _image: dict[str, Any] = attrs.field(factory=dict)
    _image_bytes: list[str] = attrs.field(factory=list)

    @property
    def is_call(self) -> bool:
        return self._input is not None or isinstance(self._start.get("toolUse"), dict)

    def start(self, start: Any) -> None:
        if isinstance(start, dict):
            self._start |= start

    def add(self, delta: Any) -> str:
        """Process a delta; return its text."""
        if isinstance(at(delta, "toolUse"), dict):
            # An empty piece, too, says that the block is a call; its start may be missing.
            self._input = self._input or GrowingText()
            self._input.add(text_at(delta, "toolUse", "input"))
        for name, piece in _dict(at(delta, "reasoningContent")).items():
            if isinstance(piece, str):
                self._reasoning.setdefault(name, []).append(piece)
        self._results += [part for part in items_at(delta, "toolResult") if isinstance(part, dict)]
        if isinstance(at(delta, "citation"), dict):
            self._citations.append(at(delta, "citation"))
        self._add_image(at(delta, "image"))
        return self._text.add(text_at(delta, "text"))

    def _add_image(self, image: Any) -> None:
        if isinstance(image, dict):
            self._image |= image
            if piece := text_at(image, "source", "bytes"):
                self._image_bytes.append(piece)

    def build(self) -> dict[str, Any] | None:
        """Return the block; None for an empty one."""
        call, result = self._start.get("toolUse"), self._start.get("toolResult")
        if self._input is not None or isinstance(call, dict):
            return {"toolUse": {**_dict(call), "input": _parsed(str(self._input or ""))}}
        if self._results or isinstance(result, dict):
            return {"toolResult": {**_dict(result), "content": _merged(self._results)}}
        if self._reasoning:
            return {"reasoningContent": _reasoning(self._reasoning)}
        if self._image or "image" in self._start:
            return {"image": self._built_image()}
        return self._said()

    def _built_image(self) -> dict[str, Any]:
        image = {**_dict(self._start.get("image")), **self._image}
        if len(self._image_bytes) > 1:
            image["source"] = {"bytes": _joined_base64(self._image_bytes)}
        return image

    def _said(self) -> dict[str, Any] | None:
        text = {"text": str(self._text)} if self._text else None
        if not self._citations:
            return text
        content = [text] if text else []
        return {"citationsContent": {"content": content, "citations": self._citations}}


def _dict(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _parsed(text: str) -> Any:
    # The model's own text is kept if it is no JSON object: the next request wraps it in one.
    value = parse_object(text)
    return text if value is None or is_deep(value) else value


def _merged(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join adjacent pieces of text."""
    result: list[dict[str, Any]] = []
    for part in parts:
        if result and part.keys() == result[-1].keys() == {"text"}:
            result[-1] = {"text": text_at(result[-1], "text") + text_at(part, "text")}
        else:
            result.append(part)
    return result


def _reasoning(pieces: dict[str, list[str]]) -> dict[str, Any]:
    # Encrypted thinking, which comes in pieces of base64 and has neither.
    if "text" not in pieces and "signature" not in pieces:
        return {name: _joined_base64(values) for name, values in pieces.items()}
    texts = {name: "".join(values) for name, values in pieces.items()}
    # The API requires a text next to a signature.
    return {"reasoningText": {"text": "", **texts}}


def _joined_base64(pieces: list[str]) -> str:
    # Encoded piece by piece, so each may end with padding, which is invalid in the middle.
    octets = [from_base64(piece) for piece in pieces]
    if None in octets:
        return "".join(pieces)
    return to_base64(b"".join(part or b"" for part in octets))


# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseTokensRequest.html
_COUNTED = ("messages", "system", "toolConfig", "additionalModelRequestFields")
# From models that reject text next to calls or results: see `_families`.
_TWO_KINDS_REFUSED = "cannot be provided in the same turn"
# From models without a prompt cache: https://github.com/NousResearch/hermes-agent/issues/97281 and
# https://github.com/zeroclaw-labs/zeroclaw/pull/8943 (2026-11).
_MARKS_REFUSED = re.compile(r"did not allow prompt caching|\[?cachePoint\]? is not permitted")


@attrs.define(eq=False)
class Decider(ModelDecider):
    """Calls one model with the client's `converse`, or with `converse_stream` for streaming.

    If a model rejects text next to calls or results in one turn, the call is repeated with such
    turns split, and later calls split them too. Families known to reject such turns are never sent
    any. Cache marks that a model rejects are left out in the same way. So is reasoning that is
    refused because an earlier part of the conversation has changed, unless the model accepts to be
    asked to drop it.

    A cancelled boto3 call is not waited for: its thread ends when the call returns. A cancelled
    stream is closed. boto3 does its own retries, as configured by its `Config`.
    """

    _provider = NAME
    _sdks = frozenset({"boto3", "botocore"})
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    _stream_type = StreamedResponse
    client: Any = attrs.field(repr=False)
    """A `bedrock-runtime` client of boto3, or one whose methods are coroutines (aiobotocore)."""
    model: str
    """The `modelId`: a model's id, an inference profile's id, or an ARN."""
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call, such as `inferenceConfig`. Blocks of `system` and entries
    of `toolConfig.tools` are added after those of the conversation; `messages` are not replaced."""
    prompt_cache: bool = attrs.field(default=True, kw_only=True)
    """Whether the tools, the system prompt and the newest messages are marked for the cache, if the
    `modelId` names a model with one. If you set a `cachePoint` yourself, no other is added."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)

    _has_two_kinds: bool = attrs.field(default=True, init=False)
    _takes_marks: bool = attrs.field(default=True, init=False)
    _bound: BoundRequests = attrs.field(
        factory=lambda: BoundRequests(_ask_to_drop, _leave_out), init=False, repr=False
    )

    async def _whole(self, request: Input) -> Any:
        response = await self._ask(self.client.converse, request)
        # boto3 reads any answer as a response, without what is not in it.
        if at(response, "output") is None:
            raise self._without("output", response)
        return response

    async def _open(self, request: Input) -> Any:
        return contextlib.aclosing(_told(await self._ask(self.client.converse_stream, request)))

    async def count_tokens(self, request: Input, /) -> int:
        """Return the provider's token count of the request, including system prompt and tools.

        https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html

        Raises:
            RequestFailed: there is no count, as for some models.
        """
        arguments = self._arguments(request, marked=False)
        fields = {name: arguments[name] for name in _COUNTED if name in arguments}

        async def count(converse: dict[str, Any]) -> Any:
            method = self.client.count_tokens
            return await _call(partial(method, modelId=self.model, input={"converse": converse}))

        async with self._errors():
            answer = await self._bound.send(count, fields, self.model)
        return counted_tokens(answer, "inputTokens", NAME)

    async def _ask(self, method: Callable[..., Any], request: Input) -> Any:
        # At most three times: each of the two refusals is learned once.
        while True:
            # What this request is sent with: a parallel one may learn of a refusal meanwhile.
            has_two_kinds, has_marks = self._has_two_kinds, self.prompt_cache and self._takes_marks
            try:
                return await self._bound.send(
                    lambda arguments: _call(partial(method, **arguments)),
                    self._arguments(request),
                    self.model,
                )
            except Exception as error:
                if has_two_kinds and _TWO_KINDS_REFUSED in str(error):
                    self._has_two_kinds = False
                elif has_marks and _MARKS_REFUSED.search(str(error)):
                    self._takes_marks = False
                else:
                    raise

    def _arguments(self, request: Input, *, marked: bool = True) -> dict[str, Any]:
        conversation = encode_request(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            model=self.model,
            record_role=self.record_role,
        )
        # Learned from a refusal. Families that are known to refuse such turns are fitted above.
        if not self._has_two_kinds:
            conversation["messages"] = part_turns(conversation["messages"])
        whole = _with_options(conversation, self.options, offered=bool(request.tools))
        if marked and self.prompt_cache and self._takes_marks:
            whole = mark_for_cache(whole, self.model)
        return {"modelId": self.model, **for_boto3(whole)}


def _ask_to_drop(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return a call that asks to drop reasoning; None if the caller chose.

    https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.html
    (2026-11-27)

    >>> _ask_to_drop({})["additionalModelRequestFields"]["anthropic_beta"]
    ['thinking-binding-controls-2026-08-01']
    """
    asking = with_drop(arguments, ("additionalModelRequestFields",))
    if asking is None:
        return None
    fields = asking["additionalModelRequestFields"]
    betas = items_at(fields, "anthropic_beta")
    fields = {**fields, "anthropic_beta": [*betas, BINDING_BETA]}
    return {**asking, "additionalModelRequestFields": fields}


def _leave_out(arguments: dict[str, Any], is_stale: Callable[[Any], bool]) -> dict[str, Any]:
    return leave_out_blocks(arguments, _signature_of, is_stale)


def _signature_of(block: Any) -> Any:
    """Return what identifies a block of reasoning; None for another block."""
    content = at(block, "reasoningContent")
    if content is None:
        return None
    text = at(content, "reasoningText")
    return at(text, "signature") or at(content, "redactedContent") or text_at(text, "text")


async def _told(answer: Any) -> AsyncGenerator[Any, None]:
    """Yield the events, with each error that boto3 raises for an event turned back into it."""
    # The id of the request is next to the stream, not in it.
    yield {"ResponseMetadata": at(answer, "ResponseMetadata")}
    async with contextlib.aclosing(_events(answer["stream"])) as stream:
        try:
            async for event in stream:
                yield event
        except Exception as error:
            # By its name, since botocore is not imported: the client is the caller's.
            if type(error).__name__ != "EventStreamError":
                raise
            # boto3 gives all these errors status 400; only the code identifies throttling.
            problem = at(getattr(error, "response", None), "Error")
            code = str(at(problem, "Code") or "") or "unknown"
            kind = code if code.endswith("Exception") else f"{code}Exception"
            yield {kind: {"message": str(at(problem, "Message") or error)}}


def _with_options(
    request: Mapping[str, Any], options: Mapping[str, Any], *, offered: bool = True
) -> dict[str, Any]:
    """Return the request with the caller's options added.

    Blocks of `system` and entries of `toolConfig.tools`, such as cache marks, come after ours.

    >>> cached = {"system": [{"cachePoint": {"type": "default"}}]}
    >>> _with_options({"system": [{"text": "Be brief."}], "messages": []}, cached)["system"]
    [{'text': 'Be brief.'}, {'cachePoint': {'type': 'default'}}]
    """
    result = {**request, **options, "messages": request["messages"]}
    if isinstance(options.get("system"), list):
        result["system"] = [*items_at(request, "system"), *options["system"]]
    tools = options.get("toolConfig")
    if isinstance(tools, Mapping):
        own, theirs = items_at(request, "toolConfig", "tools"), items_at(tools, "tools")
        config = {**tools, "tools": [*own, *theirs]}
        # Placeholders for tools that are gone must not be chosen.
        if not (offered or theirs):
            config.pop("toolChoice", None)
        result["toolConfig"] = config
        # At least one is required (API_runtime_ToolConfiguration, 2026-11).
        if not config["tools"]:
            del result["toolConfig"]
    return result


async def _call(function: Callable[[], Any]) -> Any:
    """Call a method of the client, which may block or return a coroutine."""
    answer = await _in_thread(function)
    return await answer if inspect.isawaitable(answer) else answer


async def _in_thread(function: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    handover = _Handed()

    def settle(error: BaseException | None) -> None:
        # Cancelled while the thread was waiting.
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def work() -> None:
        problem: BaseException | None = None
        try:
            handover.over(function())
        except StopIteration as error:  # no future takes one; a coroutine raises this instead
            problem = RuntimeError("the client's method raised StopIteration")
            problem.__cause__ = error
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            problem = error
        try:
            loop.call_soon_threadsafe(settle, problem)
        except RuntimeError:  # the loop is closed
            handover.refuse()

    _start(work)
    try:
        await future
    # A cancellation as well: the answer will not be taken any more.
    except BaseException:
        handover.refuse()
        raise
    return handover.take()


@attrs.define(eq=False)
class _Handed:
    """Holds a thread's answer until it is taken, or discards it if it is refused."""

    # The answer may arrive before or after the refusal; the later of the two discards it. A
    # callback on the loop could not do that, since a loop that is closing runs no more callbacks.
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _answer: Any = None
    _refused: bool = False

    def over(self, answer: Any) -> None:
        """Store the answer; discard it if it was refused."""
        with self._lock:
            self._answer = answer
        if self._refused:
            self.refuse()

    def take(self) -> Any:
        """Return the answer and forget it."""
        with self._lock:
            answer, self._answer = self._answer, None
        return answer

    def refuse(self) -> None:
        """Refuse later answers, and discard the one that has arrived, if any."""
        with self._lock:
            self._refused = True
        _discard(self.take())


def _start(work: Callable[[], None]) -> None:
    # As `asyncio.to_thread` does.
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="agentic-bedrock", daemon=True).start()


def _discard(answer: Any) -> None:
    """Close an answer that arrived too late."""
    # Python warns of a coroutine that is neither awaited nor closed.
    if inspect.iscoroutine(answer):
        answer.close()
    stream = answer.get("stream") if isinstance(answer, dict) else None
    close = getattr(stream, "close", None)
    if close is not None and not inspect.iscoroutinefunction(close):
        close()


async def _events(stream: Any) -> AsyncGenerator[Any, None]:
    """Yield the events of a stream, which may block or be asynchronous, and close it at the end."""
    if not hasattr(stream, "__aiter__"):
        reader = _Reader(stream, asyncio.get_running_loop())
        async with contextlib.aclosing(reader.read()) as items:
            async for event in items:
                yield event
        return
    try:
        async for event in stream:
            yield event
    finally:
        closing = stream.close() if hasattr(stream, "close") else None
        if inspect.isawaitable(closing):
            await closing


@attrs.frozen
class _End:
    """The last item that a reading thread puts into the queue."""

    error: BaseException | None = None


@attrs.define(eq=False)
class _Reader:
    """One thread that reads a blocking stream into a queue."""

    stream: Any
    loop: asyncio.AbstractEventLoop
    # Without a bound: `put_nowait` to a full queue raises in the loop, and the event is lost.
    queue: asyncio.Queue[Any] = attrs.field(init=False, factory=asyncio.Queue)
    left: bool = attrs.field(init=False, default=False)
    """Whether the queue is no longer read."""

    async def read(self) -> AsyncGenerator[Any, None]:
        """Yield events as they arrive; stop the thread when the caller stops reading."""
        _start(self._work)
        try:
            while not isinstance(item := await self.queue.get(), _End):
                yield item
            if item.error is not None:
                raise item.error
        finally:
            self._leave()

    def _leave(self) -> None:
        """Stop the thread, even if it is waiting for the next event."""
        self.left = True
        # `close` would wait until the thread's pending read returns; urllib3's `shutdown` does not:
        # https://urllib3.readthedocs.io/en/stable/reference/urllib3.response.html
        shutdown = getattr(getattr(self.stream, "_raw_stream", None), "shutdown", None)
        if shutdown is not None:
            with contextlib.suppress(Exception):
                shutdown()

    def _work(self) -> None:
        end = _End()
        try:
            for event in self.stream:
                if self.left:
                    break
                self._put(event)
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            end = _End(error)
        finally:
            with contextlib.suppress(Exception):
                self.stream.close()
        self._put(end)

    def _put(self, item: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(self.queue.put_nowait, item)
        except RuntimeError:  # the loop is closed
            self.left = True


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
    validate=validator_in("agentic.providers.bedrock._validation"),
    is_context_overflow=is_context_overflow,
    decider=Decider,
    form=RequestForm(
        "messages",
        "system",
        lambda request: at(request, "toolConfig", "tools"),
        has_system_role=False,
        parts_replies=True,
        replies="merged",
        # Older versions of Converse reject two user messages in a row.
        parts_users=True,
        text_block={},
        family="claude",
    ),
    sdk=Sdk(
        install="agentic-weave[bedrock]",
        module="boto3",
        make=lambda sdk: sdk.client("bedrock-runtime"),
    ),
    reply_tokens=lambda options, _: longest_reply(options, [("inferenceConfig", "maxTokens")]),
    trace_name="aws.bedrock",
)
