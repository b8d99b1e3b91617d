"""From plain data to records, using cattrs: every mistake in the data, each with its place."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn, override

from agentic import limits
from agentic.app.config._agent import AgentConfig
from agentic.app.config._budget import fills_window
from agentic.app.config._fields import EXPANDS, SCHEMA, check_value
from agentic.app.config._problems import Fault, Place, show
from agentic.app.config._records import (
    DIGEST,
    ContextSettings,
    StoreSettings,
    TruncationSettings,
)
from agentic.app.config._reference import check_model, check_tool, is_served, served_name
from agentic.app.config._strategies import StrategySettings, check_strategy, read_strategy
from agentic.errors import ConfigError
from agentic.limits._model_limits import as_tokens
from agentic.providers._offline import OFFLINE
from agentic.providers._registry import adapter_names, find_adapter, full_name

_Hook: TypeAlias = Callable[[Any, Any], Any]
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_MODELS = ("model", "summary_model")


@attrs.define
class _Mistakes(Exception):
    """The mistakes below one attribute; their places are relative to it."""

    faults: tuple[Fault, ...]


def structure(data: Any, folder: Path, environ: Mapping[str, str]) -> AgentConfig | list[Fault]:
    """Return a configuration, or everything that is wrong with the data."""
    try:
        config: AgentConfig = _converter(folder, environ).structure(data, AgentConfig)
    except cattrs.BaseValidationError as errors:
        return list(_walk(errors, ()))
    except _Mistakes as mistakes:
        return list(mistakes.faults)
    return config


def contradictions(data: Any) -> Iterator[Fault]:
    """Yield values that contradict one another, in a document that may have other mistakes, too."""
    if not isinstance(data, dict):
        return
    context = data.get("context")
    if isinstance(context, dict):
        yield from _messages(context)
        yield from _reserve(context, _window(data))
    store = data.get("store")
    if isinstance(store, dict):
        yield from _places(store)
    yield from _roles(data)


def _converter(folder: Path, environ: Mapping[str, str]) -> cattrs.Converter:
    # One for each file: whether a model or a tool is valid depends on the folder.
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
    """Return a function that structures a section; an empty section has its defaults."""
    overrides: dict[str, Any] = {}
    for field in attrs.fields(kind):
        if field.name.startswith("_"):
            # Set by `load`: no file may say where it comes from.
            overrides[field.name] = override(omit=True)
        elif SCHEMA in field.metadata:
            overrides[field.name] = override(struct_hook=_scalar(field, folder, environ))
        elif field.name in special:
            overrides[field.name] = override(struct_hook=special[field.name])
    fill = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, **overrides)

    def structure_section(value: Any, _: object) -> Any:
        if not isinstance(value, dict | None):
            requirement = f"keys with their values, such as {_keys(kind)[0]}: ..."
            raise _Mistakes((Fault((), show(value), requirement),))
        return fill(value or {}, kind)

    return structure_section


def _scalar(field: "attrs.Attribute[Any]", folder: Path, environ: Mapping[str, str]) -> _Hook:
    """Return a function that checks a single value with the field's own validator."""

    def check(value: Any) -> Any:
        if field.metadata[EXPANDS] and isinstance(value, str):
            value = _VARIABLE.sub(lambda match: _variable(match[1], environ), value)
        check_value(field, value)
        # For `model`, the pattern of the field has refused the name of the digest.
        if field.name in _MODELS and value not in {None, DIGEST, OFFLINE}:
            check_model(value, folder)
        return value

    # Return the value as written, with variables replaced: the record itself converts it.
    return lambda value, _: _leaf(value, (), check)


def _leaf(value: Any, place: Place, check: Callable[[Any], Any]) -> Any:
    try:
        return check(value)
    except ConfigError as error:
        # As it is written: what stands for a variable may be a password.
        raise _Mistakes((Fault.of(error, place, show(value)),)) from error


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        message = f"environment variable {name} is not set"
        raise ConfigError(name, name, "a variable that is set", f"set {name}", message)
    return environ[name]


