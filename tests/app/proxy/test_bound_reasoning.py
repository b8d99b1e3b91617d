"""A provider that refuses the reasoning in a request that the proxy cut."""

from collections.abc import Callable
from typing import Any, TypeAlias

import anthropic
import pytest
from aiohttp import web

pytestmark = pytest.mark.slow

Serve: TypeAlias = Callable[..., Any]
Grow: TypeAlias = Callable[..., list[dict[str, Any]]]

BETA = "thinking-binding-controls-2026-08-01"
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation."
)
UNKNOWN = "thinking.adaptive.block_binding: Extra inputs are not permitted"


def _reasoned(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a conversation with a block of reasoning in each reply."""
    replies = (index for index, message in enumerate(history) if message["role"] == "assistant")
    messages = list(history)
    for index in replies:
        thought = {"type": "thinking", "thinking": "", "signature": f"EqQB{index}"}
        text = {"type": "text", "text": history[index]["content"]}
        messages[index] = {"role": "assistant", "content": [thought, text]}
    return messages


def _thoughts(body: dict[str, Any]) -> list[Any]:
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [block for block in blocks if block["type"] == "thinking"]


def _refusing(served: list[Any], *, accepts_setting: bool) -> Any:
    """Return what refuses the reasoning of the first request unless it is asked to drop it."""

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        problem = ""
        stale = [each for each in _thoughts(body) if int(each["signature"][4:]) < 27]
        if "thinking" not in body and stale:
            problem = BOUND
        elif "thinking" in body and not accepts_setting:
            problem = UNKNOWN
        if problem:
            error = {"type": "invalid_request_error", "message": problem}
            return web.json_response({"type": "error", "error": error}, status=400)
        return web.json_response(served[0].provider.words(request.path, 500))

    return answer


def _ask(client: Any, messages: list[dict[str, Any]], model: str = "claude-x") -> Any:
    headers = {"anthropic-beta": "own-1"}
    return client.messages.create(
        model=model, max_tokens=100, messages=messages, extra_headers=headers
    )


@pytest.mark.parametrize("accepts_setting", [True, False])
def test_cut_request_is_sent_once_more(serve: Serve, grow: Grow, accepts_setting: bool) -> None:
    """With the setting that drops its reasoning, or without the reasoning; later ones at once."""
    served: list[Any] = []
    served.append(serve(2_000, _refusing(served, accepts_setting=accepts_setting)))
    client, history = served[0].anthropic(), _reasoned(grow(14))

    replies = [_ask(client, history[:end]) for end in (27, 29)]

    assert [reply.content[0].text for reply in replies] == ["It is green."] * 2
    sent = served[0].provider.sent
    asking = [(each.body.get("thinking"), each.header("anthropic-beta")) for each in sent]
    plain, drop = (None, "own-1"), (DROP, f"own-1,{BETA}")
    assert asking == [plain, drop, *([drop] if accepts_setting else [plain, plain])]
    assert (len(_thoughts(sent[-1].body)) > 1) is accepts_setting


def test_refusal_of_an_unchanged_request_is_the_clients(serve: Serve, grow: Grow) -> None:
    """What the client sent goes on byte for byte, and so does what the provider says of it."""
    served: list[Any] = []
    served.append(serve(100_000, _refusing(served, accepts_setting=True)))

    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        _ask(served[0].anthropic(), _reasoned(grow(3)))

    assert len(served[0].provider.sent) == 1
    assert "thinking" not in served[0].provider.sent[0].body


def test_cut_request_to_a_model_that_checks_everybody_asks_at_once(
    serve: Serve, grow: Grow
) -> None:
    """And one to another model does not, unless it was refused."""
    served = serve(2_000)
    for model in ("claude-fable-5-2", "claude-fable-5-1"):
        _ask(served.anthropic(), grow(14), model)

    assert [each.body.get("thinking") for each in served.provider.sent] == [DROP, None]
