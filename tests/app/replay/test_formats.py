"""One conversation in the form of each program, framework and export."""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from agentic.app.replay import Transcript, TranscriptUnreadable, read_transcripts
from agentic.app.replay._transcripts import leads_to_session

SAID = [("user", "Read a.py."), ("assistant", "I do."), ("tool", ""), ("assistant", "It sets x.")]
ARGUMENTS = {"path": "a.py"}
USE = {"type": "tool_use", "id": "c1", "name": "read", "input": ARGUMENTS}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "read", "arguments": '{"path": "a.py"}'},
}


def text(words: str) -> dict[str, Any]:
    """Make a block of text."""
    return {"type": "text", "text": words}


def qwen() -> list[dict[str, Any]]:
    """Make a session of Qwen Code, whose records are linked like those of Claude Code."""
    answer = {"id": "c1", "name": "read", "response": {"output": "x = 1"}}
    call = {"functionCall": {"id": "c1", "name": "read", "args": ARGUMENTS}}
    said = [
        ("user", "user", [{"text": "Read a.py."}]),
        ("assistant", "model", [{"text": "Hm.", "thought": True}, {"text": "I do."}, call]),
        ("tool_result", "user", [{"functionResponse": answer}]),
        ("assistant", "model", [{"text": "It sets x."}]),
    ]
    return [
        {
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "sessionId": "s",
            "type": kind,
            "message": {"role": role, "parts": parts},
            "usageMetadata": {"promptTokenCount": 80, "candidatesTokenCount": 3},
        }
        for at, (kind, role, parts) in enumerate(said)
    ]


def copilot() -> list[dict[str, Any]]:
    """Make a session of Copilot CLI."""
    request = {"toolCallId": "c1", "name": "read", "arguments": ARGUMENTS, "type": "function"}
    done = {"toolCallId": "c1", "success": True, "result": {"content": "x = 1"}}
    events = [
        ("session.start", {"sessionId": "s", "version": 1, "selectedModel": "gpt-5"}),
        ("user.message", {"content": "Read a.py.", "attachments": []}),
        ("assistant.turn_start", {"turnId": "0"}),
        ("assistant.message", {"messageId": "m", "content": "I do.", "toolRequests": [request]}),
        ("tool.execution_start", {"toolCallId": "c1", "toolName": "read"}),
        ("tool.execution_complete", done),
        ("assistant.message", {"messageId": "n", "content": "It sets x.", "toolRequests": []}),
    ]
    return [
        {"type": kind, "data": data, "id": f"e{at}", "parentId": None}
        for at, (kind, data) in enumerate(events)
    ]


def blocks() -> list[dict[str, Any]]:
    """Make messages in Anthropic's blocks."""
    return [
        {"role": "user", "content": [text("Read a.py.")]},
        {"role": "assistant", "content": [text("I do."), USE]},
        {"role": "user", "content": [RESULT]},
        {"role": "assistant", "content": [text("It sets x.")]},
    ]


def droid() -> list[dict[str, Any]]:
    """Make a session of Droid."""
    lines = [
        {"type": "message", "id": f"m{at}", "message": message}
        for at, message in enumerate(blocks())
    ]
    return [{"type": "session_start", "id": "s", "title": "Reading"}, *lines]


def stream() -> list[dict[str, Any]]:
    """Make the events of `claude -p --output-format stream-json`, the prompt replayed."""
    events = [
        {"type": each["role"], "message": each, "parent_tool_use_id": None, "session_id": "s"}
        for each in blocks()
    ]
    first = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-opus-4-5"}
    return [first, *events, {"type": "result", "subtype": "success", "session_id": "s"}]


def continued() -> list[dict[str, Any]]:
    """Make a session of Continue."""
    output = [{"name": "a.py", "content": "x = 1"}]
    state = {"toolCallId": "c1", "toolCall": CALL, "status": "done", "output": output}
    reply = {"role": "assistant", "content": "I do.", "toolCalls": [CALL]}
    history = [
        {"message": {"role": "user", "content": [text("Read a.py.")]}, "contextItems": []},
        {"message": reply, "contextItems": [], "toolCallStates": [state]},
        {"message": {"role": "assistant", "content": "It sets x."}, "contextItems": []},
    ]
    return [{"sessionId": "s", "title": "Reading", "history": history}]


