"""The fields of a configuration: each knows its check, and the same as a JSON Schema.

A value is checked where it stands in a file and once more where a record is made in Python.
"""

import re
from collections.abc import Callable
from typing import Any

import attrs

from agentic._validate import seconds as check_seconds
from agentic._validate import whole
from agentic.errors import ConfigError

__all__ = ["EXPANDS", "SCHEMA", "choice", "flag", "number", "seconds", "size", "text"]

SCHEMA = "agentic.config.schema"
"""The key of a field's JSON Schema in its metadata."""
EXPANDS = "agentic.config.expands"
"""The key that says whether `${NAME}` in it is taken from the environment."""

_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "KIB": 1024}
_UNITS |= {"M": 1024**2, "MB": 1024**2, "MIB": 1024**2}
_SIZE = re.compile(r"([0-9]{1,15}) ?([A-Za-z]*)")
_ANY = r"[\s\S]*"
_VARIABLE = r"[\s\S]*\$\{\w+\}[\s\S]*"
_SIZE_SCHEMA = r"^0*[1-9][0-9]{0,14} ?([Bb]|[KkMm]([Ii]?[Bb])?)?$"


def number(default: int | None, least: int, *, optional: bool = False) -> Any:
    """Return a field for a whole number."""
    return attrs.field(
        default=default,
        validator=whole(least, optional=optional),
        metadata=_schema("integer", optional=optional, minimum=least),
    )


def seconds(default: float | None) -> Any:
    """Return a field for a time; None is for ever."""
    return attrs.field(
        default=default,
        validator=check_seconds,
        metadata=_schema("number", optional=True, exclusiveMinimum=0),
    )


def flag(*, default: bool) -> Any:
    """Return a field for true or false."""
    return attrs.field(
        default=default,
        validator=_check(
            lambda value: isinstance(value, bool),
            "true or false",
            f"leave it out for {str(default).lower()}",
        ),
        metadata=_schema("boolean"),
    )


def text(
    default: str | None = "",
    *,
    pattern: str = _ANY,
    allowed: str = "a text",
    remedy: str | Callable[[str], str] = "write one, or leave it out",
    expands: bool = False,
    hidden: bool = False,
) -> Any:
    """Return a field for a text; None may be given where it is the default."""
    accepted = re.compile(pattern)

    def fits(value: object) -> bool:
        if value is None:
            return default is None
        return isinstance(value, str) and accepted.fullmatch(value) is not None

    return attrs.field(
        default=default,
        validator=_check(
            fits,
            allowed + (" or null" if default is None else ""),
            lambda value: _text_remedy(value, remedy),
        ),
        repr=not hidden,
        metadata=_schema("string", optional=default is None, **_pattern(pattern, expands=expands))
        | {EXPANDS: expands},
    )


def choice(default: str, *names: str) -> Any:
    """Return a field for one of several names."""
    return attrs.field(
        default=default,
        validator=_check(
            lambda value: isinstance(value, str) and value in names,
            f"{', '.join(names[:-1])} or {names[-1]}",
            f"leave it out for {default}",
        ),
        metadata={SCHEMA: {"enum": list(names)}, EXPANDS: False},
    )


def size(default: int | None) -> Any:
    """Return a field for a number of bytes, which may be written with a unit."""
    units = {"type": "string", "pattern": _SIZE_SCHEMA}
    whole_bytes = {"type": "integer", "minimum": 1}
    return attrs.field(
        default=default,
        converter=_bytes,
        metadata={SCHEMA: {"anyOf": [whole_bytes, units, {"type": "null"}]}, EXPANDS: False},
    )


def _bytes(value: Any) -> int | None:
    """Read a size. A kilobyte has 1,024 bytes, as in `truncate`.

    >>> _bytes("50KB"), _bytes(512), _bytes(None)
    (51200, 512, None)
    """
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found and found[2].upper() in _UNITS:
        amount: Any = int(found[1]) * _UNITS[found[2].upper()]
    else:
        amount = value
    if amount is None or (type(amount) is int and amount > 0):
        return amount
    raise ConfigError("max_bytes", value, "a number of bytes above 0, a size such as 50KB, or null")


def _pattern(pattern: str, *, expands: bool) -> dict[str, str]:
    if pattern == _ANY:
        return {}
    return {"pattern": f"^(?:{_VARIABLE}|{pattern})$" if expands else f"^(?:{pattern})$"}


def _text_remedy(value: object, remedy: str | Callable[[str], str]) -> str:
    """Return what to do about a value that is no text, or not this one.

    >>> _text_remedy(3, "write another name"), _text_remedy("../up", "write another name")
    ('write it in quotes', 'write another name')
    """
    if value is None:
        return "leave it out"
    if not isinstance(value, str) and isinstance(remedy, str):
        return "write it in quotes"
    return remedy if isinstance(remedy, str) else remedy(str(value))


def _check(fits: Callable[[Any], bool], allowed: str, remedy: str | Callable[[object], str]) -> Any:
    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if not fits(value):
            told = remedy if isinstance(remedy, str) else remedy(value)
            raise ConfigError(attribute.name, value, allowed, told)

    return check


def _schema(kind: str, *, optional: bool = False, **more: object) -> dict[str, Any]:
    said = {"type": [kind, "null"] if optional else kind, **more}
    return {SCHEMA: said, EXPANDS: False}
