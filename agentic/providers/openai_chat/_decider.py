"""A model behind OpenAI's Chat Completions, or behind a server that speaks them."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.errors import ContextOverflow, RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._failure import provider_errors
from agentic.providers._plain import items_at, plain
from agentic.providers.openai_chat._wire import (
    NAME,
    StreamedResponse,
    decode_response,
    encode_request,
)
from agentic.providers.openai_chat._wire._failure import failure_in
from agentic.providers.openai_chat._wire._sendable import is_object, wire_name
from agentic.providers.overflow import read_silent_overflow
from agentic.tokens import approx_token_counter, count_tokens
from agentic.usage import StopReason

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Decider"]


@attrs.frozen
class Decider:
    """Asks one model by the official SDK: `AsyncOpenAI`, `AsyncAzureOpenAI` or a subclass.

    The client brings the key, the address of the server, timeouts and retries.
    """

    client: "AsyncOpenAI"
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """What else goes into every call, in the API's own words: temperature, max_tokens, extra_body.
    A stream asks for its usage; `stream_options` here replaces that, None leaves it out."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)

    @property
    def name(self) -> str:
        """The provider and the model."""
        return f"{NAME}:{self.model}"

    def limits(self) -> ModelLimits:
        """Tell the limits that were given, or what the catalog knows of the model."""
        return self._limits or lookup(self.model)

    async def decide(self, request: Input, /) -> Decision:
        """Ask for the whole reply at once.

        Raises:
            ContextOverflow: the request does not fit the model's window; also where the server cut
                it without a word, as far as the usage tells.
            RequestFailed: the server refused it, or gave no reply.
        """
        create: Any = self.client.chat.completions.create
        with provider_errors(NAME, self.model, self._window()):
            answer = await create(**self._call(request), **self.options)
        body = plain(answer)
        if not items_at(body, "choices"):
            nothing = RequestFailed(NAME, None, f"an answer without choices: {body!r:.500}")
            raise failure_in(body, self.model, self._window()) or nothing
        return self._decision(body, request)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Give the reply as it comes, and the whole Decision last; raises as `decide`.

        Raises:
            IncompleteReply: the stream broke off.
        """
        create: Any = self.client.chat.completions.create
        options = {"stream_options": {"include_usage": True}, **self.options, "stream": True}
        if options["stream_options"] is None:
            del options["stream_options"]
        reply = StreamedResponse()
        with provider_errors(NAME, self.model, self._window(), lambda: reply.text):
            async with await create(**self._call(request), **options) as events:
                async for event in events:
                    text = reply.feed(event)
                    if text:
                        yield text
        yield self._decision(reply.response(), request)

    def _call(self, request: Input) -> dict[str, Any]:
        conversation = encode_request(
            request.history, system_prompt=request.system_prompt, tools=request.tools
        )
        return {"model": self.model, **conversation}

    def _window(self) -> int | None:
        limits = self.limits()
        return limits.context_window if limits.known else None

    def _decision(self, body: Any, request: Input) -> Decision:
        decision = _with_our_names(decode_response(body), request)
        self._check_for_silent_overflow(decision, request)
        if decision.stop_reason is StopReason.TOOL and self._was_cut_off(decision):
            return attrs.evolve(decision, stop_reason=StopReason.MAX_TOKENS)
        return decision

    def _check_for_silent_overflow(self, decision: Decision, request: Input) -> None:
        """Refuse a reply to a part of the request: some servers cut it, and say nothing.

        A window that the catalog knows may be smaller than the one that is served (a long context
        that is paid for): a reply to more than that is no sign of a cut, unless the caller says so.
        """
        window, usage = self._window(), decision.usage
        if not window or not usage or (usage.input > window and self._limits is None):
            return
        estimated = count_tokens(request.history) + approx_token_counter(request.system_prompt)
        overflow = read_silent_overflow(
            usage, decision.stop_reason, window, estimated_input=estimated
        )
        if overflow is not None:
            raise ContextOverflow(self.model, overflow.sent, overflow.window)

    def _was_cut_off(self, decision: Decision) -> bool:
        """Find a reply that reached the limit in the middle of a call, though it says `tool_calls`.

        https://github.com/vllm-project/vllm/issues/58228
        """
        asked = self.options.get("max_completion_tokens") or self.options.get("max_tokens")
        if not isinstance(asked, int) or decision.usage is None or not decision.tool_calls:
            return False
        return decision.usage.output >= asked and not is_object(decision.tool_calls[-1])


def _with_our_names(decision: Decision, request: Input) -> Decision:
    """Give calls the names of tools that had to be sent under another one."""
    ours = {wire_name(tool.name): tool.name for tool in request.tools}
    calls = tuple(attrs.evolve(c, name=ours.get(c.name, c.name)) for c in decision.tool_calls)
    return decision if calls == decision.tool_calls else attrs.evolve(decision, tool_calls=calls)
