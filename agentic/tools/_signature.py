"""The signature of a function as a JSON schema, and reading a model's arguments by it.

The types are msgspec's (https://jcristharif.com/msgspec/supported-types.html), and paths, which are
strings in JSON. The check is strict: a number is not read from a string. msgspec is loaded with the
first signature that is read.

Descriptions are those of a docstring in Google's style: the text before its sections, and its
arguments (https://google.github.io/styleguide/pyguide.html#383-functions-and-methods, 2026-11).
"""

import inspect
import itertools
import json
import re
import reprlib
import textwrap
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import PurePath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import attrs

from agentic._base._lazy import LazyModule
from agentic.errors import ConfigError
from agentic.messages import _tool_errors
from agentic.messages._tool_errors import InvalidArguments

if TYPE_CHECKING:
    import msgspec
else:
    msgspec = LazyModule("msgspec")

_KEY = object()
"""Marks the annotation `CallKey`."""
CallKey: TypeAlias = Annotated[str, _KEY]
"""The annotation of a parameter that receives the idempotency key of the call, which the model does
not see: `RunningCall.key`, or 32 random hexadecimal digits outside a Runner."""
_MAX_UNKNOWN = 10  # each requires a search for a similar name, and a model can send a million

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 100
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?|Warnings?|See Also|Todo):"
)
_ARGUMENT = re.compile(r"(?P<name>\w+)\s*(\(.*?\))?\s*:(?P<text>.*)")


@attrs.frozen
class Parameter:
    """One parameter of a function, and the values that it accepts."""

    name: str
    annotation: Any
    required: bool
    schema: Mapping[str, Any]
    """The JSON Schema of its values, without external references."""

    def convert(self, value: object) -> Any:
        """Convert JSON data to the annotated type.

        Raises:
            InvalidArguments: the data does not fit the annotation.
        """
        try:
            return _convert(value, self.annotation)
        except InvalidArguments as misfit:
            problem, place = misfit.args
            # reprlib limits the depth, where json.dumps would recurse too deeply.
            text = _brief.repr(value)
            sentence = f"{self.name}{place}: {problem}; given {text}; {self.allowed}"
            raise InvalidArguments(sentence) from misfit

    @property
    def allowed(self) -> str:
        """What the parameter accepts, to be put into a sentence."""
        return f"allowed: {_tool_errors.bounded(json.dumps(self.schema), 500)}"


