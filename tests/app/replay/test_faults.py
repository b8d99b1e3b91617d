"""Sessions that were misread in silence, each as a neutral file: what is not understood is told."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from agentic.app.replay import Transcript, TranscriptUnreadable, read_transcripts

Write = Callable[..., Path]
LONG = "a long text about the parser and its tables, " * 20


def read(lines: list[Any]) -> Transcript:
    """Read lines that hold one conversation."""
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    [transcript] = read_transcripts("session.jsonl", file=BytesIO(content))
    return transcript


def roles(transcript: Transcript) -> str:
    """Return the first letters of the roles."""
    return "".join(message.role[0] for message in transcript.messages)


def entry(
    number: int, parent: int | str | None, kind: str = "user", **fields: Any
) -> dict[str, Any]:
    """Make an entry of Claude Code with a text of its own."""
    parent = f"u{parent}" if isinstance(parent, int) else parent
    links = {"type": kind, "sessionId": "s", "uuid": f"u{number}", "parentUuid": parent}
    if kind in {"user", "assistant"}:
        links["message"] = {"role": kind, "content": f"text {number}"}
    return {**links, **fields}


def gemini_call(number: int) -> dict[str, Any]:
    """Make a call of Gemini CLI with its result."""
    answer = {"id": f"c{number}", "name": "read", "response": {"output": f"x = {number}"}}
    call = {"id": f"c{number}", "name": "read", "args": {}, "status": "success"}
    return {**call, "result": [{"functionResponse": answer}]}


def gemini_line(number: int, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    """Make a message of Gemini CLI."""
    return {"id": f"m{number}", "timestamp": "", "type": kind, "content": content, **fields}


def test_gemini_results_are_read_once() -> None:
    """Since 0.45 each is recorded once more, as a message of the user."""
    call = gemini_call(1)

    transcript = read(
        [
            gemini_line(1, "user", [{"text": "Read a.py."}]),
            gemini_line(2, "gemini", "I do.", toolCalls=[call], model="gemini-2.5-pro"),
            gemini_line(3, "user", call["result"]),
            gemini_line(4, "gemini", "It sets x.", tokens={"input": 70, "output": 3, "cached": 9}),
        ]
    )

    assert roles(transcript) == "uata"
    assert transcript.messages[2].tool_results[0].output == "x = 1"
    assert transcript.model == "gemini-2.5-pro"
    assert transcript.messages[3].usage is not None
    assert transcript.messages[3].usage.input == 70


def test_gemini_calls_in_parts_are_read() -> None:
    """After a resume, calls and thoughts are parts of the content, and results the user's."""
    parts = [
        {"text": "Which?", "thought": True},
        {"text": "I do."},
        {"functionCall": {"name": "read", "args": {"path": "a.py"}}},
    ]
    answer = {"name": "read", "response": {"output": "x = 1"}}

    transcript = read(
        [
            gemini_line(1, "user", [{"text": "Read a.py."}]),
            gemini_line(2, "gemini", parts),
            gemini_line(3, "user", [{"functionResponse": answer}]),
        ]
    )

    _, reply, result = transcript.messages
    assert (reply.reasoning, reply.content) == ("Which?", "I do.")
    assert reply.tool_calls[0].parse() == {"path": "a.py"}
    assert transcript.mended() is transcript
    assert result.tool_results[0].output == "x = 1"


def test_claude_goes_on_where_a_link_leads_out() -> None:
    """A compaction's `logicalParentUuid` may never have been written."""
    boundary = entry(3, None, "system", logicalParentUuid="never-written")
    summary = entry(4, 3, isCompactSummary=True)

    transcript = read(
        [entry(1, None), entry(2, 1, "assistant"), boundary, summary, entry(5, 4), entry(6, 5)]
    )

    assert [each.content for each in transcript.messages] == [f"text {n}" for n in (1, 2, 5, 6)]
    assert transcript.notes[0].startswith("1 entry names a parent that is not in the file")
    assert [each.position for each in transcript.compactions] == [2]


def test_a_compacted_subagent_keeps_its_beginning() -> None:
    """All of its entries are of a side chain, and its marker names what was never written."""
    boundary = entry(3, None, "system", logicalParentUuid="never-written")
    lines = [entry(1, None), entry(2, 1, "assistant"), boundary]
    lines += [entry(4, 3, isCompactSummary=True), entry(5, 4, "assistant"), entry(6, 5)]

    transcript = read([{**line, "isSidechain": True} for line in lines])

    assert [each.content for each in transcript.messages] == [f"text {n}" for n in (1, 2, 5, 6)]
    assert [each.position for each in transcript.compactions] == [2]


