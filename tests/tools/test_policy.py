from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import tools
from agentic.errors import ConfigError
from agentic.tools._executors import ToolPolicy


@given(names=st.lists(st.text()), name=st.text())
def test_an_allowlist_allows_what_it_names(names: list[str], name: str) -> None:
    """Exactly that: letter by letter, in any order."""
    assert tools.AllowlistPolicy(names).allows(name) == (name in names)


def test_an_empty_allowlist_allows_nothing() -> None:
    """No names is a choice, not the lack of one."""
    assert not tools.AllowlistPolicy([]).allows("read")


@pytest.mark.parametrize(
    "make",
    [
        tools.AllowlistPolicy,
        lambda names: tools.Registry(policy=names),
        lambda names: tools.FilteredExecutor(tools.Registry(), names),
    ],
)
def test_lone_word_is_no_list(make: Callable[[Any], object]) -> None:
    """It would be read letter by letter."""
    with pytest.raises(ConfigError, match=r"must be several names, got .*write \['read'\]"):
        make("read")


def test_a_policy_of_ones_own_fits() -> None:
    """Whatever has the one method is a policy."""

    class Short:
        def allows(self, name: str, /) -> bool:
            return len(name) < 4

    registry = tools.Registry(tools.tool(lambda: "x", name="run"), policy=Short())

    assert isinstance(Short(), ToolPolicy)
    assert registry.policy is not None
    assert registry.policy.allows("run")
