"""How a function's signature is read: parameters with their schemas, descriptions and defaults."""

import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from agentic.errors import ConfigError
from agentic.tools import _conversion, _docstring
from agentic.tools._arguments import Parameter, Signature
from agentic.tools._refusal import InvalidArguments

__all__ = ["read_signature"]

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read the parameters of a function, with the descriptions that its docstring gives.

    >>> def find(pattern: str, limit: int = 10) -> str: ...
    >>> read_signature(find).schema["properties"]
    {'pattern': {'type': 'string'}, 'limit': {'type': 'integer', 'default': 10}}

    Raises:
        ConfigError: a parameter that no JSON object can fill, or whose type JSON cannot say.
    """
    found = [_resolved(function, parameter) for parameter in _named_parameters(function)]
    schemas, definitions = _conversion.schemas([parameter.annotation for parameter in found])
    described = _docstring.describe_arguments(inspect.getdoc(function) or "")
    properties = {
        parameter.name: _property(schema, parameter, described, definitions)
        for parameter, schema in zip(found, schemas, strict=True)
    }
    parameters = tuple(
        Parameter(
            parameter.name,
            parameter.annotation,
            parameter.default is parameter.empty,
            _inlined(properties[parameter.name], definitions),
        )
        for parameter in found
    )
    return Signature(parameters, _object(parameters, properties, definitions))


def _named_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError, NameError) as error:
        raise ConfigError(
            "function", function, "a function whose signature can be read", str(error)
        ) from error
    for parameter in found:
        if parameter.kind not in _NAMED:
            raise ConfigError(
                _place(function, parameter),
                parameter.kind.description,
                "a parameter that can be passed by name",
                "name each argument, or take one list or dict",
            )
    return found


def _resolved(function: Callable[..., Any], parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter with its annotation as a type, and make sure that JSON can say it."""
    if parameter.annotation is parameter.empty:
        place, allowed = _place(function, parameter), "a type that says what the model may send"
        remedy = f"write {parameter.name}: str, for instance; of a method decorate the bound one"
        message = f"{place} has no type annotation; {remedy}"
        raise ConfigError(place, parameter.annotation, allowed, remedy, message)
    annotation = _evaluated(function, parameter)
    try:
        _conversion.schemas([annotation])
    except (TypeError, ValueError, NameError, AttributeError) as error:
        reason = str(error).partition("\n")[0].rstrip(":.")
        raise ConfigError(
            _place(function, parameter),
            annotation,
            "a type that JSON can say: str, int, float, bool, Literal, an Enum, list, dict, a "
            "dataclass, an attrs class, a TypedDict, and unions of these",
            f"take a plain type and convert it inside ({reason})",
        ) from error
    return parameter.replace(annotation=annotation)


def _evaluated(function: Callable[..., Any], parameter: inspect.Parameter) -> object:
    # One at a time, so that a return type known to type checkers only does no harm.
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    known = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, known, include_extras=True)[parameter.name]
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ConfigError(
            _place(function, parameter),
            parameter.annotation,
            "a type that exists when the function is decorated",
            f"import it at run time, not under TYPE_CHECKING ({error})",
        ) from error


def _place(function: Callable[..., Any], parameter: inspect.Parameter) -> str:
    name = getattr(function, "__qualname__", repr(function))
    return f"parameter {parameter.name!r} of {name}"


def _property(
    schema: dict[str, Any],
    parameter: inspect.Parameter,
    described: Mapping[str, str],
    definitions: Mapping[str, Any],
) -> dict[str, Any]:
    shown = dict(schema)
    if parameter.name in described:
        shown.setdefault("description", described[parameter.name])
    if parameter.default is not parameter.empty:
        shown.update(_default(parameter, schema, definitions))
    return shown


def _default(
    parameter: inspect.Parameter, schema: dict[str, Any], definitions: Mapping[str, Any]
) -> dict[str, object]:
    """Show a default that the model could have sent itself, and no other: a sentinel is private."""
    try:
        plain = _conversion.to_plain(parameter.default)
        _conversion.convert(plain, parameter.annotation)
        json.dumps(plain, allow_nan=False)
        return {"default": _conversion.order_sets(plain, schema, definitions)}
    except (InvalidArguments, TypeError, ValueError, RecursionError):
        return {}


def _object(
    parameters: Iterable[Parameter], properties: dict[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [parameter.name for parameter in parameters if parameter.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if definitions:
        schema["$defs"] = definitions
    return schema


def _inlined(schema: Any, definitions: Mapping[str, Any], depth: int = 2) -> Any:
    """Put definitions in the place of references, no deeper than a sentence can show."""
    if isinstance(schema, list):
        return [_inlined(item, definitions, depth) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if depth and name in definitions:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**rest, **_inlined(definitions[name], definitions, depth - 1)}
    return {key: _inlined(value, definitions, depth) for key, value in schema.items()}
