"""Refused reasoning: recognized in every wrapping, and survived by the deciders of Anthropic."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import anthropic as sdk
import attrs
import pytest
from aiohttp import web

from agentic.errors import BoundReasoning, RequestFailed
from agentic.events import InputTransformed
from agentic.history import MemoryStore
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input, InputTransformation, Runner
from agentic.messages import Message
from agentic.providers.anthropic import Decider
from agentic.providers.binding import is_bound_reasoning
from agentic.testing import EventRecorder, ModelServer, ScriptedAnswer
from agentic.testing._model_server import ServerReply

BETA = "thinking-binding-controls-2026-08-01"
SENTENCE = "messages.1.content.0: Invalid `signature` in `thinking` block."
BOUND = (
    f"{SENTENCE} The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    f"`{BETA}` value in the `anthropic-beta` header."
)
BODY = {"type": "error", "error": {"type": "invalid_request_error", "message": BOUND}}


class ValidationException(Exception):
    """As botocore makes it of Bedrock's answer."""

    response = {  # noqa: RUF012  as botocore has it
        "Error": {"Code": "ValidationException", "Message": BOUND},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }


@pytest.mark.parametrize(
    "error",
    [
        BODY,
        json.dumps(BODY),
        BOUND,
        BOUND.replace("`", "'"),
        BOUND.replace("`thinking` block. The", "`redacted_thinking` block. The"),
        BoundReasoning("anthropic", 400, BOUND),
        ValidationException(f"An error occurred (ValidationException): {BOUND}"),
        {"message": BOUND},
        # LiteLLM, which puts the body into a sentence.
        Exception(f"litellm.BadRequestError: AnthropicException - {json.dumps(BODY)}"),
        # OpenRouter, which puts the body as text into a field.
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": json.dumps(BODY), "provider_name": "Anthropic"},
            }
        },
    ],
)
def test_bound_reasoning_is_recognized_in_every_wrapping(error: Any) -> None:
    """As data, as text, as an exception of an SDK, in the answer of a gateway."""
    assert is_bound_reasoning(error)


@pytest.mark.parametrize(
    "error",
    [
        SENTENCE,
        {"type": "error", "error": {"type": "invalid_request_error", "message": SENTENCE}},
        "The block is bound to a different conversation.",
        "prompt is too long: 208310 tokens > 200000 maximum",
        RequestFailed("anthropic", 400, SENTENCE),
        {"error": {"message": "no"}, "input": BOUND},
        None,
        b"\xff",
    ],
)
def test_other_errors_are_not_bound_reasoning(error: Any) -> None:
    """A signature that was tampered with has the first sentence only; a request may quote both."""
    assert not is_bound_reasoning(error)


@attrs.define
class BindingServer:
    """A Messages API that binds reasoning, perhaps behind what knows no setting for it."""

    setting: str = "accepted"
    """`refused`: an unknown field. `ignored`: something on the way removes it."""
    model: ModelServer = attrs.field(factory=lambda: ModelServer(script=_answer), init=False)
    bodies: list[dict[str, Any]] = attrs.field(factory=list, init=False)
    betas: list[str] = attrs.field(factory=list, init=False)
    statuses: list[int] = attrs.field(factory=list, init=False)
    url: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        """Answer a request, or refuse it."""
        body = await request.json()
        self.bodies.append(body)
        self.betas.append(request.headers.get("anthropic-beta", ""))
        reply = self._answer(request, body)
        self.statuses.append(reply.status)
        # Kept alive, a connection would outlive the event loop of its test.
        headers = {"Connection": "close"}
        if not reply.events:
            return web.json_response(reply.body, status=reply.status, headers=headers)
        kind = "text/event-stream"
        return web.Response(body=reply.sse(), content_type=kind, headers=headers)

    def _answer(self, request: web.Request, body: dict[str, Any]) -> ServerReply:
        if request.path.endswith("count_tokens"):
            return ServerReply(200, {"input_tokens": 42})
        if self.setting == "refused" and "block_binding" in body.get("thinking", {}):
            problem = "thinking.adaptive.block_binding: Extra inputs are not permitted"
            error = {"type": "invalid_request_error", "message": problem}
            return ServerReply(400, {"type": "error", "error": error})
        if self.setting == "ignored":
            body = {key: value for key, value in body.items() if key != "thinking"}
        return self.model.post(request.path, body, dict(request.headers))


