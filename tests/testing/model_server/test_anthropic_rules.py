"""The documented rules of Anthropic's wire, each by a literal request.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks (2026-11-27).
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from agentic.testing import AgentScript, ModelServer, ScriptedAnswer
from agentic.testing._model_server import ServerReply

HEADER = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
TOOLS = [{"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}]
BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def _server(**options: Any) -> ModelServer:
    script = AgentScript(turns=20, rounds=1, thinking="I look at it.")
    return ModelServer(script=options.pop("script", script), **options)


def _body(messages: list[Any], **fields: Any) -> dict[str, Any]:
    body = {"model": "claude-fable-5-2", "max_tokens": 100, "system": "Be brief.", "tools": TOOLS}
    return copy.deepcopy({**body, "messages": messages, **fields})


def _send(
    server: ModelServer, messages: list[Any], headers: Any = None, **fields: Any
) -> ServerReply:
    return server.post("/v1/messages", _body(messages, **fields), headers)


def _talk(server: ModelServer, turns: int = 2, **fields: Any) -> list[Any]:
    """Return the messages after some turns, each with a call and a reply."""
    messages: list[Any] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Read part {turn}."})
        while True:
            reply = _send(server, messages, **fields).body
            messages.append({"role": "assistant", "content": reply["content"]})
            if reply["stop_reason"] != "tool_use":
                break
            messages.append(_results(reply))
    return messages


def _results(reply: Any) -> dict[str, Any]:
    calls = [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
    blocks = [
        {"type": "tool_result", "tool_use_id": each, "content": "def f(): ..."} for each in calls
    ]
    return {"role": "user", "content": blocks}


def _asked(messages: list[Any]) -> list[Any]:
    return [*copy.deepcopy(messages), {"role": "user", "content": "And now?"}]


def _thinking(messages: list[Any]) -> list[tuple[int, int]]:
    return [
        (at, place)
        for at, message in enumerate(messages)
        if isinstance(message["content"], list)
        for place, block in enumerate(message["content"])
        if block["type"] == "thinking"
    ]


def _without(messages: list[Any], *places: int) -> list[Any]:
    """Return the messages without some of their thinking blocks, by number."""
    blocks = _thinking(messages)
    messages = copy.deepcopy(messages)
    for place in sorted(places, reverse=True):
        at, inner = blocks[place]
        del messages[at]["content"][inner]
    return messages


def _error(reply: ServerReply) -> str:
    assert reply.status == 400
    assert reply.body["error"]["type"] == "invalid_request_error"
    return str(reply.body["error"]["message"])


def test_history_that_only_grows_is_accepted() -> None:
    """Nothing is refused, lost or changed, from the first request to the last."""
    server = _server()

    reply = _send(server, _asked(_talk(server, 5)))

    assert reply.status == 200
    assert "input_transformations" not in reply.body
    report = server.report
    assert (report.requests, report.refused, report.changes) == (11, {}, 0)
    assert (report.reasoning_made, report.reasoning_lost, report.reasoning_stale) == (11, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": 9},
        {"tool_choice": {"type": "auto"}},
        {"metadata": {"user_id": "ann"}},
        {"output_config": {"effort": "low"}},
        {"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
        {"tools": [*TOOLS, {"name": "late", "input_schema": {}, "defer_loading": True}]},
        {"tools": [{key: TOOLS[0][key] for key in reversed(TOOLS[0])}]},
    ],
)
def test_settings_are_no_part_of_the_prefix(change: dict[str, Any]) -> None:
    """Nor are cache marks, deferred tools and the order of keys."""
    server = _server()
    messages = _asked(_talk(server))

    assert _send(server, messages, **change).status == 200
    assert server.report.reasoning_lost == 0


def _edit_request(body: dict[str, Any]) -> None:
    body["messages"][0]["content"] = "Read something else."


def _edit_result(body: dict[str, Any]) -> None:
    body["messages"][2]["content"][0]["content"] = "[cleared]"


def _edit_system(body: dict[str, Any]) -> None:
    body["system"] = "Be brief. It is Tuesday."


def _add_tool(body: dict[str, Any]) -> None:
    body["tools"].append({"name": "write", "input_schema": {}})


def _cut_first_turn(body: dict[str, Any]) -> None:
    del body["messages"][:4]


def _insert_summary(body: dict[str, Any]) -> None:
    body["messages"][:4] = [{"role": "user", "content": "So far, part 0 was read."}]


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (_edit_request, "messages.1.content.0"),
        (_edit_result, "messages.3.content.0"),
        (_edit_system, "messages.1.content.0"),
        (_add_tool, "messages.1.content.0"),
        (_cut_first_turn, "messages.1.content.0"),
        (_insert_summary, "messages.2.content.0"),
    ],
)
def test_thinking_behind_a_change_is_refused(
    edit: Callable[[dict[str, Any]], None], path: str
) -> None:
    """With the documented message, and the path of the first block behind the change."""
    server = _server()
    body = _body(_asked(_talk(server)))
    edit(body)

    refusal = _error(server.post("/v1/messages", body))

    assert refusal.startswith(f"{path}: {BOUND}")
    assert _error(server.post("/v1/messages", body)) == refusal  # sending it again never helps
    assert server.report.refused == {"binding": 2}


def test_error_names_the_header_only_if_missing() -> None:
    """Whoever sends it is told only what to set."""
    server = _server()
    body = _body(_asked(_talk(server)), system="Be long.")

    assert "anthropic-beta" in _error(server.post("/v1/messages", body))
    assert _error(server.post("/v1/messages", body, HEADER)).endswith('"drop_block".')


@pytest.mark.parametrize("places", [(0,), (0, 1), (3,), (2, 3), (0, 3), (0, 1, 2, 3)])
def test_ends_of_the_chain_may_be_removed(places: tuple[int, ...]) -> None:
    """From the front, from the end, or all."""
    server = _server()
    messages = _without(_asked(_talk(server)), *places)

    assert _send(server, messages).status == 200
    assert server.report.reasoning_lost == len(places)


@pytest.mark.parametrize(("places", "path"), [((1,), "messages.5"), ((2,), "messages.7")])
def test_gap_makes_later_thinking_invalid(places: tuple[int, ...], path: str) -> None:
    """The first block behind the gap is named."""
    server = _server()
    messages = _without(_asked(_talk(server)), *places)

    assert _error(_send(server, messages)).startswith(f"{path}.content.0: {BOUND}")


def test_removed_thinking_never_comes_back() -> None:
    """A block that was left out makes what was made without it invalid."""
    server = _server()
    messages = _asked(_talk(server))
    reply = _send(server, _without(messages, 0)).body
    messages += [{"role": "assistant", "content": reply["content"]}, _results(reply)]

    assert _error(_send(server, messages)).startswith(f"messages.9.content.0: {BOUND}")
    assert _send(server, _without(messages, 0)).status == 200


def test_removing_only_the_named_block_is_not_enough() -> None:
    """The next one is named then; without all of them the request is accepted."""
    server = _server()
    messages = _asked(_talk(server))

    assert _error(_send(server, messages, system="New.")).startswith("messages.1.")
    assert _error(_send(server, _without(messages, 0), system="New.")).startswith("messages.3.")
    assert _send(server, _without(messages, 0, 1, 2, 3), system="New.").status == 200


def test_thinking_after_a_change_stays_valid() -> None:
    """Only what was already behind the change is invalid."""
    server = _server()
    messages = _without(_asked(_talk(server)), 0, 1, 2, 3)
    reply = _send(server, messages, system="New.").body
    messages += [{"role": "assistant", "content": reply["content"]}, _results(reply)]

    assert _send(server, messages, system="New.").status == 200
    report = server.report
    assert (report.changes, report.reasoning_stale, report.reasoning_lost) == (1, 4, 0)


@pytest.mark.parametrize("field", ["signature", "thinking"])
def test_tampered_block_gets_the_first_sentence_only(field: str) -> None:
    """And no control helps."""
    server = _server()
    messages = _asked(_talk(server))
    messages[1]["content"][0][field] += "A"

    refusal = _error(_send(server, messages, HEADER, thinking=DROP))

    assert refusal == "messages.1.content.0: Invalid `signature` in `thinking` block"


def test_control_drops_and_reports_blocks() -> None:
    """Each block behind the change is listed with its path."""
    server = _server()
    messages = _asked(_talk(server))
    messages[2]["content"][0]["content"] = "[cleared]"

    reply = _send(server, messages, HEADER, thinking=DROP)

    dropped = [f"messages.{at}.content.0" for at in (3, 5, 7)]
    assert reply.body["input_transformations"] == [
        {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
        for path in dropped
    ]
    assert (server.report.reasoning_dropped, server.report.reasoning_stale) == (3, 3)


def test_control_is_needed_in_each_request() -> None:
    """The server remembers nothing, and what it dropped once is dropped again."""
    server = _server()
    messages = _asked(_talk(server))
    messages[2]["content"][0]["content"] = "[cleared]"
    reply = _send(server, messages, HEADER, thinking=DROP).body
    messages += [{"role": "assistant", "content": reply["content"]}, _results(reply)]

    assert _error(_send(server, messages)).startswith("messages.3.content.0")
    again = _send(server, messages, HEADER, thinking=DROP).body
    assert len(again["input_transformations"]) == 3


def test_control_without_its_header_is_refused() -> None:
    """As a field that is not known."""
    server = _server()

    refusal = _error(_send(server, _asked([]), thinking=DROP))

    assert refusal.startswith("thinking.block_binding: Extra inputs are not permitted")
    assert server.report.refused == {"control": 1}


def test_older_account_is_checked_only_on_request() -> None:
    """The setting switches the check on, and loses what would have been accepted."""
    server = _server(new_account=False)
    model = {"model": "claude-opus-5-5"}
    messages = _asked(_talk(server, **model))

    shown = _send(server, messages, system="New.", **model).body
    dropped = _send(server, messages, HEADER, system="New.", thinking=DROP, **model).body

    types = {each["type"] for each in shown["input_transformations"]}
    assert types == {"thinking_mismatch_allowed"}
    assert len(dropped["input_transformations"]) == 4
    assert {each["type"] for each in dropped["input_transformations"]} == {"thinking_dropped"}


@pytest.mark.parametrize(
    ("model", "new_account", "status"),
    [
        ("claude-fable-5-2", False, 400),
        ("claude-mythos-5-2", False, 400),
        ("claude-haiku-5-5", True, 400),
        ("claude-haiku-5-5", False, 200),
        ("claude-opus-4-5", True, 200),
    ],
)
def test_only_some_models_check(model: str, new_account: bool, status: int) -> None:
    """Some for every account, some for newer ones, older ones never."""
    server = _server(new_account=new_account)
    messages = _asked(_talk(server, model=model))

    assert _send(server, messages, system="New.", model=model).status == status


def test_thinking_of_another_model_is_dropped_silently() -> None:
    """It is reported, and readable again by the model that made it."""
    server = _server()
    messages = _asked(_talk(server))

    reply = _send(server, messages, model="claude-opus-4-5").body

    assert {each["reason"] for each in reply["input_transformations"]} == {"model_binding_mismatch"}
    assert _send(server, messages).status == 200  # the model that made it still reads it


@pytest.mark.parametrize(("strict", "status"), [(False, 200), (True, 400)])
def test_strict_server_wants_the_loops_thinking(strict: bool, status: int) -> None:
    """A lenient one does not."""
    server = _server(strict=strict)
    messages = [{"role": "user", "content": "Read it."}]
    reply = _send(server, messages).body
    content = [block for block in reply["content"] if block["type"] != "thinking"]
    messages += [{"role": "assistant", "content": content}, _results(reply)]

    sent = _send(server, messages)

    assert sent.status == status
    if strict:
        assert _error(sent).startswith("messages.1.content.0.type: Expected `thinking`")


def test_strict_server_forgets_former_turns() -> None:
    """Thinking of turns that are over need not come back, and a dropped block did come back."""
    server = _server(strict=True)
    messages = _asked(_talk(server))
    reply = _send(server, messages).body
    messages += [{"role": "assistant", "content": reply["content"]}, _results(reply)]

    assert _send(server, _without(messages, 0, 1, 2, 3)).status == 200
    assert _send(server, messages, HEADER, thinking=DROP, system="New.").status == 200


def test_counted_refusal_is_answered() -> None:
    """So that a run goes on, and all its refusals are seen."""
    server = _server(refusals="counted", strict=True)
    messages = _asked(_talk(server))

    assert _send(server, messages, system="New.").status == 200
    assert server.report.refused == {"binding": 1}


CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "text"}


@pytest.mark.parametrize(
    ("messages", "reason", "words"),
    [
        ([], "empty", "messages: at least one message is required"),
        ([("assistant", "hi")], "roles", 'messages: first message must use the "user" role'),
        ([("user", "hi"), ("assistant", "ha")], "roles", "does not support assistant message"),
        ([("system", "hi"), ("user", "ha")], "roles", 'first message must use the "user" role'),
        ([("tool", "hi")], "roles", "messages.0.role: Input should be 'user' or 'assistant'"),
        ([("user", "")], "empty", "messages.0: all messages must have non-empty content"),
        ([("user", [{"type": "text", "text": " "}])], "empty", "contain non-whitespace text"),
        ([("user", "hi"), ("assistant", [CALL])], "roles", "does not support"),
        (
            [("user", "hi"), ("assistant", [CALL]), ("user", "no")],
            "pairing",
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after",
        ),
        (
            [("user", "hi"), ("user", [RESULT])],
            "pairing",
            "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1",
        ),
        (
            [("user", "hi"), ("assistant", [CALL]), ("user", [RESULT, RESULT])],
            "pairing",
            "messages.2.content.1: `tool_use` ids must be unique",
        ),
        (
            [
                ("user", "hi"),
                ("assistant", [CALL]),
                ("user", [{"type": "text", "text": "a"}, RESULT]),
            ],
            "pairing",
            "messages.2: `tool_result` blocks must come first",
        ),
        (
            [("user", "hi"), ("assistant", [CALL]), ("system", "be quick"), ("user", [RESULT])],
            "roles",
            "messages.2: a system message is not allowed here",
        ),
    ],
)
def test_structure_is_enforced(messages: list[Any], reason: str, words: str) -> None:
    """Roles, pairs and content, in the words of the API."""
    server = _server()
    sent = [{"role": role, "content": content} for role, content in messages]

    assert words in _error(_send(server, sent))
    assert server.report.refused == {reason: 1}


def test_messages_of_one_role_are_one() -> None:
    """Two messages of the user read like one with two blocks, and may be sent as one later."""
    server = _server()
    two = [{"role": "user", "content": "Read it."}, {"role": "user", "content": "Now."}]
    reply = _send(server, two).body
    blocks = [{"type": "text", "text": "Read it."}, {"type": "text", "text": "Now."}]
    merged = [{"role": "user", "content": blocks}]

    later = [*merged, {"role": "assistant", "content": reply["content"]}, _results(reply)]

    assert _send(server, later).status == 200
    assert server.report.changes == 0


def test_late_system_message_is_appended() -> None:
    """It stands behind the user's, and changes nothing before it."""
    server = _server()
    messages = [*_asked(_talk(server)), {"role": "system", "content": "Answer in French."}]

    assert _send(server, messages).status == 200
    assert server.report.changes == 0


