"""A named secret is found in every spelling that JSON allows."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.history import JsonlSessions
from agentic.history._secrets import Secret
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message, ToolCall

AWS = "wJalrXUtnFEMI/K7MDENG+bPx/RfiCY&EXAMPLE"
PEM = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\n-----END KEY-----"
SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def _spell(draw: Any, text: str) -> str:
    """Write a text as JSON may, character by character."""
    spelled = []
    for unit in _units(text):
        escapes = [f"\\u{ord(unit):04x}", f"\\u{ord(unit):04X}"]
        if unit in SHORT:
            escapes.append("\\" + SHORT[unit])
        if unit not in '"\\' and ord(unit) >= 0x20:
            escapes.append(unit)
        spelled.append(draw(st.sampled_from(escapes)))
    return "".join(spelled)


def _units(text: str) -> list[str]:
    """Return the units of UTF-16 that escapes stand for."""
    raw = text.encode("utf-16-be", "surrogatepass")
    return [chr(int.from_bytes(raw[at : at + 2])) for at in range(0, len(raw), 2)]


@st.composite
def spellings(draw: Any) -> tuple[str, str]:
    """Draw a secret, and a text that holds it within JSON in JSON."""
    secret = draw(st.sampled_from([AWS, PEM, 'p"w\\d/', "schlüssel😀7", "\t\x01tab"]))
    text = draw(st.sampled_from([secret, secret.replace("\n", "\r\n")]))
    for _ in range(draw(st.integers(0, 3))):
        text = _spell(draw, text)
    return secret, text


@given(spellings(), st.sampled_from(["", "the key: ", '{"key":"', "é"]))
def test_every_spelling_is_found(spelling: tuple[str, str], before: str) -> None:
    """And what is around it stays."""
    secret, text = spelling

    found = Secret(secret)

    assert found.hide(f"{before}{text}!", "[gone]") == f"{before}[gone]!"
    assert found.count(f"{before}{text}! {text}") == 2


@given(st.text(alphabet='ab\\"/u0026n ', max_size=40))
def test_text_without_the_secret_is_left(text: str) -> None:
    """Whatever looks like an escape in it."""
    assert Secret("zz").hide(text, "[gone]") == text


@given(spellings())
def test_replacement_fits_where_it_is_put(spelling: tuple[str, str]) -> None:
    """JSON that held the secret is JSON still."""
    secret, text = spelling
    data = json.loads(json.dumps({"arguments": json.dumps({"key": text})}))

    hidden = Secret(secret).hide_in(data, 'a "mark"\n')

    assert set(json.loads(hidden["arguments"])) == {"key"}


@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
@pytest.mark.parametrize("secret", [AWS, PEM])
def test_no_spelling_is_left_in_a_session(tmp_path: Path, kind: Any, secret: str) -> None:
    r"""In arguments as other programs write them: with `\/`, capitals, and lines of Windows."""
    arguments = json.dumps({"key": secret.replace("\n", "\r\n")})
    for plain, escape in (("/", "\\/"), ("+", "\\u002B"), ("&", "\\u0026")):
        arguments = arguments.replace(plain, escape)
    sessions = kind(tmp_path / "kept")

    async def write() -> Any:
        async with sessions.open("a") as store:
            await store.append(Message("user", "look", id="m"))
            await store.append(Message("assistant", tool_calls=[ToolCall("c", "t", arguments)]))
        found = await sessions.redact("a", "m", "[gone]", secret=secret)
        return found, await sessions.open("a").full()

    found, archive = asyncio.run(write())

    assert found == 1
    assert archive[1].tool_calls[0].arguments == '{"key": "[gone]"}'


def test_number_that_is_the_secret_is_removed() -> None:
    """And no number that only contains it."""
    data = {"pin": 4711, "amount": 14711, "at": 4711.5}

    assert Secret("4711").hide_in(data, "[pin]") == {"pin": "[pin]", "amount": 14711, "at": 4711.5}
