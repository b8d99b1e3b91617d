"""The conversation manager on the page about Strands, in real agents of Strands."""

import itertools
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.messages import Message
from agentic.providers import bedrock
from agentic.testing import AgentScript, ModelServer

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


class Served:
    """Makes a Strands model that asks a fake of Bedrock, which counts prompt and tools as well."""

    def __init__(self, base: Any, server: ModelServer) -> None:
        self.model = type("Model", (base,), {"stream": self.stream})()
        self.server = server

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any
    ) -> AsyncIterator[Any]:
        """Ask once; an overflow is raised as Strands' own models raise it."""
        items = [{key: each[key] for key in ("role", "content")} for each in messages]
        body = {
            "system": [{"text": system_prompt}],
            "messages": json.loads(json.dumps(items)),
            "toolConfig": {"tools": [{"toolSpec": each} for each in tool_specs]},
        }
        reply = self.server.post("/model/us.anthropic.claude-fable-5-2-v1:0/converse", body)
        if reply.status != 200:
            raise strands.types.exceptions.ContextWindowOverflowException(str(reply.body))
        yield {"messageStart": {"role": "assistant"}}
        for block in reply.body["output"]["message"]["content"]:
            for event in _events(block):
                yield event
        yield {"messageStop": {"stopReason": reply.body["stopReason"]}}
        yield {"metadata": {"usage": reply.body["usage"], "metrics": {"latencyMs": 1}}}


def _events(block: dict[str, Any]) -> list[Any]:
    """Return a block of a reply as the pieces of a stream."""
    if "toolUse" in block:
        use = block["toolUse"]
        start = {"toolUse": {key: use[key] for key in ("toolUseId", "name")}}
        piece = {"toolUse": {"input": json.dumps(use["input"])}}
        return [
            {"contentBlockStart": {"start": start}},
            {"contentBlockDelta": {"delta": piece}},
            {"contentBlockStop": {}},
        ]
    if "reasoningContent" in block:
        text = block["reasoningContent"]["reasoningText"]
        pieces = [{"reasoningContent": {key: text[key]}} for key in ("text", "signature")]
        deltas = [{"contentBlockDelta": {"delta": piece}} for piece in pieces]
        return [*deltas, {"contentBlockStop": {}}]
    return [{"contentBlockDelta": {"delta": block}}, {"contentBlockStop": {}}]


def test_prompt_and_tools_are_counted(page: dict[str, Any]) -> None:
    """They are a third of the window, and no request of 60 turns is refused for its size."""

    @strands.tool
    def read(path: str) -> str:
        """Read a file."""
        return f"{path}: " + "a line of some file\n" * 80

    read.tool_spec["description"] += " It says much about itself." * 300
    script = AgentScript(turns=60, rounds=2, thinking="I read on.")
    server = ModelServer(script=script, window=16_000, refusals="counted")
    agent = strands.Agent(
        Served(page["OfflineModel"], server).model,
        tools=[read],
        system_prompt="You read files. " * 600,
        conversation_manager=page["BudgetManager"](16_000),
        callback_handler=None,
    )

    for number in range(60):
        agent(f"Request {number}: read what part {number} needs.")

    assert server.report.refused["overflow"] == 0
    assert server.report.requests == 180


def test_one_overflow_has_one_smaller_request(page: dict[str, Any]) -> None:
    """The server's window is half of what the manager was told; old versions report no usage."""
    server = ModelServer(script=AgentScript(turns=40, rounds=0), window=6_000)
    agent = strands.Agent(
        Served(page["OfflineModel"], server).model,
        tools=[strands.tool(lambda path: path, name="read", description="Read.")],
        system_prompt="Be brief.",
        conversation_manager=page["BudgetManager"](12_000),
        callback_handler=None,
    )

    for number in range(40):
        agent(f"Request {number}: " + "so it goes. " * 60)

    statuses = [each.status for each in server.served]
    assert 0 < statuses.count(400) <= 4
    assert all(after == 200 for at, after in itertools.pairwise(statuses) if at == 400)
