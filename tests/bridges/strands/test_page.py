"""The conversation manager on the page about Strands, in real agents of Strands."""

import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.messages import Message
from agentic.providers import bedrock

strands = pytest.importorskip("strands", reason="needs strands-agents")

_PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "use-with-strands.md"


class Naming:
    """A compactor that counts, and never waits."""

    asked = 0

    def write(self, messages: list[Message], /, **_: Any) -> str:
        """Summarize."""
        Naming.asked += 1
        return f"Summary {Naming.asked} of {len(messages)} messages."

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        return self.write(messages)


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Run the program on the page, and return its names."""
    programs = re.findall(r"```python\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile("\n".join(programs), str(_PAGE), "exec"), names)  # noqa: S102  our own page
    return names


@pytest.fixture
def talk(page: dict[str, Any]) -> Callable[..., Any]:
    """Return what asks a new agent, or the same one, a number of questions."""

    def ask(
        model: Any, questions: int, *, window: int = 8_000, anew: Any = None, **options: Any
    ) -> Any:
        agent: Any = None
        for number in range(questions):
            if agent is None or anew is not None:
                manager = page["BudgetManager"](window, compactor=Naming())
                session = {} if anew is None else {"session_manager": anew(), "agent_id": "ann"}
                agent = strands.Agent(
                    model,
                    conversation_manager=manager,
                    callback_handler=None,
                    **session,
                    **options,
                )
            agent(f"Is part {number} green?")
        return agent

    return ask


def _texts(messages: list[Any]) -> list[str]:
    return [json.dumps(message["content"]) for message in messages]


def test_restart_every_question_changes_nothing(
    page: dict[str, Any], talk: Callable[..., Any], tmp_path: Path
) -> None:
    """A session of Strands brings back the messages, the summary, and what was remembered."""
    session = page["FileSessionManager"]
    Naming.asked = 0
    steady = talk(page["OfflineModel"](), 60)
    asked, Naming.asked = Naming.asked, 0

    restarted = talk(
        page["OfflineModel"](), 60, anew=lambda: session("s1", storage_dir=str(tmp_path))
    )

    assert _texts(restarted.messages) == _texts(steady.messages)
    assert 1 < Naming.asked == asked < 6


def test_an_overflow_is_recovered_from(page: dict[str, Any], talk: Callable[..., Any]) -> None:
    """The model's window is smaller than the manager was told."""
    refused = strands.types.exceptions.ContextWindowOverflowException
    sizes: list[int] = []

    class Small(page["OfflineModel"]):
        async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            sizes.append(sum(map(len, _texts(messages))))
            if sizes[-1] > 12_000:
                raise refused("too long")
            async for event in super().stream(messages, *args, **kwargs):
                yield event

    agent = talk(Small(), 60, window=20_000)

    assert 60 < len(sizes) < 70
    assert agent.messages[-1]["role"] == "assistant"


def test_an_overflow_without_remedy_is_theirs(
    page: dict[str, Any], talk: Callable[..., Any]
) -> None:
    """A model that refuses everything."""
    refused = strands.types.exceptions.ContextWindowOverflowException

    class Refusing(page["OfflineModel"]):
        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            raise refused("too long")
            yield

    with pytest.raises(refused, match="too long"):
        talk(Refusing(), 1)


def test_tool_use_is_never_divided(page: dict[str, Any], talk: Callable[..., Any]) -> None:
    """Parallel calls for many rounds: Bedrock accepts each request."""
    problems: set[str] = set()
    rounds = 0

    @strands.tool
    def run(n: int) -> str:
        """Run number n."""
        return f"r{n} " + "line " * 200

    class Calling(page["OfflineModel"]):
        async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            nonlocal rounds
            rounds += 1
            problems.update(_problems(messages))
            if rounds % 5 == 0:
                async for event in super().stream(messages, *args, **kwargs):
                    yield event
                return
            yield {"messageStart": {"role": "assistant"}}
            for at in range(2):
                use = {"toolUseId": f"c{rounds}_{at}", "name": "run"}
                yield {"contentBlockStart": {"start": {"toolUse": use}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"n": 1}'}}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}

    agent = talk(Calling(), 15, window=6_000, tools=[run])

    assert not problems
    assert rounds == 75
    assert len(agent.messages) < 40


def _problems(messages: list[Any]) -> set[str]:
    tool = {"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}
    items = [{key: each[key] for key in ("role", "content")} for each in messages]
    request = {"messages": items, "toolConfig": {"tools": [tool]}}
    return {found.rule for found in bedrock.validate(request)}
