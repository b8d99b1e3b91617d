"""A decider that calls a model through the Responses API, of OpenAI or another server."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.limits import ModelLimits
from agentic.loop import Decision, Input
from agentic.providers._model import ModelDecider, counted_tokens
from agentic.providers.kit import at, items_at, plain
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.openai_responses._decoding import NAME
from agentic.providers.openai_responses._encoding import TOOL_NAMES, encode_request
from agentic.providers.openai_responses._items import is_openais, is_unsealed, item_role, type_of
from agentic.providers.openai_responses._replies import decode_response
from agentic.providers.openai_responses._streaming import StreamedResponse, raise_failure

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Reasoning that can be sent back: https://platform.openai.com/docs/guides/reasoning.
_REASONING: Mapping[str, Any] = {"include": ["reasoning.encrypted_content"]}
# From errors that reject `include`: OpenAI's, and those of servers that do not know the option. An
# error about reasoning that cannot be decrypted has none of these texts.
_REFUSALS = ("encrypted content is not supported", "reasoning.encrypted_content", "'include'")

_TIED = {"message", "function_call", "custom_tool_call"}
# What the endpoint that counts tokens accepts of a request, and the SDK's own arguments.
_COUNTED = (
    *("conversation", "input", "instructions", "parallel_tool_calls", "previous_response_id"),
    *("reasoning", "text", "tool_choice", "tools", "truncation"),
    *("extra_body", "extra_headers", "timeout"),
)


@attrs.define(eq=False)
class Decider(ModelDecider):
    """Calls one model with the official SDK's `responses.create`.

    A model without reasoning rejects `include=["reasoning.encrypted_content"]` ("Encrypted content
    is not supported with this model", https://github.com/NousResearch/hermes-agent/pull/24234). The
    call is then repeated without it, and later calls leave it out.
    """

    _provider = NAME
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    _stream_type = StreamedResponse
    client: "AsyncOpenAI" = attrs.field(repr=False)
    """`AsyncOpenAI`, `AsyncAzureOpenAI` or a subclass. It supplies the API key, the server address,
    timeouts and retries."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call. They override `store=False` and
    `include=["reasoning.encrypted_content"]`, by which the caller keeps the conversation. The
    provider's own tools (such as web search) are offered in addition to those of the loop, and
    `instructions` come before those of the conversation; `input` is not replaced."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _has_reasoning: bool = attrs.field(default=True, init=False)

    async def _whole(self, request: Input) -> Any:
        response = plain(await self._create(request))
        # The SDK accepts any answer.
        has_output = isinstance(at(response, "output"), list)
        if at(response, "status") == "failed" or (at(response, "error") and not has_output):
            raise_failure({"response": response}, self.model)
        if not has_output:
            raise self._without("output", response)
        return response

    async def _open(self, request: Input) -> Any:
        return await self._create(request, stream=True)

    async def count_tokens(self, request: Input, /) -> int:
        """Return the provider's token count of the request, including system prompt and tools.

        https://platform.openai.com/docs/api-reference/responses/input-tokens

        Raises:
            RequestFailed: the server returned no count; most servers other than OpenAI return none.
        """
        said = self._call(request)
        asked: dict[str, Any] = {key: said[key] for key in _COUNTED if key in said}
        async with self._errors():
            answer = await self.client.responses.input_tokens.count(**asked, model=self.model)
        return counted_tokens(answer, "input_tokens", NAME)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the server offers.

        Raises:
            Exception: what the SDK raises; many servers do not list their models.
        """
        return [model.id async for model in self.client.models.list()]

    def _call(self, request: Input) -> dict[str, Any]:
        """Return the arguments for the SDK's method."""
        said = encode_request(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            model=str(self.options.get("model", self.model)),
            record_role=self.record_role,
        )
        if self.options.get("instructions") and "instructions" in said:
            said["instructions"] = f"{self.options['instructions']}\n\n{said['instructions']}"
        tools = [*said.pop("tools", ()), *(self.options.get("tools") or ())]
        # The caller keeps the conversation, so the provider need not store it.
        defaults = {"store": False, **(_REASONING if self._has_reasoning else {})}
        merged: dict[str, Any] = {**defaults, "model": self.model, **self.options, **said}
        # `decide` and `stream` are the choice; an option would contradict one of them.
        merged.pop("stream", None)
        if merged["store"] is False and is_openais(str(merged["model"])):
            # A text as input has no items, and an empty list is refused.
            merged["input"] = _without_unsealed(items_at(merged, "input")) or merged["input"]
        return {**merged, "tools": tools} if tools else merged

    async def _create(self, request: Input, **more: Any) -> Any:
        sent = self._call(request)
        try:
            return await self.client.responses.create(**sent, **more)
        except Exception as error:
            # By what was sent: a parallel call may have learned of the refusal meanwhile.
            if sent.get("include") is not _REASONING["include"] or not _refuses_reasoning(error):
                raise
        self._has_reasoning = False
        return await self.client.responses.create(**self._call(request), **more)

    def _decision(self, response: Any, request: Input) -> Decision:
        if isinstance(response, dict) and not at(response, "max_output_tokens"):
            # llama.cpp does not repeat the limit, and only the limit tells that it cut the reply.
            response = {**response, "max_output_tokens": self.options.get("max_output_tokens")}
        return super()._decision(response, request)


def _refuses_reasoning(error: Exception) -> bool:
    refused = any(words in str(error).lower() for words in _REFUSALS)
    # Only the server's answer has a status: a mistake in the call is raised as it is.
    return refused and hasattr(error, "status_code")


def _without_unsealed(items: list[Any]) -> list[Any]:
    """Leave out reasoning without content, and the ids that tie later items to it."""
    # An id whose reasoning is missing is rejected: https://github.com/0xPlaygrounds/rig/issues/751.
    return list(_kept(items)) if any(map(is_unsealed, items)) else items


def _kept(items: list[Any]) -> Iterator[Any]:
    tied = False
    for item in items:
        # Items after the reasoning are of its response, up to one that is not the model's.
        tied = item_role(item) == "assistant" and (tied or is_unsealed(item))
        if is_unsealed(item):
            continue
        if tied and type_of(item) in _TIED:
            yield {key: value for key, value in item.items() if key != "id"}
        else:
            yield item
