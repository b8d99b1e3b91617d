"""A typed function as a tool: its signature becomes the schema, its docstring the description.

A sync function runs in a thread, so that it may block; an async function is awaited. Cancelling a
call stops an async function. A thread continues to its end, and its result is discarded. At most 32
sync functions run at once per event loop; further calls wait for their turn.
"""

import contextlib
import contextvars
import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import (
    Any,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    overload,
)
from weakref import WeakKeyDictionary

import attrs

from agentic import events
from agentic._base import _imports
from agentic._base._lazy import asyncio
from agentic.errors import ConfigError
from agentic.messages import Media, ToolError, ToolResult, _tool_errors
from agentic.protocols import ToolDefinition
from agentic.tools._signature import Signature, read_signature, to_plain

P = ParamSpec("P")
R = TypeVar("R")
_NONE: Mapping[str, Any] = {}


# With a `__dict__`, for what `update_wrapper` adds.
@attrs.define(slots=False, eq=False)
class FunctionTool(Generic[P, R]):
    """A function that a model can call, and that still works as a function. Created by `tool`."""

    definition: ToolDefinition
    function: Callable[P, R] = attrs.field(repr=False)
    _signature: Signature = attrs.field(repr=False)

    def __attrs_post_init__(self) -> None:
        # Without its `__dict__`: what others have put there could replace our fields.
        functools.update_wrapper(self, self.function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    async def run(self, arguments: Mapping[str, Any], /) -> object:
        """Call the function; arguments that do not fit its signature result in a ToolError."""
        try:
            values = self._signature.bind(arguments)
        except _tool_errors.InvalidArguments as misfit:
            return _tool_errors.bad_arguments(self.definition.name, misfit.args)
        values |= {name: _current_key() for name in self._signature.key_names}
        value = await _call(self.function, values)
        # msgspec would make a dict of a record, and a copy of a text.
        if isinstance(value, str | Media | ToolResult | ToolError):
            return value
        try:
            return to_plain(value)
        except (TypeError, ValueError, RecursionError) as error:
            return _tool_errors.unreadable_result(error)


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    allowed_callers: Iterable[str] = (ToolDefinition.DIRECT,),
    annotations: Mapping[str, Any] = _NONE,
    retry: Literal["always", "never"] = "always",
) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    allowed_callers: Iterable[str] = (ToolDefinition.DIRECT,),
    annotations: Mapping[str, Any] = _NONE,
    retry: Literal["always", "never"] = "always",
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    allowed_callers: Iterable[str] = (ToolDefinition.DIRECT,),
    annotations: Mapping[str, Any] = _NONE,
    retry: Literal["always", "never"] = "always",
) -> Any:
    """Make a tool from a function or a bound method, as a decorator or by a call.

    The description of a parameter comes from `Annotated[..., msgspec.Meta(description=...)]`, or
    else from the Args section of the docstring. The function may return whatever `Tool.run` may,
    and anything else that msgspec can convert to JSON. A parameter of type `CallKey` receives the
    idempotency key of the call, and the model does not see it.

    >>> @tool
    ... def find(pattern: str, limit: int = 10) -> list[str]:
    ...     '''Find the files whose path holds the pattern.'''
    ...     return [pattern] * limit
    >>> find.definition.description
    'Find the files whose path holds the pattern.'
    >>> find("a.py", limit=1)
    ['a.py']

    Args:
        function: The function to call; omitted if `tool` is used as a decorator with options.
        name: The name that the model uses; by default the function's own name.
        description: What the model is told; by default the docstring up to its first section.
        allowed_callers: See `ToolDefinition`.
        annotations: See `ToolDefinition`; `{"readOnlyHint": True}` says that it changes nothing.
        retry: See `ToolDefinition`.

    Raises:
        ConfigError: `function` is not a function, or JSON cannot supply its parameters.
        ImportError: msgspec is not installed.
    """
    if function is None:
        return functools.partial(
            tool,
            name=name,
            description=description,
            allowed_callers=allowed_callers,
            annotations=annotations,
            retry=retry,
        )
    _check_function(function)
    signature = _read_signature(function)
    definition = ToolDefinition(
        function.__name__ if name is None else name,
        signature.description if description is None else description,
        signature.schema,
        allowed_callers=allowed_callers,
        annotations=annotations,
        retry=retry,
    )
    return FunctionTool(definition, function, signature)


def _check_function(function: object) -> None:
    # A generator returns at once, having done nothing: the model would read of an object.
    generates = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    if generates or not inspect.isroutine(function):
        raise ConfigError(
            "function",
            function,
            "a function or a bound method that returns its result",
            "wrap it in a def whose parameters are typed",
        )


def _read_signature(function: Callable[..., Any]) -> Signature:
    try:
        _imports.load("msgspec")
    except ModuleNotFoundError as absent:
        if absent.name != "msgspec":
            raise
        raise ImportError(
            f"agentic.tools.tool needs msgspec: {_imports.pip_install('agentic-weave[tools]')}"
        ) from absent
    return read_signature(function)


def _current_key() -> str:
    running = events.current_call()
    # Random outside of a run, where nothing repeats the call with the same key.
    return (running.key if running else "") or os.urandom(16).hex()


async def _call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> object:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    value = await _in_thread(functools.partial(_call_plain, function, arguments))
    # A plain function may wrap an async one, and return its coroutine.
    return await value if inspect.isawaitable(value) else value


_MOST_THREADS = 32
"""The maximum that `asyncio.to_thread` also has."""
_slots: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = WeakKeyDictionary()
"""One per event loop: a tool that runs an agent must not wait for the thread that it is in."""


async def _in_thread(work: Callable[[], object]) -> object:
    """Run in one of a bounded number of threads.

    A call that is cancelled frees its slot for the next, although its thread continues: otherwise
    tools that hang would leave no thread for others.
    """
    loop = asyncio.get_running_loop()
    async with _slots.setdefault(loop, asyncio.Semaphore(_MOST_THREADS)):
        return await _in_daemon(work, loop)


async def _in_daemon(work: Callable[[], object], loop: "asyncio.AbstractEventLoop") -> object:
    """Run in a daemon thread, so that a tool that hangs does not delay the end of the program.

    The threads of `asyncio.to_thread` are joined when the event loop closes, and again when Python
    exits.
    """
    future: asyncio.Future[object] = loop.create_future()
    # As `asyncio.to_thread` does: what a tool reports of its usage belongs to the run that called
    # it.
    context = contextvars.copy_context()

    def settle(how: Callable[[Any], None], outcome: object) -> None:
        # The call may have been cancelled meanwhile.
        if not future.done():
            how(outcome)

    def run() -> None:
        how: Callable[[Any], None] = future.set_result
        try:
            outcome = context.run(work)
        except BaseException as error:  # noqa: BLE001  passed on to the awaiting task
            how, outcome = future.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nothing is waiting
            loop.call_soon_threadsafe(settle, how, outcome)

    threading.Thread(target=run, name="agentic-tool", daemon=True).start()
    return await future


def _call_plain(function: Callable[..., Any], arguments: Mapping[str, Any]) -> object:
    try:
        return function(**arguments)
    except StopIteration as stop:
        # A Future cannot hold it: before Python 3.12.2, awaiting the thread would never end,
        # https://github.com/python/cpython/issues/112182.
        raise RuntimeError("the function raised StopIteration") from stop
