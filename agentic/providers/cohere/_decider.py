"""A decider that calls a model through Cohere's Chat API."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import attrs

from agentic.limits import ModelLimits
from agentic.loop import Decision, Input
from agentic.providers._model import ModelDecider, reported_error
from agentic.providers.cohere._messages import NAME, TOOL_NAMES, encode_request
from agentic.providers.cohere._replies import StreamedResponse, decode_response
from agentic.providers.kit import at, plain, text_at

if TYPE_CHECKING:
    from cohere import AsyncClientV2

__all__ = ["Decider"]


@attrs.frozen
class Decider(ModelDecider):
    """Calls one model with the official SDK's `chat` and `chat_stream`."""

    _provider = NAME
    client: "AsyncClientV2" = attrs.field(repr=False)
    """It supplies the API key, the server address and timeouts."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call, such as temperature, max_tokens and thinking. `tools` are
    added after those of the request."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)

    async def decide(self, request: Input, /) -> Decision:
        """Request the whole reply as one response.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        chat: Any = self.client.chat
        async with self._errors():
            body = plain(await chat(**self._call(request)))
            # An error has its text where a reply has an object.
            if problem := text_at(body, "message"):
                raise reported_error(body, NAME, self.model, None, problem)
            if not isinstance(at(body, "message"), dict):
                raise self._without("a message", body)
        return self._decision(body, request)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply's text as it arrives, then the complete Decision.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the stream ended in the middle of the reply.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        chat_stream: Any = self.client.chat_stream
        streamed = StreamedResponse(self.model)
        async with (
            self._errors(lambda: streamed.text),
            # The SDK's generator closes its connection only when it is closed itself.
            aclosing(chat_stream(**self._call(request))) as events,
        ):
            async for event in events:
                if piece := streamed.feed(event):
                    yield piece
        yield self._decision(streamed.response(), request)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the provider offers.

        Raises:
            Exception: what the SDK raises.
        """
        # The largest page: by default it has 20 models.
        answer: Any = await self.client.models.list(page_size=1000, endpoint="chat")
        return [str(model.name) for model in answer.models]

    def _call(self, request: Input) -> dict[str, Any]:
        said = encode_request(
            request.history, system_prompt=request.system_prompt, tools=request.tools
        )
        tools = [*said.pop("tools", ()), *(self.options.get("tools") or ())]
        options = {key: value for key, value in self.options.items() if key != "tools"}
        # The options go first: they do not replace the conversation.
        return {"model": self.model, **options, **said, **({"tools": tools} if tools else {})}

    def _decision(self, body: Any, request: Input) -> Decision:
        decision = TOOL_NAMES.restore(decode_response(body), request.tools)
        return attrs.evolve(decision, request_model=self.model)
