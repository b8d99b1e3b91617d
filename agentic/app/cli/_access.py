"""Who may use a server that a command starts: by its address, by the site of a page, by a token.

A server on loopback answers requests for loopback only: a page in a browser could otherwise reach
it by a name of its own that it lets point here. Any other address needs a bearer token (RFC 6750),
or a proxy in front that knows who may.
"""

import hmac
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import attrs
import click

from agentic.app.cli._stdio import open_input

_Scope = Mapping[str, Any]
_Receive = Callable[[], Awaitable[Any]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]
_App = Callable[[Any, Any, Any], Awaitable[None]]
_F = TypeVar("_F", bound=Callable[..., Any])
# What a header can carry: https://www.rfc-editor.org/rfc/rfc6750#section-2.1 (2026-11-27).
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def _token_option(header: str) -> Callable[[_F], _F]:
    return click.option(
        "--token-file",
        metavar="FILE",
        help=f"Serve only requests with the token in this file, sent as `{header}: Bearer TOKEN`; "
        "- is standard input.",
    )


token_option = _token_option("Authorization")
proxy_token_option = _token_option("Proxy-Authorization")
behind_proxy_option = click.option(
    "--behind-proxy",
    is_flag=True,
    help="Serve an address other than loopback without a token: a proxy in front controls access.",
)


def read_token(file: str | None) -> str:
    """Return the token in a file, without the white space around it; empty if no file is named.

    Raises:
        ClickException: the file holds no token.
        OSError: it cannot be read.
    """
    if file is None:
        return ""
    with open_input(file) as source:
        token = source.read().decode("utf-8", "replace").strip()
    if not _TOKEN.fullmatch(token):
        # Without the content: it may be a secret in another form.
        raise click.ClickException(
            f"{file} contains no token: write one word of letters, digits and -._~+/ into it, such "
            "as the output of openssl rand -hex 32"
        )
    return token


def check_exposure(address: str, *, token: str = "", behind_proxy: bool = False) -> bool:
    """Return whether a server listens on loopback only.

    Raises:
        UsageError: it does not, and anybody on the network could use it.
    """
    if ipaddress.ip_address(address).is_loopback:
        return True
    if token or behind_proxy:
        return False
    raise click.UsageError(
        f"anybody on the network could use {address}: pass --token-file, or pass --behind-proxy "
        "if a proxy in front controls access"
    )


@attrs.frozen(eq=False)
class Guard:
    """An ASGI application that lets only those requests through to another one that may pass."""

    app: _App
    loopback: bool
    """Whether only requests for loopback are served."""
    token: str = attrs.field(default="", repr=False)
    """What a request has to send; empty if it need not send any."""
    lets: Callable[[str, str, str], bool] | None = None
    """Returns whether a browser's request may pass without the token, given its method, its path
    and its Cookie header. None if the server has no page to log in to."""
    is_proxy: bool = False
    """Whether the token is sent as `Proxy-Authorization`: the provider's key has the other header
    (https://www.rfc-editor.org/rfc/rfc9110#section-11.7, 2026-11-27)."""

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer with 401, 403 or 407, or let the other application answer."""
        if scope["type"] == "http" and (refusal := self._check(scope)) is not None:
            status, sentence = refusal
            if status == 401 and self.lets is not None and scope["path"] == "/":  # noqa: PLR2004
                headers = [(b"location", b"/login"), (b"cache-control", b"no-store")]
                await send({"type": "http.response.start", "status": 303, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
            # A client that asks for a password says what it needs by this header.
            asks = {401: b"www-authenticate", 407: b"proxy-authenticate"}.get(status)
            more = [] if asks is None else [(asks, b"Bearer")]
            headers = [(b"content-type", b"application/json"), *more]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            body = json.dumps({"error": sentence}).encode()
            await send({"type": "http.response.body", "body": body})
            return
        await self.app(scope, receive, send)

    def _check(self, scope: _Scope) -> tuple[int, str] | None:
        """Return the status and the reason of a refusal."""
        headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
        by_name = {name.lower(): value.decode("latin-1") for name, value in headers}
        host, origin = by_name.get(b"host", ""), by_name.get(b"origin")
        try:
            name, site = urlsplit(f"//{host}").hostname, urlsplit(origin or "").netloc
        except ValueError:  # a bracket that is not closed
            return 403, "the host or the origin is not an address"
        if self.loopback and not _is_loopback(name or ""):
            return 403, f"the host {host!r} is not served: use 127.0.0.1"
        # Only browsers send an origin.
        if origin is not None and site != host:
            return 403, "pages of other sites are not served"
        status, name = (407, "Proxy-Authorization") if self.is_proxy else (401, "Authorization")
        authorization, cookie = by_name.get(name.lower().encode(), ""), by_name.get(b"cookie", "")
        is_in = self.lets is not None and self.lets(scope["method"], scope["path"], cookie)
        if self.token and not is_in and not self._is_allowed(authorization):
            return status, f"send the token of this server, as {name}: Bearer TOKEN"
        return None

    def _is_allowed(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        # In a time that does not depend on how much of it is right.
        is_same = hmac.compare_digest(token.strip().encode(), self.token.encode())
        return is_same and scheme.lower() == "bearer"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False
