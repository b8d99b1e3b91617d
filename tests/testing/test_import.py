from collections.abc import Callable

import pytest

from agentic import testing

_WITHOUT_HYPOTHESIS = """
import sys
sys.modules["hypothesis"] = None
from agentic import testing
print(testing.ScriptedDecider.__name__)
try:
    testing.conversations
except ImportError as error:
    print(error)
"""


def test_the_listed_names_exist() -> None:
    """`dir` shows them, and every one can be had."""
    assert sorted(testing.__all__) == sorted(dir(testing))
    assert all(getattr(testing, name) for name in testing.__all__)


def test_only_the_strategy_needs_hypothesis(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """Only the strategy needs Hypothesis; its ImportError holds the line that installs it."""
    fake, error = run_python(_WITHOUT_HYPOTHESIS).split("\n")

    assert fake == "ScriptedDecider"
    assert remedy("testing") in error


def test_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name is told as any module tells it."""
    with pytest.raises(AttributeError, match="no attribute 'ScriptedDecidr'"):
        _ = testing.ScriptedDecidr
