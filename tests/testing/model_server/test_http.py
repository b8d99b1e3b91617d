"""The server on loopback, asked by the standard library."""

import http.client
import json
from typing import Any

import pytest

from agentic.errors import ConfigError
from agentic.testing import AgentScript, ModelServer, ScriptedAnswer

ASKED = {"role": "user", "content": "Read it."}


def _post(url: str, path: str, body: Any) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    status, kind, text = response.status, response.headers["Content-Type"], response.read()
    connection.close()
    return status, kind, text


def test_http_answers_what_post_answers() -> None:
    """The same bodies, in process and through a port."""
    body = {"model": "claude-fable-5-2", "messages": [ASKED]}
    here, there = ModelServer(), ModelServer()

    with there.serve() as url:
        status, kind, text = _post(url, "/v1/messages", body)

    assert (status, kind) == (200, "application/json")
    assert json.loads(text) == here.post("/v1/messages", body).body
    assert here.report == there.report


def test_http_streams_events() -> None:
    """As text/event-stream; Chat Completions end with the word that clients wait for."""
    with ModelServer().serve() as url:
        body = {"model": "gpt-5", "messages": [ASKED], "stream": True}
        status, kind, text = _post(url, "/v1/chat/completions", body)

    assert (status, kind) == (200, "text/event-stream")
    assert text.endswith(b"data: [DONE]\n\n")


def test_refusal_has_its_status() -> None:
    """A refusal is a 400, and an unknown path a 404 that lists the paths."""
    with ModelServer().serve() as url:
        assert _post(url, "/v1/messages", {"messages": []})[0] == 400
        status, _, text = _post(url, "/v1/embeddings", {})

    assert status == 404
    assert b"/chat/completions" in text


def test_unknown_path_is_a_config_error() -> None:
    """In process it is the caller's mistake."""
    with pytest.raises(ConfigError, match="the path of a wire"):
        ModelServer().post("/v1/embeddings", {})


def test_aside_is_no_part_of_the_conversation() -> None:
    """A request for a summary is billed, and neither advances the script nor counts as a change."""
    script = AgentScript(turns=1, rounds=1)
    server = ModelServer(script=script, aside=lambda body: body["model"] == "small")
    server.post("/v1/messages", {"model": "claude-fable-5-2", "messages": [ASKED]})

    reply = server.post("/v1/messages", {"model": "small", "messages": [ASKED]})

    assert reply.body["content"][0]["type"] == "text"
    assert (script.answered, server.report.changes, server.report.requests) == (1, 0, 2)


def test_script_may_be_any_function() -> None:
    """It sees the body, and says what the model says."""
    server = ModelServer(script=lambda body: ScriptedAnswer(text=body["messages"][0]["content"]))

    reply = server.post("/v1/messages", {"model": "claude-fable-5-2", "messages": [ASKED]})

    assert [block["text"] for block in reply.body["content"]] == ["Read it."]


def test_skipped_turn_begins_the_next() -> None:
    """After a refusal that ended a turn."""
    script = AgentScript(turns=3, rounds=2)
    script({})
    script.skip_turn()

    assert script({}).calls[0]["path"].endswith("1_0.py")
