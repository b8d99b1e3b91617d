"""A decider that asks a Gemini model through Google's own client.

The SDK's types refuse fields that they do not know and leave such fields out of a reply. So the
conversation goes out in `extra_body`, which the SDK lays over its request as it is, and the reply
is read from the raw answer. A stream has no such door: what this SDK does not know of a streamed
reply is lost.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic import limits
from agentic.errors import RequestFailed
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input
from agentic.providers._failure import provider_errors
from agentic.providers._plain import plain, text_at
from agentic.providers.gemini._wire import (
    NAME,
    StreamedResponse,
    decode_response,
    encode_request,
)
from agentic.providers.gemini._wire._sendable import sendable

if TYPE_CHECKING:
    from google.genai import Client

__all__ = ["Decider"]

_PLACEHOLDER = "."
"""What the SDK is given as contents; the request's own take its place."""


@attrs.frozen
class Decider:
    """A Gemini model, asked by `client.aio.models`; AI Studio or Vertex AI is the client's choice.

    `options` are the fields of the SDK's GenerateContentConfig: temperature, max_output_tokens,
    thinking_config, tools of Google's own, http_options.
    """

    client: "Client"
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True, alias="limits")

    @property
    def name(self) -> str:
        """Give `provider:model`."""
        return f"{NAME}:{self.model}"

    def limits(self) -> ModelLimits:
        """Give the model's limits, in tokens: those given, or the catalog's."""
        return self._limits or limits.lookup(self.model)

    async def decide(self, request: Input, /) -> Decision:
        """Ask for a whole reply.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            RequestFailed: any other refusal, and no answer at all.
        """
        call = self._call(request, should_return_http_response=True)
        with self._errors():
            response = await self.client.aio.models.generate_content(**call)
        return decode_response(self._whole(response))

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Ask for a reply that is given piece by piece, and then as a whole.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the stream broke off.
            RequestFailed: any other refusal, and no answer at all.
        """
        streamed = StreamedResponse()
        with self._errors(streamed):
            chunks: Any = await self.client.aio.models.generate_content_stream(
                **self._call(request)
            )
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    if delta := streamed.feed(chunk):
                        yield delta
        yield decode_response(streamed.response())

    async def count_tokens(self, request: Input, /) -> int:
        """Ask how many tokens the request has, system prompt and tools included.

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
        if response.total_tokens is None:
            raise RequestFailed(self.name, None, "the answer holds no count of tokens")
        return response.total_tokens

    def _errors(
        self, streamed: StreamedResponse | None = None
    ) -> contextlib.AbstractContextManager[None]:
        received = (lambda: streamed.text) if streamed else str
        return provider_errors(NAME, self.model, self.limits().context_window, received)

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
        with contextlib.suppress(ValueError):
            if isinstance(found := json.loads(body), dict):
                return found
        raise RequestFailed(self.name, None, f"the answer is no JSON object: {body[:200]!r}")


def _body(request: Input) -> dict[str, Any]:
    body = encode_request(request.history, system_prompt=request.system_prompt, tools=request.tools)
    sent: dict[str, Any] = sendable(body)
    return sent
