"""A decider that calls a Gemini model through Google's own client.

The SDK's types reject unknown fields in a request and drop them from a reply. So the conversation
is sent in `extra_body`, which the SDK merges into its request unchanged, and the reply is read from
the raw response. For a stream there is no such way: fields that this SDK does not know are lost.

A streamed reply is assembled from its events.

Each event is a complete response that contains the next parts. Adjacent texts become one part,
except signed ones, which Google requires back unmerged
(https://ai.google.dev/gemini-api/docs/thought-signatures). Usage and all other fields are
cumulative, so the last value counts. A finishReason or a blocked prompt marks the end.

Vertex AI streams the arguments of a call piece by piece: with `streamFunctionCallArguments` a call
comes as its name, then pieces with a path (RFC 9535, such as `$.recipe.steps[0]`) and a value,
then an empty piece:
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling (2026-11).
"""

import contextlib
import copy
import itertools
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.errors import ProviderError
from agentic.limits import ModelLimits
from agentic.loop import Input
from agentic.providers._model import ModelDecider, ModelStream, counted_tokens, reported_error
from agentic.providers._registry import BEGINNINGS
from agentic.providers.gemini._decoding import (
    CONTINUATION,
    FIRST_PROMPT,
    NAME,
    STOP_WORDS,
    IncrementalDecoder,
    decode,
    decode_request,
    decode_response,
    field,
    has_field,
    list_of,
    parts_of,
    response_of,
    stop_reason,
    system_of,
    text_of,
    tools_of,
    usage,
)
from agentic.providers.gemini._encoding import TOOL_NAMES, encode, encode_request
from agentic.providers.kit import Adapter, RequestForm, Sdk, plain, text_at
from agentic.providers.kit._adapter import HttpApi, ModelOffer, longest_reply, validator_in
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.kit._streamed_texts import GrowingText, join_pieces
from agentic.providers.overflow import is_context_overflow
from agentic.usage import Usage

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\[(?:'([^']*)'|"([^"]*)")\]""")
# The maximum nesting of protocol buffers in JSON (`google.protobuf.json_format.Parse`, 2026-11).
# The value at a longer path is stored with the path itself as the key, which no tool expects.
_DEEPEST = 100
_VALUES = ("numberValue", "boolValue")
_STREAMING = {"partialArgs", "partial_args", "willContinue", "will_continue"}
_MERGED = {"text", "thought"}
_THE_SDK_S = {"sdkHttpResponse", "automaticFunctionCallingHistory", "parsed"}


@attrs.define
class _PartialCall:
    """One part with a functionCall that is still being streamed."""

    part: dict[str, Any]
    """The resulting part, with the arguments received so far."""
    _unfinished: str = ""
    """The path of the string that the next piece may continue."""
    _string: GrowingText | None = attrs.field(default=None, init=False)
    """The latest value, if it is a string."""

    @classmethod
    def begin(cls, part: Any) -> "_PartialCall":
        """Return a partial call for the part that opens it."""
        call = field(part, "functionCall")
        rest = {key: value for key, value in call.items() if key not in _STREAMING}
        args = field(call, "args")
        # A copy, with all that is in it: later pieces go into objects of the caller's event.
        args = copy.deepcopy(args) if isinstance(args, dict) else {}
        instance = cls({**part, "functionCall": {**rest, "args": args}})
        instance.add(call)
        return instance

    def add(self, call: Any) -> bool:
        """Process the next piece; return whether more will follow."""
        arguments = self.part["functionCall"]["args"]
        for piece in list_of(call, "partialArgs"):
            self._set(arguments, piece)
        return field(call, "willContinue") is True

    def _set(self, arguments: dict[str, Any], piece: Any) -> None:
        path = text_of(piece, "jsonPath")
        steps = [_step(step) for step in _STEP.finditer(path)]
        if not steps:
            return
        # Nothing is lost, and no reader has to recurse that far.
        if len(steps) > _DEEPEST:
            steps = [path]
        value = _value(piece)
        # A string continues where it stopped; anything else replaces what was there.
        if path == self._unfinished and self._string is not None and isinstance(value, str):
            self._string.add(value)
        else:
            self._string = GrowingText(value) if isinstance(value, str) else None
            target = value if self._string is None else self._string
            _put(_reach(arguments, steps), steps[-1], target)
        self._unfinished = path if field(piece, "willContinue") is True else ""


