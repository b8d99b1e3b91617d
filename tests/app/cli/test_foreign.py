"""Sessions of other programs become ours, and ours go out in the forms of others."""

import asyncio
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agentic import history
from agentic.app.replay import Transcript, TranscriptUnreadable, _archives, read_transcripts
from agentic.history import sqlite
from agentic.messages import Media, Message, ToolCall, ToolError, ToolResult
from agentic.usage import Usage

SAID = [
    Message("system", "Be brief."),
    Message("user", "Read a.py and b.py."),
    Message(
        "assistant",
        "I do.",
        reasoning="Two files.",
        tool_calls=[ToolCall("c1", "read", '{"path": "a.py"}'), ToolCall("c2", "read", "{}")],
        usage=Usage(70, 9),
    ),
    Message(
        "tool",
        tool_results=[
            ToolResult("c1", "read", "x = 1"),
            ToolResult("c2", "read", "", ToolError("no such file")),
        ],
    ),
    Message("assistant", "It sets x. ü漢"),
]
CHAT = [
    {"role": "user", "content": "Read a.py."},
    {"role": "assistant", "content": "It sets x."},
    {"role": "boss", "content": "Who said that?"},
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep a session, and stand beside it."""
    monkeypatch.chdir(tmp_path)

    async def keep() -> None:
        async with history.JsonlStore(tmp_path / "kept" / "work.jsonl") as store:
            for message in SAID:
                await store.append(message)

    asyncio.run(keep())
    return tmp_path / "kept"


def lines(values: list[Any]) -> bytes:
    """Write JSON lines."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in values)


def said(messages: Any) -> list[Any]:
    """Return what the forms of others carry of messages."""
    return [
        (
            each.role,
            each.content,
            [(call.name, call.parse()) for call in each.tool_calls],
            [result.text.replace("Error: ", "") for result in each.tool_results],
        )
        for each in messages
    ]


@pytest.mark.usefixtures("place")
def test_a_foreign_session_becomes_ours(agentic: Any) -> None:
    """Resumable from any kind of place; what was left out of it is listed."""
    done = agentic("import", "sqlite:all.db", "--session", "again", stdin=lines(CHAT))

    async def look() -> list[Message]:
        async with sqlite.SqliteStore("all.db", "again") as store:
            return await store.load()

    assert done.status == 0
    assert done.err.splitlines() == [
        "agentic: again: line 3 is left out: found the role 'boss' where a message should be",
        "agentic: again: 47 % of the text was not understood, and is missing",
        "agentic: imported as again",
    ]
    assert [each.content for each in asyncio.run(look())] == ["Read a.py.", "It sets x."]


def test_an_export_of_many_becomes_as_many(agentic: Any, place: Path) -> None:
    """Each under its title; a name of another is no path, and all come or none."""
    conversation = {
        "uuid": "u",
        "name": "../../Über a plan",
        "chat_messages": [{"uuid": "m", "sender": "human", "text": "Hi."}],
    }
    Path("export.json").write_text(json.dumps([conversation, conversation]))

    done = agentic("import", place, "export.json")
    again = agentic("import", place, "export.json")
    named = agentic("import", place, "export.json", "-s", "one")

    names = {path.name for path in place.iterdir() if path.suffix == ".jsonl"}
    assert done.status == 0
    assert names == {
        "work.jsonl",
        "export-..-..-ber-a-plan.jsonl",
        "export-..-..-ber-a-plan-2.jsonl",
    }
    assert again.status == 1
    assert "already there, so nothing is imported: export-" in again.err
    assert (named.status, "holds 2 sessions: leave out --session" in named.err) == (2, True)


@pytest.mark.parametrize("form", ["openai", "responses", "anthropic", "gemini", "claude-code"])
def test_our_session_goes_out_in_every_form(agentic: Any, place: Path, form: str) -> None:
    """And is read again, whole but for what is listed."""
    done = agentic("export", place, "--as", form)

    [read] = read_transcripts("out.jsonl", file=io.BytesIO(done.raw))
    own = said(SAID[1:] if form == "claude-code" else SAID)
    results = [each for each in said(read.mended().messages) if each[0] == "tool"]
    assert done.status == 0
    assert [each for each in said(read.messages) if each[0] != "tool"] == [
        each for each in own if each[0] != "tool"
    ]
    assert [text for each in results for text in each[3]] == ["x = 1", "no such file"]
    assert "lost: 1 of 1 counts of what a reply used" in done.err


def test_what_is_lost_is_listed(agentic: Any, place: Path) -> None:
    """Reasoning belongs to its provider, and a session of Claude Code has no system prompt."""
    done = agentic("export", place, "--as", "claude-code")

    assert "agentic: lost: 1 of 1 system messages\n" in done.err
    assert "agentic: lost: 1 of 1 texts of reasoning\n" in done.err
    assert "lost: 1 of 2 results" not in done.err


@pytest.mark.parametrize("form", ["openai", "responses", "anthropic", "gemini", "claude-code"])
def test_a_redacted_text_never_leaves(agentic: Any, place: Path, form: str) -> None:
    """Neither do its copies."""
    assert agentic("redact", place, "1", "[gone]", "--yes").status == 0

    done = agentic("export", place, "--as", form)

    assert b"[gone]" in done.raw
    assert b"Read a.py and b.py." not in done.raw


def test_exported_archives_are_read_where_they_are(agentic: Any, place: Path) -> None:
    """Nothing of them is unpacked, whatever their names are."""
    conversation = {"name": "Plan", "chat_messages": [{"sender": "human", "text": "Hi."}]}
    with zipfile.ZipFile("export.zip", "w") as archive:
        archive.writestr("../outside.txt", "no")
        archive.writestr("data/conversations.json", json.dumps([conversation]))

    done = agentic("import", place, "export.zip")

    assert (done.status, done.err) == (0, "agentic: imported as export.zip\n")
    assert not Path("../outside.txt").exists()


def test_a_log_of_inspect_is_an_archive() -> None:
    """With a file for each sample."""
    sample = {"id": 3, "epoch": 1, "messages": [{"role": "user", "content": "Hi."}]}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "openai/gpt-5"}}))
        archive.writestr("samples/3_epoch_1.json", json.dumps(sample))
    packed.seek(0)

    [read] = read_transcripts("log.eval", file=packed)

    assert isinstance(read, Transcript)
    assert (read.format, read.model, read.messages[0].content) == (
        "Inspect log",
        "openai/gpt-5",
        "Hi.",
    )


