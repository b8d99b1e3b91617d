"""A decider that asks a model of Amazon Bedrock."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.messages import Native
from agentic.providers._failure import provider_errors
from agentic.providers._plain import at, items_at
from agentic.providers.bedrock._blocking import call, events
from agentic.providers.bedrock._wire import (
    NAME,
    StreamedResponse,
    decode_response,
    encode_request,
    for_boto3,
)
from agentic.providers.bedrock._wire._calls import wire_name
from agentic.providers.bedrock._wire._request import with_options
from agentic.tools import ToolDefinition

__all__ = ["Decider"]

_COUNTED = ("messages", "system", "toolConfig", "additionalModelRequestFields")
"""https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseTokensRequest.html"""


@attrs.frozen
class Decider:
    """Asks a model by Converse, or by ConverseStream where the loop can watch.

    A cancelled call of boto3 is not waited for, and its thread ends with it; a cancelled stream is
    closed. boto3 retries by itself, as its `Config` says.
    """

    client: Any = attrs.field(repr=False)
    """A `bedrock-runtime` client of boto3, or one whose methods are coroutines (aiobotocore)."""
    model: str
    """The `modelId`: of a model, of an inference profile, or an ARN."""
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """More arguments of the call, such as `inferenceConfig`. Blocks of `system` and entries of
    `toolConfig.tools` are put after those of the conversation."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)

    @property
    def name(self) -> str:
        """The provider and the model."""
        return f"{NAME}:{self.model}"

    def limits(self) -> ModelLimits:
        """Tell the limits: those that were given, or the catalog's."""
        return lookup(self.model) if self._limits is None else self._limits

    async def decide(self, request: Input, /) -> Decision:
        """Ask once.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            RequestFailed: the provider refused it, or did not answer.
        """
        arguments = self._arguments(request)
        with provider_errors(NAME, self.model, self._window()):
            response = await call(partial(self.client.converse, **arguments))
        return _with_own_names(decode_response(response), request.tools)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Ask once, and give the reply as it comes; raises as `decide` does.

        Raises:
            IncompleteReply: the stream broke off.
        """
        arguments = self._arguments(request)
        reply = StreamedResponse(self.model)
        with provider_errors(NAME, self.model, self._window(), lambda: reply.text):
            answer = await call(partial(self.client.converse_stream, **arguments))
            async with contextlib.aclosing(_told(events(answer["stream"]))) as told:
                async for event in told:
                    if piece := reply.feed(event):
                        yield piece
        yield _with_own_names(decode_response(reply.response()), request.tools)

    async def count_tokens(self, request: Input, /) -> int:
        """Ask the provider for the size of a request, in tokens. Not every model can be asked.

        https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html
        """
        given = self._arguments(request)
        converse = {name: given[name] for name in _COUNTED if name in given}
        counting = partial(
            self.client.count_tokens, modelId=self.model, input={"converse": converse}
        )
        with provider_errors(NAME, self.model, self._window()):
            return int(at(await call(counting), "inputTokens") or 0)

    def _arguments(self, request: Input) -> dict[str, Any]:
        conversation = encode_request(
            request.history, system_prompt=request.system_prompt, tools=request.tools
        )
        whole = with_options(conversation, self.options, offered=bool(request.tools))
        return {"modelId": self.model, **for_boto3(whole)}

    def _window(self) -> int | None:
        limits = self.limits()
        return limits.context_window if limits.known else None


async def _told(stream: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Give an error that boto3 raises for an event as the event that it was.

    boto3 makes every one of them a status of 400, and only its code tells a throttling.
    """
    async with contextlib.aclosing(stream) as given:
        try:
            async for event in given:
                yield event
        except Exception as error:
            if type(error).__name__ != "EventStreamError":
                raise
            problem = at(getattr(error, "response", None), "Error")
            code = str(at(problem, "Code") or "") or "unknown"
            kind = code if code.endswith("Exception") else f"{code}Exception"
            yield {kind: {"message": str(at(problem, "Message") or error)}}


def _with_own_names(decision: Decision, tools: Sequence[ToolDefinition]) -> Decision:
    """Give calls of tools whose names Bedrock refuses their own names again."""
    own = {wire_name(tool.name): tool.name for tool in tools if wire_name(tool.name) != tool.name}
    if not own or decision.native is None:
        return decision
    calls = [attrs.evolve(one, name=own.get(one.name, one.name)) for one in decision.tool_calls]
    payload = decision.native.payload
    content = [_renamed(block, own) for block in items_at(payload, "content")]
    native = Native(NAME, {**payload, "content": content})
    return attrs.evolve(decision, tool_calls=calls, native=native)


def _renamed(block: Any, own: Mapping[str, str]) -> Any:
    name = at(block, "toolUse", "name")
    if name not in own:
        return block
    return {**block, "toolUse": {**block["toolUse"], "name": own[name]}}