def _step(match: "re.Match[str]") -> str | int:
    key, index, single, double = match.groups()
    if index is not None:
        return int(index)
    return str(next(name for name in (key, single, double) if name is not None))


def _value(piece: Any) -> Any:
    if has_field(piece, "stringValue"):
        return text_of(piece, "stringValue")
    value = next((field(piece, name) for name in _VALUES if has_field(piece, name)), None)
    return value if isinstance(value, int | float) else None


def _reach(holder: Any, steps: list[str | int]) -> Any:
    """Return the container for the last step, creating containers that do not exist yet."""
    for step, following in itertools.pairwise(steps):
        inner = _look(holder, step)
        if not isinstance(inner, dict | list):
            inner = [] if isinstance(following, int) else {}
            _put(holder, step, inner)
        holder = inner
    return holder


def _look(holder: Any, step: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(str(step))
    return holder[step] if isinstance(step, int) and step < len(holder) else None


def _put(holder: Any, step: str | int, value: Any) -> None:
    if isinstance(holder, dict):
        holder[str(step)] = value
    elif isinstance(step, int) and step < len(holder):
        holder[step] = value
    else:
        # An index of a billion must not make a list of that length.
        holder.append(value)


@attrs.define
class _Candidate:
    """One candidate, with its content so far."""

    said: dict[str, Any] = attrs.field(factory=dict)
    content: dict[str, Any] = attrs.field(factory=dict)
    parts: list[Any] = attrs.field(factory=list)
    calling: _PartialCall | None = None

    def add(self, candidate: Any) -> str:
        """Process an event's data for this candidate; return the new text."""
        self.said |= {key: value for key, value in candidate.items() if value is not None}
        content = field(candidate, "content")
        if isinstance(content, dict):
            self.content |= content
        parts = [part for part in parts_of(content) if isinstance(part, dict)]
        for part in parts:
            self._add_part(part)
        visible = (part for part in parts if field(part, "thought") is not True)
        return "".join(text_of(part, "text") for part in visible)

    def _add_part(self, part: dict[str, Any]) -> None:
        call = field(part, "functionCall")
        if isinstance(call, dict):
            self._add_call(part, call)
        elif set(part) <= _MERGED:
            self._add_text(part)
        else:
            self.parts.append(part)

    def _add_text(self, part: dict[str, Any]) -> None:
        text = part.get("text")
        if not text:
            return
        if not isinstance(text, str):
            self.parts.append(part)
            return
        last = self.parts[-1] if self.parts else {}
        # A thought and an answer stay two parts, as in a reply that is not streamed.
        if isinstance(last.get("text"), GrowingText) and last.get("thought") == part.get("thought"):
            last["text"].add(text)
        else:
            self.parts.append({**part, "text": GrowingText(text)})

    def _add_call(self, part: dict[str, Any], call: dict[str, Any]) -> None:
        if self.calling is not None and not text_of(call, "name"):
            # A signature may come with a later piece than the name.
            late = {key: value for key, value in part.items() if isinstance(value, str)}
            self.calling.part |= late
            goes_on = self.calling.add(call)
        elif field(call, "willContinue") is True or list_of(call, "partialArgs"):
            self.calling = _PartialCall.begin(part)
            self.parts.append(self.calling.part)
            goes_on = field(call, "willContinue") is True
        else:
            if call:
                self.parts.append(part)
            goes_on = False
        if not goes_on:
            self.calling = None

    def whole(self) -> dict[str, Any]:
        """Return the candidate as in a non-streamed response."""
        if not self.content:
            return self.said
        content = {key: value for key, value in self.content.items() if key != "parts"}
        if self.parts:
            content["parts"] = join_pieces(self.parts)
        return {**self.said, "content": content}


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> streamed = StreamedResponse()
    >>> event = {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}
    >>> streamed.feed(event)
    'Hi.'
    >>> streamed.response() == event
    True
    """

    _fields: dict[str, Any] = attrs.field(factory=dict, init=False)
    _earlier: dict[str, Any] = attrs.field(factory=dict, init=False)
    """The counts of the earlier requests, if the reply took several."""
    _counts: dict[str, Any] = attrs.field(factory=dict, init=False)
    """The counts of the latest request so far."""
    _candidates: dict[int, _Candidate] = attrs.field(factory=dict, init=False)

    def _process(self, event: Any) -> str:
        data = response_of(event)
        failure = failure_in(data, text_of(data, "modelVersion") or self.model)
        if failure is not None:
            raise failure
        self._continue()
        counts = _dict(data, "usageMetadata")
        self._fields |= {key: data[key] for key in data if key not in _THE_SDK_S}
        whole = has_field(counts, "totalTokenCount")  # others have only the traffic type
        self._counts = counts if whole else {**self._counts, **counts}
        if self._earlier or self._counts:
            self._fields["usageMetadata"] = _sum(self._earlier, self._counts)
        candidates = [each for each in list_of(data, "candidates") if isinstance(each, dict)]
        return "".join(map(self._add, candidates))

    def _continue(self) -> None:
        """Begin the next request of a reply if the latest one reached the limit of a request.

        The SDK continues a stream itself from 3.6 on. It then leaves this reason out, and sums up
        the counts (`StreamContinuation.observe` in google-genai 3.6.1).
        """
        first = self._candidates.get(min(self._candidates, default=0))
        if first is None or text_of(first.said, "finishReason") != CONTINUATION:
            return
        for candidate in self._candidates.values():
            for name in ("finishReason", "finishMessage", "continuationToken"):
                candidate.said.pop(name, None)
        self._earlier, self._counts = _sum(self._earlier, self._counts), {}

    def _add(self, candidate: dict[str, Any]) -> str:
        number = field(candidate, "index")
        # JSON made from protocol buffers leaves out a 0.
        index = number if isinstance(number, int) else 0
        delta = self._candidates.setdefault(index, _Candidate()).add(candidate)
        return delta if index == min(self._candidates) else ""

    def _built(self) -> dict[str, Any] | None:
        candidates = [self._candidates[index].whole() for index in sorted(self._candidates)]
        if candidates:
            is_over = has_field(candidates[0], "finishReason")
        else:
            is_over = has_field(field(self._fields, "promptFeedback"), "blockReason")
        if not is_over:
            return None
        return {**self._fields, **({"candidates": candidates} if candidates else {})}


def _sum(earlier: dict[str, Any], counts: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of several requests, each of which is billed, and the first prompt.

    >>> _sum({"promptTokenCount": 9}, {"promptTokenCount": 12})
    {'promptTokenCount': 21, 'initialPromptTokenCount': 9}
    """
    if not earlier or not counts:
        return earlier or counts
    both = {**earlier, **counts}
    for name, value in both.items():
        if name.endswith("Count"):
            # JSON made from protocol buffers may write a count as a text, which `Usage` can read.
            both[name] = sum(Usage(input=each.get(name)).input for each in (earlier, counts))
        elif isinstance(value, list):
            both[name] = [*list_of(earlier, name), *list_of(counts, name)]
    first = earlier.get(FIRST_PROMPT) or earlier.get("promptTokenCount")
    return {**both, **({FIRST_PROMPT: first} if first else {})}


def _dict(data: Any, name: str) -> dict[str, Any]:
    value = field(data, name)
    return value if isinstance(value, dict) else {}


def failure_in(data: Any, model: str) -> ProviderError | None:
    """Return the error in an event or a response; None if there is none."""
    error = field(data, "error")
    if not isinstance(error, dict):
        return None
    code = field(error, "code")
    status = code if isinstance(code, int) else None
    problem = text_of(error, "message") or str(error)
    return reported_error({"error": error}, NAME, model, status, problem)


if TYPE_CHECKING:
    from google.genai import Client

# The contents passed to the SDK, which requires some; those in `extra_body` replace them.
_PLACEHOLDER = "."
# In a body: an instruction that was decoded keeps its own spelling.
_INSTRUCTIONS = ("systemInstruction", "system_instruction")


@attrs.frozen
class Decider(ModelDecider):
    """Calls one model with the official SDK's `aio.models.generate_content`."""

    _provider = NAME
    _sdks = frozenset({"google"})
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    _stream_type = StreamedResponse
    client: "Client" = attrs.field(repr=False)
    """A client for AI Studio or Vertex AI. It supplies the API key, timeouts and retries. It does
    not retry unless it was created with `HttpOptions(retry_options=HttpRetryOptions())`, as
    `connect` does."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Fields of the SDK's GenerateContentConfig: temperature, max_output_tokens, thinking_config,
    http_options. Google's own tools in it come before those of the loop, and a `system_instruction`
    comes before that of the conversation."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)

    async def _whole(self, request: Input) -> Any:
        parts, token = [await self._part(request)], ""
        # The SDK does not see that the reply goes on, since it does not read the raw response.
        while (following := self._continuation(parts[-1])) and following != token:
            token = following
            parts.append(await self._part(request, token))
        if len(parts) == 1:
            return parts[0]
        response = StreamedResponse(self.model)
        for part in parts:
            response.feed(part)
        return response.response()

    def _continuation(self, response: Any) -> str:
        """Return the token that continues a reply; empty if it is complete or is not continued."""
        # The SDK's own switch: it is on unless the options say otherwise.
        if self.options.get("automatic_continuation") is False:
            return ""
        first = next(iter(list_of(response, "candidates")), None)
        goes_on = text_of(first, "finishReason") in ("", CONTINUATION)
        return text_of(first, "continuationToken") if goes_on else ""

    async def _part(self, request: Input, token: str = "") -> Any:
        """Return the response to one request; of a reply that goes on, the next part."""
        call = self._call(request, token, should_return_http_response=True)
        response = await self.client.aio.models.generate_content(**call)
        body = text_at(plain(response), "sdkHttpResponse", "body")
        value: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(body)
        if failure := failure_in(value, self.model):
            raise failure
        if not (list_of(value, "candidates") or field(value, "promptFeedback")):
            raise self._without("candidates", body)
        return value

    async def _open(self, request: Input) -> Any:
        events: Any = await self.client.aio.models.generate_content_stream(**self._call(request))
        # An async generator that is left alone keeps its connection until it is collected.
        return contextlib.aclosing(events)

    async def count_tokens(self, request: Input, /) -> int:
        """Return the provider's token count of the request, including system prompt and tools.

        Raises:
            RequestFailed: the provider returned no count.
        """
        body = self._body(request, is_whole=True)
        if not self.client.vertexai:  # https://ai.google.dev/api/tokens: one or the other
            name = self.model if "/" in self.model else f"models/{self.model}"
            body = {"contents": [], "generateContentRequest": {"model": name, **body}}
        config: Any = {"http_options": self._http_options(body)}
        async with self._errors():
            response = await self.client.aio.models.count_tokens(
                model=self.model, contents=_PLACEHOLDER, config=config
            )
        return counted_tokens(response, "totalTokens", NAME)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the provider offers.

        Raises:
            Exception: what the SDK raises.
        """
        pages = await self.client.aio.models.list()
        # The list says `models/NAME` where a request may say NAME.
        return [(model.name or "").removeprefix("models/") async for model in pages]

    def _call(self, request: Input, token: str = "", **config: Any) -> dict[str, Any]:
        body = self._body(request)
        if token:
            body["continuationToken"] = token
        tools = [*(self.options.get("tools") or ()), *body.pop("tools", ())]
        settings = {
            # The caller runs the tools, not the SDK.
            "automatic_function_calling": {"disable": True},
            **self.options,
            **config,
            "http_options": self._http_options(body),
            **({"tools": tools} if tools else {}),
        }
        return {"model": self.model, "contents": _PLACEHOLDER, "config": settings}

    def _body(self, request: Input, *, is_whole: bool = False) -> dict[str, Any]:
        body = encode_request(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            model=self.model,
            record_role=self.record_role,
        )
        # The SDK lets the body replace an instruction of the options, and writes one that is alone,
        # but only for a reply: what is counted has to be whole.
        alone = _INSTRUCTIONS[0] if is_whole else ""
        key = next((key for key in _INSTRUCTIONS if key in body), alone)
        if key and (instruction := self.options.get("system_instruction")):
            body[key] = {"parts": [*parts_of(plain(instruction)), *parts_of(body.get(key))]}
        return body

    def _http_options(self, body: Mapping[str, Any]) -> Any:
        options: Any = self.options.get("http_options") or {}
        if isinstance(options, Mapping):
            return {**options, "extra_body": {**(options.get("extra_body") or {}), **body}}
        return options.model_copy(update={"extra_body": {**(options.extra_body or {}), **body}})


def make_client(sdk: Any) -> Any:
    """Create a client that retries: unlike the other SDKs, this one does not by default.

    The SDK's retry defaults: five attempts, 1 to 60 seconds apart, after 408, 429 and 5xx
    (`google.genai._api_client.retry_args` of google-genai 3.4, read on 2026-11-22).
    """
    retry = sdk.types.HttpRetryOptions()
    return sdk.Client(http_options=sdk.types.HttpOptions(retry_options=retry))


# https://ai.google.dev/api/generate-content (2026-11): models/{model}:generateContent, and below
# projects, locations and publishers on Vertex AI.
_PATH = re.compile(r"/models/([^/:]+):(?:generateContent|streamGenerateContent)$")
# https://cloud.google.com/apis/design/errors#handling_errors (2026-11)
_STATUS_NAMES = {400: "INVALID_ARGUMENT", 413: "INVALID_ARGUMENT", 504: "DEADLINE_EXCEEDED"}


def _model_in(path: str) -> str:
    """Return the model that a path names.

    >>> _model_in("/v1beta/models/gemini-2.5-pro:generateContent")
    'gemini-2.5-pro'
    """
    match = _PATH.search(path)
    return "" if match is None else match[1]


def _has_content(event: Any) -> bool:
    """Return whether an event of a stream has a part of the reply, or ends it.

    >>> _has_content({"usageMetadata": {"promptTokenCount": 9}})
    False
    """
    candidates = [each for each in list_of(event, "candidates") if isinstance(each, dict)]
    return bool(field(field(event, "promptFeedback"), "blockReason")) or any(
        field(each, "finishReason") or list_of(_dict(each, "content"), "parts")
        for each in candidates
    )


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
    validate=validator_in("agentic.providers.gemini._validation"),
    is_context_overflow=is_context_overflow,
    decider=Decider,
    form=RequestForm(
        "contents",
        system_of,
        tools_of,
        takes_texts=True,
        has_system_role=False,
        parts_replies=True,
        replies="merged",
        family="gemini-3",
    ),
    sdk=Sdk(
        install="agentic-weave[gemini]",
        module="google.genai",
        make=make_client,
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    # The SDK takes both spellings.
    reply_tokens=lambda options, _: longest_reply(
        options, [("max_output_tokens",), ("maxOutputTokens",)]
    ),
    http=HttpApi(
        takes_path=lambda path: _PATH.search(path) is not None,
        has_content=_has_content,
        model_in=_model_in,
        error_body=lambda status, _, message: {
            "error": {
                "code": status,
                "message": message,
                "status": _STATUS_NAMES.get(status, "UNAVAILABLE"),
            }
        },
    ),
    offer=ModelOffer(model="gemini-2.5-pro", starts=BEGINNINGS["gemini"]),
    trace_name="gcp.gemini",
)
