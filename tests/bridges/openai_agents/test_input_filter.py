"""The framework's Runner with a budget: what the model gets, turn by turn."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    Runner,
    Usage,
    function_tool,
)
from agents.mcp import MCPServer, MCPServerStdio
from agents.run import CallModelData, ModelInputData
from hypothesis import given
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agentic.bridges.openai_agents import InputFilter, StoreSession
from agentic.context.compactors import Continuation, Digest
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.messages._landmarks import read_summary
from agentic.providers import openai_responses
from agentic.testing import conversations
from agentic.tokens import EstimateCounter

Script: TypeAlias = Callable[..., Any]
LONG = "so it goes. " * 60


def _said(text: str, number: int = 0) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
    return ResponseOutputMessage(
        id=f"msg_{number}", type="message", role="assistant", status="completed", content=[part]
    )


def _called(number: int, name: str = "read") -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        id=f"fc_{number}",
        call_id=f"call_{number}",
        type="function_call",
        name=name,
        arguments='{"path": "a.py"}' if name == "read" else "{}",
    )


@function_tool
def read(path: str) -> str:
    """Read a file."""
    return f"{path}: {LONG}"


def _agent(model: Any, **options: Any) -> Agent[Any]:
    return Agent(name="clerk", instructions="Be brief.", model=model, tools=[read], **options)


async def _run(agent: Agent[Any], asked: Any, budget: InputFilter, **options: Any) -> Any:
    streamed = options.pop("streamed", False)
    config = RunConfig(call_model_input_filter=budget, tracing_disabled=True)
    if not streamed:
        return await Runner.run(agent, asked, run_config=config, max_turns=99, **options)
    running = Runner.run_streamed(agent, asked, run_config=config, max_turns=99, **options)
    async for _ in running.stream_events():
        pass
    return running


def _size(items: list[Any]) -> int:
    return EstimateCounter().count(json.dumps(items))


def _summaries(items: list[Any]) -> list[Any]:
    said = [item for item in items if item.get("role") == "user"]
    return [item for item in said if read_summary(str(item["content"]))]


def _data(items: list[Any], agent: Any = None) -> CallModelData[Any]:
    return CallModelData(
        model_data=ModelInputData(input=items, instructions="Be brief."),
        agent=agent or Agent(name="clerk"),
        context=None,
    )


def _talk(turns: int, name: str = "") -> list[Any]:
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{name} remark {n}: {LONG}"}
        for n in range(2 * turns - 1)
    ]


class Counting(Digest):
    """A digest that counts how often it is asked, and waits if told to."""

    asked = 0
    begun: asyncio.Event | None = None
    waiting: asyncio.Event | None = None

    async def compact(self, messages: list[Message]) -> str:
        """Count, wait and summarize."""
        type(self).asked += 1
        if self.begun is not None and self.waiting is not None:
            self.begun.set()
            await self.waiting.wait()
        return await super().compact(messages)


@pytest.fixture
def counting() -> type[Counting]:
    """Return a class of its own for each test, with its own count."""
    return type("Counted", (Counting,), {})


@pytest.mark.parametrize("streamed", [False, True])
def test_long_run_stays_within_window(script: Script, *, streamed: bool) -> None:
    """Thirty calls and their outputs, of which the framework's own list keeps everything."""
    calls = [[_called(n)] for n in range(30)]
    model = script(*calls, [_said("Done.")])

    result = asyncio.run(
        _run(_agent(model.model), "Read it all.", InputFilter(4_000), streamed=streamed)
    )

    assert result.final_output == "Done."
    assert len(result.to_input_list()) == 2 + 2 * len(calls)
    assert max(_size(items) for _, items in model.sent) < 4_000
    assert all(openai_responses.validate({"input": items}) == [] for _, items in model.sent)
    assert [len(_summaries(items)) for _, items in model.sent][-1] == 1
    assert all(items[-1]["type"] == "function_call_output" for _, items in model.sent[1:])


