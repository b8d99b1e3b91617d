from typing import Any

import attrs
import pytest

from agentic.app.config._strategies import STRATEGIES

BY_THE_AGENT = {"counter", "recall", "digest"}
"""Arguments that no file writes."""


@pytest.mark.parametrize("name", STRATEGIES)
def test_declared_arguments_match_the_strategy(name: str) -> None:
    """With the same default, so that an editor shows what happens if the argument is left out."""
    kind = STRATEGIES[name]
    taken = {field.name: field for field in attrs.fields(kind.make) if field.init}

    assert set(kind.arguments) == set(taken) - BY_THE_AGENT
    for argument, field in kind.arguments.items():
        own: Any = taken[argument].default
        assert (argument, field.default, type(field.default)) == (argument, own, type(own))
