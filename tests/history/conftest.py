from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a session may be kept; nothing is there yet."""
    return tmp_path / "session.jsonl"