def test_growing_session_is_summarized_seldom(script: Script, counting: type[Counting]) -> None:
    """Over forty runs, each summary is used for several of them."""
    model = script(*[[_said(f"{n}: {LONG}", n)] for n in range(40)])
    budget = InputFilter(8_000, compactor=counting(max_tokens=500))

    async def main() -> list[Any]:
        session = StoreSession(MemoryStore())
        for n in range(40):
            await _run(_agent(model.model), f"Remark {n}: {LONG}", budget, session=session)
        return await session.get_items()

    items = asyncio.run(main())

    assert len(items) == 80
    assert max(_size(sent) for _, sent in model.sent) < 8_000
    assert 1 < counting.asked < 8
    assert len(budget._followed) == 1


def test_handoff_continues_the_same_conversation(script: Script) -> None:
    """The other agent gets the same list, with instructions of its own."""
    model = script([_called(1)], [_called(2, "transfer_to_expert")], [_said("It is green.")])
    expert = Agent(name="expert", instructions="Be exact.", model=model.model)
    budget = InputFilter(128_000)

    result = asyncio.run(_run(_agent(model.model, handoffs=[expert]), "Is it green?", budget))

    assert (result.final_output, result.last_agent.name) == ("It is green.", "expert")
    assert [instructions for instructions, _ in model.sent] == ["Be brief."] * 2 + ["Be exact."]
    assert len(budget._followed) == 1


def test_fitting_input_is_sent_unchanged() -> None:
    """The same object, not a copy of it."""
    data = _data(_talk(2))

    sent = asyncio.run(InputFilter(128_000)(data))

    assert sent is data.model_data


def test_tools_and_instructions_are_counted() -> None:
    """They take their part of the window, like the items."""

    @function_tool(description_override="Look it up. " * 600)
    def look() -> str:
        return ""

    plain, furnished = Agent(name="clerk"), Agent(name="clerk", tools=[look])
    items = _talk(12)

    async def main() -> tuple[int, int]:
        sent = [await InputFilter(8_000)(_data(items, agent)) for agent in (plain, furnished)]
        return _size(sent[0].input), _size(sent[1].input)

    without, beside = asyncio.run(main())

    assert beside < without < 8_000


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(MCPServer, "cached_tools"), reason="does not tell the tools")
def test_tools_of_mcp_servers_are_counted() -> None:
    """As the framework listed them for the run: no server is asked once more."""
    program = Path(__file__).parent.parent / "mcp" / "odd_server.py"
    command = {"command": sys.executable, "args": [str(program), "paged"]}

    async def count(agent: Agent[Any]) -> int:
        budget = InputFilter(8_000)
        await budget(_data(_talk(2), agent))
        latest = budget._followed.entries[0].conversation.latest
        return latest.tokens if latest else 0

    async def main() -> tuple[int, int]:
        async with MCPServerStdio(command, client_session_timeout_seconds=60) as server:
            agent = Agent(name="clerk", mcp_servers=[server])
            unlisted = await count(agent)
            await agent.get_all_tools(RunContextWrapper(None))
            return unlisted, await count(agent)

    unlisted, listed = asyncio.run(main())

    assert listed - unlisted > 30  # three tools


def test_chats_with_equal_openings_stay_apart() -> None:
    """They share a summary of what they have in common, and nothing after it."""
    opening = _talk(6, "both")
    budget = InputFilter(3_000)

    async def main() -> list[list[Any]]:
        both: list[list[Any]] = [list(opening), list(opening)]
        for turn in range(12):
            for number, items in enumerate(both):
                items += [
                    {"role": "assistant", "content": f"chat {number} reply {turn}: {LONG}"},
                    {"role": "user", "content": f"chat {number} remark {turn}: {LONG}"},
                ]
            sent = await asyncio.gather(*(budget(_data(list(items))) for items in both))
        return [each.input for each in sent]

    first, second = map(json.dumps, asyncio.run(main()))

    assert "chat 0" in first
    assert "chat 1" not in first
    assert "chat 1" in second
    assert "chat 0" not in second
    assert len(budget._followed) == 2


