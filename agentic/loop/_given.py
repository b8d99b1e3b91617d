"""What may be handed to the loop; anything else is refused where it enters."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from agentic.errors import ConfigError

if TYPE_CHECKING:
    import attrs

__all__ = ["all_are", "must_be"]

_T = TypeVar("_T")
_REMEDIES = {str: "pass an empty text where there is none"}


def must_be(kind: type[Any], *, optional: bool = False) -> Callable[[Any, Any, Any], None]:
    """Make the validator of a record's field that holds one kind of thing."""
    allowed = f"a {kind.__name__}" + (", or None" if optional else "")
    remedy = _REMEDIES.get(kind, f"make a {kind.__name__}, or leave it out")

    def check(record: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if isinstance(value, kind) or (optional and value is None):
            return
        raise ConfigError(f"{type(record).__name__}.{attribute.name}", value, allowed, remedy)

    return check


def all_are(kind: type[_T], given: object, name: str) -> tuple[_T, ...]:
    """Give what was given as a tuple of one kind.

    >>> all_are(str, ["a", "b"], "names")
    ('a', 'b')

    Raises:
        ConfigError: it cannot be iterated over, or holds something else.
    """
    items = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(item, kind) for item in items):
        raise ConfigError(
            name,
            given,
            f"any number of {kind.__name__} in a list or a tuple",
            f"make each a {kind.__name__}; leave {name} out where there are none",
        )
    return items