def cline() -> list[dict[str, Any]]:
    """Make a task of Cline."""
    return [{**each, "ts": at} for at, each in enumerate(blocks())]


def langchain() -> list[dict[str, Any]]:
    """Make messages of LangChain."""
    call = {"name": "read", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}
    return [
        {"type": "human", "data": {"content": "Read a.py.", "type": "human"}},
        {"type": "ai", "data": {"content": [text("I do."), USE], "tool_calls": [call]}},
        {"type": "tool", "data": {"content": "x = 1", "tool_call_id": "c1", "name": "read"}},
        {"type": "ai", "data": {"content": "It sets x.", "tool_calls": []}},
    ]


def pydantic_ai() -> list[dict[str, Any]]:
    """Make messages of Pydantic AI."""
    call = {"part_kind": "tool-call", "tool_name": "read", "args": ARGUMENTS, "tool_call_id": "c1"}
    result = {"part_kind": "tool-return", "tool_name": "read", "content": "x = 1"}
    return [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Read a.py."}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "I do."}, call]},
        {"kind": "request", "parts": [{**result, "tool_call_id": "c1"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "It sets x."}]},
    ]


def converse() -> list[dict[str, Any]]:
    """Make messages of Bedrock's Converse."""
    use = {"toolUse": {"toolUseId": "c1", "name": "read", "input": ARGUMENTS}}
    result = {"toolUseId": "c1", "content": [{"text": "x = 1"}], "status": "success"}
    return [
        {"role": "user", "content": [{"text": "Read a.py."}]},
        {"role": "assistant", "content": [{"text": "I do."}, use]},
        {"role": "user", "content": [{"toolResult": result}]},
        {"role": "assistant", "content": [{"text": "It sets x."}]},
    ]


def contents() -> list[dict[str, Any]]:
    """Make contents of Gemini's API."""
    return [record["message"] for record in qwen()]


def vercel_ui() -> list[dict[str, Any]]:
    """Make messages of Vercel's SDK as a page has them."""
    tool = {"type": "tool-read", "toolCallId": "c1", "state": "output-available"}
    parts = [
        {"type": "step-start"},
        text("I do."),
        {**tool, "input": ARGUMENTS, "output": "x = 1"},
        {"type": "step-start"},
        text("It sets x."),
    ]
    return [
        {"id": "m1", "role": "user", "parts": [text("Read a.py.")]},
        {"id": "m2", "role": "assistant", "parts": parts},
    ]


def vercel_model() -> list[dict[str, Any]]:
    """Make messages of Vercel's SDK as a model has them."""
    named = {"toolCallId": "c1", "toolName": "read"}
    result = {"type": "tool-result", **named, "output": {"type": "text", "value": "x = 1"}}
    return [
        {"role": "user", "content": "Read a.py."},
        {
            "role": "assistant",
            "content": [text("I do."), {"type": "tool-call", **named, "input": ARGUMENTS}],
        },
        {"role": "tool", "content": [result]},
        {"role": "assistant", "content": [text("It sets x.")]},
    ]


def goose() -> list[dict[str, Any]]:
    """Make messages of Goose without a header."""
    call = {"status": "success", "value": {"name": "read", "arguments": ARGUMENTS}}
    result = {"status": "success", "value": [text("x = 1")]}
    return [
        {"role": "user", "created": 1, "content": [text("Read a.py.")]},
        {
            "role": "assistant",
            "content": [text("I do."), {"type": "toolRequest", "id": "c1", "toolCall": call}],
        },
        {
            "role": "user",
            "content": [{"type": "toolResponse", "id": "c1", "toolResult": result}],
        },
        {"role": "assistant", "content": [text("It sets x.")]},
    ]


def amp() -> list[dict[str, Any]]:
    """Make messages of Amp."""
    result = {
        "type": "tool_result",
        "toolUseID": "c1",
        "run": {"status": "done", "result": "x = 1"},
    }
    said = blocks()
    said[2] = {"role": "user", "content": [result]}
    return [{"messages": said}]


