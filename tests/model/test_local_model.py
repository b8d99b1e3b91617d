"""The loop, the adapters and the budget against a model that really runs and really overflows."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from agentic import history, limits, loop, providers, tokens
from agentic.context import budget, compactors
from agentic.messages import Message
from agentic.providers._connect import Connection
from agentic.usage import StopReason

pytestmark = pytest.mark.model

EXAMPLE = Path(__file__).parents[2] / "examples" / "mono-like"
WINDOW = 2_048
"""What the server is started with, in tokens."""
ADAPTERS = ["openai_chat", "openai_responses", "anthropic"]


@asynccontextmanager
async def connected(server: str, adapter: str, max_output: int = 32) -> AsyncIterator[Connection]:
    """Make a decider of the local model by one of the adapters whose protocol it speaks."""
    known = limits.ModelLimits(WINDOW, max_output)
    at = {"api_key": "none", "max_retries": 0, "timeout": 600.0}
    if adapter == "anthropic":
        client: Any = anthropic.AsyncAnthropic(base_url=server, **at)
        options: dict[str, Any] = {"max_tokens": max_output, "extra_body": {"temperature": 0}}
    else:
        client = openai.AsyncOpenAI(base_url=f"{server}/v1", **at)
        key = "max_tokens" if adapter == "openai_chat" else "max_output_tokens"
        options = {key: max_output, "temperature": 0}
    decider: Connection = getattr(providers, adapter).Decider(
        client, "smollm2", options=options, limits=known
    )
    async with client:
        yield decider


def ask(text: str, *earlier: Message) -> loop.Input:
    """Put a question."""
    return loop.Input(
        system_prompt="You are a helpful assistant. Answer in one short sentence.",
        user_message=text,
        history=(*earlier, Message("user", text)),
        tools=(),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def test_the_example_talks_to_it(server: str, tmp_path: Path) -> None:
    """mono-like runs its loop with the model, and resumes the session that it kept."""
    environment = {
        **os.environ,
        "OPENAI_BASE_URL": f"{server}/v1",
        "OPENAI_API_KEY": "none",
    }
    command = [sys.executable, str(EXAMPLE), "--model", "openai_chat:smollm2"]
    command += ["--window", str(WINDOW), "--session", "s.jsonl", "Say hello."]

    first, second = (
        subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        for _ in range(2)
    )

    assert "[turn 1:" in first.stdout
    assert "Resuming session s.jsonl: 2 messages" in second.stdout


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_streamed_reply_comes_in_pieces(server: str, adapter: str) -> None:
    """The pieces make up the reply, and the usage arrives with its end."""

    async def listen() -> list[str | loop.Decision]:
        async with connected(server, adapter) as decider:
            stream = decider.stream(ask("What is the capital of France?"))
            return [piece async for piece in stream]

    *pieces, decision = asyncio.run(listen())

    assert isinstance(decision, loop.Decision)
    assert len(pieces) > 1
    assert "".join(map(str, pieces)) == decision.reply
    assert "Paris" in decision.reply
    assert decision.usage is not None
    assert decision.usage.input > 20
    assert decision.usage.output > 1


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("streamed", [False, True])
def test_reply_at_limit_is_cut_off(server: str, adapter: str, *, streamed: bool) -> None:
    """The limit of the output is told from the end of the reply, by every protocol."""
    request = ask("Count from one to one hundred, in words.")

    async def decide() -> loop.Decision:
        async with connected(server, adapter, max_output=8) as decider:
            if not streamed:
                return await decider.decide(request)
            *_, decision = [piece async for piece in decider.stream(request)]
        assert isinstance(decision, loop.Decision)
        return decision

    decision = asyncio.run(decide())

    assert decision.stop_reason is StopReason.MAX_TOKENS
    assert decision.usage is not None
    assert decision.usage.output == 8


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_real_overflow_is_recovered(server: str, adapter: str) -> None:
    """The server refuses the request; the run compacts its history and gets its answer."""
    story = [
        Message(role, f"{word} " * 300)
        for word in ("apple", "river", "stone", "cloud", "horse")
        for role in ("user", "assistant")
    ]
    store = history.MemoryStore()
    manager = budget.Manager(
        tokens.CharCounter(),
        compactors.Digest(max_tokens=200),
        budget.Policy(100_000, keep_recent_tokens=300),  # wrong: the window is 2,048
    )

    async def run() -> loop.Result:
        async with connected(server, adapter) as decider:
            runner = loop.Runner(decider, store=store, budget=manager)
            return await runner.run(loop.Request("Say hello.", history=tuple(story)))

    result = asyncio.run(run())

    assert result.reply
    assert result.summary is not None
    assert len(asyncio.run(store.full())) == len(story) + 2  # the request, the reply


def test_count_endpoint_predicts_reported_usage(server: str) -> None:
    """A request's size by the provider's own count is the size that its usage reports."""
    request = ask("What is the capital of France?")

    async def both() -> tuple[int, loop.Decision]:
        async with connected(server, "anthropic") as decider:
            counter: Any = decider
            return await counter.count_tokens(request), await decider.decide(request)

    counted, decision = asyncio.run(both())

    assert decision.usage is not None
    assert counted == decision.usage.input


def test_meter_predicts_what_server_reports(server: str) -> None:
    """From the second call on the size of the next request is known within a few tokens."""
    meter = tokens.ContextMeter(tokens.CharCounter())

    async def converse() -> list[tuple[int, int]]:
        async with connected(server, "openai_chat") as decider:
            return await _predict(decider, meter)

    sizes = asyncio.run(converse())[1:]

    assert all(abs(predicted - reported) <= 12 for predicted, reported in sizes), sizes


async def _predict(decider: Connection, meter: tokens.ContextMeter) -> list[tuple[int, int]]:
    """Talk, and give each request's size as predicted and as reported."""
    talk: list[Message] = []
    sizes = []
    for question in ("Name a river.", "Name a mountain.", "Name a city.", "Name a sea."):
        request = ask(question, *talk)
        predicted = meter.measure(list(request.history))
        decision = await decider.decide(request)
        assert decision.usage is not None
        talk = [*request.history, Message("assistant", decision.reply)]
        meter.report(list(request.history), talk[-1], decision.usage)
        sizes.append((predicted, decision.usage.input))
    return sizes
