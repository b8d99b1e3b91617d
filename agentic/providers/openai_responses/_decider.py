"""A decider that asks a model by OpenAI's Responses API, or a server that speaks it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import attrs

from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._failure import counted_tokens, known_window, provider_errors
from agentic.providers.kit import at, items_at, plain
from agentic.providers.openai_responses._decoding import NAME
from agentic.providers.openai_responses._encoding import TOOL_NAMES, encode_request
from agentic.providers.openai_responses._items import is_openais, without_unsealed
from agentic.providers.openai_responses._replies import decode_response
from agentic.providers.openai_responses._streaming import StreamedResponse, raise_failure

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Decider"]

_STATELESS: Mapping[str, Any] = {"store": False}
"""The conversation lives with the caller, and nothing of it at the provider."""
_REASONING: Mapping[str, Any] = {"include": ["reasoning.encrypted_content"]}
"""Reasoning that can be sent back: https://platform.openai.com/docs/guides/reasoning."""
_REFUSALS = ("encrypted content is not supported", "reasoning.encrypted_content", "'include'")
"""What a refusal of that option says: OpenAI's words, or those of a server that knows no such
option. Reasoning that cannot be decrypted is another matter."""

_COUNTED = (
    "conversation",
    "input",
    "instructions",
    "parallel_tool_calls",
    "previous_response_id",
    "reasoning",
    "text",
    "tool_choice",
    "tools",
    "truncation",
    "extra_body",
    "extra_headers",
    "timeout",
)
"""The arguments of a request that the endpoint for counting takes, too."""


@attrs.define(eq=False)
class Decider:
    """Asks one model by the official SDK's `responses.create`.

    A model without reasoning refuses that `include` ("Encrypted content is not supported with this
    model", https://github.com/NousResearch/hermes-agent/pull/24234): it is asked once more without,
    and so is every later call.
    """

    client: "AsyncOpenAI" = attrs.field(repr=False)
    """`AsyncOpenAI`, `AsyncAzureOpenAI` or a subclass; it brings the key, the address of the
    server, timeouts and retries."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """More arguments of the call. They win over `store=False` and
    `include=["reasoning.encrypted_content"]`, which keep the conversation with the caller. Tools of
    the provider's own among them (web search) are offered beside those of the loop."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _has_reasoning: bool = attrs.field(default=True, init=False)

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
        with self._errors():
            response = plain(await self._create(request))
        if at(response, "status") == "failed":
            raise_failure({"response": response}, self.model)
        return self._decision(response, request)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply's text as it comes, and the whole Decision last.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the stream broke off in the middle of the reply.
            RequestFailed: any other refusal, and no answer at all.
        """
        streamed = StreamedResponse(self.model)
        with self._errors(lambda: streamed.text):
            async with await self._create(request, stream=True) as events:
                async for event in events:
                    if piece := streamed.feed(event):
                        yield piece
        yield self._decision(streamed.response(), request)

    async def count_tokens(self, request: Input, /) -> int:
        """Ask the provider how many tokens the request has, system prompt and tools included.

        https://platform.openai.com/docs/api-reference/responses/input-tokens

        Raises:
            RequestFailed: no count was given, as by most servers beside OpenAI.
        """
        said = self._call(request)
        asked: dict[str, Any] = {key: said[key] for key in _COUNTED if key in said}
        with self._errors():
            answer = await self.client.responses.input_tokens.count(**asked, model=self.model)
        return counted_tokens(answer, "input_tokens", NAME)

    def _call(self, request: Input) -> dict[str, Any]:
        """Return the arguments of the SDK's call."""
        said = encode_request(
            request.history, system_prompt=request.system_prompt, tools=request.tools
        )
        theirs = list(self.options.get("tools") or ())
        tools = {"tools": [*said.pop("tools", ()), *theirs]}
        defaults = {**_STATELESS, **(_REASONING if self._has_reasoning else {})}
        merged: dict[str, Any] = {**defaults, "model": self.model, **self.options, **said}
        if merged["store"] is False and is_openais(str(merged["model"])):
            merged["input"] = without_unsealed(items_at(merged, "input")) or merged["input"]
        return {**merged, **tools} if tools["tools"] else merged

    async def _create(self, request: Input, **more: Any) -> Any:
        try:
            return await self.client.responses.create(**self._call(request), **more)
        except Exception as error:
            if not self._refuses_reasoning(error):
                raise
        self._has_reasoning = False
        return await self.client.responses.create(**self._call(request), **more)

    def _refuses_reasoning(self, error: Exception) -> bool:
        asked = self._has_reasoning and "include" not in self.options
        refused = any(words in str(error).lower() for words in _REFUSALS)
        return asked and refused and hasattr(error, "status_code")

    def _decision(self, response: Any, request: Input) -> Decision:
        """Read a response, with the limit that it was asked for and the loop's names of tools."""
        if isinstance(response, dict) and not at(response, "max_output_tokens"):
            response = {**response, "max_output_tokens": self.options.get("max_output_tokens")}
        return TOOL_NAMES.restore(decode_response(response), request.tools)

    def _errors(self, received: Callable[[], str] = str) -> AbstractContextManager[None]:
        return provider_errors(NAME, self.model, known_window(self.limits()), received)
