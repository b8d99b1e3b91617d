"""Types and JSON, by msgspec: a type's schema, JSON data as a type says, and values as JSON data.

The types are msgspec's (https://jcristharif.com/msgspec/supported-types.html), and paths, which are
strings in JSON. The check is strict: a number is not read from a string. Importing this module
costs msgspec.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from agentic.tools._refusal import InvalidArguments

__all__ = ["convert", "order_sets", "schemas", "to_plain"]


def convert(value: object, annotation: Any) -> Any:
    """Turn JSON data into what the annotation says.

    >>> convert(["a.py"], list[PurePath])[0].suffix
    '.py'

    Raises:
        InvalidArguments: with the problem, and the place within the value where there is one.
    """
    try:
        return msgspec.convert(value, annotation, str_keys=True, dec_hook=_read_path)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        raise InvalidArguments(problem, place.rstrip("`")) from error
    except UnicodeEncodeError as error:
        raise InvalidArguments("holds half a character (a lone surrogate)", "") from error
    except RecursionError as error:
        raise InvalidArguments("is nested too deeply", "") from error


def schemas(annotations: Sequence[object]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return each type's JSON Schema, and the definitions that these refer to.

    >>> schemas([int, list[str]])
    (({'type': 'integer'}, {'type': 'array', 'items': {'type': 'string'}}), {})

    Raises:
        TypeError: JSON cannot say one of the types.
    """
    found, definitions = msgspec.json.schema_components(
        annotations, ref_template="#/$defs/{name}", schema_hook=_path_schema
    )
    # A definition's title is its name again: tokens that say nothing.
    named = {
        name: {key: value for key, value in definition.items() if key != "title"}
        for name, definition in definitions.items()
    }
    for definition in named.values():
        for field in definition.get("properties", {}).values():
            if "default" in field:
                field["default"] = order_sets(field["default"], field, named)
    return found, named


def order_sets(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return JSON data with the sets in it sorted: Python's order differs with the hash seed.

    >>> order_sets(["b", "a"], {"type": "array", "uniqueItems": True}, {})
    ['a', 'b']
    """
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    for kind in (*schema.get("anyOf", ()), definitions.get(name, {})):
        value = order_sets(value, kind, definitions) if kind else value
    if isinstance(value, list):
        items = schema.get("items") or {}
        parts = [order_sets(item, items, definitions) for item in value]
        return sorted(parts, key=json.dumps) if schema.get("uniqueItems") else parts
    if isinstance(value, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties") or {}
        return {
            key: order_sets(item, fields.get(key, others), definitions)
            for key, item in value.items()
        }
    return value


def to_plain(value: object) -> object:
    """Turn a value into JSON data; bytes are left for the encoder to refuse.

    >>> to_plain([PurePath("a.py")])
    ['a.py']

    Raises:
        TypeError: JSON cannot say the value.
    """
    return msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True, enc_hook=_show_path)


def _path_schema(kind: type) -> dict[str, Any]:
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise TypeError(f"JSON has no word for {kind.__name__}")


def _read_path(kind: type, value: object) -> object:
    if not issubclass(kind, PurePath):
        return value
    if not isinstance(value, str):
        raise TypeError("Expected `str`")
    return kind(value)


def _show_path(value: object) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"JSON has no word for {type(value).__name__}")
