"""Options that several commands have: a number of tokens, and where a server listens."""

import errno
import socket
from collections.abc import Callable
from typing import Any, TypeVar

import click

from agentic.limits._model_limits import read_tokens

_F = TypeVar("_F", bound=Callable[..., Any])
host_option = click.option(
    "--host",
    # Neither server has accounts: `_access` says who may use it.
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. With any address but loopback, other machines can connect.",
)
_MOST_DIGITS = 18
"""Below 2**63, above which SQLite and PostgreSQL refuse the position of an event."""


def whole_number(text: str) -> int | None:
    """Return the number that a text is; None if it is none, or too long to mean one.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5_000)
    (12, None, None)
    """
    # Python itself refuses to read a number of thousands of digits.
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


class TokenSize(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A number of tokens: 128000, 128_000, 128k or 1m, where k is a thousand and m a million."""

    name = "tokens"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        number = read_tokens(str(value))
        if number is None:
            self.fail(
                f"{str(value)!r} is not a number of tokens; write 128000, 128k or 1m", param, ctx
            )
        if number < 0:
            self.fail(f"{value} is below 0", param, ctx)
        return number


class WindowOrModel(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A number of tokens, such as 128k for 128,000, or the name of a model."""

    name = "tokens or model"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        number = read_tokens(str(value))
        if number is None:
            return str(value).strip()
        if number < 1:
            self.fail("a window has at least one token", param, ctx)
        return number


def port_option(default: int) -> Callable[[_F], _F]:
    """Return what adds `--port`."""
    return click.option(
        "--port",
        type=click.IntRange(0, 65_535),
        default=default,
        show_default=True,
        help="Where to listen; 0 for any free port.",
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ClickException: the address cannot be used.
    """
    # An empty host would mean every address: --host "$HOST" without a HOST must not serve them.
    if not host:
        raise click.UsageError("--host is empty: name an address, such as 127.0.0.1")
    # By itself, `create_server` takes every address for one of IPv4.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # What it raises for a name that cannot be encoded leaves its socket open.
        host.encode("idna")
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as problem:
        number = getattr(problem, "errno", None)
        if number == errno.EADDRINUSE:
            sentence = f"port {port} is in use: choose another one with --port, or 0 for any"
        elif number == errno.EACCES:
            sentence = f"port {port} needs more rights: choose one above 1023 with --port"
        else:
            sentence = f"--host {host!r} is not an address of this machine"
        raise click.ClickException(sentence) from problem


def format_address(host: str, port: int) -> str:
    """Return the address of a server.

    >>> format_address("::1", 80)
    'http://[::1]:80'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
