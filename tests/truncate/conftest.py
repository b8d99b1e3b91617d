"""Where the real material lies, if it is there."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tool_outputs(recorded_path: Callable[[str], Path]) -> list[Path]:
    """Return the recorded tool outputs, which lie beside the checkout."""
    return sorted(path for path in recorded_path("tool_outputs").rglob("*") if path.is_file())
