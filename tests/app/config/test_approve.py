"""`approve` in an agent's file: who is asked before its tools act."""

import asyncio
from pathlib import Path

import attrs
import pytest

from agentic import loop
from agentic.app import config
from agentic.messages import ToolCall
from agentic.testing import ScriptedDecider
from agentic.tools import Approval, Registry, ToolDefinition


def _agent(project: Path, text: str) -> config.AgentConfig:
    path = project / "agent.yaml"
    path.write_text(text)
    return config.load(path)


@attrs.define
class _Clerk:
    asked: list[str] = attrs.field(factory=list)

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        self.asked.append(call.name)
        return Approval(allowed=False)


@pytest.mark.parametrize(
    ("line", "asked"),
    [("", ["read_file"]), ("approve: ask", ["read_file"]), ("approve: never", [])],
)
def test_approver_is_asked_unless_file_forbids(project: Path, line: str, asked: list[str]) -> None:
    """By default, too: whoever passes an approver wants it to be asked. Recall changes nothing."""
    agent = _agent(project, f"store: {{kind: memory}}\ntools: [tools.py:read_file, recall]\n{line}")
    names = ("read_file", "recall")
    calls = [ToolCall(name, name, '{"path": "x"}') for name in names]
    clerk = _Clerk()

    async def run() -> None:
        async with agent.session() as session:
            decider = ScriptedDecider(loop.Decision("", calls), "Done.")
            await agent.runner(session, decider, approver=clerk).run("hi")

    asyncio.run(run())
    assert clerk.asked == asked


def test_explicit_ask_needs_an_approver(project: Path) -> None:
    """The default asks nobody if there is nobody; a line in the file is an order."""
    text = "store: {kind: memory}\nmodel: my_agent.py:Offline\ntools: [tools.py:read_file]\n"

    strict = _agent(project, f"{text}approve: ask")
    with pytest.raises(config.ConfigProblems, match=r"agent\.yaml:4: approve: ask, but nobody"):
        strict.runner(strict.session())
    agent = _agent(project, text)
    assert isinstance(agent.runner(agent.session()).executor, Registry)