def claw() -> list[dict[str, Any]]:
    """Make a session whose messages have `blocks`."""
    result = {"type": "tool_result", "tool_use_id": "c1", "tool_name": "read", "output": "x = 1"}
    said = [{"role": each["role"], "blocks": each["content"]} for each in blocks()]
    said[2] = {"role": "tool", "blocks": [result]}
    return [{"version": 1, "messages": said}]


def inspect_log() -> list[dict[str, Any]]:
    """Make a log of Inspect."""
    call = {"id": "c1", "function": "read", "arguments": ARGUMENTS, "type": "function"}
    messages = [
        {"role": "user", "content": "Read a.py.", "source": "input"},
        {"role": "assistant", "content": [text("I do.")], "tool_calls": [call]},
        {"role": "tool", "content": "x = 1", "tool_call_id": "c1", "function": "read"},
        {"role": "assistant", "content": "It sets x.", "model": "gpt-5"},
    ]
    samples = [{"id": 1, "epoch": 1, "messages": messages}]
    return [
        {"version": 2, "status": "success", "eval": {"model": "openai/gpt-5"}, "samples": samples}
    ]


def openhands() -> list[dict[str, Any]]:
    """Make events of OpenHands."""
    call = {"id": "c1", "name": "read", "arguments": json.dumps(ARGUMENTS)}
    user = {"role": "user", "content": [text("Read a.py.")]}
    reply = {"role": "assistant", "content": [text("It sets x.")]}
    answered = {"tool_name": "read", "tool_call_id": "c1"}
    return [
        {"kind": "MessageEvent", "source": "user", "llm_message": user},
        {
            "kind": "ActionEvent",
            "source": "agent",
            "thought": [text("I do.")],
            "tool_call": call,
            "llm_response_id": "r1",
            **answered,
        },
        {
            "kind": "ObservationEvent",
            "source": "environment",
            "observation": {"kind": "ReadObservation", "content": [text("x = 1")]},
            **answered,
        },
        {"kind": "MessageEvent", "source": "agent", "llm_message": reply},
        {"kind": "ConversationStateUpdateEvent", "source": "environment", "key": "k", "value": "v"},
    ]


def openhands_before() -> list[dict[str, Any]]:
    """Make events of OpenHands as its first version wrote them."""
    metadata = {"tool_call_id": "c1", "function_name": "read"}
    return [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Read a.py."}},
        {
            "id": 1,
            "source": "agent",
            "action": "read",
            "args": {"path": "a.py", "thought": "I do."},
            "tool_call_metadata": metadata,
        },
        {
            "id": 2,
            "source": "agent",
            "observation": "read",
            "content": "x = 1",
            "extras": {},
            "cause": 1,
            "tool_call_metadata": metadata,
        },
        {"id": 3, "source": "agent", "action": "message", "args": {"content": "It sets x."}},
    ]


def swe_agent() -> list[dict[str, Any]]:
    """Make a trajectory of SWE-agent."""
    history = [
        {"role": "user", "content": "Read a.py.", "agent": "main"},
        {"role": "assistant", "content": "I do.", "tool_calls": [CALL], "agent": "main"},
        {"role": "tool", "content": [text("x = 1")], "tool_call_ids": ["c1"], "agent": "main"},
        {"role": "assistant", "content": "It sets x.", "agent": "main"},
    ]
    return [{"environment": "swe_main", "trajectory": [{"action": "read"}], "history": history}]


def atif() -> list[dict[str, Any]]:
    """Make a trajectory of Harbor."""
    call = {"tool_call_id": "c1", "function_name": "read", "arguments": ARGUMENTS}
    observation = {"results": [{"source_call_id": "c1", "content": "x = 1"}]}
    steps = [
        {"step_id": 1, "source": "user", "message": "Read a.py."},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I do.",
            "tool_calls": [call],
            "observation": observation,
            "metrics": {"prompt_tokens": 70, "completion_tokens": 5, "cached_tokens": 60},
        },
        {"step_id": 3, "source": "agent", "message": "It sets x."},
    ]
    agent = {"name": "a", "version": "1", "model_name": "gpt-5"}
    return [{"schema_version": "ATIF-v1.4", "session_id": "s", "agent": agent, "steps": steps}]


