from agentic.context.strategies import ContextStrategy, Fit, FitContextWindow
from agentic.messages import Message


class _Unchanged(ContextStrategy):
    """Inherits and defines nothing."""


class _Reversed:
    """Has the method, and inherits nothing."""

    def compact(self, messages: list[Message], /) -> list[Message]:
        return messages[::-1]


def test_the_default_changes_nothing() -> None:
    """A strategy that only inherits gives the same list object back."""
    messages = [Message("user", "hi")]

    assert _Unchanged().compact(messages) is messages


def test_any_class_with_method_is_strategy() -> None:
    """Custom strategies fit by their shape."""
    strategy: ContextStrategy = _Reversed()

    assert isinstance(strategy, ContextStrategy)
    assert isinstance(FitContextWindow(10), ContextStrategy)
    assert not isinstance(object(), ContextStrategy)


def test_a_fit_names_its_parts() -> None:
    """The view, its size and whether it is within the budget."""
    fit = Fit([], 0, fits=True)

    assert (fit.messages, fit.tokens, fit.fits) == ([], 0, True)
