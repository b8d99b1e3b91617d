"""Whatever a conversation is like, both parts treat it alike on either side of a serializer."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, AgentsException, RunConfig, Runner, SQLiteSession
from agents.models.chatcmpl_converter import Converter
from agents.run import CallModelData, ModelInputData
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputMessage, ResponseOutputRefusal, ResponseOutputText

from agentic.bridges.openai_agents import InputFilter, StoreSession
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.providers import openai_chat, openai_responses
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
        with contextlib.closing(SQLiteSession("ann")) as session:
            saved = await _through(session, items)
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


@st.composite
def _steps(draw: st.DrawFn) -> list[Any]:
    """Draw turns of calls, replies in either form with their reasoning, and then all outputs."""
    items: list[Any] = []
    for turn in range(draw(st.integers(1, 3))):
        items.append({"role": "user", "content": f"Go {turn}."})
        ids: list[str] = []
        kinds = st.sampled_from(["call", "easy", "message", "thoughtful"])
        for number, kind in enumerate(draw(st.lists(kinds, min_size=1, max_size=5))):
            if kind == "call":
                ids.append(f"c{turn}{number}")
                call = {"type": "function_call", "call_id": ids[-1], "name": "run"}
                items.append({**call, "arguments": "{}"})
                continue
            if kind == "thoughtful":
                items.append({"type": "reasoning", "id": f"rs_{turn}{number}", "summary": []})
            message = _message(
                ResponseOutputText(text="I look.", type="output_text", annotations=[])
            )
            easy = {"role": "assistant", "content": "I look."}
            items.append(easy if kind == "easy" else message.model_dump())
        output = {"type": "function_call_output", "output": "Done."}
        items += [{**output, "call_id": each} for each in draw(st.permutations(ids))]
    return [*items, {"role": "user", "content": "And now?"}]


@given(_steps())
@settings(deadline=None)
def test_chat_completions_accept_any_order(items: list[Any]) -> None:
    """The framework's converter begins a new message at a reply between a call and its output."""
    sent = asyncio.run(_sent(items))

    converted = json.loads(json.dumps(Converter.items_to_messages(sent)))
    assert not openai_chat.validate({"messages": converted})
    assert sorted(map(id, sent)) == sorted(map(id, items))
    for reasoning, after in itertools.pairwise(sent):
        assert reasoning.get("type") != "reasoning" or after.get("role") == "assistant"
