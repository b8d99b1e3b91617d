"""Transcripts of every maker, whole and damaged."""

import asyncio
import contextlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.app.replay import Transcript, TranscriptUnreadable, read_transcripts
from agentic.history import JsonlStore
from agentic.messages import Message, ToolCall, ToolError, ToolResult, to_plain
from agentic.usage import Usage

Write = Callable[..., Path]
SAID = [
    Message("user", "Read a.py."),
    Message("assistant", "I do.", tool_calls=[ToolCall("c1", "read", '{"path": "a.py"}')]),
    Message("tool", tool_results=[ToolResult("c1", "read", "x = 1")]),
    Message("assistant", "It sets x."),
]
CHAT = [
    {"role": "user", "content": "Read a.py."},
    {
        "role": "assistant",
        "content": "I do.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read", "arguments": '{"path": "a.py"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "read", "content": "x = 1"},
    {"role": "assistant", "content": "It sets x."},
]
USE = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}
ANTHROPIC = [
    {"role": "user", "content": "Read a.py."},
    {"role": "assistant", "content": [{"type": "text", "text": "I do."}, USE]},
    {"role": "user", "content": [RESULT]},
    {"role": "assistant", "content": [{"type": "text", "text": "It sets x."}]},
]


def one(path: Path) -> Transcript:
    """Read a file that holds one conversation."""
    [transcript] = read_transcripts(path)
    return transcript


def entry(kind: str, number: int, content: Any, **fields: Any) -> dict[str, Any]:
    """Make an entry of Claude Code; by default it follows the one numbered before it."""
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    links = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
    return {
        "type": kind,
        "sessionId": "s",
        "isSidechain": False,
        **links,
        "message": message,
    } | fields


def claude() -> list[dict[str, Any]]:
    """Make a session of Claude Code, its second entry split as it splits replies."""
    reply = {"message": {"id": "m1", "usage": {"input_tokens": 5}}}
    return [
        {"type": "summary", "summary": "A title", "leafUuid": "elsewhere"},
        entry("user", 0, "Read a.py."),
        entry("assistant", 1, [{"type": "text", "text": "I do."}], **reply),
        entry("assistant", 2, [USE], **reply),
        {"type": "file-history-snapshot", "messageId": "u2", "snapshot": {}},
        entry("user", 3, [RESULT]),
        entry("assistant", 4, [{"type": "text", "text": "It sets x."}], message={"id": "m2"}),
    ]


def pi() -> list[dict[str, Any]]:
    """Make a session of pi, version 3."""
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}}
    said = [
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": [{"type": "text", "text": "I do."}, call]},
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "read",
            "content": [{"type": "text", "text": "x = 1"}],
            "isError": False,
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It sets x."}]},
    ]
    entries = [
        {
            "type": "message",
            "id": f"e{at}",
            "parentId": f"e{at - 1}" if at else None,
            "message": each,
        }
        for at, each in enumerate(said)
    ]
    return [{"type": "session", "version": 3, "id": "s", "cwd": "/src"}, *entries]


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        (CHAT, "chat completions"),
        (ANTHROPIC, "Anthropic messages"),
        (claude(), "Claude Code session"),
        (pi(), "pi session"),
        ([to_plain(message) for message in SAID], "agentic messages"),
    ],
    ids=["chat", "anthropic", "claude", "pi", "plain"],
)
def test_every_form_says_the_same(lines: list[Any], form: str, write: Write) -> None:
    """One conversation, written down by five makers, is one conversation."""
    transcript = one(write(lines, "a session.jsonl"))

    assert (transcript.format, transcript.name) == (form, "a session")
    said = [(m.role, m.content, m.tool_calls, m.tool_results) for m in transcript.messages]
    calls = [(m.role, m.content, m.tool_calls, m.tool_results) for m in SAID]
    assert said == calls


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("lines", [CHAT, ANTHROPIC, claude(), pi()])
def test_odd_values_are_read_or_refused(
    lines: list[Any], step: int, odd_copies: Callable[[list[Any], int], Iterator[bytes]]
) -> None:
    """Whichever value is missing or of another kind, nothing but a sentence comes of it."""
    for number, content in enumerate(odd_copies(lines, step)):
        with contextlib.suppress(TranscriptUnreadable):
            assert read_transcripts(f"{number}", file=io.BytesIO(content))[0].mended()