def _answer(body: Any, /) -> ScriptedAnswer:
    text = f"Answer {len(body['messages'])}. " * 20
    return ScriptedAnswer(text=text, thinking="I look.", thinking_tokens=20)


def _thinking(body: dict[str, Any]) -> list[str]:
    """Return the signatures of a request, in order."""
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [block["signature"] for block in blocks if block["type"] == "thinking"]


@pytest.fixture
def serve(
    serving_apart: Callable[..., AbstractContextManager[str]],
) -> Any:
    """Return what starts a server, which stops at the end of a test."""
    with ExitStack() as stack:

        def start(**settings: Any) -> BindingServer:
            server = BindingServer(**settings)
            server.url = stack.enter_context(serving_apart(server.handle))
            return server

        yield start


def make_decider(server: BindingServer, model: str, **settings: Any) -> Decider:
    """Make a decider that asks this server."""
    client = sdk.AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0)
    return Decider(client, model, limits=ModelLimits(200_000, 4_096), **settings)


def converse(decider: Decider, turns: int = 6, later: Decider | None = None) -> list[Decision]:
    """Have a conversation whose beginning is replaced by something else after three turns.

    From then on, `later` is asked.
    """

    async def main() -> list[Decision]:
        history: list[Message] = []
        decisions: list[Decision] = []
        for turn in range(turns):
            history.append(Message("user", f"Question {turn}."))
            if turn == 3:
                history[:2] = [Message("user", "A summary."), Message("assistant", "I see.")]
            asked = (later or decider) if turn >= 3 else decider
            decision = await asked.decide(_input(history))
            history.append(
                Message(
                    "assistant",
                    decision.reply,
                    reasoning=decision.reasoning,
                    native=decision.native,
                )
            )
            decisions.append(decision)
        return decisions

    return asyncio.run(main())


def _input(history: list[Message]) -> Input:
    return Input(user_message=history[-1].content, history=tuple(history))


@pytest.mark.slow
def test_unedited_conversation_of_an_older_model_never_asks(serve: Any) -> None:
    """The setting would switch the check on where it is off."""
    server = serve()

    converse(make_decider(server, "claude-fable-5-1"), turns=3)

    assert server.statuses == [200] * 3
    assert not any("thinking" in body for body in server.bodies)
    assert not any(server.betas)


@pytest.mark.slow
def test_refused_reasoning_is_asked_to_be_dropped(serve: Any) -> None:
    """One request more, once; from then on every request asks."""
    server = serve()

    decisions = converse(make_decider(server, "claude-fable-5-1"))

    assert server.statuses == [200, 200, 200, 400, 200, 200, 200]
    drop = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert [body.get("thinking") for body in server.bodies] == [*[None] * 4, *[drop] * 3]
    assert server.betas[3:] == ["", BETA, BETA, BETA]
    assert all(decision.reply.startswith("Answer") for decision in decisions)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["claude-fable-5-2", "claude-mythos-5-2-20261109", "acme/claude-fable-6"]
)
def test_model_that_checks_everybody_is_asked_from_the_first_request(
    serve: Any, model: str
) -> None:
    """Also behind a prefix, with a date, and if it is newer than the catalog."""
    server = serve()

    converse(make_decider(server, model))

    assert server.statuses == [200] * 6
    assert all(BETA in betas for betas in server.betas)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["claude-fable-5-2", "claude-fable-5-1"])
@pytest.mark.parametrize("setting", ["refused", "ignored"])
def test_reasoning_is_left_out_where_the_setting_is_not_accepted(
    serve: Any, model: str, setting: str
) -> None:
    """What was refused is left out for good; what was made since then is sent."""
    server = serve(setting=setting)

    converse(make_decider(server, model))

    assert server.statuses.count(200) == 6
    assert server.statuses[-2:] == [200, 200]
    assert "thinking" not in server.bodies[-1]
    assert len(_thinking(server.bodies[-1])) == 2
    assert not any(betas for betas in server.betas[-2:])


