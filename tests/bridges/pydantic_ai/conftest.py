"""What the tests of this bridge share."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

_NAME = "tests_bridges_pydantic_ai_framework"


@pytest.fixture(scope="session")
def framework(naming: Any, exchange: Any) -> Any:
    """Return what the tests of this bridge need of the framework."""
    spec = importlib.util.spec_from_file_location(_NAME, Path(__file__).with_name("framework.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Any = module.Framework
    found.Naming, found.exchange = naming, staticmethod(exchange)
    return found
