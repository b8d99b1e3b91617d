"""Strategies by name, and the arguments that a file may contain for each.

A strategy has more arguments than these: the agent supplies the counter and the name of the recall
tool, and a custom digest requires Python.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic._base._validate import suggest
from agentic.app.config._fields import check_value, flag, number, score, share, texts
from agentic.app.config._problems import Fault, Place, show
from agentic.context import strategies
from agentic.errors import ConfigError
from agentic.tokens import Counter

_COUNTER = "counter"
_OVERHEAD = "Tokens that a message takes in addition to its text."
_MEDIA = (
    "Tokens that an image or another media part takes; null for what each costs with the model."
)


@attrs.frozen(kw_only=True)
class _ClearToolOutputsArguments:
    max_tokens: int = number(
        "Outputs are cleared once the conversation has more tokens than this.",
        least=1,
        remedy="pass the model's window, or less",
    )
    keep_rounds: int = number("How many of the newest tool rounds keep their outputs.", 3, least=0)
    min_tokens: int | None = number(
        "Clear nothing if that would free fewer tokens than this: the gain must be worth "
        "invalidating the prompt cache. null means a twentieth of `max_tokens`.",
        None,
        least=0,
        optional=True,
    )
    keep_tools: tuple[str, ...] = texts("The names of tools whose outputs are never cleared.")
    clear_arguments: bool = flag(
        "Whether to clear long texts in the arguments of old calls, too.", default=False
    )
    clear_media: bool = flag(
        "Whether to clear images and other media in old messages, too.", default=False
    )
    per_message_overhead: int = number(_OVERHEAD, 4, least=0)
    tokens_per_media: int | None = number(_MEDIA, None, least=0, optional=True)
    low_watermark: float = share(
        "The share of the budget that should remain after a clearing.", 0.75
    )


@attrs.frozen(kw_only=True)
class _FitWindowArguments:
    max_tokens: int = number("The model's window.", least=1, remedy="pass the model's window")
    reserve_tokens: int = number(
        "Tokens to keep free for the reply, the system prompt and the tools' schemas.", 0, least=0
    )
    per_message_overhead: int = number(_OVERHEAD, 4, least=0)
    tokens_per_media: int | None = number(_MEDIA, 600, least=0, optional=True)
    low_watermark: float = share(
        "The share of the budget that remains after a cut; 1.0 keeps as much as fits, but cuts at "
        "every turn.",
        0.75,
    )


@attrs.frozen(kw_only=True)
class _ImportanceArguments:
    keep_recent: int = number(
        "How many of the newest messages are kept regardless of their score.", 10, least=0
    )
    user_message_score: float = score("The score of a user message.", 1.0)
    assistant_message_score: float = score("The score of an answer of the model.", 0.6)
    tool_use_score: float = score("The score of a tool round.", 1.0)
    min_score_threshold: float = score("Messages with a lower score are left out.", 0.3)


@attrs.frozen(kw_only=True)
class _KeepLastArguments:
    keep_recent: int = number(
        "How many messages to keep, not counting the system prompt.", 10, least=0
    )
    preserve_system: bool = flag(
        "Whether leading system messages are always kept; otherwise they are like any other.",
        default=True,
    )
    preserve_tool_chains: bool = flag(
        "Whether a tool round that the cut would split is kept whole; otherwise it is dropped.",
        default=True,
    )


@attrs.frozen(kw_only=True)
class _TrimRoundsArguments:
    max_rounds: int = number(
        "How many tool rounds to keep.", least=1, remedy="pass how many tool rounds to keep"
    )


@attrs.frozen(kw_only=True)
class _TruncateToolOutputsArguments:
    max_chars: int = number(
        "How many characters of an output to keep.",
        least=1,
        remedy="pass how many characters to keep",
    )


@attrs.frozen
class StrategySettings:
    """A strategy by its name, and its arguments."""

    name: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict, hash=False)


@attrs.frozen
class StrategyKind:
    """What a strategy's name in a file means."""

    make: type[Any]
    """The strategy."""
    section: type[Any]
    """A record of the arguments that a file may contain, with their checks."""

    @property
    def arguments(self) -> "dict[str, attrs.Attribute[Any]]":
        """The fields of the section, by name."""
        return {field.name: field for field in attrs.fields(self.section)}

    @property
    def required(self) -> list[str]:
        """The names of the arguments that have no default."""
        return [name for name, field in self.arguments.items() if field.default is attrs.NOTHING]


STRATEGIES: Mapping[str, StrategyKind] = {
    "clear_tool_outputs": StrategyKind(strategies.ClearToolOutputs, _ClearToolOutputsArguments),
    "fit_window": StrategyKind(strategies.FitContextWindow, _FitWindowArguments),
    "importance": StrategyKind(strategies.Importance, _ImportanceArguments),
    "keep_last": StrategyKind(strategies.KeepLast, _KeepLastArguments),
    "trim_rounds": StrategyKind(strategies.TrimRounds, _TrimRoundsArguments),
    "truncate_tool_outputs": StrategyKind(
        strategies.TruncateToolOutputs, _TruncateToolOutputsArguments
    ),
}


def read_strategy(value: object, place: Place) -> StrategySettings | Fault:
    """Read a strategy: a name, or a name with arguments."""
    choices = f"one of {', '.join(STRATEGIES)}, with its arguments after a colon"
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, dict) or len(value) != 1:
        return Fault(place, show(value), choices)
    [(name, arguments)] = value.items()
    if name not in STRATEGIES:
        hint = suggest(name, STRATEGIES, f"known strategies: {', '.join(STRATEGIES)}")
        return Fault(place, show(name), hint, message=f"unknown strategy '{name}' ({hint})")
    if not isinstance(arguments, dict | None):
        names = ", ".join(STRATEGIES[name].arguments)
        return Fault((*place, name), show(arguments), f"arguments by name ({names})")
    return StrategySettings(name, arguments or {})


def check_strategy(settings: StrategySettings, place: Place) -> Iterator[Fault]:
    """Yield everything that is wrong with a strategy's arguments."""
    place = (*place, settings.name)
    faults = [*_check_each(settings, place)]
    yield from faults
    if not faults:
        # The strategy itself checks arguments in combination, such as a reserve and its window
        try:
            STRATEGIES[settings.name].make(**settings.arguments)
        except ConfigError as error:
            name = error.name.rpartition(".")[-1]
            yield Fault.of(error, (*place, name) if name in settings.arguments else place)


def make_strategy(settings: StrategySettings, counter: Counter) -> Any:
    """Create a strategy from checked settings."""
    kind = STRATEGIES[settings.name].make
    # Only some of them count tokens, and none has a default that would fit the model.
    has_counter = any(field.name == _COUNTER for field in attrs.fields(kind))
    return kind(**settings.arguments, **({_COUNTER: counter} if has_counter else {}))


def _check_each(settings: StrategySettings, place: Place) -> Iterator[Fault]:
    """Yield what is wrong with each argument on its own."""
    arguments = STRATEGIES[settings.name].arguments
    # Both, since the argument that seems to be missing may be the one that is misspelt.
    for name in settings.arguments:
        if name not in arguments:
            yield Fault.unknown_key((*place, name), arguments)
    for name, field in arguments.items():
        if name in settings.arguments:
            try:
                check_value(field, settings.arguments[name])
            except ConfigError as error:
                yield Fault.of(error, (*place, name))
        elif field.default is attrs.NOTHING:
            yield Fault(place, "", message=f"{settings.name} needs {name}, a number")
