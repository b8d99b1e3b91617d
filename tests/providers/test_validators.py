import subprocess
import sys

import pytest

ADAPTERS = ["anthropic", "bedrock", "cohere", "gemini", "ollama", "openai_chat", "openai_responses"]


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_validators_load_when_asked(adapter: str) -> None:
    """An adapter loads its rules with the first request that is checked, and only its own."""
    program = (
        f"import sys; from agentic.providers import {adapter};"
        "loaded = lambda: [m for m in sys.modules if m.startswith('agentic.providers.validators')];"
        f"print(loaded()); {adapter}.validate({{}}); print(sorted(loaded()))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    room = "agentic.providers.validators"
    expected = sorted([room, f"{room}._violation", f"{room}.{adapter}"])
    assert done.stdout.splitlines() == ["[]", str(expected)], done.stderr
