"""A decider and tools in files of their own, as a user would have them beside the YAML."""

from collections.abc import Callable
from pathlib import Path

import pytest

DECIDER = '''
from agentic import limits, loop
from agentic.messages import ToolCall


class Offline:
    """Calls the tool that a request names, and repeats what came of it."""

    def __init__(self, window=200_000):
        self.window = window
        self.prompts = []

    def limits(self):
        return limits.ModelLimits(self.window, 0)

    async def decide(self, request):
        self.prompts.append(request.user_message)
        name, _, arguments = request.user_message.partition(" ")
        if request.tool_results:
            return loop.Decision(f"it says {request.tool_results[-1].text[:200]}")
        if name in [tool.name for tool in request.tools]:
            return loop.Decision("", [ToolCall("", name, arguments)])
        if request.user_message.startswith("how many"):
            return loop.Decision(f"{len(request.history)} messages")
        return loop.Decision("ok")


class Bare:
    async def decide(self, request):
        return loop.Decision("bare")


def make(window):
    return Offline(window)


ready = Offline(64_000)
nothing = 3


def broken():
    raise RuntimeError("no weights here")
'''

TOOLS = '''
from agentic import tools
from agentic.tools import ToolDefinition


def read_file(path: str) -> str:
    """Read a text file."""
    with open(path) as file:
        return file.read()


@tools.tool(name="shout")
def loud(text: str) -> str:
    """Say it loudly."""
    return text.upper()


def count(limit: int) -> str:
    """Count to a limit, one number a line."""
    return "\\n".join(map(str, range(1, limit + 1)))


class Now:
    definition = ToolDefinition("now", "Tell the time.")

    async def run(self, arguments):
        return "noon"


BOTH = [read_file, loud]


def untyped(path):
    return path


class Needy:
    def __init__(self, argument): ...
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a folder with `my_agent.py` and `tools.py`."""
    (tmp_path / "my_agent.py").write_text(DECIDER)
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


@pytest.fixture
def write_decider(tmp_path: Path) -> Callable[[str], None]:
    """Return what writes `failing.py`, whose `Failing` does one thing when it is asked."""

    def write(statement: str) -> None:
        (tmp_path / "failing.py").write_text(
            f"class Failing:\n    async def decide(self, request):\n        {statement}\n"
        )

    return write
