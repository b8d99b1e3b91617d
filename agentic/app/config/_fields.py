"""The fields of a configuration: each has a check, an equivalent JSON Schema, and a description.

A value is checked when a file is read, and again when a record is created in Python. Editors show
the description next to the key.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from agentic._base._validate import score as check_score
from agentic._base._validate import seconds as check_seconds
from agentic._base._validate import share as check_share
from agentic._base._validate import suggest, whole
from agentic.errors import ConfigError
from agentic.limits._model_limits import as_tokens

DESCRIPTION = "agentic.app.config.description"
"""The metadata key of a field's description, for people."""
SCHEMA = "agentic.app.config.schema"
"""The metadata key of a field's JSON Schema."""
EXPANDS = "agentic.app.config.expands"
"""The metadata key that says whether `${NAME}` is replaced from the environment."""

_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "KIB": 1024}
_UNITS |= {"M": 1024**2, "MB": 1024**2, "MIB": 1024**2}
_SIZE = re.compile(r"0*([1-9][0-9]{0,14}) ?([A-Za-z]*)")
_NO_RULES: Mapping[str, Any] = {}
# Not `.`, which excludes line feeds: a pattern of JSON Schema has no flags.
_ANY = r"[\s\S]*"
_VARIABLE = r"[\s\S]*\$\{\w+\}[\s\S]*"
_TOKENS_SCHEMA = r"^0*[1-9][0-9]{0,14} ?[KkMm]?$"
_SIZE_SCHEMA = r"^0*[1-9][0-9]{0,14} ?([Bb]|[KkMm]([Ii]?[Bb])?)?$"


def number(
    description: str,
    default: Any = attrs.NOTHING,
    *,
    least: int,
    optional: bool = False,
    remedy: str = "",
) -> Any:
    """Return a field for a whole number."""
    return attrs.field(
        default=default,
        validator=whole(least, optional=optional, remedy=remedy),
        metadata=_metadata(description, "integer", {"minimum": least}, optional=optional),
    )


def token_number(description: str, default: Any, *, least: int, optional: bool = False) -> Any:
    """Return a field for a number of tokens, which may be written as 16k."""
    whole_tokens = {"type": "integer", "minimum": least}
    written = {"type": "string", "pattern": _TOKENS_SCHEMA}
    kinds = [whole_tokens, written, *([{"type": "null"}] if optional else [])]
    return attrs.field(
        default=default,
        converter=as_tokens,
        validator=_tokens_check(least, optional=optional),
        metadata={DESCRIPTION: description, SCHEMA: {"anyOf": kinds}, EXPANDS: False},
    )


def share(description: str, default: float) -> Any:
    """Return a field for a share, above 0 and up to 1."""
    return _real(description, default, check_share, {"exclusiveMinimum": 0, "maximum": 1})


def score(description: str, default: float) -> Any:
    """Return a field for a number from 0 to 1."""
    return _real(description, default, check_score, {"minimum": 0, "maximum": 1})


def seconds(description: str, default: float | None) -> Any:
    """Return a field for a duration; None means no limit."""
    return _real(description, default, check_seconds, {"exclusiveMinimum": 0}, optional=True)


def flag(description: str, *, default: bool | None) -> Any:
    """Return a field for true or false; None is allowed if it is the default."""
    optional = default is None
    return attrs.field(
        default=default,
        validator=_check(
            lambda value: isinstance(value, bool) or (value is None and optional),
            "true, false or null" if optional else "true or false",
            "leave it out" if optional else f"leave it out for {str(default).lower()}",
        ),
        metadata=_metadata(description, "boolean", optional=optional),
    )


