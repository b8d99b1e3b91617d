"""Every entry point against a server that refuses reasoning behind a changed beginning.

Small runs of the benchmark's entry points: some epochs, and no refusal.
"""

import asyncio
import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from agentic import events
from agentic.testing import AgentScript, ModelServer
from benchmarks.binding import _case, dicts, frameworks, loops

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
# One of each kind, without a framework whose import takes longer than these runs together: the loop
# and its session, a list that is copied, one that is cut in place, whole requests, the proxy.
_IN_CI = {
    "Runner (Anthropic)",
    "Session (Responses)",
    "dicts, fit (Responses)",
    "dicts, fit in place (Anthropic)",
    "Strands' page (Bedrock, in place)",
    "proxy (Anthropic)",
}


def _params(entries: Iterable[str], in_ci: Collection[str]) -> list[Any]:
    """Return the entries as parameters: what is not for CI runs by `make test-all`."""
    return [
        pytest.param(entry, marks=[] if entry in in_ci else pytest.mark.long) for entry in entries
    ]


def _run(
    entry: str, strategy: str, *, turns: int, rounds: int, **options: Any
) -> tuple[_case.Case, list[Any]]:
    """Run an entry point against a server that refuses in earnest; return the epochs, too."""
    for part, module in _NEEDS.items():
        if part in entry:
            pytest.importorskip(module)
    script = AgentScript(turns=turns, rounds=rounds, thinking="I read on.")
    window = options.pop("window", _WINDOW)
    server = ModelServer(script=script, window=window, strict=True, aside=_case.asks_for_summary)
    case = _case.Case(
        shape=f"{turns}x{rounds}",
        window=window,
        strategy=strategy,
        server=server,
        script=script,
        **options,
    )
    epochs: list[Any] = []

    def note(_: object, event: events.EpochStart) -> None:
        epochs.append(event)

    with events.epoch_start.connected_to(note):
        asyncio.run(_ENTRIES[entry](case))  # type: ignore[arg-type]
    return case, epochs


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "rounds"), [(8, 2), (1, 15)], ids=["turns", "loop"])
@pytest.mark.parametrize("entry", _params(_ENTRIES, _IN_CI))
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
    "entry", _params([*_ENTRIES], ["Runner (Anthropic)", "dicts, fit in place (Anthropic)"])
)
def test_strategies_change_only_what_an_epoch_begins(entry: str, strategy: str) -> None:
    """Each change of what was sent is an epoch, with strategies too."""
    case, epochs = _run(entry, strategy, turns=8, rounds=2)

    report = case.server.report
    assert (report.refused, report.reasoning_lost) == ({}, 0)
    assert report.changes == len(epochs) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry", _params([each for each in _ENTRIES if "before_model" not in each], _IN_CI)
)
def test_summary_is_read_from_the_cache(entry: str) -> None:
    """With one argument, each entry point asks the agent's own model by extending its request."""
    case, epochs = _run(entry, "default", turns=20, rounds=2, window=16_000, continues=True)

    report = case.server.report
    asides = [each for each in report.served if each.aside]
    assert report.requests - len(asides) == 20 * 3
    assert (report.refused, report.reasoning_lost) == ({}, 0)
    assert report.changes == len(epochs) > 0
    # A Runner asks while tools run, and lets the answer go where the run ends before it.
    assert len(asides) in range(len(epochs), len(epochs) * 2 + 1)
    # Some of these clients set no cache marks, and read nothing from the cache at all.
    if report.read:
        assert all(each.read / each.tokens > 0.8 for each in asides)
