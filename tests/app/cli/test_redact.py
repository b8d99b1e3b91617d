"""A leaked secret is removed by a command."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentic import history
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message

SECRET = "sk-live-4f9c1a77"  # noqa: S105  nobody's


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Keep a session that says a secret twice."""

    async def keep() -> None:
        async with history.JsonlStore(tmp_path / "kept" / "monday.jsonl") as store:
            await store.append(Message("user", f"The key is {SECRET}", id="leak"))
            await store.append(Message("assistant", f"I use {SECRET} now."))

    asyncio.run(keep())
    return tmp_path / "kept"


def _texts(folder: Path) -> list[str]:
    found = asyncio.run(history.JsonlStore(folder / "monday.jsonl").full())
    return [message.content for message in found]


@pytest.mark.parametrize("message", ["leak", "0"])
def test_id_or_position_names_redacted_message(agentic: Any, kept: Path, message: str) -> None:
    """What is not named stays: another message that says the same is another message."""
    done = agentic("redact", kept, message, "[gone]", "--yes")

    assert (done.status, done.out) == (0, f"monday: message {message} is redacted.\n")
    assert _texts(kept) == ["[gone]", f"I use {SECRET} now."]


def test_secret_from_file_is_removed_everywhere(agentic: Any, kept: Path, tmp_path: Path) -> None:
    """No command line holds it, and the newline of an editor is no part of it."""
    (tmp_path / "key.txt").write_text(f"{SECRET}\n")

    file = ["--secret-file", tmp_path / "key.txt"]
    done = agentic("redact", kept, "1", "[gone]", "-s", "monday", *file, "--yes")

    assert done.status == 0
    assert _texts(kept) == ["The key is [gone]", "[gone]"]


def test_secret_can_come_from_pipe(agentic: Any, kept: Path) -> None:
    """As from a password manager."""
    arguments = ["redact", kept, "1", "[gone]", "--secret-file", "-", "--yes"]

    assert agentic(*arguments, stdin=SECRET.encode()).status == 0
    assert SECRET not in "".join(_texts(kept))


def test_nothing_is_removed_without_being_asked(agentic: Any, kept: Path) -> None:
    """Without a terminal to ask in, --yes says so."""
    refused = agentic("redact", kept, "leak", "[gone]")

    assert refused.status == 2
    assert "add --yes" in refused.err
    assert SECRET in _texts(kept)[0]


@pytest.mark.parametrize("message", ["nobody", "7", "1" * 5_000])
def test_absent_message_is_told(agentic: Any, kept: Path, message: str) -> None:
    """In one sentence."""
    done = agentic("redact", kept, message, "[gone]", "--yes")

    assert done.status == 1
    assert "has no message" in done.err


def test_a_secret_must_be_text(agentic: Any, kept: Path, tmp_path: Path) -> None:
    """A session is UTF-8, so nothing else can be in it."""
    (tmp_path / "key.bin").write_bytes(b"\xff\xfe")

    file = ["--secret-file", tmp_path / "key.bin"]
    done = agentic("redact", kept, "1", "[gone]", "-s", "monday", *file, "--yes")

    assert done.status == 1
    assert "the secret is not UTF-8" in done.err
    assert _texts(kept)[0] == f"The key is {SECRET}"


@pytest.mark.parametrize("content", [SECRET + "\n\n", f"\ufeff{SECRET}\r\n", f"  {SECRET}\t"])
def test_what_an_editor_adds_is_no_secret(
    agentic: Any, kept: Path, tmp_path: Path, content: str
) -> None:
    """And it is told how often the secret was found."""
    (tmp_path / "key.txt").write_text(content, encoding="utf-8", newline="")

    file = ["--secret-file", tmp_path / "key.txt"]
    done = agentic("redact", kept, "1", "[gone]", *file, "--yes")

    assert (done.status, done.out) == (
        0,
        "monday: message 1 is redacted; the secret was found and removed 2 times.\n",
    )
    assert _texts(kept) == ["The key is [gone]", "[gone]"]


def test_secret_that_is_nowhere_is_told(agentic: Any, kept: Path) -> None:
    """Whoever reads that it is redacted would believe it."""
    done = agentic("redact", kept, "1", "[gone]", "--secret-file", "-", "--yes", stdin=b"sk-other")

    assert (done.status, done.out) == (1, "")
    assert "the secret was not found anywhere" in done.err


def test_empty_secret_is_refused(agentic: Any, kept: Path) -> None:
    """Before anything is changed."""
    done = agentic("redact", kept, "1", "[gone]", "--secret-file", "-", "--yes", stdin=b"\n")

    assert (done.status, "there is no secret in -" in done.err) == (1, True)
    assert SECRET in _texts(kept)[1]


def _served(folder: Path) -> SqliteSessions:
    """Return the sessions that `agentic serve` keeps for an agent without a store."""
    return SqliteSessions(folder / ".agentic" / "sessions" / "keeper.db")


async def _keep(store: Any) -> None:
    async with store:
        await store.append(Message("user", f"The key is {SECRET}", id="leak"))


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """Write an agent's file that names no store."""
    file = tmp_path / "keeper.yaml"
    file.write_text("name: keeper\nmodel: openai_chat:gpt-5\n")
    return file


@pytest.mark.parametrize("named", [["--session", "monday"], []])
def test_session_of_serve_is_reached_by_the_agent(
    agentic: Any, agent: Path, named: list[str]
) -> None:
    """It is in SQLite, though the sessions of the chat are files."""
    sessions = _served(agent.parent)
    asyncio.run(_keep(sessions.open("monday")))

    done = agentic("redact", agent, "leak", "[gone]", *named, "--yes")

    assert (done.status, done.err) == (0, "")
    assert [m.content for m in asyncio.run(sessions.open("monday").full())] == ["[gone]"]


def test_other_session_of_the_id_is_named(agentic: Any, agent: Path) -> None:
    """One command redacts one session, and says which one it did not reach."""
    sessions = _served(agent.parent)
    files = history.JsonlSessions(agent.parent / ".agentic" / "sessions" / "keeper")
    for each in (sessions, files):
        asyncio.run(_keep(each.open("monday")))

    done = agentic("redact", agent, "leak", "[gone]", "--session", "monday", "--yes")

    assert done.status == 0
    assert f"another session monday, in sqlite:{sessions.path}, is not redacted" in done.err
    assert [m.content for m in asyncio.run(files.open("monday").full())] == ["[gone]"]
    assert SECRET in asyncio.run(sessions.open("monday").full())[0].content
