"""What one summary costs at 150,000 tokens: `python -m benchmarks.summaries`.

A conversation grows on a server with a prompt cache, until its window of 200,000 tokens is three
quarters full. Then one summary is made: by a request that extends the last one (`Continuation`),
and by one with a prompt of its own (`Model`). Prices are those of the wire: Claude Opus 4.5 and
later, and GPT-5.1. In the first shape the model reads texts, as in a long discussion. In the second
one it reads outputs of tools, of which `Model` sends no more than the ends.
"""

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import attrs

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.compactors import Continuation, Model
from agentic.providers import anthropic, openai_responses
from agentic.testing import AgentScript, ModelServer, ScriptedAnswer
from agentic.testing._model_server import ServedRequest

__all__ = ["SHAPES", "WIRES", "Row", "measure"]

_WINDOW, _AT = 200_000, 0.75
_WORDS = 560
"""The words of a summary: about as many as it may have."""
_SIGN = "about to be left out"
_GOALS = {"cached": 0.97, "price": 0.2}
SHAPES = {"texts": 0, "tool outputs": 2}
"""The rounds of calls in each turn."""


@attrs.frozen
class _Wire:
    module: ModuleType
    path: str
    items: str
    rest: Mapping[str, Any]


WIRES = {
    "Anthropic": _Wire(
        anthropic,
        "/v1/messages",
        "messages",
        {
            "model": "claude-opus-4-8",
            "max_tokens": 1_000,
            "cache_control": {"type": "ephemeral"},
            "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        },
    ),
    "OpenAI": _Wire(
        openai_responses,
        "/v1/responses",
        "input",
        {"model": "gpt-5.1", "tools": [{"type": "function", "name": "read"}]},
    ),
}


@attrs.frozen(kw_only=True)
class Row:
    """What the summary of one conversation cost, by both ways."""

    wire: str
    shape: str
    tokens: int
    """The size of the conversation."""
    cached: float
    """The share of the continuing request that was read from the cache."""
    continuation: float
    """Dollars."""
    model: float
    """Dollars, of all requests that the prompt of its own took."""

    @property
    def price(self) -> float:
        """Return the price of a continuation, where that of a prompt of its own is 1."""
        return self.continuation / self.model


def measure(wire: str, shape: str) -> Row:
    """Return what a summary costs in a conversation of this shape."""
    extended, alone = (_summarize(WIRES[wire], shape, extends=each) for each in (True, False))
    (request,) = [each for each in extended if each.aside]
    return Row(
        wire=wire,
        shape=shape,
        tokens=max(each.tokens for each in extended if not each.aside),
        cached=request.read / request.tokens,
        continuation=request.dollars,
        model=sum(each.dollars for each in alone if each.aside),
    )


def _summarize(wire: _Wire, shape: str, *, extends: bool) -> list[ServedRequest]:
    """Let a conversation grow until it is summarized; return all requests."""
    server = ModelServer(
        script=AgentScript(turns=900, rounds=SHAPES[shape], thinking_tokens=0),
        window=_WINDOW,
        aside=_is_aside,
        summary=lambda _: ScriptedAnswer(text="so it went. " * (_WORDS // 3)),
    )

    def ask(request: Any) -> Any:
        return server.post(wire.path, request).body

    async def ask_alone(prompt: str) -> str:
        alone = {**wire.rest, wire.items: [{"role": "user", "content": prompt}]}
        alone.pop("cache_control", None)  # it would be written to the cache, and never be read
        reply: str = wire.module.decode_response(ask(alone)).reply
        return reply

    compactor = Continuation(ask) if extends else Model(ask_alone, window=_WINDOW)
    policy = Policy(_WINDOW, compact_at=_AT, keep_recent_tokens=10_000)
    talk = Conversation(wire.module, policy, compactor=compactor, model=str(wire.rest["model"]))
    items: list[Any] = []
    for added in _turns(wire, SHAPES[shape]):
        items += added(items)
        sent = talk.fit_request({**wire.rest, wire.items: items})
        if talk.latest is not None and talk.latest.compaction is not None:
            break
        body = ask(sent)
        talk.report(body)
        items += body.get("output") or [{"role": "assistant", "content": body["content"]}]
    done = None if talk.latest is None else talk.latest.compaction
    if done is None or done.fallbacks:
        message = f"no summary was made as meant: {done}"
        raise RuntimeError(message)
    return server.served


def _is_aside(body: Mapping[str, Any]) -> bool:
    end = str(body)[-6_000:]
    return _SIGN in end or "Write a summary of a conversation" in str(body)[:2_000]


def _turns(wire: _Wire, rounds: int) -> Iterator[Any]:
    """Yield functions that return what is added to the items before each request."""
    for turn in range(900):
        text = f"Request {turn}: " + "think of what follows from that, and say why. " * 60
        yield lambda _, text=text: [{"role": "user", "content": text if not rounds else text[:200]}]
        for _ in range(rounds):
            yield lambda items: list(_results(wire, items))


def _results(wire: _Wire, items: list[Any]) -> Iterator[Any]:
    output = "a line of a file that somebody may need\n" * 120
    if wire.module is openai_responses:
        for item in reversed(items):
            if item.get("type") != "function_call":
                return
            call_id = item["call_id"]
            yield {"type": "function_call_output", "call_id": call_id, "output": output}
    calls = [block for block in items[-1]["content"] if block["type"] == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": output} for call in calls
    ]
    yield {"role": "user", "content": results}


def main() -> int:
    """Print the table; return 1 if a goal is missed in the first shape."""
    print("| wire | shape | tokens | cached | Continuation | Model | price |")
    print("|---|---|---|---|---|---|---|")
    missed = False
    for wire in WIRES:
        for shape in SHAPES:
            row = measure(wire, shape)
            dollars = f"${row.continuation:.3f} | ${row.model:.3f} | {row.price:.2f}"
            print(f"| {wire} | {shape} | {row.tokens:,} | {row.cached:.1%} | {dollars} |")
            is_goal = shape == "texts"
            missed |= row.cached < _GOALS["cached"] or (is_goal and row.price > _GOALS["price"])
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
