"""Which call a tool is running for, so that it can report its progress in that run.

A context variable holds the call that a tool is running for: it is seen by the tool, by the tasks
that the tool starts, and by the thread of a sync function. Code that runs elsewhere, such as a
callback of a connection that several calls share, keeps the `RunningCall` that the tool obtained.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar

import attrs

from agentic.events._sending import send
from agentic.events._signals import ToolExecutionProgress, tool_execution_progress
from agentic.messages import ToolCall


# Outside a Runner there is no clock to stop.
def _keep_running(_: bool) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


@attrs.frozen(kw_only=True)
class RunningCall:
    """A call that a Runner is executing."""

    call: ToolCall
    run_id: str
    sender: object
    """The Runner."""
    key: str = ""
    """The call's idempotency key, 32 hexadecimal digits: derived from the run's id, the turn and
    the index of the call, so it is the same when the run is replayed. Another service that is given
    the key can tell a repeated call from a new one."""
    _clock: Callable[[bool], AbstractContextManager[None]] = attrs.field(
        default=_keep_running, eq=False, repr=False
    )

    def pause(self, *, started: bool = True) -> AbstractContextManager[None]:
        """Stop the clocks inside the block, in which a person is awaited, not the tool.

        That time counts neither towards the call's timeout nor, unless other calls go on, towards
        the run's seconds.

        Args:
            started: Whether the call may have taken effect already. With False, a call that is
                cancelled inside the block reads as not run.
        """
        return self._clock(started)

    async def report_progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Send a `ToolExecutionProgress`."""
        await send(
            tool_execution_progress,
            self.sender,
            ToolExecutionProgress,
            run_id=self.run_id,
            call=self.call,
            progress=progress,
            total=total,
            message=message,
        )


# A context variable, because the calls of a turn run at the same time.
_running: ContextVar[RunningCall | None] = ContextVar("running_call", default=None)


def current_call() -> RunningCall | None:
    """Return the call that this code is running for; None outside a Runner's tools."""
    return _running.get()


@contextlib.contextmanager
def run_call(call: RunningCall) -> Iterator[None]:
    """Make a call the current one inside the block."""
    # By a token: a tool may run an agent, whose calls are the current ones meanwhile.
    token = _running.set(call)
    try:
        yield
    finally:
        _running.reset(token)