def test_a_second_root_is_another_branch() -> None:
    """An entry without a parent is a root: the user went back to the beginning."""
    transcript = read([entry(1, None), entry(2, 1, "assistant"), entry(3, None)])

    assert [each.content for each in transcript.messages] == ["text 3"]


def test_pi_goes_on_where_a_link_leads_out() -> None:
    """So do the sessions of OpenClaw, which is made from it."""
    lines = [
        {
            "type": "message",
            "id": f"e{n}",
            "parentId": "lost" if n == 3 else f"e{n - 1}",
            "message": {"role": "user", "content": str(n)},
        }
        for n in range(1, 6)
    ]

    transcript = read([{"type": "session", "cwd": "/src"}, *lines])

    assert [each.content for each in transcript.messages] == list("12345")


def test_a_late_progress_entry_forks_nothing() -> None:
    """What a hook wrote late names an early parent; nothing between them was taken back."""
    transcript = read(
        [
            entry(1, None),
            entry(2, 1, "assistant"),
            entry(3, 2, "progress"),
            entry(4, 2),
            entry(5, 4, "assistant"),
            entry(6, 3, "progress"),
            entry(7, 6),
            entry(8, 7, "assistant"),
        ]
    )

    assert [each.content for each in transcript.messages] == [
        f"text {n}" for n in (1, 2, 4, 5, 7, 8)
    ]
    assert transcript.notes == ()


def test_a_rewind_past_progress_is_one() -> None:
    """The progress entries on the new branch are older than what was left, or behind its words."""
    transcript = read(
        [
            entry(1, None),
            entry(2, 1, "assistant"),
            entry(3, 2, "progress"),
            entry(4, 3),
            entry(5, 4, "assistant"),
            entry(6, 3),
            entry(7, 6, "progress"),
            entry(8, 7, "assistant"),
        ]
    )

    assert [each.content for each in transcript.messages] == [f"text {n}" for n in (1, 2, 6, 8)]
    assert transcript.notes == ("2 entries of abandoned branches are left out",)


def test_claude_attachments_are_read() -> None:
    """A request that was typed while the agent worked, and a file; other kinds are counted."""
    file = {"type": "text", "file": {"filePath": "a.py", "content": "x = 1"}}
    attachments = [
        {"type": "queued_command", "prompt": "And b.py."},
        {"type": "queued_command", "prompt": [{"type": "text", "text": "And c.py."}]},
        {"type": "file", "filename": "a.py", "content": file},
        {"type": "todo_reminder", "content": "Not sent as such."},
        {"type": "telepathy", "content": "Hm."},
    ]
    lines = [
        entry(n, n - 1, "attachment", attachment=each) for n, each in enumerate(attachments, 2)
    ]

    transcript = read([entry(1, None), *lines, entry(7, 6, "assistant")])

    said = [each.content for each in transcript.messages]
    assert said == ["text 1", "And b.py.", "And c.py.", "a.py\nx = 1", "text 7"]
    assert transcript.notes == (
        "not understood: 1 x attachment of the kind 'telepathy' (12 characters)",
    )


