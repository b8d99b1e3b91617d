"""Where the real material lies, if it is there."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tool_outputs() -> list[Path]:
    """Return the recorded tool outputs, which lie beside the checkout."""
    root = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
    folder = root.parent / "shared" / "data" / "tool_outputs"
    if not folder.is_dir():
        pytest.skip("the recorded tool outputs do not lie beside this checkout")
    return sorted(path for path in folder.rglob("*") if path.is_file())
