"""The documented rules of OpenAI's wires, each by a literal request.

https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (2026-11-27).
"""

import copy
from typing import Any

import pytest

from agentic.testing import MODEL_WIRES, AgentScript, ModelServer
from agentic.testing._model_server import ServerReply

TOOLS = [{"type": "function", "name": "read", "parameters": {"type": "object"}}]


def _server(**options: Any) -> ModelServer:
    return ModelServer(script=AgentScript(turns=20, rounds=1, thinking="I look."), **options)


def _send(server: ModelServer, items: list[Any], **fields: Any) -> ServerReply:
    body = {"model": "gpt-6.2-sol", "tools": TOOLS, "input": items, **fields}
    return server.post("/v1/responses", copy.deepcopy(body))


def _talk(server: ModelServer, turns: int = 2, **fields: Any) -> list[Any]:
    """Return the items after some turns, each with a call and a reply."""
    items: list[Any] = []
    for turn in range(turns):
        items.append({"role": "user", "content": f"Read part {turn}."})
        while True:
            output = _send(server, items, **fields).body["output"]
            items += output
            calls = [item["call_id"] for item in output if item["type"] == "function_call"]
            items += [_output(call_id) for call_id in calls]
            if not calls:
                break
    return items


def _output(call_id: str, text: str = "def f(): ...") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def _asked(items: list[Any]) -> list[Any]:
    return [*copy.deepcopy(items), {"role": "user", "content": "And now?"}]


def _error(reply: ServerReply) -> str:
    assert reply.status == 400
    assert reply.body["error"]["type"] == "invalid_request_error"
    return str(reply.body["error"]["message"])


def test_input_that_only_grows_loses_nothing() -> None:
    """No item is removed, and the cache reads what was sent before."""
    server = _server()

    reply = _send(server, _asked(_talk(server, 5)))

    assert reply.body["input_transformations"] == []
    assert (server.report.changes, server.report.reasoning_lost) == (0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [*TOOLS, {"type": "function", "name": "write", "parameters": {}}]},
        {"text": {"format": {"type": "json_object"}}},
    ],
)
def test_changed_head_removes_all_reasoning(change: dict[str, Any]) -> None:
    """Without an error, and each item is listed by its id."""
    server = _server()
    items = _asked(_talk(server))

    reply = _send(server, items, **change)

    ids = [item["id"] for item in items if item.get("type") == "reasoning"]
    assert reply.body["input_transformations"] == [
        {"type": "reasoning", "id": each, "action": "removed", "reason": "prefix_mismatch"}
        for each in ids
    ]
    assert len(ids) == server.report.reasoning_stale == 4


def test_edited_item_removes_reasoning_behind_it() -> None:
    """What stands before it stays."""
    server = _server()
    items = _asked(_talk(server))
    place = next(n for n, item in enumerate(items) if item.get("type") == "function_call_output")
    items[place] = _output(items[place]["call_id"], "[cleared]")

    removed = _send(server, items).body["input_transformations"]

    assert [each["id"] for each in removed] == [
        item["id"] for item in items[place:] if item.get("type") == "reasoning"
    ]
    assert server.report.reasoning_lost == 0


def test_reasoning_has_no_chain() -> None:
    """An item may be left out in the middle; it is counted as lost."""
    server = _server()
    items = _asked(_talk(server))
    ids = [item["id"] for item in items if item.get("type") == "reasoning"]

    reply = _send(server, [item for item in items if item.get("id") != ids[1]])

    assert reply.body["input_transformations"] == []
    assert server.report.reasoning_lost == 1


@pytest.mark.parametrize(("model", "removed"), [("gpt-6.2-sol", 4), ("gpt-7", 4), ("gpt-6", 0)])
def test_only_newer_models_check(model: str, removed: int) -> None:
    """Older ones see all reasoning, whatever stands before it."""
    server = _server()
    items = _talk(server, model=model)
    items[0] = {"role": "user", "content": "Read something else."}

    reply = _send(server, _asked(items), model=model)

    assert len(reply.body["input_transformations"]) == removed