def test_codex_summary_is_no_reply() -> None:
    """Codex writes it as a reply, right before the compaction that it belongs to."""

    def item(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": "response_item", "payload": {"type": kind, **fields}}

    def said(role: str, text: str) -> dict[str, Any]:
        return item("message", role=role, content=[{"type": "input_text", "text": text}])

    reply = said("assistant", "It sets x.")
    summary = [item("reasoning", summary=[]), said("assistant", "So far: x is set.")]
    compacted = {"type": "compacted", "payload": {"message": "Handed over:\nSo far: x is set."}}
    counts = {"input_tokens": 90, "cached_input_tokens": 40, "output_tokens": 4}
    counted = {"type": "token_count", "info": {"last_token_usage": counts}}

    transcript = read(
        [
            said("user", "Read a.py."),
            reply,
            {"type": "event_msg", "payload": counted},
            *summary,
            compacted,
            said("user", "Now b.py."),
        ]
    )

    assert [each.content for each in transcript.messages] == [
        "Read a.py.",
        "It sets x.",
        "Now b.py.",
    ]
    [compaction] = transcript.compactions
    assert compaction.position == 2
    assert [each.content for each in compaction.view] == [
        "Read a.py.",
        compacted["payload"]["message"],
    ]
    assert transcript.messages[1].usage is not None
    assert transcript.messages[1].usage.cache_read == 40


@pytest.mark.parametrize(
    "odd",
    [
        '{"role":',
        "[1]",
        '{"role":"boss","content":"Mind the gap."}',
        '{"content":"Nobody said it."}',
    ],
)
def test_one_odd_line_is_left_out(odd: str, write: Write) -> None:
    """And noted; the session is read."""
    lines = ['{"role":"user","content":"a"}', odd, '{"role":"assistant","content":"b"}']

    [transcript] = read_transcripts(write(("\n".join(lines) + "\n").encode()))

    assert [each.content for each in transcript.messages] == ["a", "b"]
    assert transcript.notes[0].startswith("line 2 is left out: ")


def test_an_odd_first_line_is_left_out(write: Write) -> None:
    """Such as what a shell printed above the session."""
    lines = b'Welcome.\n{"role":"user","content":"a"}\n{"role":"assistant","content":"b"}\n'

    [transcript] = read_transcripts(write(lines))

    assert len(transcript.messages) == 2
    assert transcript.notes[0].startswith("line 1 is left out: 'Welcome.' is not JSON")


def test_mostly_odd_lines_are_no_session(write: Write) -> None:
    """A text with some JSON in it is refused."""
    with pytest.raises(TranscriptUnreadable, match=r"line 1: .* is not JSON"):
        read_transcripts(write(b'# Notes\n{"role":"user","content":"a"}\nMore notes.\n'))


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([{"role": "user", "text": LONG}], "message with text"),
        ([{"role": "user", "content": [{"type": "vision", "prose": LONG}]}], "'vision'"),
        (
            [{"role": "assistant", "content": [{"type": "tool_use", "id": "c"}, {"x": LONG}]}],
            "none",
        ),
        ([entry(1, None), entry(2, 1, "attachment", attachment={"type": "x", "y": LONG})], "'x'"),
        ([{"type": "function_call", "call_id": "c", "name": "f"}, {"type": "y", "z": LONG}], "'y'"),
        (
            [
                {"type": "session_start", "id": "s"},
                {"type": "message", "message": {"role": "user", "content": "Hi."}},
                {"type": "song", "words": LONG},
            ],
            "'song'",
        ),
    ],
)
def test_unknown_content_is_counted(lines: list[Any], kind: str) -> None:
    """It never becomes an empty message in silence, and the session has no verdict."""
    transcript = read([{"role": "user", "content": "Hi."}, *lines] if "role" in lines[0] else lines)

    [told] = [each for each in transcript.notes if each.startswith("not understood: 1 x ")]
    assert kind in told
    assert transcript.unknown_share > 0.8
    assert not transcript.is_understood


def test_a_little_unknown_text_is_no_reason() -> None:
    """A verdict needs nine tenths."""
    transcript = read(
        [
            {"role": "user", "content": LONG},
            {"role": "user", "content": [{"type": "vision", "prose": "A cat."}]},
        ]
    )

    assert transcript.is_understood
    assert 0 < transcript.unknown_share < 0.1


def test_cursor_is_refused() -> None:
    """With the sentence that says why."""
    line = {"role": "user", "message": {"content": [{"type": "text", "text": "Hi."}]}}

    with pytest.raises(TranscriptUnreadable, match="Cursor's transcripts hold no results"):
        read([line])


def test_hosted_mcp_calls_hold_their_output() -> None:
    """A call that the provider's server has run is a call and its result."""
    call = {"type": "mcp_call", "id": "c", "name": "look", "arguments": "{}", "output": "a.py"}
    asked = {"role": "user", "content": [{"type": "input_text", "text": "Look."}]}

    transcript = read([asked, call, {"type": "message", "role": "assistant", "content": "Done."}])

    assert roles(transcript) == "uata"
    assert transcript.messages[2].tool_results[0].output == "a.py"


