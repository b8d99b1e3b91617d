"""What an import of somebody else's package shows to a user of ours: nothing."""

import os
import subprocess
import sys
import warnings
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentic._base import _imports

_KEYS = {
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "CO_API_KEY": "none",
    "GEMINI_API_KEY": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
}
_NOISE = """
import sys, warnings
# The standard library looks for a Java of the last name.
quiet = {"agentic", "attr", "attrs", "blinker", *sys.stdlib_module_names, "org"}
def warn(event, args):
    if event == "import" and "." not in args[0] and args[0] not in quiet:
        warnings.warn(f"noise of {args[0]}", UserWarning)
sys.addaudithook(warn)
"""
"""Lets each package that is neither ours nor the standard library's warn when it is imported."""

_USES = {
    "dbos": "import agentic.durable.dbos",
    "langchain": "import agentic.bridges.langchain",
    "litellm": "from agentic.bridges import litellm; litellm.Decider('my-own').limits()",
    "mcp": "import agentic.bridges.mcp",
    "opentelemetry": "import agentic.bridges.otel",
    "pydantic_ai": "import agentic.bridges.pydantic_ai",
    "starlette": "import agentic.app.proxy",
    "anthropic": "from agentic import providers; providers.connect('anthropic:mine')",
    "boto3": "from agentic import providers; providers.connect('bedrock:mine')",
    "cohere": "from agentic import providers; providers.connect('cohere:mine')",
    "google.genai": "from agentic import providers; providers.connect('gemini:mine')",
    "httpx": "from agentic import providers; providers.connect('ollama:mine')",
    "openai": "from agentic import providers; providers.connect('openai_chat:mine')",
    "genai_prices": "from agentic import limits; limits.lookup('nobody-knows')",
    "genai_prices.types": "from agentic import usage; usage.cost(usage.Usage(input=1), 'gpt-4o')",
    "quicktok": "from agentic.tokens import for_model; for_model('gpt-4o')",
    "tiktoken": (
        "from agentic.tokens import TiktokenCounter\n"
        "try: TiktokenCounter('none')\nexcept ValueError: pass"
    ),
    "tokenizers": (
        "from agentic.tokens import TokenizersCounter\n"
        "try: TokenizersCounter('none.json')\nexcept ValueError: pass"
    ),
    "psycopg": "from agentic.history import postgres",
    "msgspec": "from agentic import tools\n@tools.tool\ndef add(a: int) -> int:\n '''Add.'''",
    "hypothesis": "from agentic.testing import conversations; conversations()",
    "yaml": "from agentic.app import config; config.loads('model: openai_chat:mine')",
    "cattrs": "from agentic.app import config; config.loads('model: openai_chat:mine')",
    "click": "from agentic.app.cli import main; main(['count', '--help'])",
    "prompt_toolkit": "from agentic._base._imports import load; load('agentic.app.chat._terminal')",
}
"""Each package, and a program that has it imported by us."""


@pytest.mark.slow
@pytest.mark.parametrize("package", _USES)
def test_an_import_shows_no_foreign_warning(package: str) -> None:
    """Whatever the package warns of, also if the user asks Python for every warning."""
    program = f"{_NOISE}\n{_USES[package]}\nassert {package!r} in sys.modules"

    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **_KEYS},
    )

    assert (done.stderr, done.returncode) == ("", 0)


def test_overlapping_imports_leave_the_filters_as_they_were() -> None:
    """Of two threads, in whatever order they end; `catch_warnings` would keep the first's."""
    before = list(warnings.filters)
    first, second = _imports.quietly(), _imports.quietly()

    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    warnings.warn("noise", UserWarning, stacklevel=1)  # an error in these tests
    second.__exit__(None, None, None)

    assert list(warnings.filters) == before


def test_a_loaded_module_changes_no_filters() -> None:
    """Each change makes Python show again what it has shown once."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(3):
            _imports.load("attrs")
            warnings.warn("look", UserWarning, stacklevel=1)

    assert len(shown) == 1


def test_an_import_that_fails_shows_warnings_again() -> None:
    """A missing package is reported as Python does."""
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        _imports.load("no_such_package")

    with pytest.warns(UserWarning, match="look"):
        warnings.warn("look", UserWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'agentic-weave[cli]'"),
        ('{"url": "file:///src/my%20copy", "dir_info": {}}', "pip install '/src/my copy[cli]'"),
        (
            '{"url": "https://g.example/a.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            "pip install 'agentic-weave[cli] @ git+https://g.example/a.git@c0ffee'",
        ),
        ('{"url": "file:///tmp/a.whl", "archive_info": {}}', "pip install 'agentic-weave[cli]'"),
    ],
)
def test_extra_comes_from_where_the_package_did(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: str | None, command: str
) -> None:
    """Its name alone would find nothing before a release, or another version after it."""
    installed = tmp_path / "site-packages" / "agentic" / "_base" / "_imports.py"
    record = SimpleNamespace(read_text=lambda _name: origin)
    monkeypatch.setattr(_imports, "__file__", str(installed))
    monkeypatch.setattr(metadata, "distribution", lambda _name: record)

    assert _imports.pip_install("agentic-weave[cli]") == command


def test_a_checkout_is_installed_in_place() -> None:
    """An edit of it must go on being noticed."""
    root = Path(__file__).resolve().parents[1]

    assert _imports.pip_install("agentic-weave[cli]") == f"pip install -e '{root}[cli]'"