def spans() -> list[dict[str, Any]]:
    """Make spans of OpenTelemetry: the second request repeats the first."""
    call = {"type": "tool_call", "id": "c1", "name": "read", "arguments": ARGUMENTS}
    answer = {"type": "tool_call_response", "id": "c1", "response": "x = 1"}

    def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "parts": list(parts)}

    def words(content: str) -> dict[str, Any]:
        return {"type": "text", "content": content}

    asked = [said("user", words("Read a.py."))]
    first = [said("assistant", words("I do."), call)]
    last = [said("assistant", words("It sets x."))]
    requests = [(asked, first), ([*asked, *first, said("tool", answer)], last)]
    return [
        {
            "name": "chat",
            "context": {"trace_id": "0x1"},
            "attributes": {
                "gen_ai.request.model": "gpt-5",
                "gen_ai.input.messages": json.dumps(sent),
                "gen_ai.output.messages": json.dumps(reply),
            },
        }
        for sent, reply in requests
    ]


def otlp() -> list[dict[str, Any]]:
    """Make the same spans as a collector writes them."""
    listed = [
        {
            "traceId": "1",
            "attributes": [
                {"key": key, "value": {"stringValue": value}}
                for key, value in span["attributes"].items()
            ],
        }
        for span in spans()
    ]
    return [{"resourceSpans": [{"scopeSpans": [{"spans": listed}]}]}]


def sharegpt() -> list[dict[str, Any]]:
    """Make a conversation of ShareGPT; it has no reply beside a call."""
    call = json.dumps({"name": "read", "arguments": ARGUMENTS})
    said = [("human", "Read a.py."), ("function_call", call), ("observation", "x = 1")]
    said.append(("gpt", "It sets x."))
    return [{"conversations": [{"from": who, "value": words} for who, words in said]}]


def claude_ai() -> list[dict[str, Any]]:
    """Make an export of Claude.ai."""
    use = {"type": "tool_use", "name": "read", "input": ARGUMENTS}
    result = {"type": "tool_result", "name": "read", "content": [text("x = 1")]}
    messages = [
        {"uuid": "m1", "sender": "human", "text": "Read a.py.", "content": [text("Read a.py.")]},
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "",
            "content": [text("I do."), use, result, text("It sets x.")],
        },
    ]
    return [{"uuid": "u", "name": "Reading", "chat_messages": messages}]


def chatgpt() -> list[dict[str, Any]]:
    """Make an export of ChatGPT, with a branch that was left; it has no reply beside a call."""

    def node(name: str, parent: str | None, role: str, words: str, **fields: Any) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [words]}
        author = {"role": role, "name": fields.pop("tool", None)}
        message = {"id": name, "author": author, "content": content, **fields}
        return {"id": name, "message": message, "parent": parent}

    nodes = [
        {"id": "root", "message": None, "parent": None},
        node("n1", "root", "user", "Read a.py."),
        node("n2", "n1", "assistant", '{"path": "a.py"}', recipient="read"),
        node("n3", "n2", "tool", "x = 1", tool="read"),
        node("gone", "n3", "assistant", "It is empty."),
        node("n4", "n3", "assistant", "It sets x.", metadata={"model_slug": "gpt-5"}),
    ]
    mapping = {each["id"]: each for each in nodes}
    return [{"title": "Reading", "mapping": mapping, "current_node": "n4"}]


FORMS: dict[str, tuple[str, Callable[[], list[dict[str, Any]]]]] = {
    "qwen": ("Qwen Code session", qwen),
    "copilot": ("Copilot CLI session", copilot),
    "droid": ("Droid session", droid),
    "stream": ("Claude Code stream", stream),
    "continue": ("Continue session", continued),
    "cline": ("Cline task", cline),
    "langchain": ("LangChain messages", langchain),
    "pydantic_ai": ("Pydantic AI messages", pydantic_ai),
    "converse": ("messages in parts", converse),
    "gemini": ("messages in parts", contents),
    "vercel_ui": ("messages in parts", vercel_ui),
    "vercel_model": ("messages in parts", vercel_model),
    "goose": ("messages in parts", goose),
    "amp": ("messages in parts", amp),
    "claw": ("messages in parts", claw),
    "inspect": ("Inspect log", inspect_log),
    "openhands": ("OpenHands events", openhands),
    "openhands_before": ("OpenHands events", openhands_before),
    "swe_agent": ("SWE-agent trajectory", swe_agent),
    "atif": ("ATIF trajectory", atif),
    "spans": ("OpenTelemetry spans", spans),
    "otlp": ("OpenTelemetry spans", otlp),
    "sharegpt": ("ShareGPT conversation", sharegpt),
    "claude_ai": ("Claude.ai export", claude_ai),
    "chatgpt": ("ChatGPT export", chatgpt),
}
SILENT_CALLS = {"sharegpt", "chatgpt"}
"""Forms in which a reply says nothing beside its call."""


