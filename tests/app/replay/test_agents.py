"""The session files of other agents, each in the form that its maker writes."""

import asyncio
import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from agentic.app.replay import Transcript, TranscriptUnreadable, read_transcripts
from agentic.app.replay._transcripts import find_sessions, leads_to_session
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message, ToolCall, ToolError

Write = Callable[..., Path]
SAID = [
    ("user", "Read a.py."),
    ("assistant", "I do."),
    ("tool", ""),
    ("assistant", "It sets x."),
]
CALL = ToolCall("c1", "read", '{"path": "a.py"}')


def one(path: Path) -> Transcript:
    """Read a file that holds one conversation."""
    [transcript] = read_transcripts(path)
    return transcript


def item(kind: str, **fields: Any) -> dict[str, Any]:
    """Make a line of a rollout."""
    return {"timestamp": "", "type": "response_item", "payload": {"type": kind, **fields}}


def text_item(role: str, text: str) -> dict[str, Any]:
    """Make a message of a rollout."""
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def codex() -> list[dict[str, Any]]:
    """Make a rollout of Codex."""
    return [
        {
            "type": "session_meta",
            "payload": {"id": "s", "base_instructions": {"text": "Be brief."}},
        },
        {"type": "turn_context", "payload": {"model": "gpt-5"}},
        text_item("user", "Read a.py."),
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Read a.py."}},
        item("reasoning", summary=[{"type": "summary_text", "text": "Which?"}]),
        text_item("assistant", "I do."),
        item("function_call", name="read", call_id="c1", arguments='{"path": "a.py"}'),
        item("function_call_output", call_id="c1", output="x = 1"),
        item("ghost_snapshot", ghost_commit={}),
        text_item("assistant", "It sets x."),
    ]


def gemini() -> list[dict[str, Any]]:
    """Make a session of Gemini CLI; its reply is written twice, first without the call."""
    result = [{"functionResponse": {"id": "c1", "response": {"output": "x = 1"}}}]
    call = {"id": "c1", "name": "read", "args": {"path": "a.py"}, "result": result}
    reply = {"id": "m2", "timestamp": "", "type": "gemini", "content": "I do."}
    return [
        {"sessionId": "s", "projectHash": "p", "kind": "main"},
        {"id": "m1", "timestamp": "", "type": "user", "content": [{"text": "Read a.py."}]},
        reply,
        {"$set": {"lastUpdated": "later"}},
        {**reply, "toolCalls": [{**call, "status": "success"}]},
        {"id": "i1", "timestamp": "", "type": "info", "content": "Update available."},
        {"id": "m3", "timestamp": "", "type": "gemini", "content": "It sets x."},
    ]


