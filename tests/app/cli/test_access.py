"""Who may use a server that a command starts."""

import asyncio
from pathlib import Path
from typing import Any

import click
import pytest

from agentic.app.cli._access import Guard, check_exposure, read_token

TOKEN = "f00d-12.~+/=="  # noqa: S105  nobody's


def _status(guard: Guard, **headers: str) -> int:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    asyncio.run(guard({"type": "http", "headers": raw}, None, send))  # type: ignore[arg-type]
    return int(sent[0]["status"])


async def _serve(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200})


@pytest.mark.parametrize(
    "host", ["localhost:80", "127.0.0.1", "127.0.0.2:8080", "[::1]:8080", "127.255.255.254"]
)
def test_every_address_of_loopback_is_served(host: str) -> None:
    """A server that listens on 127.0.0.2 is asked for by that address."""
    assert _status(Guard(_serve, loopback=True), host=host) == 200


@pytest.mark.parametrize("host", ["", "[", "evil.example", "127.0.0.1.evil.example", "10.0.0.1"])
def test_loopback_is_not_served_by_another_name(host: str) -> None:
    """A page could let a name of its own point to this machine."""
    assert _status(Guard(_serve, loopback=True), host=host) == 403


def test_pages_of_other_sites_are_refused() -> None:
    """Also where a token is sent, which a browser may keep."""
    guard = Guard(_serve, loopback=False, token=TOKEN)
    sent = {"host": "agents.example", "authorization": f"Bearer {TOKEN}"}

    assert _status(guard, **sent, origin="https://evil.example") == 403
    assert _status(guard, **sent, origin="https://agents.example") == 200


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN} ", 200),
        (TOKEN, 401),
        (f"Basic {TOKEN}", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        ("Bearer \xe9", 401),
        ("Bearer ", 401),
        ("", 401),
    ],
)
def test_only_the_token_opens(authorization: str, status: int) -> None:
    """Nothing else, whatever it begins with."""
    guard = Guard(_serve, loopback=True, token=TOKEN)

    assert _status(guard, host="localhost", authorization=authorization) == status


def test_token_is_in_no_repr() -> None:
    """It would be in a traceback."""
    assert TOKEN not in repr(Guard(_serve, loopback=True, token=TOKEN))


def test_token_is_read_without_its_newline(tmp_path: Path) -> None:
    """As an editor or a shell writes it."""
    (tmp_path / "token").write_text(f"{TOKEN}\r\n")

    assert read_token(str(tmp_path / "token")) == TOKEN
    assert read_token(None) == ""


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"\xff\xfe", b"a\nb"])
def test_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """An empty one would let everybody in."""
    (tmp_path / "token").write_bytes(content)

    with pytest.raises(click.ClickException, match="contains no token"):
        read_token(str(tmp_path / "token"))


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.1.2.3"])  # noqa: S104  nothing is bound
def test_network_is_served_only_on_purpose(address: str) -> None:
    """By a token, or by saying that somebody else looks after that."""
    with pytest.raises(click.UsageError, match=r"--token-file.*--behind-proxy"):
        check_exposure(address)
    assert not check_exposure(address, token=TOKEN)
    assert not check_exposure(address, behind_proxy=True)
    assert check_exposure("127.0.0.3")
    assert check_exposure("::1")
