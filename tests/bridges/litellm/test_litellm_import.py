"""What the import of LiteLLM would do by itself, and what its table is used for."""

import importlib
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import pytest

import agentic
from agentic.bridges.litellm import Decider
from agentic.errors import ConfigError
from agentic.limits import ModelLimits, lookup
from agentic.loop import Runner

_ASKS = """
import asyncio, os, sys
seen = []
sys.addaudithook(lambda name, args: seen.append(args) if name == "socket.getaddrinfo" else None)
from agentic.bridges.litellm import Decider
assert "litellm" not in sys.modules
decider = Decider("anthropic/claude-sonnet-4-5", options={"mock_response": "Hello."})
assert "litellm" not in sys.modules
from agentic.loop import Runner
print(Runner(decider).run_sync("Hi.").reply, seen, "LITELLM_LOCAL_MODEL_COST_MAP" in os.environ)
"""
_ASKS_WRONGLY = """
from agentic.errors import RequestFailed
print("The next request fails.", file=sys.stderr)
try:
    Runner(Decider("nonsense")).run_sync("Hi.")
except RequestFailed as failed:
    print(failed.provider, failed.status)
"""


def _run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder without a .env file."""
    command = [sys.executable, "-W", "default", "-c", program]
    root = Path(agentic.__file__).parents[1]
    env = {"PYTHONPATH": f"{folder}:{root}", "PATH": ""}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=env)


@pytest.mark.slow
def test_first_use_imports_without_network(tmp_path: Path) -> None:
    """No price list is fetched, nothing is printed, and the setting for that does not stay.

    Of an error, LiteLLM would print links to its documentation on stdout.
    """
    done = _run(_ASKS + _ASKS_WRONGLY, tmp_path)

    assert done.stdout == "Hello. [] False\nlitellm 400\n", done.stderr
    assert done.stderr.startswith("The next request fails.\n")


def test_a_request_repeats_no_warning() -> None:
    """Python shows a warning once for each place, until somebody changes the filters."""
    runner = Runner(Decider("openai/gpt-4o", options={"mock_response": "Hello."}))

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(3):
            runner.run_sync("Hi.")
            warnings.warn("look", UserWarning, stacklevel=1)

    assert [str(each.message) for each in shown] == ["look"]


def test_limits_come_from_litellm_at_last() -> None:
    """What is passed in comes first, then the catalog, then LiteLLM's table, then a guess."""
    given = ModelLimits(10_000, 100)
    table = importlib.import_module("litellm").model_cost
    sizes = ("max_input_tokens", "max_output_tokens")
    unknown = ((name, row) for name, row in table.items() if not lookup(name).known)
    name, row = next(each for each in unknown if all(type(each[1].get(k)) is int for k in sizes))

    assert Decider("gpt-4o", limits=given).limits() == given
    assert Decider("openrouter/anthropic/claude-sonnet-4.5").limits().context_window == 200_000
    assert Decider(name).limits() == ModelLimits(row["max_input_tokens"], row["max_output_tokens"])
    assert not Decider("ollama/my-own").limits().known


@pytest.mark.parametrize("model", ["", " ", None])
def test_model_without_name_is_refused(model: str) -> None:
    """Before anything is imported."""
    with pytest.raises(ConfigError, match="model must be a model's name"):
        Decider(model)


def test_the_name_says_who_is_asked() -> None:
    """As the name of every decider does."""
    assert Decider("ollama_chat/qwen3").name == "litellm:ollama_chat/qwen3"
    assert version("litellm")