def _each(value: Any, read: Callable[[Any, Place], Any]) -> tuple[Any, ...]:
    """Read every item of a list before raising for any of them."""
    if not isinstance(value, list | None):
        raise _Mistakes((Fault((), show(value), "a list", "begin each item with -"),))
    items: list[Any] = []
    # Do not stop at the first mistake, so that the user can fix all of them at once.
    faults: list[Fault] = []
    for index, item in enumerate(value or []):
        try:
            items.append(read(item, (index,)))
        except _Mistakes as mistakes:
            faults += mistakes.faults
    if faults:
        raise _Mistakes(tuple(faults))
    return tuple(items)


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
    """Yield the faults in an exception of cattrs."""
    # The notes of cattrs are subclasses of str; plain ones are for people.
    notes = [note for note in getattr(error, "__notes__", []) if type(note) is not str]
    if notes and isinstance(notes[0], AttributeValidationNote):
        place = (*place, notes[0].name)
    match error:
        case cattrs.BaseValidationError():
            for child in error.exceptions:
                yield from _walk(child, place)
        case ForbiddenExtraKeysError():
            keys = _keys(error.cl)
            # cattrs returns a set, whose order changes from run to run.
            for key in sorted(error.extra_fields):
                yield Fault.unknown_key((*place, key), keys)
        case _Mistakes(faults=faults):
            yield from (attrs.evolve(fault, place=(*place, *fault.place)) for fault in faults)
        case _:
            raise error


def _keys(kind: type[Any]) -> list[str]:
    return [field.name for field in attrs.fields(kind) if not field.name.startswith("_")]


def _messages(context: dict[str, Any]) -> Iterator[Fault]:
    most = _number(context, "max_messages_before_summary")
    recent = _number(context, "min_recent_messages")
    # Below 2, the field's own check refuses it.
    if most is not None and recent is not None and 1 < most <= recent:
        yield Fault(
            ("context", "max_messages_before_summary"),
            show(most),
            f"more than min_recent_messages ({recent}), which always stay",
        )


def _reserve(context: dict[str, Any], window: int | None) -> Iterator[Fault]:
    reserve = _number(context, "response_reserve")
    if reserve is not None and window is not None and reserve >= window:
        yield fills_window(reserve, window)


def _window(data: dict[str, Any]) -> int | None:
    """Return the window given in the document, directly or by its model."""
    window, model = _number(data, "context_window"), data.get("model")
    if window is not None and window > 0:
        return window
    entry = limits.lookup(served_name(model) if isinstance(model, str) else "")
    return entry.context_window if entry.known else None


def _places(store: dict[str, Any]) -> Iterator[Fault]:
    """Yield a place that does not fit the kind of store, and a server without a name."""
    kind = store.get("kind", "jsonl")
    if kind == "postgres" and store.get("dsn") is None:
        example = "dsn: postgresql://localhost/agents, or dsn: ${DATABASE_URL}"
        yield Fault(("store",), "", message=f"a postgres store needs a dsn; add {example}")
    homes = {"jsonl": "path", "sqlite": "path", "postgres": "dsn", "memory": ""}
    # What stands in a document may be of any type, and a list cannot be looked up.
    home = homes.get(kind) if isinstance(kind, str) else None
    for key in ("path", "dsn"):
        if home is not None and key != home and store.get(key) is not None:
            message = f"store.{key} is not used by a {kind} store; leave it out, or change kind"
            yield Fault(("store", key), show(store[key]), message=message)


def _roles(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield what concerns the requests to a provider, for a model that takes no such setting."""
    model = data.get("model")
    if not isinstance(model, str) or not model:
        return
    provider = full_name(model).partition(":")[0] if is_served(model) else ""
    if not provider and data.get("record_role") == "system":
        message = "record_role: system concerns a provider's model; your own decider decides itself"
        yield Fault(("record_role",), "system", message=message)
    if isinstance(data.get("strict_roles"), bool) and not (provider and _is_templated(provider)):
        names = " and ".join(filter(_is_templated, adapter_names()))
        message = f"strict_roles concerns {names} only; leave it out"
        yield Fault(("strict_roles",), show(data["strict_roles"]), message=message)


def _is_templated(provider: str) -> bool:
    """Return whether a chat template may write the prompt behind a provider."""
    return provider in adapter_names() and find_adapter(provider).form.is_templated


def _number(section: dict[str, Any], key: str) -> int | None:
    value = as_tokens(section.get(key))
    # `true` is an int to Python.
    return value if isinstance(value, int) and not isinstance(value, bool) else None
