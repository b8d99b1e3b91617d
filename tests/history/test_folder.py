import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentic.errors import HistoryConflict, HistoryCorrupt, HistoryNotWritten
from agentic.history import JsonlSessions
from agentic.messages import ContextSummary, Message

HELLO = Message("user", "hello")


async def _write(sessions: JsonlSessions, session_id: str) -> None:
    async with sessions.open(session_id) as store:
        await store.append(HELLO)
        await store.put("red")
    await sessions.rename(session_id, "A red build")


def test_delete_removes_all_that_belongs(tmp_path: Path) -> None:
    """Outputs, title, torn entries and what a kill left of any of them, and nothing of others."""
    sessions = JsonlSessions(tmp_path)
    for session_id in ("a", "a.jsonl", "a.jsonl.title", "b"):
        asyncio.run(_write(sessions, session_id))
    others = {path.name for path in tmp_path.iterdir() if path.name not in _of_a(tmp_path)}
    for left in ("torn-1", "torn-12", "x_3f.part", "title.x_3f.part"):
        (tmp_path / f"a.jsonl.{left}").touch()
    notes = tmp_path / "a.jsonl.notes"
    notes.touch()

    asyncio.run(sessions.delete("a"))

    assert {path.name for path in tmp_path.iterdir()} == others | {notes.name}


def _of_a(folder: Path) -> set[str]:
    names = {"a.jsonl", "a.jsonl.outputs", "a.jsonl.title"}
    assert names <= {path.name for path in folder.iterdir()}
    return names


def test_half_a_delete_leaves_the_session(tmp_path: Path) -> None:
    """The session file goes last, so that a delete that failed can be tried again."""
    sessions = JsonlSessions(tmp_path)
    asyncio.run(_write(sessions, "a"))
    chattr, title = shutil.which("chattr"), tmp_path / "a.jsonl.title"
    if not chattr or subprocess.run([chattr, "+i", title], check=False).returncode:
        pytest.skip("needs chattr, a file system that knows immutable files, and root")

    with pytest.raises(HistoryNotWritten, match="Operation not permitted"):
        asyncio.run(sessions.delete("a"))
    subprocess.run([chattr, "-i", title], check=True)

    assert [info.title for info in asyncio.run(sessions.list())] == ["A red build"]
    asyncio.run(sessions.delete("a"))
    assert list(tmp_path.iterdir()) == []