def test_system_message_for_one_turn_is_no_prefix() -> None:
    """It may be left out when the server has cleared it."""
    server = _server()
    hint = {"role": "system", "content": "It is late.", "clear_at": "next_user_message"}
    first = [{"role": "user", "content": "Read it."}]
    reply = _send(server, [*first, hint]).body

    messages = [*first, {"role": "assistant", "content": reply["content"]}, _results(reply)]

    assert _send(server, messages).status == 200
    assert (server.report.changes, server.report.reasoning_lost) == (0, 0)


def test_request_larger_than_window_is_refused() -> None:
    """In the words by which clients recognize an overflow."""
    server = _server(window=100)

    refusal = _error(_send(server, [{"role": "user", "content": "x" * 4_000}]))

    assert refusal == "prompt is too long: 1036 tokens > 100 maximum"
    assert server.report.refused == {"overflow": 1}


def test_stream_says_the_same() -> None:
    """In the events of the API, in their order."""
    answer = ScriptedAnswer(
        text="I read.", calls=({"path": "a.py"},), thinking="Hm.", thinking_tokens=9
    )
    server = _server(script=lambda _: answer)
    whole = _send(server, [{"role": "user", "content": "Read it."}]).body

    reply = _send(server, [{"role": "user", "content": "Read it."}], stream=True)

    names = [name for name, _ in reply.events]
    assert names[0] == "message_start"
    assert names[-2:] == ["message_delta", "message_stop"]
    starts = [data["content_block"]["type"] for name, data in reply.events if "block_start" in name]
    assert starts == [block["type"] for block in whole["content"]]
    assert reply.sse().startswith(b"event: message_start\ndata: {")


