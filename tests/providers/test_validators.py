"""What all validators share: when they are loaded, and what a long request costs."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from agentic.providers import gemini, openai_responses
from agentic.providers.validators import Step, find_unpaired

ADAPTERS = ["anthropic", "bedrock", "cohere", "gemini", "ollama", "openai_chat", "openai_responses"]


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_validators_load_when_asked(adapter: str, run_python: Callable[[str], str]) -> None:
    """An adapter loads its rules with the first request that is checked, and only its own."""
    program = (
        f"import sys; from agentic.providers import {adapter};"
        "loaded = lambda: [m for m in sys.modules if m.startswith('agentic.providers.validators')];"
        f"print(loaded()); {adapter}.validate({{}}); print(sorted(loaded()))"
    )

    room = "agentic.providers.validators"
    expected = sorted([room, f"{room}._violation", f"{room}.{adapter}"])
    assert run_python(program).split("\n") == ["[]", str(expected)]


def _seconds(validate: Any, *given: Any) -> float:
    begun = time.process_time()
    validate(*given)
    return time.process_time() - begun


def test_many_calls_take_linear_time() -> None:
    """A square of this many would take half a minute."""
    ids = tuple(map(str, range(30_000)))

    assert _seconds(find_unpaired, [Step(0, ids), Step(1, results=ids)], "") < 1


def test_long_conversations_take_linear_time() -> None:
    """Where every item could be what an earlier one waits for."""
    reasoning = [{"type": "reasoning", "id": f"rs_{n}", "summary": []} for n in range(10_000)]
    call = {"functionCall": {"name": "read"}}
    parts = [call, {"functionResponse": {"name": "read"}}]
    contents = [{"role": "model", "parts": parts}] * 10_000

    assert _seconds(openai_responses.validate, {"input": reasoning}) < 1
    assert _seconds(gemini.validate, {"contents": contents}) < 1
