"""From plain data to records, by cattrs: every mistake in them, each with its place."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn, override

from agentic.config._agent import AgentConfig
from agentic.config._fields import EXPANDS
from agentic.config._model import check_model, check_summary_model
from agentic.config._problems import Fault, Place, show
from agentic.config._records import (
    ContextSettings,
    StoreSettings,
    StrategySettings,
    TruncationSettings,
)
from agentic.config._strategies import check_strategy, read_strategy
from agentic.config._tools import check_tool
from agentic.errors import ConfigError

__all__ = ["structure"]

_Hook: TypeAlias = Callable[[Any, Any], Any]
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_CHECKS: Mapping[str, Callable[[str, Path], object]] = {
    "model": check_model,
    "summary_model": check_summary_model,
}


@attrs.define
class _Mistakes(Exception):
    """What is wrong below one attribute; places begin there."""

    faults: tuple[Fault, ...]


def structure(data: Any, folder: Path, environ: Mapping[str, str]) -> AgentConfig | list[Fault]:
    """Make a configuration, or tell everything that is wrong with the data."""
    try:
        config: AgentConfig = _converter(folder, environ).structure(data, AgentConfig)
    except cattrs.BaseValidationError as errors:
        return list(_walk(errors, ()))
    except _Mistakes as mistakes:
        return list(mistakes.faults)
    return config


def _converter(folder: Path, environ: Mapping[str, str]) -> cattrs.Converter:
    """Make a converter for a file in a folder; a section is known by its class."""
    converter = cattrs.Converter()

    def truncation(value: Any, _: object) -> TruncationSettings | None:
        return None if value is False else converter.structure(value, TruncationSettings)

    def tool(value: object, place: Place) -> Any:
        return _leaf(value, place, lambda text: check_tool(text, folder))

    special: dict[str, _Hook] = {
        "model_options": _options,
        "strategies": lambda value, _: _each(value, _strategy),
        "tools": lambda value, _: _each(value, tool),
        "truncation": truncation,
    }
    for section in (ContextSettings, StoreSettings, TruncationSettings, AgentConfig):
        hook = _section(converter, section, special, folder, environ)
        converter.register_structure_hook(section, hook)
    return converter


def _section(
    converter: cattrs.Converter,
    kind: type[Any],
    special: Mapping[str, _Hook],
    folder: Path,
    environ: Mapping[str, str],
) -> _Hook:
    """Make what structures a section; one with nothing in it has its defaults."""
    overrides: dict[str, Any] = {}
    for field in attrs.fields(kind):
        if field.name.startswith("_"):
            overrides[field.name] = override(omit=True)
        elif field.metadata:
            overrides[field.name] = override(struct_hook=_scalar(field, folder, environ))
        elif field.name in special:
            overrides[field.name] = override(struct_hook=special[field.name])
    fill = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, **overrides)

    def structure_section(value: Any, _: object) -> Any:
        if not isinstance(value, dict | None):
            allowed = f"keys with their values, such as {_keys(kind)[0]}: ..."
            raise _Mistakes((Fault((), show(value), allowed),))
        return fill(value or {}, kind)

    return structure_section


def _scalar(field: "attrs.Attribute[Any]", folder: Path, environ: Mapping[str, str]) -> _Hook:
    """Make what checks a single value, as the file has it, by the field's own validator."""

    def check(value: Any) -> Any:
        if field.metadata[EXPANDS] and isinstance(value, str):
            value = _VARIABLE.sub(lambda found: _variable(found[1], environ), value)
        if field.converter:
            field.converter(value)  # type: ignore[operator]
        if field.validator:
            field.validator(None, field, value)
        if field.name in _CHECKS and value is not None:
            _CHECKS[field.name](value, folder)
        return value

    return lambda value, _: _leaf(value, (), check)


def _leaf(value: Any, place: Place, check: Callable[[Any], Any]) -> Any:
    """Check a value; a mistake shows it as it was written, before variables are filled in."""
    try:
        return check(value)
    except ConfigError as error:
        raise _Mistakes((Fault.of(error, place, show(value)),)) from error


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        message = f"environment variable {name} is not set"
        raise ConfigError(name, name, "a variable that is set", f"set {name}", message)
    return environ[name]


def _each(value: Any, read: Callable[[Any, Place], Any]) -> tuple[Any, ...]:
    """Read every item of a list, and only then tell what is wrong with some."""
    if not isinstance(value, list | None):
        raise _Mistakes((Fault((), show(value), "a list", "begin each item with -"),))
    made: list[Any] = []
    faults: list[Fault] = []
    for index, item in enumerate(value or []):
        try:
            made.append(read(item, (index,)))
        except _Mistakes as mistakes:
            faults += mistakes.faults
    if faults:
        raise _Mistakes(tuple(faults))
    return tuple(made)


def _strategy(value: object, place: Place) -> StrategySettings:
    read = read_strategy(value, place)
    faults = (read,) if isinstance(read, Fault) else tuple(check_strategy(read, place))
    if isinstance(read, Fault) or faults:
        raise _Mistakes(faults)
    return read


def _options(value: Any, _: object) -> dict[str, Any]:
    if not isinstance(value, dict | None):
        raise _Mistakes((Fault((), show(value), "options with their values"),))
    return value or {}


def _walk(error: BaseException, place: Place) -> Iterator[Fault]:
    """Find the faults in what cattrs raised."""
    notes = [note for note in getattr(error, "__notes__", []) if type(note) is not str]
    if notes and isinstance(notes[0], AttributeValidationNote):
        place = (*place, notes[0].name)
    match error:
        case cattrs.BaseValidationError():
            for child in error.exceptions:
                yield from _walk(child, place)
        case ForbiddenExtraKeysError():
            known = _keys(error.cl)
            for key in sorted(error.extra_fields):
                yield Fault.unknown_key((*place, key), known)
        case _Mistakes(faults=faults):
            yield from (attrs.evolve(fault, place=(*place, *fault.place)) for fault in faults)
        case _:
            raise error


def _keys(kind: type[Any]) -> list[str]:
    return [field.name for field in attrs.fields(kind) if not field.name.startswith("_")]
