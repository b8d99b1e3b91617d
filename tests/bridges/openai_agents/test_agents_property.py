"""Whatever a conversation is like, both parts treat it alike on either side of a serializer."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, AgentsException, RunConfig, Runner, SQLiteSession
from agents.run import CallModelData, ModelInputData
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputMessage, ResponseOutputRefusal, ResponseOutputText

from agentic.bridges.openai_agents import InputFilter, StoreSession
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.providers import openai_responses
from agentic.providers.kit import replace_surrogates
from agentic.testing import conversations

_REFUSAL = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "refusal", "refusal": "I cannot help with that."}],
}


async def _through(session: Any, items: list[Any]) -> list[Any]:
    """Return what comes back from a session."""
    await session.add_items(items)
    back: list[Any] = await session.get_items()
    return back


async def _sent(items: list[Any]) -> list[Any]:
    data = CallModelData(ModelInputData(items, "Be brief."), Agent(name="clerk"), None)
    sent: list[Any] = (await InputFilter(1_000)(data)).input
    return sent


def _rules(items: list[Any]) -> set[str]:
    return {found.rule for found in openai_responses.validate({"input": items})}


@given(conversations(), st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_saved_items_lead_to_same_request(messages: list[Message], at: int) -> None:
    """Parallel calls, media, damaged ids and a refusal, through the framework's own session."""
    items = replace_surrogates(openai_responses.encode(messages))
    items.insert(at, _REFUSAL)
    items.append({"role": "user", "content": "Go on."})
    # The framework never sends an output first, and the server's part of a list is refused.
    start = next(n for n, item in enumerate(items) if item.get("role") in {"user", "assistant"})
    items = items[start:]

    async def main() -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        saved = await _through(SQLiteSession("ann"), items)
        stored = await _through(StoreSession(MemoryStore()), items)
        return saved, stored, await _sent(items), await _sent(saved)

    saved, stored, sent, sent_again = asyncio.run(main())

    assert json.dumps(stored) == json.dumps(saved) == json.dumps(items)
    assert sent_again == sent
    assert _rules(sent) <= _rules(items)
    assert sent[-1] == items[-1]


def _message(part: Any) -> ResponseOutputMessage:
    return ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed", content=[part]
    )


@pytest.mark.parametrize("streamed", [False, True])
def test_conversation_goes_on_after_a_refusal(
    script: Callable[..., Any], *, streamed: bool
) -> None:
    """Newer versions of the framework end the run with an error of their own."""
    refusal = ResponseOutputRefusal(type="refusal", refusal="I cannot help with that.")
    done = ResponseOutputText(text="Done.", type="output_text", annotations=[], logprobs=[])
    model = script([_message(refusal)], [_message(done)])
    agent = Agent(name="clerk", model=model.model)
    budget = InputFilter(8_000)
    config = RunConfig(call_model_input_filter=budget, tracing_disabled=True)

    async def run(words: str, session: StoreSession) -> Any:
        if not streamed:
            return await Runner.run(agent, words, session=session, run_config=config)
        running = Runner.run_streamed(agent, words, session=session, run_config=config)
        async for _ in running.stream_events():
            pass
        return running

    async def main() -> Any:
        session = StoreSession(MemoryStore())
        with contextlib.suppress(AgentsException):
            await run("Do it.", session)
        return await run("And now?", session)

    result = asyncio.run(main())

    (_, first), (_, second) = model.sent
    assert result.final_output == "Done."
    assert first == [{"role": "user", "content": "Do it."}]
    assert (second[0], second[-1]["content"]) == (first[0], "And now?")
    assert len(budget._followed) == 1