def test_opencode_reverts_are_left_out(tmp_path: Path) -> None:
    """From the message on that the user went back to; in it, from the part on."""
    parts = [{"id": f"p{n}", "type": "text", "text": f"part {n}"} for n in (1, 2)]
    messages = [
        {"info": {"id": "m1", "role": "user"}, "parts": [{"type": "text", "text": "Read."}]},
        {"info": {"id": "m2", "role": "assistant", "modelID": "gpt-5"}, "parts": parts},
        {"info": {"id": "m3", "role": "user"}, "parts": [{"type": "text", "text": "Gone."}]},
    ]
    revert = {"messageID": "m2", "partID": "p2"}
    database = tmp_path / "opencode.db"
    with closing(sqlite3.connect(database)) as opened:
        opened.execute("CREATE TABLE session (id, revert)")
        opened.execute("CREATE TABLE message (id, session_id, time_created, data)")
        opened.execute("CREATE TABLE part (id, message_id, session_id, data)")
        opened.execute("INSERT INTO session VALUES ('s', ?)", (json.dumps(revert),))
        for at, each in enumerate(messages):
            row = (each["info"]["id"], "s", at, json.dumps(each["info"]))
            opened.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
            for number, part in enumerate(each["parts"]):
                put = (part.get("id", f"p{number}"), row[0], "s", json.dumps(part))
                opened.execute("INSERT INTO part VALUES (?, ?, ?, ?)", put)
        opened.commit()

    exported = read([{"info": {"id": "s", "revert": revert}, "messages": messages}])
    [stored] = read_transcripts(database)

    for transcript in (exported, stored):
        assert [each.content for each in transcript.messages] == ["Read.", "part 1"]
        assert transcript.notes == ("2 messages that were reverted are left out",)
        assert transcript.model == "gpt-5"


def test_cline_results_in_texts_answer_their_calls() -> None:
    """In the order of the calls, the output in the same text or in the next one."""
    uses = [
        {"type": "tool_use", "id": f"c{n}", "name": name, "input": {}}
        for n, name in enumerate(["read_file", "read_file", "execute_command"])
    ]
    answers = [
        {"type": "text", "text": "[read_file for 'a.py'] Result:\nx = 1"},
        {"type": "text", "text": "[read_file for 'b.py'] Result:"},
        {"type": "text", "text": "y = 2"},
        {"type": "tool_result", "tool_use_id": "c2", "content": [{"query": "ls", "result": "a"}]},
        {"type": "text", "text": "<environment_details>later</environment_details>"},
    ]

    transcript = read(
        [
            {"role": "user", "content": [{"type": "text", "text": "Read."}], "ts": 1},
            {"role": "assistant", "content": uses, "modelInfo": {"modelId": "claude-sonnet-4-5"}},
            {"role": "user", "content": answers},
        ]
    )

    results = transcript.messages[2].tool_results
    assert transcript.format == "Cline task"
    assert transcript.mended() is transcript
    assert [each.output for each in results] == ["x = 1", "y = 2", '{"query": "ls", "result": "a"}']
    assert transcript.messages[3].content.startswith("<environment_details>")


def test_cline_3_keeps_its_messages_in_a_document() -> None:
    """Each output is a list of objects without a type, and none of it is lost."""
    use = {"type": "tool_use", "id": "c1", "name": "run_commands", "input": {"commands": ["ls"]}}
    outputs = [{"query": "ls", "result": "a.py", "success": True}]
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": outputs}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "List."}], "ts": 1},
        {"role": "assistant", "content": [use], "ts": 2},
        {"role": "user", "content": [answer], "ts": 3},
    ]

    transcript = read([{"version": 1, "messages": messages}])

    assert transcript.format == "Cline task"
    [result] = transcript.messages[2].tool_results
    assert json.loads(result.output) == outputs[0]


