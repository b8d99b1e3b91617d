"""An agent in a folder, YAML beside Python: driven, ended, and resumed by other processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

AGENT = """\
model: my_agent.py:Offline
system_prompt: Be brief.
tools: [recall, tools.py:count]
truncation: {max_lines: 5}
context:
  max_messages_before_summary: 10
"""
LONG = "hello, " + "look at every file of the parser once more. " * 600
PROGRAM = """
import asyncio, json, sys
from agentic.app import config

async def talk(session_id, *requests):
    agent = config.find("helper")
    async with agent.session(session_id) as session:
        greeting = await session.greeting()
        runner = agent.runner(session)
        replies = [(await runner.run(request)).reply for request in requests]
        status = await session.status()
        summarized = status.summary.messages_summarized if status.summary else 0
        full = len(await session.store.full())
    print(json.dumps([greeting, replies, summarized, full, status.max_messages]))

asyncio.run(talk(*sys.argv[1:]))
"""


def _talk(folder: Path, *arguments: str) -> Any:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "store", ["", pytest.param("store: {kind: sqlite}", marks=pytest.mark.long)]
)
def test_yaml_agent_resumes_in_another_process(project: Path, store: str) -> None:
    """It remembers, its N triggers, nothing is lost, and what was cut off can be recalled."""
    (project / "helper.yaml").write_text(AGENT + store)

    first = _talk(project, "abc123", LONG, 'count {"limit": 400}', "how many")
    second = _talk(project, "abc123", "go on", "go on", "go on")
    third = _talk(project, "abc123", 'recall {"query": "^123$", "regex": true}')

    greeting, replies, summarized, full, most = first
    assert (greeting, summarized, full, most) == ("", 0, 8, 10)
    assert [replies[0], replies[2]] == ["ok", "7 messages"]
    assert replies[1].startswith("it says 396\n397\n398\n399\n400\n")
    greeting, replies, summarized, full, _ = second
    assert greeting == "Resuming session abc123\n8 messages in history"
    assert summarized > 0
    assert full == 14
    greeting, replies, _, full, _ = third
    assert greeting == f"Resuming session abc123\n14 messages in history ({summarized} summarized)"
    assert "> 123\n" in replies[0]
    assert full == 18
