"""A decider that calls a model through the Chat Completions API, of OpenAI or another server."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._bound_requests import BoundRequests
from agentic.providers._model import ModelDecider
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._json import has_object
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.openai_chat._decoding import BOUND_FIELDS, NAME
from agentic.providers.openai_chat._encoding import TOOL_NAMES
from agentic.providers.openai_chat._replies import decode_response, failure_in
from agentic.providers.openai_chat._requests import GrowingRequests
from agentic.providers.openai_chat._servers import server_of
from agentic.providers.openai_chat._streaming import StreamedResponse
from agentic.tokens import approx_token_counter
from agentic.usage import StopReason

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OURS = {"tools", "stream", "stream_options"}
"""Options that are not passed on unchanged."""
_SIGNED = {"reasoning_details", "thinking_blocks", "reasoning_opaque"}
_OWN_FIELDS = "provider_specific_fields"


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
    strict_roles: bool | None = attrs.field(default=None, kw_only=True)
    """Whether the server's chat template accepts only one system message, at the start, and roles
    that alternate. By default it is known by the model's name (Qwen, Mistral, Gemma, GLM,
    MiniMax)."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _requests: GrowingRequests = attrs.field(
        factory=GrowingRequests, kw_only=True, eq=False, repr=False
    )
    """Deciders that serve the same conversations may share one."""
    _bound: BoundRequests = attrs.field(
        factory=lambda: BoundRequests(cannot_ask, leave_out_reasoning),
        kw_only=True,
        eq=False,
        repr=False,
    )
    """What the server has refused of the reasoning in these conversations."""

    async def _whole(self, request: Input) -> Any:
        body = plain(await self._create(self._call(request)))
        if not items_at(body, "choices"):
            raise failure_in(body, self.model) or self._without("choices", body)
        return body

    async def _open(self, request: Input) -> Any:
        # Without this option, OpenAI reports no usage in a stream.
        usage = self.options.get("stream_options", {"include_usage": True})
        options = {"stream": True, **({} if usage is None else {"stream_options": usage})}
        return await self._create({**self._call(request), **options})

    async def _create(self, body: dict[str, Any]) -> Any:
        create: Any = self.client.chat.completions.create
        return await self._bound.send(lambda sent: create(**sent), body, self.model)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the server offers.

        Raises:
            Exception: what the SDK raises; many servers do not list their models.
        """
        return [model.id async for model in self.client.models.list()]

    def _call(self, request: Input) -> dict[str, Any]:
        """Return the arguments for the SDK's method, except those for streaming."""
        said = self._requests.encode(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            model=self.model,
            strict_roles=self.strict_roles,
            record_role=self.record_role,
            server=server_of(self.model, str(getattr(self.client, "base_url", ""))),
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


def cannot_ask(_: dict[str, Any]) -> None:
    """Return None: this API has no setting for reasoning that is bound to another request."""


def leave_out_reasoning(body: dict[str, Any], is_stale: Callable[[Any], bool]) -> dict[str, Any]:
    """Return a request without the signed reasoning whose signature is stale.

    A gateway keeps the reasoning of a model in a list next to the text: OpenRouter in
    `reasoning_details`, LiteLLM in `thinking_blocks`, which it repeats among its own fields. GitHub
    Copilot has the signature alone, in `reasoning_opaque`. The text of the reasoning goes with the
    last of them, because it repeats what they say.
    """

    def leave_out(message: dict[str, Any]) -> dict[str, Any]:
        kept = dict(message)
        for field in _SIGNED & message.keys():
            value = message[field]
            blocks = value if isinstance(value, list) else [{"signature": value}]
            rest = [each for each in blocks if not is_stale(_signature_of(each))]
            if blocks and not rest:
                kept = {key: value for key, value in kept.items() if key not in BOUND_FIELDS}
            elif len(rest) < len(blocks):
                kept[field] = rest
        own = message.get(_OWN_FIELDS)
        return kept | ({_OWN_FIELDS: leave_out(own)} if isinstance(own, dict) else {})

    replies = (at(message, "role") == "assistant" for message in body["messages"])
    pairs = zip(body["messages"], replies, strict=True)
    messages = [leave_out(message) if is_reply else message for message, is_reply in pairs]
    return {**body, "messages": messages}


def _signature_of(block: Any) -> Any:
    fields = ("signature", "data", "thinking", "text", "summary")
    return next(filter(None, (text_at(block, field) for field in fields)), "")