def test_instructions_stand_behind_the_input() -> None:
    """From 6.2 on: a change costs no reasoning, and they are never read from the cache."""
    server = _server()
    items = [{"role": "user", "content": "x" * 8_000}]
    items += _send(server, items, instructions="Be brief. " * 500).body["output"]
    items.append(_output(items[-1]["call_id"]))

    reply = _send(server, items, instructions="Be long. " * 400)

    assert reply.body["input_transformations"] == []
    assert server.report.changes == 0
    assert (server.served[-1].uncached, server.served[-1].read) == (901, 2_023)


def test_instructions_were_in_front() -> None:
    """Before 6.2 they are the first thing that is read."""
    server = _server()
    items = _asked(_talk(server, model="gpt-6", instructions="Be brief."))

    _send(server, items, model="gpt-6", instructions="Be long.")

    assert server.report.changes == 1
    assert server.served[-1].change == "instructions"


def test_ids_of_calls_are_not_read() -> None:
    """Nor are the status of an item and the annotations of a text."""
    server = _server()
    items = _asked(_talk(server))
    for item in items:
        if item.get("type") in ("function_call", "message"):
            item.pop("id", None)
            item.pop("status", None)
    texts = [item for item in items if item.get("type") == "message"]
    texts[0].update(content=[{"type": "output_text", "text": texts[0]["content"][0]["text"]}])

    assert _send(server, items).body["input_transformations"] == []
    assert server.report.changes == 0


@pytest.mark.parametrize(("strict", "status"), [(False, 200), (True, 400)])
def test_strict_server_wants_reasoning_with_calls(strict: bool, status: int) -> None:
    """Of the running loop only."""
    server = _server(strict=strict)
    items: list[Any] = [{"role": "user", "content": "Read it."}]
    output = _send(server, items).body["output"]
    call = output[-1]
    items += [call, _output(call["call_id"])]

    reply = _send(server, items)

    assert reply.status == status
    if strict:
        words = "of type 'function_call' was provided without its required 'reasoning' item: 'rs_"
        assert words in _error(reply)


def test_call_without_its_id_stands_alone() -> None:
    """So whoever leaves out stale reasoning leaves out the ids of its calls, too."""
    server = _server(strict=True)
    items: list[Any] = [{"role": "user", "content": "Read it."}]
    call = {k: v for k, v in _send(server, items).body["output"][-1].items() if k != "id"}

    assert _send(server, [*items, call, _output(call["call_id"])]).status == 200


CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}


@pytest.mark.parametrize(
    ("items", "reason", "words"),
    [
        ([], "empty", "Missing required parameter: 'input'."),
        ([CALL], "pairing", "No tool output found for function call c1."),
        (
            [_output("c1")],
            "pairing",
            "No tool call found for function call output with call_id c1.",
        ),
        ([CALL, CALL, _output("c1")], "pairing", "Duplicate item found with id c1."),
        ([{"role": "tool", "content": "a"}], "roles", "Invalid value: 'tool'."),
        ([{**CALL, "arguments": {}}, _output("c1")], "malformed", "expected a string"),
        (
            [{"type": "reasoning", "id": "rs_1", "summary": []}],
            "roles",
            "'rs_1' of type 'reasoning' was provided without its required following item",
        ),
        (
            [{"type": "reasoning", "id": "rs_1", "summary": []}, CALL, _output("c1")],
            "signature",
            "Item with id 'rs_1' not found",
        ),
        (
            [
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
                CALL,
                _output("c1"),
            ],
            "signature",
            "encrypted content for item rs_1 could not be verified",
        ),
    ],
)
def test_structure_is_enforced(items: list[Any], reason: str, words: str) -> None:
    """Pairs at any distance, roles, and reasoning with what it led to."""
    server = _server()

    assert words in _error(_send(server, items))
    assert server.report.refused == {reason: 1}


