"""No address is shown with the user, the password or the key that stands in it."""

import asyncio

import attrs
import httpx
import pytest

from agentic._base._addresses import hide_credentials, show_address
from agentic.app.proxy import Proxy
from agentic.errors import ConfigError, ProviderError
from agentic.loop import Input
from agentic.messages import Message
from agentic.providers import connect, ollama

SECRETS = [
    "http://me:s3cret@127.0.0.1:9/v1",
    "http://s3cret@127.0.0.1:9/v1",
    "http://127.0.0.1:9/v1?key=s3cret",
    "http://127.0.0.1:9/v1#s3cret",
    "http://me:s3/cret@127.0.0.1:9/v1",
    "http://me:s3#cret@127.0.0.1:9/v1",
    "http://me:s3@cret@127.0.0.1:9/v1",
    "me:s3cret@127.0.0.1:9/v1",
    "https//me:s3cret@127.0.0.1:9/v1",
    "postgresql:/me:s3cret@db/agents",
]


@pytest.mark.parametrize("address", SECRETS)
def test_credentials_are_left_out(address: str) -> None:
    """The host stays, so that a reader can see which server is meant."""
    shown = show_address(address)

    assert "s3" not in shown
    assert "cret" not in shown
    assert shown.endswith(("127.0.0.1:9/v1", "db/agents"))


@pytest.mark.parametrize(
    "address",
    [
        "https://api.openai.com/v1",
        "http://[::1]:8080/v1",
        "https://h/publishers/anthropic/models/claude-sonnet-4-5@20250929",
        "http://localhost:8000/@cf/model",
        "localhost:8000",
        "",
    ],
)
def test_address_without_credentials_is_unchanged(address: str) -> None:
    """An @ in a path is no sign of a password."""
    assert show_address(address) == address


def test_text_keeps_everything_but_credentials() -> None:
    """Quotes, brackets and what is no address stay."""
    text = "Is 'http://me:s3cret@h/v1?key=s3cret' there? See <https://me@h/a>, or mail a@b."

    assert hide_credentials(text) == "Is 'http://h/v1' there? See <https://h/a>, or mail a@b."


def test_error_of_a_request_shows_no_credentials() -> None:
    """Neither in our part of the sentence, nor in that of the client's exception."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"no route to {request.url}", request=request)

    client = httpx.AsyncClient(base_url=SECRETS[0], transport=httpx.MockTransport(refuse))
    decider = ollama.Decider(client, "m")

    with pytest.raises(ProviderError) as caught:
        asyncio.run(decider.decide(Input(user_message="Hi", history=(Message("user", "Hi"),))))

    shown = f"{caught.value} {caught.value!r}"
    assert "127.0.0.1:9" in shown
    assert "s3cret" not in shown


@pytest.mark.parametrize("address", SECRETS[-3:])
def test_mistake_in_an_address_shows_no_credentials(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address without its scheme is where a password is easily shown."""
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    for make in (lambda: connect("openai_chat:m"), lambda: Proxy(address, 8_000)):
        with pytest.raises(ConfigError) as caught:
            make()
        assert "s3cret" not in f"{caught.value} {attrs.asdict(caught.value)}"