def test_copilots_subagents_are_not_the_conversation() -> None:
    """Their events have an `agentId`; what is ephemeral repeats what whole events say."""

    def event(kind: str, data: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": "e", "parentId": None, **fields}

    request = {"toolCallId": "c1", "name": "task", "arguments": {"prompt": "Look."}}
    inner = {"toolCallId": "c2", "name": "view", "arguments": {"path": "a.py"}}

    def done(call: str, text: str) -> dict[str, Any]:
        return {"toolCallId": call, "success": True, "result": {"content": text}}

    transcript = read(
        [
            event("mcp.tools.list_changed", {"serverName": "hub"}, ephemeral=True),
            event("user.message", {"content": "Ask somebody."}),
            event("model.call_start", {"turnId": "0", "model": "gpt-5"}, ephemeral=True),
            event("assistant.message", {"content": "", "toolRequests": [request]}),
            event("subagent.started", {"toolCallId": "c1"}, agentId="c1"),
            event("assistant.message", {"content": "", "toolRequests": [inner]}, agentId="c1"),
            event("tool.execution_complete", done("c2", "x = 1"), agentId="c1"),
            event("tool.execution_complete", done("c1", "It sets x.")),
            event("assistant.message", {"content": "It sets x."}),
        ]
    )

    assert roles(transcript) == "uata"
    assert transcript.mended() is transcript
    assert transcript.notes == ("3 events of subagents are left out",)


def test_droid_sends_what_follows_the_anchor() -> None:
    """A compaction covers what came up to its anchor; the rest stands behind the summary."""

    def line(number: int, role: str) -> dict[str, Any]:
        message = {"role": role, "content": [{"type": "text", "text": f"text {number}"}]}
        return {"type": "message", "id": f"m{number}", "message": message}

    compacted = {
        "type": "compaction_state",
        "summaryText": "So far.",
        "anchorMessage": {"id": "m2", "index": 1},
    }

    transcript = read(
        [
            {"type": "session_start", "id": "s"},
            *(line(1, "user"), line(2, "assistant"), line(3, "user"), line(4, "assistant")),
            {"type": "agent_turn_outcome", "resultKind": "success"},
            compacted,
            *(line(5, "user"), line(6, "assistant")),
        ]
    )

    assert roles(transcript) == "uauaua"
    [compaction] = transcript.compactions
    assert (compaction.position, compaction.resumes) == (4, 2)
    assert transcript.notes == ("1 of its own compactions is left out: the originals are replayed",)


def test_openhands_context_is_read() -> None:
    """What was added to a request and to the system prompt was sent, too."""
    more = {"type": "text", "text": "Mind the style."}
    prompt = {"kind": "SystemPromptEvent", "source": "agent", "tools": []}
    request = {"role": "user", "content": [{"type": "text", "text": "Read a.py."}]}
    message = {"kind": "MessageEvent", "source": "user", "llm_message": request}

    transcript = read(
        [
            {
                **prompt,
                "system_prompt": {"type": "text", "text": "Be brief."},
                "dynamic_context": more,
            },
            {**message, "extended_content": [{"type": "text", "text": "It is in src/."}]},
        ]
    )

    said = [each.content for each in transcript.messages]
    assert said == ["Be brief.\nMind the style.", "Read a.py.\nIt is in src/."]


def test_continue_records_usage_and_model() -> None:
    """Its CLI does, in each reply."""
    details = {"cached_tokens": 500}
    counts = {"prompt_tokens": 812, "completion_tokens": 64, "model": "gpt-5"}
    reply = {
        "role": "assistant",
        "content": "Hello.",
        "usage": counts | {"prompt_tokens_details": details},
    }
    history = [{"message": {"role": "user", "content": "Hi."}}, {"message": reply}]

    transcript = read([{"sessionId": "s", "history": history}])

    usage = transcript.messages[1].usage
    assert usage is not None
    assert (usage.input, usage.output, usage.cache_read) == (812, 64, 500)
    assert transcript.model == "gpt-5"


def test_media_of_results_are_read() -> None:
    """Gemini has them beside the response; Bedrock's may be an address, with half a media type."""
    picture = {"file_data": {"mime_type": "image/png", "file_uri": "gs://b/a.png"}}
    answer = {"id": "c1", "name": "look", "response": {"seen": "a"}, "parts": [picture]}
    stored = {"format": "png", "source": {"s3Location": {"uri": "s3://b/a.png"}}}
    result = {"toolUseId": "c1", "content": [{"image": stored}], "status": "success"}

    gemini = read(
        [
            {"role": "user", "parts": [{"text": "Look."}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look"}}]},
            {"role": "user", "parts": [{"functionResponse": answer}]},
        ]
    )
    bedrock = read(
        [
            {"role": "user", "content": [{"text": "Look."}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look"}}]},
            {"role": "user", "content": [{"toolResult": result}]},
        ]
    )

    for transcript, address in ((gemini, "gs://b/a.png"), (bedrock, "s3://b/a.png")):
        [media] = transcript.messages[2].tool_results[0].media
        assert (media.media_type, media.url) == ("image/png", address)


def test_the_files_model_is_known() -> None:
    """Of the replies, not of a message that no model wrote."""
    reply = entry(2, 1, "assistant")
    reply["message"]["model"] = "claude-sonnet-4-5"
    synthetic = entry(3, 2, "assistant")
    synthetic["message"]["model"] = "<synthetic>"

    assert read([entry(1, None), reply, synthetic]).model == "claude-sonnet-4-5"
    assert (
        read([{"model": "gpt-5", "messages": [{"role": "user", "content": "a"}]}]).model == "gpt-5"
    )