def test_stream_reports_transformations_first() -> None:
    """In `message_start`, before any content."""
    server = _server()
    messages = _asked(_talk(server))

    reply = _send(server, messages, HEADER, thinking=DROP, system="New.", stream=True)

    assert len(reply.events[0][1]["message"]["input_transformations"]) == 4


COMPACT = {**HEADER, "anthropic-beta": "compact-2026-09-04"}
SUMMARIZE = {"type": "summarize"}


def _compacted(server: ModelServer, messages: list[Any]) -> list[Any]:
    """Return the block that a summary on the server returns, in its message."""
    reply = _send(server, messages, COMPACT, compaction=SUMMARIZE).body
    assert reply["stop_reason"] == "compaction"
    return [{"role": "assistant", "content": reply["content"]}]


def test_thinking_behind_a_summary_stays_valid() -> None:
    """If what is kept follows directly and unchanged; the summary is a change of what was sent."""
    server = _server()
    messages = _talk(server, 3)
    summary = _compacted(server, messages[:4])

    reply = _send(server, _asked([*summary, *messages[4:]]))

    assert reply.status == 200
    assert "input_transformations" not in reply.body
    report = server.report
    assert (report.changes, report.reasoning_lost, report.reasoning_stale) == (1, 0, 2)


def test_summary_must_be_followed_by_what_followed() -> None:
    """What was left out between them makes the thinking invalid."""
    server = _server()
    messages = _talk(server, 3)
    summary = _compacted(server, messages[:4])

    assert "messages.2.content.0: " in _error(_send(server, _asked([*summary, *messages[8:]])))
    within = _compacted(server, messages[:7])  # inside a turn, behind the results of its call
    assert _send(server, _asked([*within, *messages[7:]])).status == 200
    assert "must come first" in _error(_send(server, _asked([*messages[:4], *summary])))


def test_changed_summary_is_refused() -> None:
    """It is sent back as it came; an empty one says nothing."""
    server = _server()
    messages = _talk(server)
    summary = _compacted(server, messages)
    assert _send(server, _asked(summary)).status == 200
    summary[0]["content"][0]["content"] += "!"

    assert "in `compaction` block" in _error(_send(server, _asked(summary)))
    summary[0]["content"][0]["content"] = None
    assert _send(server, _asked(summary)).status == 200


def test_summary_needs_its_header() -> None:
    """And no choice of a tool."""
    server = _server()
    messages = _talk(server)
    forced = {"type": "any"}

    assert "compaction: " in _error(_send(server, messages, compaction=SUMMARIZE))
    reply = _send(server, messages, COMPACT, compaction=SUMMARIZE, tool_choice=forced)
    assert "tool_choice" in _error(reply)
