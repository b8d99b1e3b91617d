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

_COUNT_BY_TIKTOKEN = """from agentic.tokens import TiktokenCounter
try: TiktokenCounter('none')
except ValueError: pass"""
_COUNT_BY_TOKENIZERS = """from agentic.tokens import TokenizersCounter
try: TokenizersCounter('none.json')
except ValueError: pass"""
_MAKE_A_TOOL = """from agentic import tools
@tools.tool
def add(a: int) -> int:
    'Add.'"""
_USES = {
    "click": "from agentic.app.cli import main; main(['count', '--help'])",
    "prompt_toolkit": "from agentic._base._imports import load; load('agentic.app.chat._terminal')",
    "yaml cattrs": "from agentic.app import config; config.loads('model: openai_chat:mine')",
    "msgspec": _MAKE_A_TOOL,
    "psycopg": "from agentic.history import postgres",
    "tokenizers": _COUNT_BY_TOKENIZERS,
    "tiktoken": _COUNT_BY_TIKTOKEN,
    "quicktok": "from agentic.tokens import for_model; for_model('gpt-4o')",
    "genai_prices": "from agentic import limits; limits.lookup('nobody-knows')",
    "hypothesis": "from agentic.testing import conversations; conversations()",
    "httpx": "from agentic import providers; providers.connect('ollama:mine')",
    "openai": "from agentic import providers; providers.connect('openai_chat:mine')",
    "opentelemetry": "import agentic.bridges.otel",
    "anthropic": "from agentic import providers; providers.connect('anthropic:mine')",
    "cohere": "from agentic import providers; providers.connect('cohere:mine')",
    "boto3": "from agentic import providers; providers.connect('bedrock:mine')",
    "google.genai": "from agentic import providers; providers.connect('gemini:mine')",
    "starlette": "import agentic.app.proxy",
    "mcp": "import agentic.bridges.mcp",
    "dbos": "import agentic.durable.dbos",
    "langchain": "import agentic.bridges.langchain",
    "pydantic_ai": "import agentic.bridges.pydantic_ai",
    "litellm": "from agentic.bridges import litellm; litellm.Decider('my-own').limits()",
}
"""Packages, and a program that has them imported by us: first what the others import, too."""
_PRICES = {"genai_prices.types": "from agentic import usage; usage.cost(usage.Usage(), 'gpt-4o')"}


@pytest.mark.slow
@pytest.mark.parametrize("uses", [_USES, _PRICES], ids=["all", "prices"])
def test_an_import_shows_no_foreign_warning(uses: dict[str, str]) -> None:
    """Whatever a package warns of, also if the user asks Python for every warning."""
    program = _NOISE
    for packages, use in uses.items():
        program += f"packages = {packages.split()}\n"
        program += "assert not {*packages} & {*sys.modules}, f'imported before: {packages}'\n"
        program += f"{use}\n"
        program += "assert {*packages} <= {*sys.modules}, f'not imported: {packages}'\n"

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
