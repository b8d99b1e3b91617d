"""Gemini's wire: no prefix is checked, but the running turn wants its signatures back."""

import copy
from typing import Any

import pytest

from agentic.testing import AgentScript, ModelServer
from agentic.testing._model_server import ServerReply

ASKED = {"role": "user", "parts": [{"text": "Read it."}]}
CALLS = {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}] * 2}
RESPONSE = {"functionResponse": {"name": "read", "response": {"result": "text"}}}


def _send(server: ModelServer, contents: list[Any], method: str = "generateContent") -> ServerReply:
    path = f"/v1beta/models/gemini-3-pro:{method}"
    return server.post(path, copy.deepcopy({"contents": contents}))


def _server(**options: Any) -> ModelServer:
    script = AgentScript(turns=9, rounds=2, calls=2, thinking="I look.")
    return ModelServer(script=script, **options)


def _talk(server: ModelServer, requests: int) -> list[Any]:
    contents: list[Any] = [ASKED]
    for _ in range(requests):
        content = _send(server, contents).body["candidates"][0]["content"]
        calls = sum("functionCall" in part for part in content["parts"])
        contents += [content, {"role": "user", "parts": [RESPONSE] * calls} if calls else ASKED]
    return contents


def test_conversation_that_grows_is_accepted() -> None:
    """Responses without ids belong to their calls by order."""
    server = _server(strict=True)

    assert _send(server, _talk(server, 7)).status == 200
    report = server.report
    assert (report.refused, report.changes, report.reasoning_lost) == ({}, 0, 0)


def test_changed_prefix_costs_no_reasoning() -> None:
    """Gemini binds nothing; the change is still one, and the cache is lost."""
    server = _server()
    contents = _talk(server, 4)
    contents[0] = {"role": "user", "parts": [{"text": "Read nothing."}]}

    assert _send(server, contents).status == 200
    report = server.report
    assert (report.changes, report.reasoning_dropped, report.reasoning_stale) == (1, 0, 0)


def test_running_turn_wants_its_signatures() -> None:
    """Those of turns that are over may be left out."""
    server = _server(strict=True)
    contents = _talk(server, 4)  # a turn of three requests, and the first of the next
    bare = copy.deepcopy(contents)
    for content in bare[:6]:
        for part in content["parts"]:
            part.pop("thoughtSignature", None)
    assert _send(server, bare).status == 200

    for part in bare[-2]["parts"]:
        part.pop("thoughtSignature", None)

    message = _send(server, bare).body["error"]["message"]
    assert message.startswith("Function call is missing a thought_signature")


@pytest.mark.parametrize(
    ("contents", "reason", "words"),
    [
        ([], "empty", "contents is not specified"),
        ([{"role": "user", "parts": []}], "empty", "must not be empty"),
        ([{"role": "tool", "parts": [{"text": "a"}]}], "roles", "valid role"),
        ([CALLS, {"role": "user", "parts": [RESPONSE] * 2}], "roles", "comes immediately after"),
        ([ASKED, CALLS, {"role": "user", "parts": [RESPONSE]}], "pairing", "number of function"),
        ([ASKED, CALLS, ASKED], "pairing", "number of function response parts is equal"),
    ],
)
def test_structure_is_enforced(contents: list[Any], reason: str, words: str) -> None:
    """In the words of the API."""
    server = _server()

    reply = _send(server, contents)

    assert words in reply.body["error"]["message"]
    assert server.report.refused == {reason: 1}


def test_stream_has_all_parts() -> None:
    """Part by part, with the usage in the last chunk."""
    whole = _send(_server(), [ASKED]).body

    events = _send(_server(), [ASKED], "streamGenerateContent").events

    parts = [p for _, data in events for p in data["candidates"][0]["content"]["parts"]]
    assert parts == whole["candidates"][0]["content"]["parts"]
    assert events[-1][1]["usageMetadata"] == whole["usageMetadata"]