@pytest.mark.parametrize(
    ("entries", "limit", "told"),
    [
        ({"conversations.json": "[]", "b": ""}, "_ENTRIES", "more than 1 entries"),
        ({"conversations.json": "[1, 2, 3]"}, "_BYTES", "more than 1 bytes of conversations"),
        ({"notes.txt": "Hi."}, None, "without conversations.json"),
    ],
)
def test_archives_have_limits(
    monkeypatch: pytest.MonkeyPatch, entries: dict[str, str], limit: str | None, told: str
) -> None:
    """Of entries and of sizes, before anything is read."""
    if limit:
        monkeypatch.setattr(_archives, limit, 1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    packed.seek(0)

    with pytest.raises(TranscriptUnreadable, match=told):
        read_transcripts("export.zip", file=packed)


def test_deep_json_is_refused(agentic: Any, place: Path) -> None:
    """As a sentence."""
    done = agentic("import", place, "-s", "deep", stdin=b'{"messages":' + b"[" * 100_000)

    assert done.status == 1
    assert done.err.count("\n") == 1


def test_pictures_that_a_form_has_no_place_for_are_counted(agentic: Any, tmp_path: Path) -> None:
    """A text says what was there."""

    async def keep() -> None:
        async with history.JsonlStore(tmp_path / "kept" / "s.jsonl") as store:
            await store.append(Message("user", "Look.", media=[Media("video/mp4", b"hi")]))

    asyncio.run(keep())

    done = agentic("export", tmp_path / "kept", "--as", "anthropic")

    assert "lost: 1 of 1 images, sounds and files" in done.err
