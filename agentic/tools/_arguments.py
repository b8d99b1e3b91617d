"""The parameters of a function, and arguments that a model wrote checked against them."""

import itertools
import json
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.tools import _conversion, _refusal
from agentic.tools._refusal import InvalidArguments

__all__ = ["Parameter", "Signature"]

_MAX_UNKNOWN = 10  # each costs a search for the nearest name, and a model can send a million

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 100


@attrs.frozen
class Parameter:
    """One parameter of a function, and the values it takes."""

    name: str
    annotation: Any
    required: bool
    schema: Mapping[str, Any]
    """The JSON Schema of its values, complete in itself."""

    def convert(self, value: object) -> Any:
        """Turn JSON data into what the annotation says.

        Raises:
            InvalidArguments: it does not fit the annotation.
        """
        try:
            return _conversion.convert(value, self.annotation)
        except InvalidArguments as misfit:
            problem, place = misfit.args
            # reprlib stops at a depth of its own, where json.dumps would recurse.
            given = _brief.repr(value)
            sentence = f"{self.name}{place}: {problem}; given {given}; {self.allowed}"
            raise InvalidArguments(sentence) from misfit

    @property
    def allowed(self) -> str:
        """What the parameter takes, for a sentence."""
        return f"allowed: {_refusal.bounded(json.dumps(self.schema), 500)}"


@attrs.frozen
class Signature:
    """The parameters of a function, as the model sees them."""

    parameters: tuple[Parameter, ...]
    schema: Mapping[str, Any]

    def bind(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Turn a JSON object into keyword arguments; what is absent is left to its default.

        Raises:
            InvalidArguments: with every problem there is, so that one more call can mend them all.
        """
        problems = list(self._unknown(arguments))
        bound: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in arguments:
                try:
                    bound[parameter.name] = parameter.convert(arguments[parameter.name])
                except InvalidArguments as misfit:
                    problems.extend(misfit.args)
            elif parameter.required:
                problems.append(f"{parameter.name} is missing; {parameter.allowed}")
        if problems:
            raise InvalidArguments(*problems)
        return bound

    def _unknown(self, arguments: Mapping[str, object]) -> Iterator[str]:
        names = [parameter.name for parameter in self.parameters]
        unknown = (name for name in arguments if name not in names)
        for name in itertools.islice(unknown, _MAX_UNKNOWN):
            hint = _refusal.suggest(name, names)
            allowed = ", ".join(names) or "no arguments"
            yield f"{_brief.repr(name)} is no parameter. {hint}allowed: {allowed}"
