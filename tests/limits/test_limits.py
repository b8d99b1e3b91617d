"""ModelLimits, and who can be a Provider."""

import attrs
import pytest

from agentic.errors import ConfigError
from agentic.limits import ModelLimits, Provider


@pytest.mark.parametrize("tokens", [-1, 1.5, 8_192.0, True, None, "8192"])
@pytest.mark.parametrize("field", ["context_window", "max_output"])
def test_limits_are_whole_numbers(field: str, tokens: object) -> None:
    """A negative, a fraction, a bool, nothing and a text are refused, by the field's name."""
    sizes = {"context_window": 1, "max_output": 1} | {field: tokens}

    with pytest.raises(ConfigError, match=f"ModelLimits.{field} must be .*, got {tokens!r}"):
        ModelLimits(**sizes)  # type: ignore[arg-type]


def test_limits_may_be_nothing_at_all() -> None:
    """0 stands for no limit, and for an output that nobody states."""
    limits = ModelLimits(0, 0)

    assert (limits.context_window, limits.max_output, limits.known) == (0, 0, True)


def test_limits_do_not_change() -> None:
    """A record that several rooms hold stays what it was."""
    limits = ModelLimits(8_192, 4_096)

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        limits.context_window = 1  # type: ignore[misc]


def test_anything_with_limits_is_a_provider() -> None:
    """A provider need not inherit: one method is the whole role."""

    class Local:
        def limits(self) -> ModelLimits:
            return ModelLimits(4_096, 512)

    provider: Provider = Local()

    assert provider.limits() == ModelLimits(4_096, 512)
