"""The command in this process, for most tests, and as a user starts it; and a browser."""

import importlib.util
import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pytest

from agentic.app.cli import main

ROOT = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())


@attrs.frozen
class Done:
    """What a command left."""

    status: int
    raw: bytes
    """What it wrote to stdout."""
    err: str

    @property
    def out(self) -> str:
        """Its output as text."""
        return self.raw.decode()


Agentic: TypeAlias = Callable[..., Done]


@pytest.fixture
def agentic(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Agentic:
    """Run a command line in this process, with stdin as given."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        status = main(list(map(str, arguments)))
        out, err = capsysbinary.readouterr()
        return Done(status, out, err.decode())

    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Any]:
    """Run a command line as a process of its own, in a folder of its own, and give what it left."""

    def run(*arguments: str | Path, **options: Any) -> Any:
        environment = {**os.environ, **options.pop("env", {})}
        if "stdout" not in options:
            options["capture_output"] = True
        return subprocess.run(
            [sys.executable, "-m", "agentic", *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            timeout=60,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def in_terminal() -> Callable[..., bytes]:
    """Run a command whose stdout is a terminal, and give what that got."""

    def run(*command: str | Path, **options: Any) -> bytes:
        ours, theirs = pty.openpty()
        with subprocess.Popen(list(map(str, command)), stdout=theirs, **options) as running:
            os.close(theirs)
            got = b"".join(iter(lambda: _read_terminal(ours), b""))
            os.close(ours)
        assert running.returncode == 0
        return got

    return run


def _read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # EIO: nobody has the other end open any more
        return b""


DECIDER = '''
import asyncio
import json
import re

from agentic import limits, loop
from agentic.errors import RequestFailed
from agentic.messages import ToolCall


MARKDOWN = """# Why it is red

The *parser* fails, see `parse`:

```python
def parse(text):
    return text
```

1. Mend **parse**
2. Run [the tests](https://example.org/tests)
"""


class Scripted:
    """Does what the request says."""

    def limits(self):
        return limits.ModelLimits(128_000, 0)

    async def stream(self, request):
        words = request.user_message.split()
        if request.tool_results:
            words = ["say", request.tool_results[-1].text]
        match words:
            case ["read", *paths]:
                calls = [ToolCall("", "read", json.dumps({"path": path})) for path in paths]
                yield loop.Decision("Let me look.", calls)
                return
            case ["nap"]:
                yield loop.Decision("", [ToolCall("", "nap", '{"seconds": 60}')])
                return
            case ["count", number]:
                for n in range(int(number)):
                    yield f"{n} "
                    await asyncio.sleep(0.02)
            case ["markdown"]:
                for piece in re.findall(r"[\\s\\S]{1,7}", MARKDOWN):
                    yield piece
                yield loop.Decision(MARKDOWN)
                return
            case ["fail"]:
                raise RequestFailed("the model", 503, "it is overloaded, try again later")
            case ["crash"]:
                raise KeyError("turn")
            case _:
                for word in words[1:]:
                    yield word + " "
        yield loop.Decision(" ".join(words[1:]))

    async def decide(self, request):
        *_, decision = [item async for item in self.stream(request)]
        return decision


async def nap(seconds: float) -> str:
    """Do nothing for a while."""
    await asyncio.sleep(seconds)
    return "well rested"


def read(path: str) -> str:
    """Read a text file."""
    return open(path).read()
'''
AGENT = """\
name: scripted
model: scripted.py:Scripted
system_prompt: Do what you are told.
tools: [scripted.py:read, scripted.py:nap]
context:
  summary_model: digest
  min_recent_messages: 2
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """Write the file of an agent that needs no model: it does what a request says."""
    (tmp_path / "scripted.py").write_text(DECIDER)
    path = tmp_path / "agent.yaml"
    path.write_text(AGENT)
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start a headless Chromium."""
    pytest.importorskip("aiohttp", reason="the browser is driven by aiohttp")
    spec = importlib.util.spec_from_file_location("browser", ROOT / "docs/pictures/browser.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = module.find_chromium()
    if program is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with module.Browser(program) as started:
        yield started
