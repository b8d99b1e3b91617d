"""Sessions as files: out of one place, into another."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentic import history
from agentic.history import sqlite
from agentic.messages import Message

SAID = [Message("user", "Why is the build red?"), Message("assistant", "A test failed. ü漢")]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep a session with an output, and stand beside it."""
    monkeypatch.chdir(tmp_path)

    async def keep() -> None:
        async with history.JsonlStore(tmp_path / "kept" / "work.jsonl") as store:
            for message in SAID:
                await store.append(message)
            await store.put("the whole output")

    asyncio.run(keep())
    return tmp_path / "kept"


def test_export_is_imported_into_another_kind(agentic: Any, place: Path) -> None:
    """What was said, and the outputs that were kept."""
    exported = agentic("export", place)
    imported = agentic("import", "sqlite:all.db", "--session", "again", stdin=exported.raw)

    async def look() -> tuple[list[Message], str]:
        async with sqlite.SqliteStore("all.db", "again") as store:
            ref = await history.MemoryStore().put("the whole output")
            return await store.full(), await store.get(ref)

    assert exported.status == imported.status == 0
    assert imported.err == "agentic: imported as again\n"
    assert asyncio.run(look()) == (SAID, "the whole output")


def test_file_names_the_session_it_becomes(agentic: Any, place: Path) -> None:
    """It is readable by its owner only, as sessions are."""
    agentic("export", place, "--output", "monday.jsonl")

    done = agentic("import", place, "monday.jsonl")

    assert Path("monday.jsonl").stat().st_mode & 0o777 == 0o600
    assert done.err == "agentic: imported as monday\n"
    assert {path.stem for path in place.glob("*.jsonl")} == {"work", "monday"}


def test_what_is_there_is_not_overwritten(agentic: Any, place: Path) -> None:
    """Neither a file nor a session."""
    Path("taken.jsonl").write_text("mine")

    to_file = agentic("export", place, "-o", "taken.jsonl")
    agentic("export", place, "-o", "work.jsonl")
    to_session = agentic("import", place, "work.jsonl")

    assert (to_file.status, to_file.err) == (1, "agentic: taken.jsonl: file exists\n")
    assert Path("taken.jsonl").read_text() == "mine"
    assert to_session.status == 1
    assert "already exists" in to_session.err


def test_failed_export_leaves_no_file(agentic: Any, place: Path) -> None:
    """Half a session would look like a whole one."""
    done = agentic("export", place, "-s", "gone", "-o", "gone.jsonl")

    assert done.status == 1
    assert not Path("gone.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "said"),
    [
        (["kept"], b"", 2, "input from stdin has no name: pass --session ID"),
        (["kept", "gone.jsonl"], b"", 1, "gone.jsonl: no such file or directory"),
        (["kept", "-s", "x"], b"no JSON\n", 1, "cannot be read at byte 0"),
        (["kept", "-s", "../x"], b"", 1, "session_id must be 1 to 128 of"),
        (["kept", "-s", ""], b"", 1, "session_id must be 1 to 128 of"),
        (["kept", ""], b"", 2, "the name of a file is empty"),
        (["kept", "-s", "x"], b"", 1, "there is no message in stdin: nothing is imported"),
        (["new.db", "-s", "x"], b"", 1, "there is no message in stdin: nothing is imported"),
        (["new.db", "-s", "x"], b'{"v":1}\n', 1, "an entry of type None"),
        (
            ["kept", "-s", "x"],
            b'{"role":"boss"}\n',
            1,
            "found an object with 'role', which is not a message",
        ),
        (["kept", "-s", "x"], b'[{"size":3}]', 1, "found an object with 'size', which is not"),
        ([], b"", 2, "Missing argument 'PLACE'"),
    ],
)
@pytest.mark.usefixtures("place")
def test_a_mistake_is_one_sentence(
    agentic: Any, arguments: list[str], stdin: bytes, status: int, said: str
) -> None:
    """And nothing is imported."""
    done = agentic("import", *arguments, stdin=stdin)

    assert done.status == status
    assert said in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in Path("kept").glob("*.jsonl")] == ["work.jsonl"]
    assert not Path("new.db").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "mix",
            (
                "agentic: mix: no such file or folder, nor an agent: create agents/mix.yaml, or "
                "name a file; a new folder ends with a slash (mix/), a session file with .jsonl, a "
                "database with .db\n"
            ),
        ),
        ("codr", "agentic: codr: no such file or folder, nor an agent: did you mean "),
        ("broken", "agentic: agents/broken.yaml:1: max_turns must be "),
        ("there", "agentic: no agent named 'there'"),
        ("gone/agent.yaml", "agentic: gone/agent.yaml: no such file"),
    ],
)
@pytest.mark.usefixtures("place")
def test_an_unknown_place_says_how_to_name(agentic: Any, name: str, said: str) -> None:
    """It may be meant for a new place as well as for an agent; what names one has its own error."""
    Path("agents").mkdir()
    Path("agents/coder.yaml").touch()
    Path("agents/broken.yaml").write_text("max_turns: many\n")
    Path("there").touch()

    done = agentic("import", name, "-s", "x", stdin=b"")

    assert done.status == 1
    assert done.err.startswith(said)
    assert done.err.count("\n") == 1


def test_a_slash_makes_a_folder(agentic: Any, place: Path) -> None:
    """As a session file and a database are."""
    agentic("export", place, "-o", "work.jsonl")

    done = agentic("import", "new/", "work.jsonl")

    assert (done.status, done.err) == (0, "agentic: imported as work\n")
    assert Path("new/work.jsonl").is_file()


def test_a_dash_is_stdout(agentic: Any, place: Path) -> None:
    """As it is for every command that reads."""
    assert agentic("export", place, "-o", "-").raw == agentic("export", place).raw
    assert not Path("-").exists()
