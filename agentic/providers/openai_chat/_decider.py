"""A decider that calls a model through the Chat Completions API, of OpenAI or another server."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._model import ModelDecider
from agentic.providers.kit import items_at, plain
from agentic.providers.kit._json import has_object
from agentic.providers.openai_chat._decoding import NAME
from agentic.providers.openai_chat._encoding import TOOL_NAMES
from agentic.providers.openai_chat._replies import decode_response, failure_in
from agentic.providers.openai_chat._requests import GrowingRequests
from agentic.providers.openai_chat._streaming import StreamedResponse
from agentic.tokens import approx_token_counter
from agentic.usage import StopReason

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OURS = {"tools", "stream", "stream_options"}
"""Options that are not passed on unchanged."""


@attrs.frozen
class Decider(ModelDecider):
    """Calls one model with the official SDK's `chat.completions.create`."""

    _provider = NAME
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    _stream_type = StreamedResponse
    client: "AsyncOpenAI" = attrs.field(repr=False)
    """`AsyncOpenAI`, `AsyncAzureOpenAI` or a subclass. It supplies the API key, the server address,
    timeouts and retries."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call, such as temperature, max_tokens and extra_body. `tools` are
    added after those of the request. A stream requests its usage by default: `stream_options`
    replaces that setting, and None leaves it out."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _requests: GrowingRequests = attrs.field(
        factory=GrowingRequests, kw_only=True, eq=False, repr=False
    )
    """Deciders that serve the same conversations may share one."""

    async def _whole(self, request: Input) -> Any:
        create: Any = self.client.chat.completions.create
        body = plain(await create(**self._call(request)))
        if not items_at(body, "choices"):
            raise failure_in(body, self.model) or self._without("choices", body)
        return body

    async def _open(self, request: Input) -> Any:
        create: Any = self.client.chat.completions.create
        # Without this option, OpenAI reports no usage in a stream.
        usage = self.options.get("stream_options", {"include_usage": True})
        options = {"stream": True, **({} if usage is None else {"stream_options": usage})}
        return await create(**self._call(request), **options)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the server offers.

        Raises:
            Exception: what the SDK raises; many servers do not list their models.
        """
        return [model.id async for model in self.client.models.list()]

    def _call(self, request: Input) -> dict[str, Any]:
        """Return the arguments for the SDK's method, except those for streaming."""
        said = self._requests.encode(
            request.history, system_prompt=request.system_prompt, tools=request.tools
        )
        tools = [*said.pop("tools", ()), *(self.options.get("tools") or ())]
        options = {key: value for key, value in self.options.items() if key not in _OURS}
        # The options go first: they do not replace the conversation.
        return {"model": self.model, **options, **said, **({"tools": tools} if tools else {})}

    def _decision(self, body: Any, request: Input) -> Decision:
        decision = super()._decision(body, request)
        # Servers of this API may cut a prompt and say nothing; other providers report an error.
        self._check_for_silent_overflow(decision, request)
        if decision.stop_reason is StopReason.TOOL and self._was_cut_off(decision):
            return attrs.evolve(decision, stop_reason=StopReason.MAX_TOKENS)
        return decision

    def _check_for_silent_overflow(self, decision: Decision, request: Input) -> None:
        """Raise if the reply answers only part of the request: some servers truncate it silently.

        The window in the catalog may be smaller than the one served (a long context that is paid
        for). An input larger than the catalog's window is therefore no sign of truncation, unless
        the caller passed the limits.
        """
        catalog, usage = lookup(self.model), decision.request_usage
        if self._limits is None and usage and usage.input > catalog.context_window:
            return

        def estimate() -> int:
            prompt = approx_token_counter(request.system_prompt)
            return prompt + self._requests.count_tokens(request.history)

        self._raise_if_cut(decision, estimate)

    def _was_cut_off(self, decision: Decision) -> bool:
        """Return whether the limit cut a call short although the stop reason is `tool_calls`.

        https://github.com/vllm-project/vllm/issues/58228
        """
        asked = self.options.get("max_completion_tokens") or self.options.get("max_tokens")
        if not isinstance(asked, int) or decision.usage is None or not decision.tool_calls:
            return False
        return decision.usage.output >= asked and not has_object(decision.tool_calls[-1])
