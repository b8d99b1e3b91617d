"""Shows the signature of an attrs class, which griffe knows of dataclasses only."""

import inspect
import re
from importlib import import_module
from typing import Any

import attrs
from griffe import Class, Extension, Function, Parameter, ParameterKind, Parameters

__all__ = ["AttrsSignatures"]

_KINDS: dict[Any, ParameterKind] = {
    inspect.Parameter.POSITIONAL_ONLY: ParameterKind.positional_only,
    inspect.Parameter.POSITIONAL_OR_KEYWORD: ParameterKind.positional_or_keyword,
    inspect.Parameter.KEYWORD_ONLY: ParameterKind.keyword_only,
}


class AttrsSignatures(Extension):
    """Gives every class that attrs made the `__init__` that attrs wrote."""

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Add the method, unless the class has one of its own."""
        if "__init__" in cls.members or cls.parent is None or not cls.parent.is_module:
            return
        real = getattr(import_module(cls.parent.path), cls.name, None)
        if not (isinstance(real, type) and attrs.has(real)) or issubclass(real, Exception):
            return
        for field in cls.attributes.values():
            if str(field.value).startswith("attrs.field("):
                field.value = None  # its default is in the signature
        given = list(inspect.signature(real).parameters.values())
        parameters = Parameters(Parameter("self"), *map(_shown, given))
        cls.set_member("__init__", Function("__init__", parameters=parameters, lineno=cls.lineno))


def _shown(given: inspect.Parameter) -> Parameter:
    empty = inspect.Parameter.empty
    # A field with a factory has a marker as its default.
    default = "..." if repr(given.default) == "NOTHING" else repr(given.default)
    return Parameter(
        given.name,
        annotation=None if given.annotation is empty else _name(given.annotation),
        kind=_KINDS[given.kind],
        default=None if given.default is empty else default,
    )


def _name(annotation: Any) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", text)
