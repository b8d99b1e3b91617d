"""A version of the SDK that is too old, or none, is named in one sentence."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.18.0", "needs mcp 1.19 or newer, found 1.18.0: pip install -U mcp"),
        (None, "needs mcp: pip install 'agentic-weave[mcp]'"),
    ],
)
def test_old_or_missing_sdk_is_named(
    complaint: Callable[..., str], version: str | None, expected: str
) -> None:
    """With what to install."""
    said = complaint("import agentic.bridges.mcp", "mcp", version)

    assert said == f"ImportError: bridges.mcp {expected}"
