"""Recording what is told as events, in order."""

import contextlib
import functools
from typing import Any, Self, TypeVar

import attrs
from blinker import ANY, NamedSignal

from agentic.errors import ConfigError
from agentic.events import Event, signals

__all__ = ["EventRecorder"]

_E = TypeVar("_E", bound=Event)


@attrs.define(init=False, eq=False)
class EventRecorder:
    """Collects events inside a `with` block: all of them, or those that are named.

    >>> import asyncio
    >>> from agentic import events, loop, testing
    >>> runner = loop.Runner(testing.ScriptedDecider("Hello."))
    >>> with EventRecorder("agent_start", "agent_end", sender=runner) as recorder:
    ...     _ = runner.run_sync("hi")
    >>> recorder.names
    ['agent_start', 'agent_end']
    >>> recorder.of(events.AgentEnd)[0].reply
    'Hello.'
    """

    events: list[Event]
    """The records, in order. They stay when the block is left."""
    names: list[str]
    """The names of their signals."""
    senders: list[Any]
    """Who sent each."""
    _signals: list[NamedSignal]
    _sender: Any
    _stack: contextlib.ExitStack

    def __init__(self, *chosen: str | NamedSignal, sender: Any = None) -> None:
        """Choose signals, none for all of them, and a sender, None for any."""
        self.events, self.names, self.senders = [], [], []
        self._signals = [_signal(given) for given in chosen or signals]
        self._sender = ANY if sender is None else sender
        self._stack = contextlib.ExitStack()

    def of(self, record: type[_E]) -> list[_E]:
        """Return the records of one type, in order."""
        return [event for event in self.events if isinstance(event, record)]

    def _record(self, name: str, sender: Any, event: Event) -> None:
        self.events.append(event)
        self.names.append(name)
        self.senders.append(sender)

    def __enter__(self) -> Self:
        for signal in self._signals:
            receiver = functools.partial(self._record, signal.name)
            self._stack.enter_context(signal.connected_to(receiver, self._sender))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _signal(given: str | NamedSignal) -> NamedSignal:
    if isinstance(given, NamedSignal):
        return given
    if given not in signals:
        raise ConfigError(
            "the signal", given, f"one of {', '.join(signals)}", "leave it out for them all"
        )
    return signals[given]
