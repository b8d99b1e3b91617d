"""What all validators share: when they are loaded, and what a long request costs."""

from collections.abc import Callable
from typing import Any

import pytest

from agentic.providers import gemini, openai_responses
from agentic.providers.kit import Step, find_unpaired

ADAPTERS = ["anthropic", "bedrock", "cohere", "gemini", "ollama", "openai_chat", "openai_responses"]


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_validators_load_when_asked(adapter: str, run_python: Callable[[str], str]) -> None:
    """An adapter loads its rules with the first request that is checked, and only its own."""
    program = (
        f"import sys; from agentic.providers import {adapter};"
        "loaded = lambda: [m for m in sys.modules if m.endswith('._validation')];"
        f"print(loaded()); {adapter}.validate({{}}); print(sorted(loaded()))"
    )

    expected = [f"agentic.providers.{adapter}._validation"]
    assert run_python(program).split("\n") == ["[]", str(expected)]


def _many_calls(count: int) -> None:
    ids = tuple(map(str, range(count)))
    assert find_unpaired([Step(0, ids), Step(1, results=ids)], "") == []


def _much_reasoning(count: int) -> None:
    items = [{"type": "reasoning", "id": f"rs_{n}", "summary": []} for n in range(count)]
    assert openai_responses.validate({"input": items})


def _many_turns(count: int) -> None:
    parts = [{"functionCall": {"name": "read"}}, {"functionResponse": {"name": "read"}}]
    assert gemini.validate({"contents": [{"role": "model", "parts": parts}] * count})


@pytest.mark.slow
@pytest.mark.parametrize("run", [_many_calls, _much_reasoning, _many_turns])
def test_long_requests_take_linear_time(run: Any, growth: Any) -> None:
    """Also where every item could be what an earlier one waits for."""
    assert growth(run, 2_000) < 10