@attrs.frozen
class Signature:
    """The parameters of a function, as the model sees them."""

    parameters: tuple[Parameter, ...]
    schema: Mapping[str, Any]
    description: str
    """The text of the docstring before its sections."""
    key_names: tuple[str, ...] = ()
    """The parameters that receive the idempotency key of the call."""

    def bind(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Convert a JSON object to keyword arguments; absent ones are left to their defaults.

        Raises:
            InvalidArguments: lists every problem, so that a single further call can fix them all.
        """
        problems = list(self._unknown(arguments))
        values: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in arguments:
                try:
                    values[parameter.name] = parameter.convert(arguments[parameter.name])
                except InvalidArguments as misfit:
                    problems.extend(misfit.args)
            elif parameter.required:
                problems.append(f"{parameter.name} is missing; {parameter.allowed}")
        if problems:
            raise InvalidArguments(*problems)
        return values

    def _unknown(self, arguments: Mapping[str, object]) -> Iterator[str]:
        names = [parameter.name for parameter in self.parameters]
        unknown = (name for name in arguments if name not in names)
        for name in itertools.islice(unknown, _MAX_UNKNOWN):
            hint = _tool_errors.suggest(name, names)
            allowed = ", ".join(names) or "no arguments"
            yield f"{_brief.repr(name)} is not a parameter. {hint}allowed: {allowed}"


def read_signature(function: Callable[..., Any]) -> Signature:
    """Return the parameters of a function, with the descriptions from its docstring.

    >>> def find(pattern: str, limit: int = 10) -> str: ...
    >>> read_signature(find).schema["properties"]
    {'pattern': {'type': 'string'}, 'limit': {'type': 'integer', 'default': 10}}

    Raises:
        ConfigError: a JSON object cannot supply a parameter, or JSON cannot express its type.
    """
    own = _named_parameters(function)
    key_names = tuple([each.name for each in own if _is_key(function, each)])
    found = [_resolved(function, each) for each in own if each.name not in key_names]
    schemas, definitions = _make_schemas([parameter.annotation for parameter in found])
    docstring = inspect.getdoc(function) or ""
    descriptions = _describe_arguments(docstring)
    properties = {
        parameter.name: _property(schema, parameter, descriptions, definitions)
        for parameter, schema in zip(found, schemas, strict=True)
    }
    parameters = tuple(
        Parameter(
            parameter.name,
            parameter.annotation,
            parameter.default is parameter.empty,
            # What a model reads of its mistake has no schema around it.
            _inlined(properties[parameter.name], definitions),
        )
        for parameter in found
    )
    schema = _object(parameters, properties, definitions)
    return Signature(parameters, schema, _describe_function(docstring), key_names)


def _named_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError, NameError) as error:
        raise ConfigError(
            "function", function, "a function whose signature can be read", str(error)
        ) from error
    for parameter in parameters:
        if parameter.kind not in _NAMED:
            raise ConfigError(
                _place(function, parameter),
                parameter.kind.description,
                "a parameter that can be passed by name",
                "name each argument, or take one list or dict",
            )
    return parameters


def _is_key(function: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    if parameter.annotation is parameter.empty:
        return False
    return _KEY in getattr(_evaluated(function, parameter), "__metadata__", ())


def _resolved(function: Callable[..., Any], parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter with its annotation as a type that JSON can express, or raise."""
    if parameter.annotation is parameter.empty:
        place, kind = _place(function, parameter), "a type that says what the model may send"
        remedy = f"write {parameter.name}: str, for example; for a method, decorate the bound one"
        message = f"{place} has no type annotation; {remedy}"
        raise ConfigError(place, parameter.annotation, kind, remedy, message)
    annotation = _evaluated(function, parameter)
    try:
        # By itself, so that the error names the parameter.
        _make_schemas([annotation])
    except (TypeError, ValueError, NameError, AttributeError) as error:
        reason = str(error).partition("\n")[0].rstrip(":.")
        raise ConfigError(
            _place(function, parameter),
            annotation,
            "a type that JSON can express: str, int, float, bool, Literal, an Enum, list, dict, a "
            "dataclass, an attrs class, a TypedDict, and unions of these",
            f"take a plain type and convert it inside ({reason})",
        ) from error
    return parameter.replace(annotation=annotation)


def _evaluated(function: Callable[..., Any], parameter: inspect.Parameter) -> object:
    # One at a time, so that a return type that only exists for type checkers does no harm.
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    namespace = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, namespace, include_extras=True)[parameter.name]
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
    descriptions: Mapping[str, str],
    definitions: Mapping[str, Any],
) -> dict[str, Any]:
    property_schema = dict(schema)
    if parameter.name in descriptions:
        property_schema.setdefault("description", descriptions[parameter.name])
    if parameter.default is not parameter.empty:
        property_schema.update(_default(parameter, schema, definitions))
    return property_schema


def _default(
    parameter: inspect.Parameter, schema: dict[str, Any], definitions: Mapping[str, Any]
) -> dict[str, object]:
    """Return a default if the model could have sent it; others, such as sentinels, are private."""
    try:
        plain = to_plain(parameter.default)
        _convert(plain, parameter.annotation)
        json.dumps(plain, allow_nan=False)
        return {"default": _order_sets(plain, schema, definitions)}
    except (InvalidArguments, TypeError, ValueError, RecursionError):
        return {}


