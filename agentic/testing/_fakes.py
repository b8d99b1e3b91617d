"""A model and tools that follow a script, and a recorder of events: for tests of agents."""

import contextlib
import functools
import inspect
import reprlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Self, TypeAlias, TypeVar

import attrs
from blinker import ANY, NamedSignal

from agentic._base._short_repr import short_repr
from agentic.errors import ConfigError, IncompleteReply
from agentic.events import Event, signals
from agentic.loop import Decision, Input
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.tools import ToolDefinition

_Answer: TypeAlias = Decision | str | BaseException | type[BaseException]
_Step: TypeAlias = _Answer | Callable[[Input], _Answer | Awaitable[_Answer]]
_E = TypeVar("_E", bound=Event)


@short_repr
@attrs.define(init=False, eq=False)
class ScriptedDecider:
    """Plays its steps in order, one per request, and keeps the requests.

    A step is a Decision, the text of a plain reply, an exception to raise, or a callable that takes
    the Input and returns one of these, async or not. A request after the last step raises an
    AssertionError.

    >>> import asyncio
    >>> from agentic import loop
    >>> decider = ScriptedDecider(lambda request: request.user_message.upper())
    >>> loop.Runner(decider).run_sync("hello").reply
    'HELLO'
    >>> decider.requests[0].turn
    1
    """

    requests: list[Input]
    """The requests, in order."""
    _steps: list[_Step]
    _length: int

    def __init__(self, *steps: _Step) -> None:
        self.requests = []
        self._steps = list(steps)
        self._length = len(steps)

    @property
    def steps_left(self) -> int:
        """The number of steps that were not played yet."""
        return len(self._steps)

    async def decide(self, request: Input, /) -> Decision:
        """Play the next step."""
        self.requests.append(request)
        if not self._steps:
            raise _script_is_over(self._length, request)
        return _as_decision(await _play(self._steps.pop(0), request))


@attrs.define(init=False, eq=False)
class StreamingScriptedDecider:
    """Plays streamed replies in order, one per request, and keeps the requests.

    A reply is a sequence of items: pieces of text, and a Decision at the end. Without a Decision,
    the stream ends early. An item may also be an exception, or a callable as in a
    `ScriptedDecider`.

    >>> from agentic import loop
    >>> decider = StreamingScriptedDecider(["Hel", "lo.", Decision("Hello.")])
    >>> loop.Runner(decider).run_sync("hi").reply
    'Hello.'
    """

    requests: list[Input]
    """The requests, in order."""
    _replies: list[tuple[_Step, ...]]
    _length: int

    def __init__(self, *replies: Iterable[_Step]) -> None:
        self.requests = []
        self._replies = [tuple(items) for items in replies]
        self._length = len(replies)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Play the next reply, item by item."""
        self.requests.append(request)
        if not self._replies:
            raise _script_is_over(self._length, request)
        for item in self._replies.pop(0):
            yield await _play(item, request)

    async def decide(self, request: Input, /) -> Decision:
        """Play the next reply, and return only its Decision."""
        pieces: list[str] = []
        async for item in self.stream(request):
            if isinstance(item, Decision):
                return item
            pieces.append(item)
        # As an adapter does when a connection breaks off.
        raise IncompleteReply("".join(pieces))


@attrs.define(init=False, eq=False)
class ScriptedExecutor:
    """Has a scripted answer for each tool, by its name, and keeps the calls.

    An answer is the text of the output, a ToolResult, a ToolError, an exception to raise, or a
    callable that takes the ToolCall and returns one of these, async or not. Anything else is
    returned unchanged, so that a broken tool can be played too.

    >>> import asyncio
    >>> executor = ScriptedExecutor({"read": "text", "run": TimeoutError("too slow")})
    >>> asyncio.run(executor.execute(ToolCall("c1", "read"))).output
    'text'
    >>> [call.id for call in executor.calls]
    ['c1']
    """

    calls: list[ToolCall]
    """The calls, in order."""
    _answers: dict[str, Any]

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.calls = []
        self._answers = dict(answers)

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the tools in the order in which they were passed."""
        return [ToolDefinition(name) for name in self._answers]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Return the scripted answer."""
        self.calls.append(call)
        # As a Registry answers such a call.
        missing = ToolError(f"there is no tool {call.name!r}", "not_found")
        answer = await _play(self._answers.get(call.name, missing), call)
        match answer:
            case str():
                return ToolResult(call.id, call.name, answer)
            case ToolError():
                return ToolResult(call.id, call.name, error=answer)
        # Whatever it is: a test may need an executor that breaks its promise.
        handed_on: ToolResult = answer
        return handed_on


async def _play(step: Any, request: object) -> Any:
    """Return the outcome of a step: call it, await it, and raise it if it is an exception."""
    # A class that is an exception is callable, too, and is a step by itself.
    if callable(step) and not _is_exception(step):
        step = step(request)
        step = await step if inspect.isawaitable(step) else step
    if _is_exception(step):
        raise step
    return step


def _is_exception(step: object) -> bool:
    is_class = isinstance(step, type) and issubclass(step, BaseException)
    return is_class or isinstance(step, BaseException)


def _as_decision(answer: Any) -> Decision:
    """Convert a text to a Decision; return anything else, to play a broken decider."""
    decision: Decision = Decision(answer) if isinstance(answer, str) else answer
    return decision


def _script_is_over(length: int, request: Input) -> AssertionError:
    # The end of the history shows what the script should have answered.
    last = reprlib.repr(request.history[-1].content) if request.history else "nothing"
    return AssertionError(
        f"the script has {_count(length, 'step')} and was asked once more, in turn {request.turn} "
        f"of the run; the history of {_count(len(request.history), 'message')} ends with {last}: "
        "add a step, or let the last one call no tools"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@attrs.define(init=False, eq=False)
class EventRecorder:
    """Collects events inside a `with` block: all events, or those that are named.

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
    """The records, in order. They remain after the block is left."""
    names: list[str]
    """The names of their signals."""
    senders: list[Any]
    """The sender of each."""
    _signals: list[NamedSignal]
    _sender: Any
    _stack: contextlib.ExitStack

    def __init__(self, *names: str | NamedSignal, sender: Any = None) -> None:
        """Choose signals (none for all of them), and a sender (None for any)."""
        self.events, self.names, self.senders = [], [], []
        # All of them by default, so that a test also sees the events that should not come.
        self._signals = [_signal(name) for name in names or signals]
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


def _signal(name: str | NamedSignal) -> NamedSignal:
    if isinstance(name, NamedSignal):
        return name
    if name not in signals:
        raise ConfigError(
            "the signal", name, f"one of {', '.join(signals)}", "leave it out for them all"
        )
    return signals[name]
