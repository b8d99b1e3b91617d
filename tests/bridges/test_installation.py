"""A framework that is missing or too old is named in one sentence, with what to install."""

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentic import bridges

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).resolve().parents[2]
_HIDE = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]"
# These parts import nothing of their framework before they are used.
_USES = {
    "bridges.litellm": "from agentic.bridges.litellm import Decider; Decider('gpt-4o')",
    "bridges.openai_agents": (
        "from agentic.bridges.openai_agents import InputFilter; InputFilter(8_000)"
    ),
}
_SESSION = (
    "from agentic.bridges.openai_agents import StoreSession; "
    "from agentic.history import MemoryStore; StoreSession(MemoryStore())"
)


def _last_line(folder: Path, *program: str) -> str:
    """Return the last line that a process prints which finds packages in a folder first."""
    done = subprocess.run(
        [sys.executable, "-c", "; ".join(program)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    return (done.stdout + done.stderr).strip().rpartition("\n")[2]


def _install(folder: Path, package: str, version: str) -> None:
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")


@pytest.mark.parametrize(
    ("room", "package", "oldest", "version"),
    [
        ("durable.dbos", "dbos", "3.4", "3.3.9"),
        ("bridges.langchain", "langchain", "1.2.10", "1.0.0"),
        ("bridges.langchain", "langchain", "1.2.10", "0.3.27"),
        ("bridges.litellm", "litellm", "1.83", "1.82.6"),
        ("bridges.mcp", "mcp", "1.19", "1.18.0"),
        ("bridges.openai_agents", "openai-agents", "0.2.8", "0.2.7"),
        ("bridges.otel", "opentelemetry-api", "1.30", "1.29.0"),
        ("app.proxy", "starlette", "0.40", "0.39.2"),
        ("app.proxy", "uvicorn", "0.30", "0.29.0"),
        ("bridges.pydantic_ai", "pydantic-ai-slim", "2.62", "2.61.0"),
    ],
)
def test_an_old_version_is_refused(
    tmp_path: Path, room: str, package: str, oldest: str, version: str
) -> None:
    """The version found, the one needed, and how to get it."""
    _install(tmp_path, package, version)

    use = _USES.get(room, f"import agentic.{room}")
    assert _last_line(tmp_path, use) == (
        f"ImportError: {room} needs {package} {oldest} or newer, found {version}: "
        f"pip install -U {package}"
    )


@pytest.mark.parametrize("version", ["1.2.10", "2.0.0rc1"])
def test_the_oldest_version_and_later_are_accepted(tmp_path: Path, version: str) -> None:
    """A release candidate, too."""
    _install(tmp_path, "langchain", version)

    require = "from agentic._base._versions import require"
    asked = "require('bridges.langchain', 'langchain', 'langchain', '1.2.10')"
    assert _last_line(tmp_path, require, asked, "print('accepted')") == "accepted"


@pytest.mark.parametrize(
    ("use", "room", "package", "extra"),
    [
        ("import agentic.durable.dbos", "durable.dbos", "dbos", "durable"),
        ("import agentic.bridges.langchain", "bridges.langchain", "langchain", "langchain"),
        (_USES["bridges.litellm"], "bridges.litellm", "litellm", "litellm"),
        ("import agentic.bridges.mcp", "bridges.mcp", "mcp", "mcp"),
        (_SESSION, "bridges.openai_agents", "openai-agents", "openai-agents"),
        ("import agentic.bridges.otel", "bridges.otel", "opentelemetry-api", "otel"),
        ("import agentic.app.proxy", "app.proxy", "starlette", "proxy"),
        (
            "import agentic.bridges.pydantic_ai",
            "bridges.pydantic_ai",
            "pydantic-ai-slim",
            "pydantic-ai",
        ),
    ],
)
def test_a_missing_framework_is_named(
    tmp_path: Path, use: str, room: str, package: str, extra: str
) -> None:
    """With the extra that brings it."""
    ours = f"sys.path.insert(0, {str(_ROOT)!r})"

    assert _last_line(tmp_path, "import attr, attrs, blinker", _HIDE, ours, use) == (
        f"ImportError: {room} needs {package}: pip install -e '{_ROOT}[{extra}]'"
    )


def test_every_bridge_is_loaded_by_its_name() -> None:
    """`import agentic.bridges` is enough, whichever one is used."""
    found = {module.name for module in pkgutil.iter_modules(bridges.__path__)}
    assert bridges.__all__ == sorted(name for name in found if not name.startswith("_"))
