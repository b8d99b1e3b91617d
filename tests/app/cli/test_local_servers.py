"""The servers of models on this machine, as a chat finds them."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from agentic.app.cli import _local_servers
from agentic.errors import ConfigError

_MODELS = {"data": [{"id": "qwen3"}]}
_TAGS = {"models": [{"name": "qwen3:8b"}]}
_SETTINGS = {"default_generation_settings": {"n_ctx": 24_000}}


@pytest.fixture
def serve() -> Iterator[Callable[[dict[str, Any]], str]]:
    """Return what starts a server with these answers, by path, and gives its address."""
    servers: list[HTTPServer] = []

    def start(answers: dict[str, Any]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = answers.get(self.path)
                self.send_response(404 if answer is None else 200)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_servers_that_answer_are_found(serve: Callable[[dict[str, Any]], str]) -> None:
    """Whatever else listens at one of their ports is none of them."""
    addresses = {
        "ollama": serve({"/api/tags": _TAGS}),
        "llamacpp": serve({"/v1/models": _MODELS, "/props": _SETTINGS}),
        "lmstudio": serve({"/": "a page"}),
    }

    servers = _local_servers.find_servers(addresses)

    assert [(each.prefix, each.models, each.windows) for each in servers] == [
        ("ollama", ["ollama:qwen3:8b"], {"qwen3:8b": 0}),
        ("llamacpp", ["llamacpp:qwen3"], {"qwen3": 24_000}),
    ]


def test_decider_knows_the_window(serve: Callable[[dict[str, Any]], str]) -> None:
    """A server that states none leaves it to the policy."""
    address = serve({"/v1/models": _MODELS, "/props": _SETTINGS})

    decider = _local_servers.connect("llamacpp", "qwen3", address)

    assert decider.limits().context_window == 24_000


@pytest.mark.parametrize(
    ("answers", "name", "sentence"),
    [
        ({}, "qwen3", "no llamacpp server answers at http://127.0.0.1:"),
        ({"/v1/models": _MODELS}, "qwen", "llamacpp has no model 'qwen'; it has qwen3 "),
    ],
)
def test_what_is_missing_is_named(
    serve: Callable[[dict[str, Any]], str], answers: dict[str, Any], name: str, sentence: str
) -> None:
    """The server, or the model with those that it has."""
    with pytest.raises(ConfigError) as error:
        _local_servers.connect("llamacpp", name, serve(answers))

    assert str(error.value).startswith(sentence)
