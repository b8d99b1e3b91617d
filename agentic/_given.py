"""What may be handed in at a public door; anything else is refused there, with what would do."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from agentic.errors import ConfigError

if TYPE_CHECKING:
    import attrs

__all__ = ["all_are", "is_whole", "must_be", "must_have", "seconds", "whole"]

_T = TypeVar("_T")
_Validator: TypeAlias = "Callable[[Any, attrs.Attribute[Any], Any], None]"
_REMEDIES = {str: "pass an empty text where there is none"}


def must_be(kind: type[Any], *, optional: bool = False, remedy: str = "") -> _Validator:
    """Make the validator of a record's field that holds one kind of thing."""
    allowed = _a(kind) + (", or None" if optional else "")
    remedy = remedy or _REMEDIES.get(kind, f"make {_a(kind)}, or leave it out")

    def check(record: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if isinstance(value, kind) or (optional and value is None):
            return
        raise ConfigError(f"{type(record).__name__}.{attribute.name}", value, allowed, remedy)

    return check


def whole(
    least: int, *, optional: bool = False, remedy: str = "leave it out for the default"
) -> _Validator:
    """Make the validator of a field that holds a whole number, `least` included."""

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if not (optional and value is None):
            is_whole(least, value, attribute.alias or attribute.name, remedy, optional=optional)

    return check


def seconds(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    """Validate a field that holds a duration in seconds, or None for ever."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ConfigError(
            attribute.name, value, "seconds, more than 0, or None", "pass None to wait for ever"
        )


def is_whole(least: int, given: object, name: str, remedy: str, *, optional: bool = False) -> None:
    """Refuse what is no whole number from `least` on.

    >>> is_whole(1, 3, "turns", "pass more")

    Raises:
        ConfigError: a smaller number, a fraction, a bool (which is an int to Python), no number.
    """
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        allowed = f"a whole number from {least}" + (", or None" if optional else "")
        raise ConfigError(name, given, allowed, remedy)


def must_have(name: str, given: object, method: str, signature: str, remedy: str) -> None:
    """Refuse an object without a method; a class in the place of its object is one.

    >>> must_have("counter", "text", "count", "count(text)", "pass one")

    Raises:
        ConfigError: there is no such method.
    """
    if isinstance(given, type) or not callable(getattr(given, method, None)):
        raise ConfigError(name, given, f"an object with {signature}", remedy)


def all_are(kind: type[_T], given: object, name: str, remedy: str = "") -> tuple[_T, ...]:
    """Give what was given as a tuple of one kind.

    >>> all_are(str, ["a", "b"], "names")
    ('a', 'b')

    Raises:
        ConfigError: it cannot be iterated over, or holds something else.
    """
    if given == ():  # most messages have no parts of most kinds
        return ()
    items = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(item, kind) for item in items):
        raise ConfigError(
            name,
            given,
            f"a list of {kind.__name__}",
            remedy or f"make each {_a(kind)}; leave {name} out where there are none",
        )
    return items


def _a(kind: type[Any]) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