@pytest.mark.slow
def test_another_conversation_keeps_its_reasoning(serve: Any) -> None:
    """What was left out is remembered block by block, not for everybody who asks."""
    server = serve(setting="refused")
    decider = make_decider(server, "claude-fable-5-1")
    converse(decider)

    converse(decider, turns=3)

    assert server.statuses[-3:] == [200, 200, 200]
    assert len(_thinking(server.bodies[-1])) == 2


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["error", "drop_block"])
def test_the_choice_of_the_caller_is_sent_as_it_is(serve: Any, behavior: str) -> None:
    """Whoever wants the error gets it, with what to do."""
    server = serve()
    thinking = {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": behavior},
    }
    headers = {"Anthropic-Beta": f"context-1m,{BETA}"}
    options = {"thinking": thinking, "extra_headers": headers}
    decider = make_decider(server, "claude-fable-5-2", options=options)

    if behavior == "drop_block":
        converse(decider)
    else:
        with pytest.raises(BoundReasoning, match="leave out the reasoning") as refused:
            converse(decider)
        assert (refused.value.provider, refused.value.status) == ("anthropic", 400)

    assert all(body["thinking"] == thinking for body in server.bodies)
    assert set(server.betas) == {f"context-1m,{BETA}"}


@pytest.mark.slow
def test_betas_and_thinking_of_the_caller_are_kept(serve: Any) -> None:
    """Those of the options, or those that the client sends."""
    server = serve()
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    options = {"thinking": thinking, "extra_headers": {"Anthropic-Beta": "a-1", "X-Own": "1"}}
    decider = make_decider(server, "claude-fable-5-2", options=options)
    converse(decider, turns=1)
    client = decider.client.with_options(default_headers={"anthropic-beta": "b-2"})
    converse(Decider(client, "claude-fable-5-2", limits=ModelLimits(200_000, 4_096)), turns=1)

    assert server.betas == [f"a-1,{BETA}", f"b-2,{BETA}"]
    assert server.bodies[0]["thinking"] == {
        **thinking,
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }


@pytest.mark.slow
def test_thinking_that_is_turned_off_stays_off(serve: Any) -> None:
    """The reasoning of before is left out, because the setting needs thinking."""
    server = serve()
    options = {"thinking": {"type": "disabled"}}
    later = make_decider(server, "claude-fable-5-1", options=options)

    converse(make_decider(server, "claude-fable-5-1"), later=later)

    assert server.statuses == [200, 200, 200, 400, 200, 200, 200]
    assert all(body["thinking"] == {"type": "disabled"} for body in server.bodies[3:])
    assert _thinking(server.bodies[3])
    assert not any(map(_thinking, server.bodies[4:]))


@pytest.mark.slow
def test_tokens_are_counted_as_they_are_sent(serve: Any) -> None:
    """A count of a request that would be refused is refused, too."""
    server = serve()
    decider = make_decider(server, "claude-fable-5-2")

    assert asyncio.run(decider.count_tokens(_input([Message("user", "One.")]))) == 42
    assert server.betas == [BETA]


@attrs.frozen
class Unstreamed:
    """A decider that does not stream."""

    decider: Decider

    async def decide(self, request: Input, /) -> Decision:
        """Ask for the complete reply."""
        return await self.decider.decide(request)


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_run_survives_what_its_view_did_not_see(serve: Any, streamed: bool) -> None:
    """A tool of the caller's that appears later, whichever way replies arrive."""
    server = serve()
    store = MemoryStore()
    options: dict[str, Any] = {"tools": []}
    decider = make_decider(server, "claude-opus-5-5", options=options)
    runner = Runner(decider if streamed else Unstreamed(decider), store=store)

    async def main() -> None:
        for turn in range(6):
            if turn == 3:
                options["tools"] = [{"type": "web_search_20250305", "name": "web_search"}]
            await runner.run(f"Question {turn}.")

    with EventRecorder() as recorder:
        asyncio.run(main())

    assert server.statuses == [200, 200, 200, 400, 200, 200, 200]
    assert any(body.get("stream") for body in server.bodies) is streamed
    changes = [each for each in recorder.events if isinstance(each, InputTransformed)]
    assert changes
    assert changes[0].transformations[0] == InputTransformation(
        kind="thinking_dropped",
        place=changes[0].transformations[0].place,
        reason="prefix_binding_mismatch",
    )
    assert changes[0].transformations[0].place.startswith("messages.")