def kimi() -> list[dict[str, Any]]:
    """Make a context.jsonl of Kimi CLI."""
    function = {"name": "read", "arguments": '{"path": "a.py"}'}
    parts = [{"type": "think", "think": "Which?"}, {"type": "text", "text": "I do."}]
    calls = [{"type": "function", "id": "c1", "function": function}]
    output = [{"type": "text", "text": "x = 1"}]
    return [
        {"role": "_system_prompt", "content": "Be brief."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": parts, "tool_calls": calls},
        {"role": "_usage", "token_count": 99},
        {"role": "tool", "content": output, "tool_call_id": "c1"},
        {"role": "assistant", "content": [{"type": "text", "text": "It sets x."}]},
    ]


def loop(kind: str, step: str, **fields: Any) -> dict[str, Any]:
    """Make an event of Kimi Code's loop."""
    event = {"type": kind, "stepUuid": step, **fields}
    return {"type": "context.append_loop_event", "time": 1, "event": event}


def kimi_code() -> list[dict[str, Any]]:
    """Make a wire.jsonl of Kimi Code."""
    content = [{"type": "text", "text": "Read a.py."}]
    asked = {"role": "user", "content": content, "toolCalls": [], "origin": {"kind": "user"}}
    call = {"toolCallId": "c1", "name": "read", "args": {"path": "a.py"}}
    return [
        {"type": "metadata", "protocol_version": "1.4", "created_at": 1},
        {"type": "context.append_message", "message": asked},
        loop("step.begin", "s1"),
        loop("content.part", "s1", part={"type": "think", "think": "Which?"}),
        loop("content.part", "s1", part={"type": "text", "text": "I do."}),
        loop("tool.call", "s1", **call),
        loop("tool.result", "s1", toolCallId="c1", result={"output": "x = 1"}),
        loop("content.part", "s2", part={"type": "text", "text": "It sets x."}),
    ]


def opencode() -> list[dict[str, Any]]:
    """Make the messages of a session of OpenCode, each with its parts."""
    state = {"status": "completed", "input": {"path": "a.py"}, "output": "x = 1"}
    tool = {"type": "tool", "callID": "c1", "tool": "read", "state": state}
    return [
        {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Read a.py."}]},
        {
            "info": {"role": "assistant"},
            "parts": [
                {"type": "step-start"},
                {"type": "text", "text": "I do."},
                tool,
                {"type": "step-finish"},
                {"type": "step-start"},
                {"type": "text", "text": "It sets x."},
            ],
        },
    ]


def mini() -> list[dict[str, Any]]:
    """Make a trajectory of mini-swe-agent."""
    function = {"name": "read", "arguments": '{"path": "a.py"}'}
    calls = [{"type": "function", "id": "c1", "function": function}]
    messages = [
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": "I do.", "tool_calls": calls, "extra": {"cost": 0.1}},
        {"role": "tool", "tool_call_id": "c1", "content": "x = 1", "extra": {}},
        {"role": "assistant", "content": "It sets x."},
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ]
    return [{"info": {}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}]


FORMS = {
    "Codex session": codex,
    "Gemini CLI session": gemini,
    "Kimi CLI session": kimi,
    "Kimi Code session": kimi_code,
    "OpenCode session": lambda: [{"info": {"id": "s"}, "messages": opencode()}],
    "chat completions": mini,
    "Responses API items": lambda: [line["payload"] for line in codex() if "timestamp" in line],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_agents_session_is_one_conversation(form: str, write: Write) -> None:
    """One conversation, written down by seven makers."""
    transcript = one(write(FORMS[form](), "a.jsonl"))

    said = [message for message in transcript.messages if message.role != "system"]
    [call], [result] = said[1].tool_calls, said[2].tool_results
    assert transcript.format == form
    assert [(each.role, each.content) for each in said] == SAID
    assert (call.id, call.name, call.parse()) == (CALL.id, CALL.name, CALL.parse())
    assert (result.call_id, result.output, result.error) == ("c1", "x = 1", None)


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("form", FORMS)
def test_odd_values_are_read_or_refused(
    form: str, step: int, odd_copies: Callable[[list[Any], int], Iterator[bytes]]
) -> None:
    """Whichever value is missing or of another kind, nothing but a sentence comes of it."""
    for number, content in enumerate(odd_copies(FORMS[form](), step)):
        with contextlib.suppress(TranscriptUnreadable):
            assert read_transcripts(f"{number}", file=BytesIO(content))[0].mended()


@pytest.mark.parametrize("form", ["Codex session", "Kimi CLI session"])
def test_a_recorded_system_prompt_comes_first(form: str, write: Write) -> None:
    """As the agent sent it."""
    assert one(write(FORMS[form]())).messages[0] == Message("system", "Be brief.")


def test_turns_codex_took_back_are_gone(write: Write) -> None:
    """From the request on, not counting what Codex wrote in the user's name."""
    later = [
        text_item("user", "<environment_context>/src</environment_context>"),
        text_item("user", "Now b.py."),
        text_item("assistant", "No."),
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
        {"type": "compacted", "payload": {"message": "So far: nothing."}},
    ]

    transcript = one(write([*codex(), *later]))

    assert [message.role for message in transcript.messages[-2:]] == ["assistant", "user"]
    assert "Now b.py." not in str(transcript.messages)
    assert transcript.notes[0] == "2 items that were taken back are left out"
    assert "compactions is left out" in transcript.notes[1]


def test_gemini_cli_rewinds_to_a_message(write: Write) -> None:
    """It and what followed are gone; what comes after is there."""
    again = {"id": "m4", "timestamp": "", "type": "gemini", "content": "It is empty."}

    transcript = one(write([*gemini(), {"$rewindTo": "m3"}, again, {"$set": {"messages": []}}]))

    assert transcript.messages[-1].content == "It is empty."
    assert "It sets x." not in str(transcript.messages)


def test_old_gemini_sessions_are_one_object(write: Write) -> None:
    """With all of its messages, and a failed call."""
    lines = [line for line in gemini() if "type" in line]
    lines[2]["toolCalls"][0]["status"] = "error"
    del lines[1]

    transcript = one(write([{"sessionId": "s", "projectHash": "p", "messages": lines}]))

    assert transcript.messages[2].tool_results[0].error == ToolError("x = 1")


def test_kimi_code_forgets_what_was_undone(write: Write) -> None:
    """The latest request and its answer."""
    undone = [kimi_code()[1], loop("content.part", "s3", part={"text": "Again?"})]

    transcript = one(write([*kimi_code(), *undone, {"type": "context.undo", "count": 1}]))

    assert transcript.messages[-1].content == "It sets x."


def test_kimi_code_counts_only_requests(write: Write) -> None:
    """A reminder that it wrote in the user's name is none, and is undone with its request."""
    asked = {"role": "user", "content": "Now b.py.", "origin": {"kind": "user"}}
    reminder = {"role": "user", "content": "Mind b.py.", "origin": {"kind": "injection"}}
    slash = {"kind": "skill_activation", "trigger": "user-slash"}
    command = {"role": "user", "content": "/skill", "origin": slash}
    events = [
        {"type": "context.append_message", "message": each} for each in (asked, reminder, command)
    ]

    transcript = one(write([*kimi_code(), *events, {"type": "context.undo", "count": 2}]))
    unchanged = one(write([*kimi_code(), {"type": "context.undo", "count": 2}]))

    assert transcript.messages[-1].content == "It sets x."
    assert len(unchanged.messages) == 4


def test_kimi_code_outputs_may_be_parts(write: Write) -> None:
    """Their texts are what the model read, and what is of no known form as it is."""
    parts = [
        {"type": "text", "text": "x = 1"},
        {"type": "image_url"},
        {"type": "text", "text": "y"},
    ]
    call = loop("tool.call", "s1", toolCallId="c1", name="read", args={})
    results = [
        loop("tool.result", "s1", toolCallId="c1", result=each)
        for each in ({"output": parts}, {"isError": False}, {"output": [{"odd": 1}]})
    ]

    messages = one(write([call, *results])).messages

    outputs = [each.tool_results[0].output for each in messages[1:]]
    assert outputs == ["x = 1\ny", "", '{"odd": 1}']


def test_kimi_code_clears_its_context(write: Write) -> None:
    """What is appended after that stands; a compaction of its own is left out."""
    call = {"id": "c1", "name": "read", "arguments": "{}"}
    later = [
        {"role": "user", "content": "Again."},
        {"role": "assistant", "content": "I do.", "toolCalls": [call]},
        {"role": "tool", "content": "x = 2", "toolCallId": "c1"},
    ]
    appended = [{"type": "context.append_message", "message": each} for each in later]
    events = [{"type": "context.clear"}, *appended, {"type": "context.apply_compaction"}]

    transcript = one(write([*kimi_code(), *events]))

    asked, reply, answer = transcript.messages
    assert (asked.content, reply.tool_calls[0].name) == ("Again.", "read")
    assert (answer.tool_results[0].call_id, answer.tool_results[0].output) == ("c1", "x = 2")
    assert transcript.notes == ("1 of its own compactions is left out: the originals are replayed",)


def test_gemini_cli_replaces_all_messages(write: Write) -> None:
    """An update of the session may have all of them; what was shown is not among them."""
    said = [
        {"id": "m8", "type": "user", "content": [{"text": "Again."}]},
        {"id": "m9", "type": "info", "content": "Updated."},
    ]

    transcript = one(write([*gemini(), {"$set": {"messages": said}}]))

    assert [each.content for each in transcript.messages] == ["Again."]


def test_a_whole_response_stands_for_its_items(write: Write) -> None:
    """As the Responses API returns it, after the input that it answers."""
    asked = {"role": "user", "content": [{"type": "input_text", "text": "Read a.py."}]}
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I do."}],
    }

    transcript = one(write([asked, {"object": "response", "output": [said]}]))

    assert [each.content for each in transcript.messages] == ["Read a.py.", "I do."]


def store_opencode(folder: Path, session: str = "ses_1") -> Path:
    """Write a session as a file for each message and each part."""
    for number, message in enumerate(opencode()):
        message_id = f"msg_{number}"
        files = {f"message/{session}/{message_id}.json": message["info"]}
        for at, part in enumerate(message["parts"]):
            files[f"part/{message_id}/prt_{at}.json"] = part
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(data))
    path = folder / "session" / "project" / f"{session}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"id": session, "title": "Reading"}))
    return path


def test_opencodes_files_are_read_together(tmp_path: Path) -> None:
    """A session's file leads to those of its messages and their parts."""
    transcript = one(store_opencode(tmp_path / "storage"))

    assert (transcript.name, transcript.format) == ("ses_1", "OpenCode session")
    assert [(each.role, each.content) for each in transcript.messages] == SAID
    alone = [path.name for path in tmp_path.rglob("*.json") if leads_to_session(path)]
    assert alone == ["ses_1.json"]


def test_a_half_written_message_is_told(tmp_path: Path) -> None:
    """OpenCode may be writing one of its files."""
    path = store_opencode(tmp_path / "storage")
    (tmp_path / "storage/message/ses_1/msg_1.json").write_text('{"role": ')

    with pytest.raises(TranscriptUnreadable, match=r"msg_1\.json of this session is not JSON"):
        read_transcripts(path)


OPENCODE_TABLES = (
    "CREATE TABLE session (id TEXT)",
    "CREATE TABLE message (id, session_id, time_created, data)",
    "CREATE TABLE part (id, message_id, session_id, data)",
)


def make_database(path: Path, *statements: str) -> None:
    """Make a database by some statements."""
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def test_opencodes_database_holds_every_session(tmp_path: Path) -> None:
    """A row for each message and part; a summary, and a session without messages, are left out."""
    summary = {"info": {"role": "assistant", "summary": True}, "parts": [{"type": "text"}]}
    silent = {"info": {"role": "user"}, "parts": [{"type": "snapshot"}]}
    sessions = {name: [*opencode(), summary] for name in ("ses_1", "ses_2")} | {"ses_0": [silent]}
    make_database(tmp_path / "opencode.db", *OPENCODE_TABLES)
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as database:
        for session, messages in sessions.items():
            database.execute("INSERT INTO session VALUES (?)", (session,))
            for at, each in enumerate(messages):
                row = (f"{session}-{at}", session, at, json.dumps(each["info"]))
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
                for number, part in enumerate(each["parts"]):
                    put = (f"{at}-{number}", f"{session}-{at}", session, json.dumps(part))
                    database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", put)
        database.commit()

    first, second = read_transcripts(tmp_path / "opencode.db")

    assert (first.name, second.name) == ("ses_1", "ses_2")
    assert [(each.role, each.content) for each in second.messages] == SAID
    assert "1 of its own summaries is left out" in first.notes[0]


def test_our_own_database_is_read(tmp_path: Path) -> None:
    """Every session's archive, while its writer may still have it open."""

    async def keep() -> list[Transcript]:
        sessions = SqliteSessions(tmp_path / "agent.db")
        async with sessions.open("first") as first, sessions.open("second") as second:
            await first.append(Message("user", "Hello."))
            await second.append(Message("user", "Again \ud83d."))
            async with sessions.open("outputs-only") as third:
                await third.put("An output.")
            return read_transcripts(tmp_path / "agent.db")

    first, second = asyncio.run(keep())

    assert (first.name, first.messages) == ("first", (Message("user", "Hello."),))
    assert second.messages[0].content == "Again \ud83d."


@pytest.mark.parametrize("text", ['{"v":1,', '{"v":9,"type":"message"}'])
def test_a_damaged_session_is_named(text: str, tmp_path: Path) -> None:
    """A line of it would be a line of nothing that anybody can open."""
    make_database(
        tmp_path / "agent.db",
        "CREATE TABLE sessions (number, id)",
        "CREATE TABLE entries (session, seq, text)",
        "INSERT INTO sessions VALUES (1, 'torn')",
        "INSERT INTO entries VALUES (1, 1, CAST('TEXT' AS BLOB))".replace("TEXT", text),
    )

    with pytest.raises(TranscriptUnreadable, match=r"agent\.db: the session 'torn': ") as refused:
        read_transcripts(tmp_path / "agent.db")

    assert refused.value.line is None


def test_another_database_is_no_transcript(tmp_path: Path) -> None:
    """And so is one that is damaged; both say so."""
    make_database(tmp_path / "other.db", "CREATE TABLE notes (text)")
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\x00 and no more")

    message = "INSERT INTO message VALUES ('m', 's', 1, '%s')"
    rows = {"null": message.replace("'%s'", "NULL"), "deep": message % ("[" * 100_000)}
    for name, row in rows.items():
        session = "INSERT INTO session VALUES ('s')"
        make_database(tmp_path / f"{name}.db", *OPENCODE_TABLES, session, row)
    make_database(
        tmp_path / "text.db",
        "CREATE TABLE sessions (number, id)",
        "CREATE TABLE entries (session, seq, text)",
        "INSERT INTO sessions VALUES (1, 's')",
        "INSERT INTO entries VALUES (1, 1, 'text, not bytes')",
    )

    with pytest.raises(TranscriptUnreadable, match="neither agentic's nor Crush's"):
        read_transcripts(tmp_path / "other.db")
    for name in ("torn", "null", "deep", "text"):
        with pytest.raises(TranscriptUnreadable, match="database that cannot be read"):
            read_transcripts(tmp_path / f"{name}.db")


PLACES = {
    "Claude Code": ".claude/projects/-src/s.jsonl",
    "Codex": ".codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-s.jsonl",
    "Gemini CLI": ".gemini/tmp/src/chats/session-2026-11-23T10-00-s.jsonl",
    "Kimi CLI": ".kimi/sessions/f/s/context.jsonl",
    "Kimi Code": ".kimi-code/sessions/f/s/agents/main/wire.jsonl",
    "OpenCode": ".local/share/opencode/storage/session/p/ses_1.json",
    "agentic": "work/.agentic/sessions/coder/s.jsonl",
    "mini-swe-agent": ".config/mini-swe-agent/last_mini_run.traj.json",
    "pi": ".pi/agent/sessions/--src--/s.jsonl",
}


def test_every_agents_sessions_are_found(tmp_path: Path) -> None:
    """At the place where its maker keeps them, the latest first; nothing else is."""
    for age, name in enumerate([*PLACES.values(), ".claude/history.jsonl", ".codex/auth.json"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
        os.utime(tmp_path / name, (1_000 - age, 1_000 - age))
    (tmp_path / ".pi/agent/sessions/--src--/empty.jsonl").touch()

    found = find_sessions(tmp_path, tmp_path / "work", {})

    assert [each.agent for each in found] == list(PLACES)
    assert [each.path for each in found] == [tmp_path / name for name in PLACES.values()]


def test_a_variable_moves_an_agents_folder(tmp_path: Path) -> None:
    """As it does for the agent itself."""
    path = tmp_path / "elsewhere/sessions/2026/11/23/rollout-s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}")

    found = find_sessions(tmp_path, tmp_path, {"CODEX_HOME": str(tmp_path / "elsewhere")})

    assert [(each.agent, each.path) for each in found] == [("Codex", path)]


@pytest.mark.slow
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_mini_swe_agent_trajectories_are_read(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the real agent writes them with its own test models, for both forms of OpenAI's API."""
    monkeypatch.setenv("MSWEA_SILENT_STARTUP", "1")
    monkeypatch.setenv("MSWEA_GLOBAL_CONFIG_DIR", str(tmp_path))
    pytest.importorskip("minisweagent", reason="the agent itself writes the trajectory")
    from minisweagent.agents.default import DefaultAgent  # noqa: PLC0415  if it is there
    from minisweagent.environments.local import LocalEnvironment  # noqa: PLC0415
    from minisweagent.models import test_models  # noqa: PLC0415

    end = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    actions = [{"command": each, "tool_call_id": f"c{at}"} for at, each in enumerate(["ls", end])]
    if api == "chat":
        outputs = [
            test_models.make_toolcall_output(
                "I do.",
                [
                    {
                        "id": each["tool_call_id"],
                        "type": "function",
                        "function": {"name": "bash", "arguments": json.dumps(each)},
                    }
                ],
                [each],
            )
            for each in actions
        ]
        model = test_models.DeterministicToolcallModel(outputs=outputs)
    else:
        outputs = [test_models.make_response_api_output("I do.", [each]) for each in actions]
        model = test_models.DeterministicResponseAPIToolcallModel(outputs=outputs)
    templates = {"system_template": "Be brief.", "instance_template": "{{task}}"}
    path = tmp_path / "run.traj.json"
    agent = DefaultAgent(model, LocalEnvironment(cwd=str(tmp_path)), **templates, output_path=path)

    agent.run("Look around.")

    messages = one(path).mended().messages
    assert [each.role for each in messages[:4]] == ["system", "user", "assistant", "tool"]
    assert [each.content for each in messages[:3]] == ["Be brief.", "Look around.", "I do."]
    assert messages[2].tool_calls[0].id == messages[3].tool_results[0].call_id == "c0"
