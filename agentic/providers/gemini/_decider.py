"""A decider that calls a Gemini model through Google's own client.

The SDK's types reject unknown fields in a request and drop them from a reply. So the conversation
is sent in `extra_body`, which the SDK merges into its request unchanged, and the reply is read from
the raw response. For a stream there is no such way: fields that this SDK does not know are lost.
"""

import contextlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.limits import ModelLimits
from agentic.loop import Input
from agentic.providers._model import ModelDecider, counted_tokens
from agentic.providers.gemini._decoding import NAME
from agentic.providers.gemini._encoding import TOOL_NAMES, encode_request
from agentic.providers.gemini._fields import CONTINUATION, field, list_of, parts_of, text_of
from agentic.providers.gemini._replies import decode_response
from agentic.providers.gemini._streaming import StreamedResponse, failure_in
from agentic.providers.kit import plain, text_at
from agentic.providers.kit._record import RecordRole, valid_record_role

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
        joined = StreamedResponse(self.model)
        for part in parts:
            joined.feed(part)
        return joined.response()

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
        found: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(body)
        if failure := failure_in(found, self.model):
            raise failure
        if not (list_of(found, "candidates") or field(found, "promptFeedback")):
            raise self._without("candidates", body)
        return found

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
        if key and (given := self.options.get("system_instruction")):
            body[key] = {"parts": [*parts_of(plain(given)), *parts_of(body.get(key))]}
        return body

    def _http_options(self, body: Mapping[str, Any]) -> Any:
        given: Any = self.options.get("http_options") or {}
        if isinstance(given, Mapping):
            return {**given, "extra_body": {**(given.get("extra_body") or {}), **body}}
        return given.model_copy(update={"extra_body": {**(given.extra_body or {}), **body}})
