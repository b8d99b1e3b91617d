"""Strategies by name: the one table, and their arguments checked against their own fields."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.config._problems import Fault, Place, did_you_mean, show
from agentic.config._records import StrategySettings
from agentic.context.strategies import (
    ClearToolOutputs,
    FitContextWindow,
    Importance,
    KeepLast,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.errors import ConfigError
from agentic.tokens import Counter

__all__ = [
    "STRATEGIES",
    "accepts",
    "arguments_of",
    "check_strategy",
    "make_strategy",
    "read_strategy",
]

STRATEGIES: Mapping[str, type[Any]] = {
    "clear_tool_outputs": ClearToolOutputs,
    "fit_window": FitContextWindow,
    "importance": Importance,
    "keep_last": KeepLast,
    "trim_rounds": TrimRounds,
    "truncate_tool_outputs": TruncateToolOutputs,
}
_COUNTER = "counter"
_OURS = (_COUNTER, "digest", "recall")
"""Arguments that no file writes: the agent brings the first and the last, Python the digest."""
_STAND_IN = 1_000_000_000
"""A number that every required argument accepts, in the place of one that is wrong or missing."""


def arguments_of(name: str) -> dict[str, "attrs.Attribute[Any]"]:
    """Return the arguments that a file may write; the others are the agent's.

    >>> list(arguments_of("keep_last"))
    ['keep_recent', 'preserve_system', 'preserve_tool_chains']
    """
    fields = attrs.fields(STRATEGIES[name])
    return {field.name: field for field in fields if field.init and field.name not in _OURS}


def read_strategy(value: object, place: Place) -> StrategySettings | Fault:
    """Take a name, or a name with arguments."""
    allowed = f"one of {', '.join(STRATEGIES)}, with its arguments after a colon"
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, dict) or len(value) != 1:
        return Fault(place, show(value), allowed)
    [(name, arguments)] = value.items()
    if name not in STRATEGIES:
        hint = did_you_mean(name, STRATEGIES, f"known strategies: {', '.join(STRATEGIES)}")
        return Fault(place, show(name), hint, message=f"unknown strategy '{name}' ({hint})")
    if not isinstance(arguments, dict | None):
        names = ", ".join(arguments_of(name))
        return Fault((*place, name), show(arguments), f"arguments by name ({names})")
    return StrategySettings(name, arguments or {})


def check_strategy(settings: StrategySettings, place: Place) -> Iterator[Fault]:
    """Find everything that is wrong with a strategy's arguments."""
    place = (*place, settings.name)
    known = arguments_of(settings.name)
    yield from _unknown_keys(settings, place, known)
    given = {name: value for name, value in settings.arguments.items() if name in known}
    for name in [name for name in given if _lacks_list(settings.name, name, given[name])]:
        yield Fault((*place, name), show(given.pop(name)), "a list of texts", "write [one, two]")
    for name, field in known.items():
        if field.default is attrs.NOTHING and name not in given:
            yield Fault(place, "", message=f"{settings.name} needs {name}, a number")
            given[name] = _STAND_IN
    while True:
        try:
            STRATEGIES[settings.name](**given)
        except ConfigError as error:
            name = error.name.rpartition(".")[-1]
            yield Fault.of(error, (*place, name) if name in given else place)
            if name not in given or given[name] is _STAND_IN:
                return
            given = _without(name, given, known)
        else:
            return


def accepts(name: str, argument: str, value: object) -> bool:
    """Return whether a strategy takes a value for an argument, whatever the others are.

    >>> accepts("keep_last", "keep_recent", 0), accepts("trim_rounds", "max_rounds", 0)
    (True, False)
    """
    known = arguments_of(name).items()
    required = {key: _STAND_IN for key, field in known if field.default is attrs.NOTHING}
    try:
        STRATEGIES[name](**required | {argument: value})
    except ConfigError:
        return False
    return True


def make_strategy(settings: StrategySettings, counter: Counter) -> Any:
    """Make a strategy that was checked."""
    kind = STRATEGIES[settings.name]
    has_counter = any(field.name == _COUNTER for field in attrs.fields(kind))
    return kind(**settings.arguments, **({_COUNTER: counter} if has_counter else {}))


def _unknown_keys(
    settings: StrategySettings, place: Place, known: Mapping[str, object]
) -> Iterator[Fault]:
    for name in settings.arguments:
        if name not in known:
            yield Fault.unknown_key((*place, name), known)


def _lacks_list(strategy: str, argument: str, value: object) -> bool:
    """Return whether a list belongs here: a text would be taken as one of characters."""
    return not isinstance(value, list) and accepts(strategy, argument, ["a"])


def _without(
    name: str, given: dict[str, Any], known: Mapping[str, "attrs.Attribute[Any]"]
) -> dict[str, Any]:
    """Return the arguments without a wrong one, so that the next wrong one is found."""
    rest = {key: value for key, value in given.items() if key != name}
    return {**rest, name: _STAND_IN} if known[name].default is attrs.NOTHING else rest