def test_reasoning_behind_a_compaction_item_stays() -> None:
    """What precedes the item may be left out, or stay."""
    server = _server()
    items = _talk(server, 3)
    place = [at for at, item in enumerate(items) if item.get("role") == "user"][1]
    # The endpoint takes no tools, and what follows stays valid all the same.
    body = {"model": "gpt-6.2-sol", "input": items[:place]}
    compaction = server.post("/v1/responses/compact", copy.deepcopy(body)).body["output"]

    kept = [*compaction, *items[place:]]

    assert [item["type"] for item in compaction] == ["compaction"]
    for sent in (kept, [*items[:place], *kept]):
        assert _send(server, _asked(sent)).body["input_transformations"] == []
    compaction[0]["encrypted_content"] = "x"
    assert "not found" in _error(_send(server, _asked(kept)))


def test_overflow_has_its_code() -> None:
    """Clients go by the code."""
    reply = _send(_server(window=100), [{"role": "user", "content": "x" * 4_000}])

    assert "exceeds the context window" in _error(reply)
    assert reply.body["error"]["code"] == "context_length_exceeded"


def test_responses_stream_ends_with_the_whole() -> None:
    """The last event has the response that a request without a stream gets."""
    items = [{"role": "user", "content": "Read it."}]
    whole = _send(_server(), items).body

    events = _send(_server(), items, stream=True).events

    assert events[0][0] == "response.created"
    assert events[-1][0] == "response.completed"
    assert events[-1][1]["response"] == whole
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))


def _chat(server: ModelServer, messages: list[Any], **fields: Any) -> ServerReply:
    body = {"model": "gpt-5", "messages": messages, **fields}
    return server.post("/v1/chat/completions", copy.deepcopy(body))


CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
ASKED = {"role": "user", "content": "Read it."}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "text"}


@pytest.mark.parametrize(
    ("messages", "reason", "words"),
    [
        ([], "empty", "empty array"),
        ([ASKED, ASKING], "pairing", "must be followed by tool messages"),
        ([ASKED, ASKING, ASKED, TOLD], "pairing", "must be followed by tool messages"),
        ([ASKED, TOLD], "pairing", "must be a response to a preceding message"),
        ([ASKED, {"role": "assistant", "content": None}], "empty", "expected a string"),
        ([{"role": "model", "content": "a"}], "roles", "Invalid value: 'model'."),
    ],
)
def test_chat_structure_is_enforced(messages: list[Any], reason: str, words: str) -> None:
    """Results stand directly behind their calls."""
    server = _server()

    assert words in _error(_chat(server, messages))
    assert server.report.refused == {reason: 1}


def test_chat_grows_without_change() -> None:
    """A reply that comes back as it was sent extends the request."""
    server = _server()
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, ASKED]
    for _ in range(4):
        message = _chat(server, messages).body["choices"][0]["message"]
        calls = message.get("tool_calls", [])
        results = [{**TOLD, "tool_call_id": call["id"]} for call in calls]
        messages += [message, *(results or [ASKED])]

    assert (server.report.refused, server.report.changes) == ({}, 0)


@pytest.mark.parametrize(("wire", "status"), [("openai_chat", 200), ("qwen_chat", 400)])
def test_template_wants_system_message_first(wire: str, status: int) -> None:
    """A table of rules: local models refuse what OpenAI accepts."""
    server = _server(wires=[MODEL_WIRES[wire]])
    late = {"role": "system", "content": "A summary."}

    assert _chat(server, [{"role": "system", "content": "Be brief."}, late, ASKED]).status == 200
    assert _chat(server, [ASKED, late, ASKED]).status == status


def test_chat_stream_has_text_calls_and_usage() -> None:
    """Chunks as the API sends them, and the word that ends them."""
    fields = {"tools": [{"type": "function", "function": {"name": "read", "parameters": {}}}]}
    whole = _chat(_server(), [ASKED], **fields).body

    events = _chat(_server(), [ASKED], stream=True, **fields).events

    chunks = [data for _, data in events[:-1]]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    message = whole["choices"][0]["message"]
    assert "".join(delta.get("content") or "" for delta in deltas) == message["content"]
    assert [call["function"] for call in calls] == [c["function"] for c in message["tool_calls"]]
    assert (chunks[-1]["usage"], events[-1][1]) == (whole["usage"], "[DONE]")
