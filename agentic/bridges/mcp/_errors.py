"""What goes wrong between this side and a server, and the reason in words."""

import anyio
import attrs

from agentic._base._addresses import hide_credentials
from agentic.errors import AgenticError

# The code that the SDK gives requests that were open when the connection ended.
_CONNECTION_CLOSED = -32000
# What the SDK says if an HTTP server no longer knows the session, as after a restart:
# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
# (2026-11).
_TERMINATED = "Session terminated"


@attrs.define
class McpServerUnavailable(AgenticError, ConnectionError):
    """A server that cannot be started or reached.

    >>> print(McpServerUnavailable("files", "no such file: serve"))
    cannot connect to the MCP server 'files': no such file: serve
    """

    server: str
    """The name of the McpServer."""
    reason: str

    def __str__(self) -> str:
        return f"cannot connect to the MCP server {self.server!r}: {self.reason}"


class ConnectionLost(Exception):
    """The connection ended before the server answered."""

    def __str__(self) -> str:
        return "the server closed the connection"


def is_disconnect(error: BaseException) -> bool:
    """Return whether an error of a request means that the connection is of no use any more."""
    errors = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
    if isinstance(error, errors):
        return True
    detail = getattr(error, "error", None)
    message = getattr(detail, "message", "")
    return getattr(detail, "code", 0) == _CONNECTION_CLOSED or message == _TERMINATED


def describe(error: BaseException) -> str:
    """Return the reason for an error, the first one of a group.

    >>> describe(ExceptionGroup("two", [ExceptionGroup("one", [OSError("refused")])]))
    'OSError: refused'
    """
    # The SDK's task groups wrap an error in a group each.
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = hide_credentials(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