def one(content: bytes) -> Transcript:
    """Read what holds one conversation."""
    [transcript] = read_transcripts("session.jsonl", file=BytesIO(content))
    return transcript


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("form", FORMS)
def test_one_conversation_in_every_form(form: str, indent: int | None) -> None:
    """With its call and its result, whole and without notes; on lines, or as one value."""
    name, make = FORMS[form]
    lines = make()
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    if indent:
        content = json.dumps(lines, indent=indent).encode()

    transcript = one(content)

    said = [(each.role, each.content) for each in transcript.messages]
    [call], [result] = transcript.messages[1].tool_calls, transcript.messages[2].tool_results
    silent = [SAID[0], ("assistant", ""), *SAID[2:]]
    assert transcript.format == name
    assert said == (silent if form in SILENT_CALLS else SAID)
    assert call.name == "read"
    assert "a.py" in call.arguments
    assert (result.call_id, result.name, result.output) == (call.id, "read", "x = 1")
    assert transcript.notes == ()
    assert transcript.mended() is transcript


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("form", FORMS)
def test_odd_values_in_every_form_are_read_or_refused(
    form: str, step: int, odd_copies: Callable[[list[Any], int], Iterator[bytes]]
) -> None:
    """Whichever value is missing or of another kind, nothing but a sentence comes of it."""
    for content in odd_copies(FORMS[form][1](), step):
        with contextlib.suppress(TranscriptUnreadable):
            assert read_transcripts("odd", file=BytesIO(content))[0].mended()


def test_exports_hold_many_conversations() -> None:
    """Each is a transcript of its own, named after its title."""
    several = [*chatgpt(), {**chatgpt()[0], "title": "Again"}]

    read = read_transcripts("export.json", file=BytesIO(json.dumps(several).encode()))

    assert [each.name for each in read] == ["export Reading", "export Again"]


def test_recorded_usage_is_read() -> None:
    """Of each request by itself, with what was read from the cache."""
    spent = [one(json.dumps(make()).encode()).messages[1].usage for make in (atif, qwen)]

    assert [(each.input, each.cache_read) for each in spent if each] == [(70, 60), (80, 0)]


def test_crush_keeps_its_sessions_in_a_database(tmp_path: Path) -> None:
    """Each part within an envelope; a summary is a compaction of its own."""
    call = {"id": "c1", "name": "read", "input": '{"path": "a.py"}', "finished": True}
    result = {"tool_call_id": "c1", "name": "read", "content": "x = 1", "is_error": False}
    rows = [
        ("user", [("text", {"text": "Read a.py."}), ("finish", {"reason": "stop"})], 0),
        ("assistant", [("text", {"text": "I do."}), ("tool_call", call)], 0),
        ("tool", [("tool_result", result)], 0),
        ("assistant", [("text", {"text": "So far."})], 1),
        ("assistant", [("text", {"text": "It sets x."})], 0),
    ]
    columns = "id, session_id, role, parts, model, created_at, is_summary_message"
    with closing(sqlite3.connect(tmp_path / "crush.db")) as database:
        database.execute(f"CREATE TABLE messages ({columns})")
        database.execute("CREATE TABLE sessions (id, title)")
        for at, (role, parts, summary) in enumerate(rows):
            data = json.dumps([{"type": kind, "data": held} for kind, held in parts])
            row = (f"m{at}", "s", role, data, "gpt-5", at, summary)
            database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        database.commit()

    [transcript] = read_transcripts(tmp_path / "crush.db")

    assert (transcript.name, transcript.format) == ("s", "Crush session")
    assert (transcript.model, len(transcript.compactions)) == ("gpt-5", 1)
    assert [(each.role, each.content) for each in transcript.messages] == SAID
    assert transcript.messages[2].tool_results[0].output == "x = 1"