def _object(
    parameters: Iterable[Parameter], properties: dict[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    obligatory = [parameter.name for parameter in parameters if parameter.required]
    if obligatory:
        schema["required"] = obligatory
    # Stated, because `bind` refuses every other name.
    schema["additionalProperties"] = False
    if definitions:
        schema["$defs"] = definitions
    return schema


def _inlined(schema: Any, definitions: Mapping[str, Any], depth: int = 2) -> Any:
    """Replace references by their definitions, no deeper than a sentence can show."""
    if isinstance(schema, list):
        return [_inlined(item, definitions, depth) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if depth and name in definitions:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**rest, **_inlined(definitions[name], definitions, depth - 1)}
    return {key: _inlined(value, definitions, depth) for key, value in schema.items()}


def _convert(value: object, annotation: Any) -> Any:
    """Convert JSON data to the annotated type.

    >>> _convert(["a.py"], list[PurePath])[0].suffix
    '.py'

    Raises:
        InvalidArguments: says what is wrong and, if possible, where in the value.
    """
    try:
        # The keys of a JSON object are texts, whatever type of key the annotation asks for.
        return msgspec.convert(value, annotation, str_keys=True, dec_hook=_read_path)
    except msgspec.ValidationError as error:
        # msgspec gives the place only in the text of its error.
        problem, _, place = str(error).partition(" - at `$")
        raise InvalidArguments(problem, place.rstrip("`")) from error
    except UnicodeEncodeError as error:
        raise InvalidArguments("contains half a character (a lone surrogate)", "") from error
    except RecursionError as error:
        raise InvalidArguments("is nested too deeply", "") from error


def _make_schemas(
    annotations: Sequence[object],
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return each type's JSON Schema, and the definitions that they refer to.

    >>> _make_schemas([int, list[str]])
    (({'type': 'integer'}, {'type': 'array', 'items': {'type': 'string'}}), {})

    Raises:
        TypeError: JSON cannot express one of the types.
    """
    schemas, definitions = msgspec.json.schema_components(
        annotations, ref_template="#/$defs/{name}", schema_hook=_path_schema
    )
    # A definition's title only repeats its name, and would cost tokens.
    types = {
        name: {key: value for key, value in definition.items() if key != "title"}
        for name, definition in definitions.items()
    }
    for definition in types.values():
        for field in definition.get("properties", {}).values():
            if "default" in field:
                field["default"] = _order_sets(field["default"], field, types)
    return schemas, types


def _order_sets(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return JSON data with its sets sorted, because Python's order depends on the hash seed.

    >>> _order_sets(["b", "a"], {"type": "array", "uniqueItems": True}, {})
    ['a', 'b']
    """
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    for kind in (*schema.get("anyOf", ()), definitions.get(name, {})):
        value = _order_sets(value, kind, definitions) if kind else value
    if isinstance(value, list):
        items = schema.get("items") or {}
        parts = [_order_sets(item, items, definitions) for item in value]
        return sorted(parts, key=json.dumps) if schema.get("uniqueItems") else parts
    if isinstance(value, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties") or {}
        return {
            key: _order_sets(item, fields.get(key, others), definitions)
            for key, item in value.items()
        }
    return value


def to_plain(value: object) -> object:
    """Convert a value to JSON data; bytes are left for the encoder to refuse.

    >>> to_plain([PurePath("a.py")])
    ['a.py']

    Raises:
        TypeError: JSON cannot express the value.
    """
    return msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True, enc_hook=_show_path)


def _path_schema(kind: type) -> dict[str, Any]:
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise TypeError(f"JSON cannot represent {kind.__name__}")


def _read_path(kind: type, value: object) -> object:
    if not issubclass(kind, PurePath):
        return value
    if not isinstance(value, str):
        # msgspec makes a ValidationError of it, and adds the place.
        raise TypeError("Expected `str`")
    return kind(value)


def _show_path(value: object) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"JSON cannot represent {type(value).__name__}")


def _describe_function(docstring: str) -> str:
    r"""Return the text before the first section.

    >>> _describe_function("Read a file.\n\nArgs:\n    path: Where it is.")
    'Read a file.'
    """
    lines = docstring.split("\n")
    return "\n".join(takewhile(lambda line: not _SECTION.fullmatch(line.rstrip()), lines)).strip()


def _describe_arguments(docstring: str) -> dict[str, str]:
    r"""Return the description of each argument in the section Args, on one line.

    >>> _describe_arguments("Read.\n\nArgs:\n    path (str): Where it is,\n        relative.")
    {'path': 'Where it is, relative.'}
    """
    descriptions: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in _arguments_section(docstring).split("\n"):
        match = _ARGUMENT.match(line)
        if match:
            texts = descriptions.setdefault(match["name"], [])
        texts.append(match["text"] if match else line)
    return {name: " ".join(" ".join(texts).split()) for name, texts in descriptions.items()}


def _arguments_section(docstring: str) -> str:
    lines = dropwhile(lambda line: line.rstrip() != "Args:", docstring.split("\n"))
    next(lines, None)  # the heading
    return textwrap.dedent("\n".join(takewhile(lambda line: line[:1] in {"", " "}, lines)))