def test_delete_follows_no_link(tmp_path: Path) -> None:
    """Somebody who keeps outputs on another disk loses the link."""
    sessions, elsewhere = JsonlSessions(tmp_path / "sessions"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    sessions.folder.mkdir()
    (sessions.folder / "a.jsonl.outputs").symlink_to(elsewhere)
    asyncio.run(_write(sessions, "a"))

    asyncio.run(sessions.delete("a"))

    assert list(sessions.folder.iterdir()) == []
    assert len(list(elsewhere.iterdir())) == 1


def test_list_counts_foreign_entries(tmp_path: Path) -> None:
    """Another order of keys, blanks, entries of a newer version and damage stop no list."""
    summary = ContextSummary("so far", 7).to_message()
    sessions = JsonlSessions(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(
        b'{"type": "message", "v": 1, "message": {"role": "user", "content": "\\"summary\\":"}}\n'
        b"\n"
        b'{"v":7,"type":"bookmark","optional":true}\n'
        b"damaged\n"
        b'{"v":1,"type":"message","message":{"v":1,"role":"user"}}\n'
        b'{"v":1,"type":"message","message":'
    )
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / ".hidden.jsonl").touch()
    (tmp_path / "folder.jsonl").mkdir()
    found = {info.id: info for info in asyncio.run(sessions.list())}
    assert {name: info.messages for name, info in found.items()} == {"a": 2}

    async def append() -> int:
        async with sessions.open("b") as store:
            await store.append(HELLO)
            await store.append(summary)
        return next(info.summarized for info in await sessions.list() if info.id == "b")

    assert asyncio.run(append()) == 7


@pytest.mark.parametrize(
    "content",
    [
        b'{"messages": [{"role": "user", "content": "Hi"}]}\n' * 2,
        b'{"role": "user", "content": "Hi"}\n',
        b"[1]\n2\nnull\n",
        b"\x00\xff garbage\n",
    ],
)
def test_list_leaves_other_files_out(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Or it might be taken for the latest one; the log names it."""
    sessions = JsonlSessions(tmp_path)
    asyncio.run(_write(sessions, "a"))
    (tmp_path / "foreign.jsonl").write_bytes(content)

    assert [info.id for info in asyncio.run(sessions.list())] == ["a"]
    assert f"{tmp_path / 'foreign.jsonl'} is not listed: no line of it is an entry" in caplog.text


@pytest.mark.parametrize(
    "content",
    [
        b'{"v":1,"type":"message","mess',
        b'damaged\n{"v":1,"type":"message","message":{"v":1,"role":"user"}}\n',
        b'{"v":9,"type":"message","text":"of a newer version"}\n',
    ],
)
def test_list_has_damaged_sessions(tmp_path: Path, content: bytes) -> None:
    """Whoever opens it is told what is wrong; a list that hid it would hide what is left of it."""
    (tmp_path / "a.jsonl").write_bytes(content)

    assert [info.id for info in asyncio.run(JsonlSessions(tmp_path).list())] == ["a"]


def test_refused_import_has_single_full_stops(tmp_path: Path) -> None:
    """The sentence within the sentence brings one along."""
    line = b'{"v":1,"type":"output","optional":true,"ref":"../x","text":"red"}\n'

    with pytest.raises(HistoryCorrupt) as caught:
        asyncio.run(JsonlSessions(tmp_path).import_("a", [line]))

    assert ". Nothing was changed: " in str(caught.value)
    assert ".." not in str(caught.value).replace("../x", "")


def test_session_began_with_its_first_message(tmp_path: Path) -> None:
    """A file knows its last change only; the first message knows more."""
    sessions = JsonlSessions(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(
        b'{"v":1,"type":"message","message":'
        b'{"v":1,"role":"user","timestamp":"2026-01-02T03:04:05+01:00"}}\n'
    )
    os.utime(tmp_path / "a.jsonl", (1_800_000_000, 1_800_000_000))

    (info,) = asyncio.run(sessions.list())

    assert info.created_at.isoformat() == "2026-01-02T02:04:05+00:00"
    assert info.changed_at.isoformat() == "2027-01-15T08:00:00+00:00"


@pytest.mark.parametrize("edited", ["too long " * 100, "\x1b[31mred"])
def test_edit_that_is_no_title_is_left_out(tmp_path: Path, edited: str) -> None:
    """Otherwise the session could be exported, and not imported."""
    sessions, copies = JsonlSessions(tmp_path), JsonlSessions(tmp_path / "copies")
    asyncio.run(_write(sessions, "a"))
    (tmp_path / "a.jsonl.title").write_text(edited)

    asyncio.run(copies.import_("a", sessions.export("a")))

    for place in (sessions, copies):
        assert [info.title for info in asyncio.run(place.list())] == [""]


def test_edited_title_is_its_first_line(tmp_path: Path) -> None:
    """A newline at the end is no part of it, and an export takes it along."""
    sessions = JsonlSessions(tmp_path)
    asyncio.run(_write(sessions, "a"))
    (tmp_path / "a.jsonl.title").write_text("Mine\nand more\n")

    asyncio.run(sessions.import_("b", sessions.export("a")))

    assert {info.title for info in asyncio.run(sessions.list())} == {"Mine"}


def test_everything_is_private(tmp_path: Path) -> None:
    """Written or imported, with its title: for the owner only."""
    sessions = JsonlSessions(tmp_path, fsync=True)
    asyncio.run(_write(sessions, "a"))
    asyncio.run(sessions.import_("b", sessions.export("a")))

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 6
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_import_meets_a_beginning_session(tmp_path: Path) -> None:
    """Who was first keeps the id, even if the lines took their time."""
    sessions = JsonlSessions(tmp_path)
    asyncio.run(_write(sessions, "a"))

    async def lines() -> object:
        async for line in sessions.export("a"):
            yield line
        async with sessions.open("b") as store:
            await store.append(HELLO)

    with pytest.raises(HistoryConflict, match="already exists"):
        asyncio.run(sessions.import_("b", lines()))  # type: ignore[arg-type]

    assert asyncio.run(sessions.open("b").full()) == [HELLO]
    assert not list(tmp_path.glob("*.part"))
