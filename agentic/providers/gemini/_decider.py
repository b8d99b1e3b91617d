"""A decider that asks a Gemini model through Google's own client.

The SDK's types refuse fields that they do not know and leave such fields out of a reply. So the
conversation goes out in `extra_body`, which the SDK lays over its request as it is, and the reply
is read from the raw answer. A stream has no such door: what this SDK does not know of a streamed
reply is lost.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.errors import RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._failure import counted_tokens, known_window, provider_errors
from agentic.providers.gemini._decoding import NAME
from agentic.providers.gemini._encoding import TOOL_NAMES, encode_request
from agentic.providers.gemini._replies import decode_response
from agentic.providers.gemini._streaming import StreamedResponse
from agentic.providers.kit import plain, text_at

if TYPE_CHECKING:
    from google.genai import Client

__all__ = ["Decider"]

_PLACEHOLDER = "."
"""What the SDK is given as contents; the request's own take its place."""


@attrs.frozen
class Decider:
    """Asks one model by the official SDK's `aio.models.generate_content`."""

    client: "Client" = attrs.field(repr=False)
    """For AI Studio or for Vertex AI; it brings the key, timeouts and retries. It retries nothing
    unless it was made with `HttpOptions(retry_options=HttpRetryOptions())`, as by `connect`."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Fields of the SDK's GenerateContentConfig: temperature, max_output_tokens, thinking_config,
    http_options. Tools of Google's own among them stand before those of the loop."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return f"{NAME}:{self.model}"

    def limits(self) -> ModelLimits:
        """Return the model's limits, in tokens: those given, or the catalog's."""
        return self._limits or lookup(self.model)

    async def decide(self, request: Input, /) -> Decision:
        """Ask for the whole reply at once.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            RequestFailed: any other refusal, and no answer at all.
        """
        call = self._call(request, should_return_http_response=True)
        with self._errors():
            response = await self.client.aio.models.generate_content(**call)
        return TOOL_NAMES.restore(decode_response(self._whole(response)), request.tools)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply's text as it comes, and the whole Decision last.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the stream broke off in the middle of the reply.
            RequestFailed: any other refusal, and no answer at all.
        """
        streamed = StreamedResponse(model=self.model)
        with self._errors(lambda: streamed.text):
            chunks: Any = await self.client.aio.models.generate_content_stream(
                **self._call(request)
            )
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    if piece := streamed.feed(chunk):
                        yield piece
        yield TOOL_NAMES.restore(decode_response(streamed.response()), request.tools)

    async def count_tokens(self, request: Input, /) -> int:
        """Ask the provider how many tokens the request has, system prompt and tools included.

        Raises:
            RequestFailed: no count was given.
        """
        body = _body(request)
        if not self.client.vertexai:  # https://ai.google.dev/api/tokens: one or the other
            name = self.model if "/" in self.model else f"models/{self.model}"
            body = {"contents": [], "generateContentRequest": {"model": name, **body}}
        config: Any = {"http_options": self._http_options(body)}
        with self._errors():
            response = await self.client.aio.models.count_tokens(
                model=self.model, contents=_PLACEHOLDER, config=config
            )
        return counted_tokens(response, "totalTokens", NAME)

    def _errors(self, received: Callable[[], str] = str) -> contextlib.AbstractContextManager[None]:
        return provider_errors(NAME, self.model, known_window(self.limits()), received)

    def _call(self, request: Input, **config: Any) -> dict[str, Any]:
        """Make the arguments of the SDK's call."""
        body = _body(request)
        tools = [*(self.options.get("tools") or ()), *body.pop("tools", ())]
        settings = {
            # Calls are the caller's to run.
            "automatic_function_calling": {"disable": True},
            **self.options,
            **config,
            "http_options": self._http_options(body),
            **({"tools": tools} if tools else {}),
        }
        return {"model": self.model, "contents": _PLACEHOLDER, "config": settings}

    def _http_options(self, body: Mapping[str, Any]) -> Any:
        """Lay the body over what the caller wants of HTTP."""
        given: Any = self.options.get("http_options") or {}
        if isinstance(given, Mapping):
            return {**given, "extra_body": {**(given.get("extra_body") or {}), **body}}
        return given.model_copy(update={"extra_body": {**(given.extra_body or {}), **body}})

    def _whole(self, response: Any) -> Any:
        """Check that a raw answer is a response at all: a proxy may answer in its own words."""
        body = text_at(plain(response), "sdkHttpResponse", "body")
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(found := json.loads(body), dict):
                return found
        raise RequestFailed(NAME, None, f"the answer is not a JSON object: {body[:200]!r}")


def _body(request: Input) -> dict[str, Any]:
    return encode_request(request.history, system_prompt=request.system_prompt, tools=request.tools)
