"""Another wire, proved by its own record: Bedrock's Converse with Claude's rules behind it."""

import copy
from typing import Any

import pytest

from agentic.testing import AgentScript, ModelServer
from agentic.testing._model_server import ServerReply

PATH = "/model/us.anthropic.claude-fable-5-2-v1:0/converse"
ASKED = {"role": "user", "content": [{"text": "Read it."}]}
DROP = {
    "thinking": {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    },
    "anthropic_beta": ["thinking-binding-controls-2026-08-01"],
}


def _send(server: ModelServer, messages: list[Any], **fields: Any) -> ServerReply:
    return server.post(PATH, copy.deepcopy({"messages": messages, **fields}))


def _talk(server: ModelServer, requests: int = 4) -> list[Any]:
    messages: list[Any] = [ASKED]
    for _ in range(requests):
        message = _send(server, messages).body["output"]["message"]
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [
            {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": "text"}]}}
            for use in uses
        ]
        messages += [message, {"role": "user", "content": results or [{"text": "And now?"}]}]
    return messages


def _server(**options: Any) -> ModelServer:
    return ModelServer(script=AgentScript(turns=9, rounds=1), **options)


def test_conversation_that_grows_is_accepted() -> None:
    """Nothing is refused, changed or lost."""
    server = _server(strict=True)

    assert _send(server, _talk(server)).status == 200
    report = server.report
    assert (report.refused, report.changes, report.reasoning_lost) == ({}, 0, 0)


def test_changed_result_is_refused_or_dropped() -> None:
    """The control goes into the model's own fields."""
    server = _server()
    messages = _talk(server)
    messages[2]["content"][0]["toolResult"]["content"] = [{"text": "[cleared]"}]

    refused = _send(server, messages)
    dropped = _send(server, messages, additionalModelRequestFields=DROP)

    assert refused.body["message"].startswith("messages.3.content.0: Invalid `signature`")
    extra = dropped.body["additionalModelResponseFields"]
    assert len(extra["input_transformations"]) == 3


@pytest.mark.parametrize(
    ("messages", "reason", "words"),
    [
        ([ASKED, ASKED], "roles", "must alternate between user and assistant roles"),
        ([{"role": "assistant", "content": [{"text": "Hi."}]}], "roles", "start with a user"),
        ([{"role": "user", "content": []}], "empty", "is empty"),
        ([{"role": "user", "content": [{"text": " "}]}], "empty", "is blank"),
    ],
)
def test_structure_is_enforced(messages: list[Any], reason: str, words: str) -> None:
    """Unlike Anthropic's own API, this one wants roles to alternate."""
    server = _server()

    reply = _send(server, messages)

    assert reply.status == 400
    assert words in reply.body["message"]
    assert server.report.refused == {reason: 1}


def test_stream_has_every_block() -> None:
    """In the events of ConverseStream, as dicts: their binary form is the SDK's matter."""
    whole = _send(_server(), [ASKED]).body

    reply = _server().post(f"{PATH}-stream", {"messages": [ASKED]})

    names = [name for name, _ in reply.events]
    blocks = len(whole["output"]["message"]["content"])
    assert (names[0], names[-2:]) == ("messageStart", ["messageStop", "metadata"])
    assert names.count("contentBlockStop") == blocks == 3
    starts = [data["start"] for name, data in reply.events if name == "contentBlockStart"]
    assert [list(start) for start in starts] == [["toolUse"]]


def test_cache_points_mark_what_precedes_them() -> None:
    """They are blocks of their own, and no part of what is read."""
    server = _server()
    point = {"cachePoint": {"type": "default"}}
    long = {"role": "user", "content": [{"text": "x" * 8_000}, point]}

    _send(server, [long])
    _send(server, [{"role": "user", "content": [*long["content"], {"text": "And now?"}]}])

    assert [(each.read > 2_000, each.written > 2_000) for each in server.served] == [
        (False, True),
        (True, False),
    ]
