"""A version of a server's part that is too old, or none, is named in one sentence."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("package", "version", "expected"),
    [
        ("starlette", "0.39.2", "starlette 0.40 or newer, found 0.39.2: pip install -U starlette"),
        ("uvicorn", "0.29.0", "uvicorn 0.30 or newer, found 0.29.0: pip install -U uvicorn"),
        ("starlette", None, "starlette: pip install 'agentic-weave[proxy]'"),
    ],
)
def test_old_or_missing_part_is_named(
    complaint: Callable[..., str], package: str, version: str | None, expected: str
) -> None:
    """With what to install."""
    said = complaint("import agentic.bridges.proxy", package, version)

    assert said == f"ImportError: bridges.proxy needs {expected}"
