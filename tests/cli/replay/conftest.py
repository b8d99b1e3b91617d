"""Transcripts made by hand, one of each form, and a browser to look at pages with."""

import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.messages import Message, ToolCall, ToolResult

ROOT = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write JSON values into a file, one a line; bytes as they are."""

    def written(lines: Iterable[Any] | bytes, name: str = "session.jsonl") -> Path:
        path = tmp_path / name
        if not isinstance(lines, bytes):
            lines = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        path.write_bytes(lines)
        return path

    return written


@pytest.fixture
def talk() -> Callable[..., list[Message]]:
    """Make a conversation: a system prompt, a task, and turns that read a file each."""

    def make(turns: int, *, words: int = 200) -> list[Message]:
        messages = [Message("system", "You mend code."), Message("user", "Mend src/parser_0.py.")]
        for number in range(turns):
            path = f"src/parser_{number}.py"
            output = f"{path} imports src/parser_{number + 1}.py\n" + "def parse(text):\n" * words
            call = ToolCall(f"c{number}", "read", json.dumps({"path": path}))
            messages += [
                Message("assistant", f"I read {path}.", tool_calls=[call]),
                Message("tool", tool_results=[ToolResult(call.id, "read", output)]),
            ]
        return [*messages, Message("assistant", "Done.")]

    return make


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Give the folder of recorded sessions, which lies beside the checkout."""
    folder = ROOT.parent / "shared" / "data" / "transcripts"
    if not folder.is_dir():
        pytest.skip("the recorded sessions do not lie beside this checkout")
    return folder


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
