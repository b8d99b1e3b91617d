"""Every entry point against a server that refuses reasoning behind a changed beginning.

Small runs of the benchmark's entry points: some epochs, and no refusal.
"""

import asyncio
import gc
import os
import warnings
from typing import Any

import pytest

from agentic import events
from agentic.testing import AgentScript, ModelServer
from benchmarks.binding import _case, dicts, frameworks, loops

# Some frameworks leave their clients open, and whichever test runs when they go is blamed.
pytestmark = pytest.mark.long
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import asks the network
_WINDOW = 8_000
_NEEDS = {
    "LiteLLM": "litellm",
    "LangChain": "langchain_anthropic",
    "Pydantic AI": "pydantic_ai",
    "OpenAI Agents": "agents",
    "proxy": "starlette",
    "Runner (Anthropic)": "anthropic",
    "Session (Anthropic)": "anthropic",
    "(Responses)": "openai",
    "(Chat Completions)": "openai",
}
_ENTRIES = {**loops.ENTRIES, **dicts.ENTRIES, **frameworks.ENTRIES}
del _ENTRIES["Strands' page (Bedrock, in place)"]


def _run(entry: str, strategy: str, *, turns: int, rounds: int) -> tuple[_case.Case, list[Any]]:
    """Run an entry point against a server that refuses in earnest; return the epochs, too."""
    for part, module in _NEEDS.items():
        if part in entry:
            pytest.importorskip(module)
    script = AgentScript(turns=turns, rounds=rounds, thinking="I read on.")
    server = ModelServer(script=script, window=_WINDOW, strict=True)
    case = _case.Case(
        shape=f"{turns}x{rounds}", window=_WINDOW, strategy=strategy, server=server, script=script
    )
    epochs: list[Any] = []

    def note(_: object, event: events.EpochStart) -> None:
        epochs.append(event)

    with warnings.catch_warnings(), events.epoch_start.connected_to(note):
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(_ENTRIES[entry](case))  # type: ignore[arg-type]
        # Some frameworks leave their clients open, which the next test would be blamed for.
        gc.collect()
    return case, epochs


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "rounds"), [(8, 2), (1, 15)], ids=["turns", "loop"])
@pytest.mark.parametrize("entry", _ENTRIES)
def test_no_request_is_refused(entry: str, turns: int, rounds: int) -> None:
    """Neither for stale reasoning nor for reasoning that a running loop lacks; none is lost."""
    case, epochs = _run(entry, "default", turns=turns, rounds=rounds)

    report = case.server.report
    assert report.requests == turns * (rounds + 1)
    assert (report.refused, report.reasoning_lost) == ({}, 0)
    assert report.changes == len(epochs) > 1


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ClearToolOutputs", "FitContextWindow"])
@pytest.mark.parametrize(
    "entry",
    [
        "Runner (Anthropic)",
        "dicts, fit (Anthropic)",
        "dicts, fit in place (Anthropic)",
        "dicts, fit_request (Bedrock)",
        "LangChain, wrap_model_call (Anthropic)",
        "Pydantic AI (Anthropic)",
    ],
)
def test_strategies_change_only_what_an_epoch_begins(entry: str, strategy: str) -> None:
    """Each change of what was sent is an epoch, with strategies too."""
    case, epochs = _run(entry, strategy, turns=8, rounds=2)

    report = case.server.report
    assert (report.refused, report.reasoning_lost) == ({}, 0)
    assert report.changes == len(epochs) > 1