def test_strands_keeps_a_file_for_each_message(tmp_path: Path) -> None:
    """Next to the agent's own, in the order of their numbers."""
    folder = tmp_path / "session_s" / "agents" / "agent_a"
    (folder / "messages").mkdir(parents=True)
    (folder / "agent.json").write_text('{"agent_id": "a"}')
    for number, message in enumerate(converse()):
        stored = {"message": message, "message_id": number + 8, "redact_message": None}
        (folder / "messages" / f"message_{number + 8}.json").write_text(json.dumps(stored))

    [transcript] = read_transcripts(folder / "agent.json")

    assert transcript.format == "Strands session"
    assert [(each.role, each.content) for each in transcript.messages] == SAID
    alone = [path.name for path in folder.rglob("*.json") if leads_to_session(path)]
    assert alone == ["agent.json"]


def test_openhands_keeps_a_file_for_each_event(tmp_path: Path) -> None:
    """In the order of their numbers, whichever is named."""
    events = tmp_path / "conversations/c/events"
    events.mkdir(parents=True)
    paths = []
    for number, event in enumerate(openhands()):
        path = events / f"event-{number:05}-{9 - number}.json"
        path.write_text(json.dumps(event))
        paths.append(path)

    for path in (paths[0], paths[-1]):
        [transcript] = read_transcripts(path)

        assert transcript.format == "OpenHands events"
        assert [(each.role, each.content) for each in transcript.messages] == SAID
    assert [leads_to_session(path) for path in paths] == [True] + [False] * (len(paths) - 1)


def test_langchain_writes_what_is_read() -> None:
    """As the installed version of it does."""
    messages = pytest.importorskip("langchain_core.messages")
    call = {"name": "read", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}
    usage = {"input_tokens": 40, "output_tokens": 2, "total_tokens": 42}
    conversation = [
        messages.SystemMessage("Be brief."),
        messages.HumanMessage([text("Read a.py.")]),
        messages.AIMessage("I do.", tool_calls=[call], usage_metadata=usage),
        messages.ToolMessage("no such file", tool_call_id="c1", name="read", status="error"),
    ]

    transcript = one(json.dumps(messages.messages_to_dict(conversation)).encode())

    _, _, reply, result = transcript.messages
    assert [each.content for each in transcript.messages[:2]] == ["Be brief.", "Read a.py."]
    assert reply.usage is not None
    assert reply.usage.input == 40
    assert result.tool_results[0].error is not None
    assert transcript.notes == ()


def test_pydantic_ai_writes_what_is_read() -> None:
    """As the installed version of it does."""
    messages = pytest.importorskip("pydantic_ai.messages")
    picture = messages.BinaryContent(data=b"hi", media_type="image/png")
    prompt = messages.UserPromptPart(["Read a.py.", picture])
    call = messages.ToolCallPart("read", ARGUMENTS, "c1")
    failure = messages.ToolReturnPart("read", {"why": "gone"}, "c1", outcome="failed")
    history = [
        messages.ModelRequest(parts=[messages.SystemPromptPart("Be brief."), prompt]),
        messages.ModelResponse(parts=[messages.ThinkingPart("Hm."), call], model_name="gpt-5"),
        messages.ModelRequest(parts=[failure]),
    ]

    transcript = one(messages.ModelMessagesTypeAdapter.dump_json(history))

    system, asked, reply, result = transcript.messages
    assert (system.content, asked.content, asked.media[0].data) == (
        "Be brief.",
        "Read a.py.",
        b"hi",
    )
    assert (reply.reasoning, reply.tool_calls[0].parse()) == ("Hm.", ARGUMENTS)
    assert result.tool_results[0].error is not None
    assert result.tool_results[0].error.message == '{"why": "gone"}'
    assert (transcript.model, transcript.notes) == ("gpt-5", ())
