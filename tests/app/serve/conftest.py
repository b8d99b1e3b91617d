"""`agentic serve` as a user starts it, with an agent that does what its message says."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest

pytest.importorskip("dbos", reason="DBOS is not installed: pip install 'agentic-weave[durable]'")

MODEL = '''
import asyncio
import pathlib

from agentic.limits import ModelLimits
from agentic.loop import Decision
from agentic.messages import ToolCall
from agentic.tools import tool

HERE = pathlib.Path(__file__).parent


class Model:
    """Writes as many notes as the message says, then waits for as long as there is a gate."""

    def limits(self):
        return ModelLimits(100_000, 1_000)

    async def decide(self, request, /):
        words, *steered = [each.content for each in request.history if each.role == "user"]
        if request.turn <= int(words.split()[-1]):
            return Decision("", [ToolCall("", "note", '{"text": "note %d"}' % request.turn)])
        (HERE / "at-the-gate").touch()
        while (HERE / "gate").exists():
            await asyncio.sleep(0.05)
        return Decision(" ".join(["Done.", *steered]))


@tool
async def note(text: str) -> str:
    """Write a note."""
    with (HERE / "notes.txt").open("a") as notes:
        notes.write(text + "\\n")
    return "noted"
'''


@attrs.define
class Command:
    """A running `agentic serve` or `agentic work`."""

    http: httpx.Client
    process: "subprocess.Popen[str]"
    said: str
    """What it printed when it was ready."""

    @property
    def url(self) -> str:
        """Its address."""
        found = re.search(r"http://127\.0\.0\.\d:\d+", self.said)
        assert found, self.said
        return found[0]

    def submit(self, message: str, session: str = "monday", **more: Any) -> str:
        """Submit a message, and return the id of its run."""
        body = {"message": message, **more}
        got = self.http.post(f"{self.url}/sessions/{session}/runs", json=body)
        assert got.status_code == 202, got.text
        return str(got.json()["run_id"])

    def get(self, path: str) -> Any:
        """Return the JSON of a path."""
        return self.http.get(f"{self.url}{path}").raise_for_status().json()

    def watch(self, run_id: str) -> str:
        """Return the events of a run as they were sent, until it ends."""
        return self.http.get(f"{self.url}/runs/{run_id}/events").text

    def watch_until(self, run_id: str, part: str) -> None:
        """Watch a run until an event contains this."""
        with self.http.stream("GET", f"{self.url}/runs/{run_id}/events") as events:
            assert any(part in line for line in events.iter_lines())

    def until(self, run_id: str, is_so: Callable[[Any], bool]) -> Any:
        """Return what is known about a run, as soon as it is so."""
        while not is_so(known := self.get(f"/runs/{run_id}")):
            assert "outcome" not in known, known
            time.sleep(0.1)
        return known

    def stop(self) -> str:
        """End it as a service manager does, and return what else it said."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[1]


@attrs.define
class Place:
    """A folder with an agent."""

    folder: Path
    http: httpx.Client
    running: list[Command] = attrs.field(factory=list)

    def write(self, *lines: str) -> None:
        """Write the agent's file."""
        text = "\n".join(["model: model.py:Model", "tools: [model.py:note]", *lines, ""])
        (self.folder / "agent.yaml").write_text(text)

    def start(self, command: str, *options: str) -> Command:
        """Start a command, and wait until it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", "agentic", command, "agent.yaml", *options],
            cwd=self.folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "with the runs in" in line:
                break
        self.running.append(Command(self.http, process, said))
        return self.running[-1]

    def serve(self, *options: str) -> Command:
        """Start `agentic serve` on a free port."""
        return self.start("serve", "--port", "0", *options)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """One client, which is what takes time."""
    with httpx.Client(timeout=60) as client:
        yield client


@pytest.fixture
def place(tmp_path: Path, http: httpx.Client) -> Iterator[Place]:
    """A folder with an agent whose tools need no approval."""
    (tmp_path / "model.py").write_text(MODEL)
    made = Place(tmp_path, http)
    made.write("approve: never")
    yield made
    for command in made.running:
        command.process.kill()
        command.process.communicate()