def text(
    description: str,
    default: str | None = "",
    *,
    pattern: str = _ANY,
    requirement: str = "a text",
    remedy: str | Callable[[str], str] = "write one, or leave it out",
    expands: bool = False,
    is_secret: bool = False,
    converter: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a field for a text; None is allowed if it is the default."""
    form = re.compile(pattern)

    def fits(value: object) -> bool:
        if value is None:
            return default is None
        return isinstance(value, str) and form.fullmatch(value) is not None

    schema = _pattern(pattern, expands=expands)
    return attrs.field(
        default=default,
        converter=converter,
        validator=_check(
            fits,
            requirement + (" or null" if default is None else ""),
            lambda value: _text_remedy(value, remedy),
        ),
        # A dsn may contain a password.
        repr=not is_secret,
        metadata=_metadata(description, "string", schema, optional=default is None)
        | {EXPANDS: expands},
    )


def texts(description: str) -> Any:
    """Return a field for a list of texts."""

    def fits(value: object) -> bool:
        # A text is a sequence of texts as well: keep_tools: read would name four tools.
        return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)

    return attrs.field(
        default=(),
        validator=_check(fits, "a list of texts", "write [one, two]"),
        metadata=_metadata(description, "array", {"items": {"type": "string"}}),
    )


def choice(description: str, *names: str, default: str) -> Any:
    """Return a field for one of several names."""
    return attrs.field(
        default=default,
        validator=_check(
            lambda value: isinstance(value, str) and value in names,
            f"{', '.join(names[:-1])} or {names[-1]}",
            lambda value: suggest(str(value), names, f"leave it out for {default}"),
        ),
        metadata={DESCRIPTION: description, SCHEMA: {"enum": list(names)}, EXPANDS: False},
    )


def size(description: str, default: int | None) -> Any:
    """Return a field for a number of bytes, which may be written with a unit."""
    units = {"type": "string", "pattern": _SIZE_SCHEMA}
    whole_bytes = {"type": "integer", "minimum": 1}
    schema = {"anyOf": [whole_bytes, units, {"type": "null"}]}
    return attrs.field(
        default=default,
        converter=_bytes,
        metadata={DESCRIPTION: description, SCHEMA: schema, EXPANDS: False},
    )


def check_value(field: "attrs.Attribute[Any]", value: object) -> None:
    """Raise unless a field may have a value.

    Raises:
        ConfigError: the value is not allowed.
    """
    # A converter is a check as well; the record itself uses what it returns.
    if field.converter:
        field.converter(value)  # type: ignore[operator]
    if field.validator:
        field.validator(None, field, value)


def _bytes(value: Any) -> int | None:
    """Return a size in bytes. A kilobyte is 1,024 bytes, as in `truncate`.

    >>> _bytes("50KB"), _bytes(512), _bytes(None)
    (51200, 512, None)
    """
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match and match[2].upper() in _UNITS:
        amount: Any = int(match[1]) * _UNITS[match[2].upper()]
    else:
        amount = value
    if amount is None or (type(amount) is int and amount > 0):
        return amount
    raise ConfigError("max_bytes", value, "a number of bytes above 0, a size such as 50KB, or null")


def _tokens_check(least: int, *, optional: bool) -> Any:
    check_whole = whole(least, optional=optional, remedy="write 128000, 128k or 1m")

    def check(record: Any, attribute: "attrs.Attribute[Any]", value: object) -> None:
        # `check_value` passes what is written, and a record what its converter made of it.
        check_whole(record, attribute, as_tokens(value))

    return check


def _real(
    description: str,
    default: float | None,
    check: Callable[..., object],
    bounds: Mapping[str, Any],
    *,
    optional: bool = False,
) -> Any:
    metadata = _metadata(description, "number", bounds, optional=optional)
    return attrs.field(default=default, validator=check, metadata=metadata)


def _pattern(pattern: str, *, expands: bool) -> dict[str, str]:
    if pattern == _ANY:
        return {}
    # Anchored, as JSON Schema searches. What a variable stands for is not known to an editor.
    return {"pattern": f"^(?:{_VARIABLE}|{pattern})$" if expands else f"^(?:{pattern})$"}


def _text_remedy(value: object, remedy: str | Callable[[str], str]) -> str:
    """Return what to do about a value that is not a text, or not an allowed one.

    >>> _text_remedy(3, "write another name"), _text_remedy("../up", "write another name")
    ('write it in quotes', 'write another name')
    """
    if value is None:
        return "leave it out"
    if not isinstance(value, str) and isinstance(remedy, str):
        return "write it in quotes"
    return remedy if isinstance(remedy, str) else remedy(str(value))


def _check(
    fits: Callable[[Any], bool], requirement: str, remedy: str | Callable[[object], str]
) -> Any:
    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if not fits(value):
            hint = remedy if isinstance(remedy, str) else remedy(value)
            raise ConfigError(attribute.name, value, requirement, hint)

    return check


def _metadata(
    description: str, kind: str, rules: Mapping[str, Any] = _NO_RULES, *, optional: bool = False
) -> dict[str, Any]:
    schema = {"type": [kind, "null"] if optional else kind, **rules}
    return {DESCRIPTION: description, SCHEMA: schema, EXPANDS: False}