def test_each_agent_asks_its_own_model() -> None:
    """Two agents may be called at once with one list, and the second one waits for the first."""
    asked: list[str] = []
    budget = InputFilter(4_000, compactor=Continuation(max_tokens=300))
    items = _talk(14)

    class Noting(Model):
        def __init__(self, name: str) -> None:
            self.name = name

        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            asked.append(self.name)
            return ModelResponse(output=[_said(LONG[:200])], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    def call(name: str) -> Any:
        return budget(_data(items, _agent(Noting(name))))

    async def main() -> None:
        await budget(_data(items[:3]))
        await asyncio.gather(call("first"), call("second"))

    asyncio.run(main())

    assert set(asked) == {"first"}


def test_a_rewind_keeps_the_summary(counting: type[Counting]) -> None:
    """Whoever goes back behind the latest replies is not summarized again."""
    budget = InputFilter(4_000, compactor=counting(max_tokens=500))
    items = _talk(14)
    other = [*items[:-2], {"role": "user", "content": "Something else."}]

    async def main() -> list[Any]:
        await budget(_data(items))
        return (await budget(_data(other))).input  # type: ignore[no-any-return]

    sent = asyncio.run(main())

    assert len(_summaries(sent)) == 1
    assert sent[-1] == other[-1]
    assert counting.asked == 1


def test_conversations_are_forgotten_when_idle() -> None:
    """The filter of a server does not grow without end."""
    budget = InputFilter(128_000, max_conversations=2)

    async def main() -> None:
        for name in ("ann", "bob", "ann", "eve"):
            await budget(_data(_talk(2, name)))

    asyncio.run(main())

    assert [one.keys[0]["content"][:3] for one in budget._followed] == ["ann", "eve"]


def test_a_cancelled_summary_changes_nothing(counting: type[Counting]) -> None:
    """The next call makes it."""
    budget = InputFilter(4_000, compactor=counting(max_tokens=500))
    items = _talk(14)

    async def main() -> tuple[bool, list[Any]]:
        counting.waiting, counting.begun = asyncio.Event(), asyncio.Event()
        asking = asyncio.create_task(budget(_data(items)))
        await counting.begun.wait()
        asking.cancel()
        await asyncio.wait([asking])
        counting.waiting.set()
        return asking.cancelled(), (await budget(_data(items))).input

    cancelled, sent = asyncio.run(main())

    assert cancelled
    assert len(_summaries(sent)) == 1
    assert counting.asked == 2
    assert len(budget._followed) == 1


def test_what_the_server_keeps_is_refused() -> None:
    """With `previous_response_id`, the input holds only what is new."""
    output = {"type": "function_call_output", "call_id": "c1", "output": "text"}

    with pytest.raises(ConfigError, match="previous_response_id"):
        asyncio.run(InputFilter(128_000)(_data([output])))


def test_mistakes_are_told_at_construction() -> None:
    """And not in the middle of a run."""
    with pytest.raises(ConfigError, match="whose context window is known"):
        InputFilter("my-own-model")
    with pytest.raises(ConfigError, match="max_conversations must be a whole number >= 1"):
        InputFilter(128_000, max_conversations=0)


@given(conversations())
def test_only_the_owners_items_are_sent(messages: list[Message]) -> None:
    """In their order, each as it came, at most one summary between them; the list is unchanged."""
    items = openai_responses.encode(messages)
    copy = json.dumps(items)
    budget = InputFilter(1_000)
    # The framework never sends an output first, and the server's part of a list is refused.
    start = next((n for n, item in enumerate(items) if item.get("role") == "user"), len(items))

    async def main() -> list[list[Any]]:
        grown = [items[start:end] for end in range(start + 1, len(items) + 1)]
        return [(await budget(_data(each))).input for each in grown]

    for end, sent in enumerate(asyncio.run(main()), start + 1):
        request = [item for item in items[start:end] if item.get("role") == "user"][-1]
        own = [item for item in sent if any(item is each for each in items)]
        new = [item for item in sent if not any(item is each for each in items)]
        rest = iter(items)
        # A subsequence, except for an output that came late: it is moved to its call.
        said = [item for item in own if item.get("type") != "function_call_output"]
        assert all(any(each is item for each in rest) for item in said)
        assert len({id(item) for item in own}) == len(own)
        assert any(item is request for item in own)
        assert len(_summaries(new)) <= max(1, len(_summaries(items[start:end])))
        assert not new or _are_answered(sent)
    assert json.dumps(items) == copy


def _are_answered(sent: list[Any]) -> bool:
    calls = {item["call_id"] for item in sent if item.get("type") == "function_call"}
    outputs = {item["call_id"] for item in sent if item.get("type") == "function_call_output"}
    return outputs <= calls
