"""Which server to connect to, how, and what of it to show."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import attrs

from agentic._base._validate import must_be, seconds
from agentic.bridges.mcp._sdk import Transport, http_transport, stdio_transport
from agentic.errors import ConfigError
from agentic.tools._executors import AnyPolicy, as_policy

_PREFIX = re.compile(r"[A-Za-z0-9_.-]{0,64}")


def _policy(allow: AnyPolicy | Iterable[str] | None) -> AnyPolicy | None:
    return None if allow is None else as_policy(allow)


@attrs.frozen
class McpServer:
    """One server. Nothing is started before `McpTools` needs it.

    >>> files = McpServer.stdio("files", "files-server", ["--root", "."], allow=["read", "find"])
    >>> web = McpServer.http("web", "https://example.com/mcp", prefix="web_")

    Raises:
        ConfigError: a field cannot be used.
    """

    name: str = attrs.field(validator=must_be(str))
    """Identifies the server in messages."""
    transport: Callable[[], Transport] = attrs.field(repr=False)
    """Returns an unopened transport of the SDK, such as `mcp.client.sse.sse_client(url)`; called
    once for each connection."""
    prefix: str = attrs.field(default="", kw_only=True)
    """Put before the name of each tool."""
    allow: AnyPolicy | None = attrs.field(default=None, kw_only=True, converter=_policy)
    """Which tools are shown and run: names without the prefix, a `tools.ToolPolicy`, or a function
    that is given the ToolDefinition, with the server's annotations. None allows all of them."""
    connect_timeout_seconds: float = attrs.field(default=30.0, kw_only=True, validator=seconds)
    """The limit for connecting, and for listing the tools."""
    call_timeout_seconds: float | None = attrs.field(default=None, kw_only=True, validator=seconds)
    """The limit for one call; None leaves it to the Runner's `tool_timeout_seconds`. The server is
    told to stop in either case."""

    @prefix.validator
    def _check_prefix(self, _: object, prefix: object) -> None:
        if not (isinstance(prefix, str) and _PREFIX.fullmatch(prefix)):
            raise ConfigError(
                "McpServer.prefix", prefix, "up to 64 of the characters A-Z a-z 0-9 _ . -"
            )

    @transport.validator
    def _check_transport(self, _: object, transport: object) -> None:
        if not callable(transport):
            raise ConfigError(
                "McpServer.transport",
                transport,
                "a function that returns a transport",
                "use McpServer.stdio or McpServer.http, or write lambda: sse_client(url)",
            )

    @classmethod
    def stdio(
        cls,
        name: str,
        command: str,
        args: Iterable[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Self:
        """Return a server that runs as a process of this machine, over its stdin and stdout.

        The process inherits PATH, HOME and a few more variables, and gets `env` in addition. The
        other options are the fields of this class.
        """
        # Every connection starts a new process, and `args` may be an iterator.
        arguments, place = list(args), None if cwd is None else os.fspath(cwd)
        return cls(name, lambda: stdio_transport(command, arguments, env, place), **options)

    @classmethod
    def http(
        cls, name: str, url: str, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """Return a server at a URL, over streamable HTTP; `headers` are sent with every request."""
        # The mapping itself, not a copy: a new token in it is sent by the next connection.
        return cls(name, lambda: http_transport(url, headers or {}), **options)
