"""A version of the SDK that is too old, or none, is named in one sentence."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow
_IMPORTS = (
    "from agentic.bridges import openai_agents as bridge; from agentic.history import MemoryStore"
)


@pytest.mark.parametrize(
    ("made", "version", "expected"),
    [
        (
            "InputFilter(8_000)",
            "0.2.7",
            "needs openai-agents 0.2.8 or newer, found 0.2.7: pip install -U openai-agents",
        ),
        (
            "StoreSession(MemoryStore())",
            None,
            "needs openai-agents: pip install 'agentic-weave[openai-agents]'",
        ),
    ],
)
def test_old_or_missing_framework_is_named(
    complaint: Callable[..., str], made: str, version: str | None, expected: str
) -> None:
    """When a part is made: the bridge itself imports nothing of the framework."""
    said = complaint(f"{_IMPORTS}; bridge.{made}", "openai-agents", version)

    assert said == f"ImportError: bridges.openai_agents {expected}"