def test_a_store_gives_its_archive(tmp_path: Path) -> None:
    """A compaction that is stored does not hide what was said before it."""

    async def keep() -> None:
        async with JsonlStore(tmp_path / "s.jsonl") as store:
            for message in SAID:
                await store.append(message)
            await store.replace(SAID[-1:])

    asyncio.run(keep())

    transcript = one(tmp_path / "s.jsonl")

    assert transcript.messages == tuple(SAID)
    assert transcript.format == "agentic store"
    assert transcript.notes == ("1 of its own compactions is left out: the originals are replayed",)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("whole", [CHAT, {"model": "m", "messages": CHAT}], ids=["list", "request"])
def test_one_value_for_all_is_understood(whole: Any, indent: int | None, write: Write) -> None:
    """A JSON array, or a request, on one line or on many."""
    transcript = one(write(json.dumps(whole, indent=indent).encode(), "request.json"))

    assert [message.role for message in transcript.messages] == [each.role for each in SAID]


def test_a_request_brings_its_system_prompt(write: Write) -> None:
    """What Anthropic's requests have beside the messages comes first."""
    transcript = one(write([{"system": "Be brief.", "messages": ANTHROPIC}]))

    assert transcript.messages[0] == Message("system", "Be brief.")
    assert len(transcript.messages) == 5


def test_line_per_conversation_gives_several(write: Write) -> None:
    """A data set of conversations is as many transcripts, numbered."""
    read = read_transcripts(write([{"messages": CHAT}, {"messages": ANTHROPIC}], "set.jsonl"))

    assert [each.name for each in read] == ["set 1", "set 2"]
    assert [each.format for each in read] == ["chat completions", "Anthropic messages"]


def test_a_failed_call_is_a_failure(write: Write) -> None:
    """An error stays one, whoever marked it."""
    failed = [*ANTHROPIC[:2], {"role": "user", "content": [{**RESULT, "is_error": True}]}]
    marked = [*CHAT[:2], {**CHAT[2], "x_is_error": True}]
    own = [*pi()[:3], {**pi()[3], "message": {**pi()[3]["message"], "isError": True}}]

    errors = [
        one(write(lines, f"{at}.jsonl")).messages[2].tool_results[0].error
        for at, lines in enumerate((failed, marked, own))
    ]

    assert errors == [ToolError("x = 1")] * 3


def test_claude_code_keeps_parallel_calls_results(write: Write) -> None:
    """Results hang on the entry of their call, beside the chain that the last entry tells."""
    lines = claude()
    second = {**USE, "id": "c2"}
    lines[5:] = [
        entry("assistant", 3, [second], message={"id": "m1"}),
        entry("user", 4, [RESULT], parentUuid="u2"),
        entry("user", 5, [{**RESULT, "tool_use_id": "c2"}], parentUuid="u3"),
        entry("assistant", 6, "It sets x.", message={"id": "m2"}),
    ]

    transcript = one(write(lines))

    assert [call.id for call in transcript.messages[1].tool_calls] == ["c1", "c2"]
    answered = [r.call_id for message in transcript.messages for r in message.tool_results]
    assert answered == ["c1", "c2"]
    assert transcript.mended() is transcript


def test_claude_code_omits_branches_and_sidechains(write: Write) -> None:
    """The latest entry tells what stands; what is not of it is counted in a note."""
    lines = claude()
    lines[2:2] = [
        entry("assistant", 8, "Another beginning.", parentUuid="u0"),
        entry("user", 9, "A task for a helper.", isSidechain=True, parentUuid=None),
    ]

    transcript = one(write(lines))

    assert len(transcript.messages) == 4
    assert transcript.notes == (
        "1 entry of a sidechain is left out",
        "1 entry of an abandoned branch is left out",
    )


def test_claude_code_continues_before_its_compaction(write: Write) -> None:
    """The chain goes on over a boundary; the summary is left out for the originals."""
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "parentUuid": None,
        "logicalParentUuid": "u4",
        "sessionId": "s",
    }
    lines = [
        *claude(),
        boundary,
        entry("user", 5, "So far: ...", isCompactSummary=True, parentUuid="b"),
        entry("user", 6, "Go on."),
    ]

    transcript = one(write(lines))

    assert [message.content for message in transcript.messages[-2:]] == ["It sets x.", "Go on."]
    assert transcript.notes == ("1 of its own summaries is left out: the originals are replayed",)


def test_subagents_file_is_a_conversation(write: Write) -> None:
    """Where everything is a sidechain, it is what there is."""
    lines = [{**each, "isSidechain": True} for each in claude() if "message" in each]

    assert len(one(write(lines)).messages) == 4


def test_pi_follows_the_branch_that_stands(write: Write) -> None:
    """The last entry tells the branch; commands of the user and what extensions say are in it."""
    shell = {"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 0}
    hidden = {**shell, "excludeFromContext": True}
    lines = [
        *pi(),
        {
            "type": "message",
            "id": "x",
            "parentId": "e1",
            "message": {"role": "user", "content": "?"},
        },
        {"type": "compaction", "id": "k", "parentId": "e3", "summary": "So far", "tokensBefore": 9},
        {"type": "message", "id": "e5", "parentId": "k", "message": shell},
        {"type": "message", "id": "e6", "parentId": "e5", "message": hidden},
        {"type": "custom_message", "id": "e7", "parentId": "e6", "content": "Mind the gap."},
        {"type": "branch_summary", "id": "e8", "parentId": "e7", "summary": "Tried b.py."},
    ]

    transcript = one(write(lines))

    assert [message.content for message in transcript.messages[4:]] == [
        "Ran `ls`\n```\na.py\n```",
        "Mind the gap.",
        "Tried b.py.",
    ]
    assert transcript.notes == (
        "1 entry of an abandoned branch is left out",
        "1 of its own compactions is left out: the originals are replayed",
    )


def test_pi_brings_thinking_usage_and_pictures(write: Write) -> None:
    """Buckets of usage are converted; a picture that cannot be decoded is a picture still."""
    thought = {"type": "thinking", "thinking": "Which file?"}
    usage = {"input": 5, "output": 2, "cacheRead": 30, "cacheWrite": 4, "totalTokens": 41}
    pictures = [
        {"type": "image", "mimeType": "image/png", "data": "aGk="},
        {"type": "image", "data": "no base64!"},
    ]
    reply = {"role": "assistant", "content": [thought], "usage": usage}
    said = [{"role": "user", "content": pictures}, reply, {"role": "branchSummary", "summary": "b"}]
    lines = [{"type": "message", "message": each} for each in said]

    asked, replied, branch = one(write([{"type": "session", "cwd": "/"}, *lines])).messages

    assert [(each.media_type, each.data) for each in asked.media] == [
        ("image/png", b"hi"),
        ("image/*", b""),
    ]
    assert replied.reasoning == "Which file?"
    assert replied.usage == Usage(39, 2, 0, 30, 4)
    assert branch.content == "b"


def test_old_pi_session_has_no_tree(write: Write) -> None:
    """Entries without ids follow each other."""
    lines = [{key: v for key, v in each.items() if key != "parentId"} for each in pi()[1:]]
    lines = [{key: v for key, v in each.items() if key != "id"} for each in lines]

    assert len(one(write([{"type": "session", "id": "s", "cwd": "/"}, *lines])).messages) == 4


def test_half_written_last_line_is_noted(write: Write) -> None:
    """Whoever wrote it was interrupted; everything before is there."""
    whole = b"".join(json.dumps(line).encode() + b"\n" for line in CHAT)

    transcript = one(write(whole[:-20]))

    assert len(transcript.messages) == 3
    assert transcript.notes == ("line 4 breaks off and is left out",)


def test_half_a_character_breaks_off(write: Write) -> None:
    """The end of the file may be in the middle of one."""
    transcript = one(write(b'{"role":"user","content":"a"}\n{"role":"user","content":"\xc3'))

    assert transcript.notes == ("line 2 breaks off and is left out",)


def _stored_with_surrogates(folder: Path) -> tuple[list[Message], Path]:
    """Store what tools and models do give: halves of characters, everywhere a text may be."""
    said = [
        Message("user", "Read \ud83d."),
        Message("assistant", "\udc80", tool_calls=[ToolCall("c\ud800", "read", '{"a": "\udfff"}')]),
        Message("tool", tool_results=[ToolResult("c\ud800", "read", "x = \ud83d")]),
        Message("assistant", "It sets \ud83d"),
    ]

    async def store() -> None:
        async with JsonlStore(folder / "stored.jsonl") as opened:
            for message in said:
                await opened.append(message)

    asyncio.run(store())
    return said, folder / "stored.jsonl"


def test_stored_surrogates_are_read_back(tmp_path: Path) -> None:
    """What our own store wrote is what is replayed."""
    said, path = _stored_with_surrogates(tmp_path)

    assert list(one(path).messages) == said


def test_stored_surrogates_may_break_off_anywhere(tmp_path: Path) -> None:
    """Also between the bytes of one."""
    said, path = _stored_with_surrogates(tmp_path)
    whole = path.read_bytes()
    last_line = whole.rstrip(b"\n").rfind(b"\n") + 1

    for end in range(last_line + 1, len(whole) - 2):
        path.write_bytes(whole[:end])
        assert list(one(path).messages) == said[:-1]
        assert one(path).notes == ("line 4 breaks off and is left out",)


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        (b"", None, "the file is empty"),
        (b"# Notes\n", 1, "'# Notes' is not JSON"),
        (b'{"name":"a","size":3}\n', 1, "an object with 'name', 'size'"),
        (b'{"role":"user","content":"\xff"}\n', 1, "byte 0xff is not UTF-8 text"),
        (b'{"role":"user","content":"a"}\n{"content":"\xe9"}\n', 2, "byte 0xe9 is not UTF-8 text"),
        (b'{"role":"user","content":"a"}\n{"content":"\xe9"}', 2, "byte 0xe9 is not UTF-8 text"),
        (b'{"role":"user","content":"a"}\n{"role":\n', 2, "is not JSON"),
        (b'{"role":"user","content":"a"}\n[1]', 2, "a JSON list, not an object"),
        (b"SQLite format 3\x00...", None, "a SQLite database"),
        (b"\x1f\x8b...", None, "gzip"),
        (b"[1, 2]", 1, "a JSON int, not an object"),
        (b'{"messages":[]}', None, "no message in it"),
        (b'{"messages":[3]}', 1, "int among `messages`"),
        (b'{"v":1,"type":"message","message":{"role":"boss"}}', 1, "Message.role must be one of"),
        (b'{"v":9,"role":"user"}\n', 1, "v must be a version from 1 to 2, got 9"),
        (b'{"v":1,"type":"message"}\n', 1, "plain must be a JSON object, got None"),
        (b'{\n"role": "user"\n', 1, "is not JSON"),
        (b'[\n\n  {"role": "user",\n   content: "a"}\n]\n', 4, "'content: \"a\"}' is not JSON"),
        (b"[\n" + b"[" * 100_000 + b"\n}\n]", 1, "is not JSON"),
        (b"[" * 100_000, 1, "the JSON is nested too deeply"),
        (b'{"type":"user","parentUuid":null}\n', 1, "an entry 'user' without a message"),
        (b'{"type":"session","cwd":"/"}\n{"type":"message"}\n', 2, "None where the role"),
    ],
)
def test_unreadable_lines_are_named(
    content: bytes, line: int | None, found: str, write: Write
) -> None:
    """Which file, which line, what is there, and what would be understood."""
    path = write(content, "odd.jsonl")

    with pytest.raises(TranscriptUnreadable) as refused:
        read_transcripts(path)

    assert refused.value.line == line
    assert found in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "What is understood: " in str(refused.value)


@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(max_examples=50, deadline=None)
def test_bad_file_brings_only_a_sentence(content: bytes, tmp_path_factory: Any) -> None:
    """Whatever the bytes, they are read or refused."""
    path = tmp_path_factory.mktemp("any") / "any.jsonl"
    path.write_bytes(content)

    with pytest.raises(TranscriptUnreadable):
        read_transcripts(path)


def test_mending_says_what_it_did() -> None:
    """Unanswered calls are answered, orphans left out, strays moved; each is told."""
    call, result, reply = SAID[1], SAID[2], SAID[3]

    unanswered = Transcript("t", "chat", (SAID[0], call)).mended()
    orphaned = Transcript("t", "chat", (SAID[0], result, result)).mended()
    strayed = Transcript("t", "chat", (SAID[0], call, SAID[0], result, reply)).mended()

    assert unanswered.notes == ("1 call was never answered: it has a result that says so",)
    assert orphaned.notes == ("2 results answer no call: they are left out",)
    assert strayed.notes == ("results are moved right behind their calls",)
    assert strayed.messages[2] == result
