"""What a redaction leaves in the files: nothing, wherever the secret was."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic.errors import HistoryConflict, HistoryCorrupt, OutputNotFound
from agentic.history import JsonlSessions, JsonlStore
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.messages import ContextSummary, Message, ProviderPayload, ToolCall, ToolResult

SECRET = "sk-live-4f9c1a77"  # noqa: S105  nobody's
MARK = "[a key was here]"
BULK = "".join(f"line {number} of a log\n" for number in range(400))


def _leaks(folder: Path) -> list[str]:
    """Name the files that hold the secret, whatever they are."""
    wanted = SECRET.encode()
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if wanted in path.read_bytes()]


async def _fill(store: Any) -> None:
    """Write the secret everywhere, between messages that move it about."""
    for number in range(20):
        await store.append(Message("user", f"{number} {BULK}"))
    ref = await store.put(f"{BULK}KEY={SECRET}\n")
    call = ToolCall("c1", "run", json.dumps({"command": f"KEY={SECRET} make"}))
    native = ProviderPayload("acme", [{"text": f"I use {SECRET}"}])
    leak = Message("assistant", f"I use {SECRET}", tool_calls=[call], id="leak", native=native)
    await store.append(leak.edit(reasoning=""))
    result = ToolResult("c1", "run", f"KEY={SECRET}", ref=ref)
    await store.append(Message("tool", tool_results=[result], id="result"))
    await store.replace((await store.load())[10:])
    await store.append(Message("user", BULK))
    notes = {"keys": {SECRET: ref}, "parts": [f"KEY={SECRET}"]}
    summary = ContextSummary(f"It was built with `{SECRET}` (see {ref}).", 20, notes=notes)
    await store.replace([summary.to_message()])
    await store.restore()
    await store.replace([summary.to_message(), Message("user", BULK)])


@pytest.mark.parametrize("fsync", [False, True])
@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_no_secret_byte_is_left(tmp_path: Path, kind: type[Any], *, fsync: bool) -> None:
    """Not in entries, copies, outputs, titles, torn lines, free pages or a WAL."""
    place = kind(tmp_path / "sessions", fsync=fsync)

    async def write() -> None:
        async with place.open("tuesday") as other, place.open("monday") as store:
            await other.append(Message("user", "unconcerned"))
            await _fill(store)
            await place.rename("monday", f"about {SECRET}")
            if kind is JsonlSessions:
                (place.folder / "monday.jsonl.torn-1").write_text(f'{{"v":1,"x":"{SECRET}')
                (place.folder / "monday.jsonl.title.xy.part").write_text(SECRET)
            assert len(_leaks(tmp_path)) > 0
            await store.redact("result", MARK)
            await store.redact("leak", MARK, secret=SECRET, by="Ann")
            assert _leaks(tmp_path) == []
            await store.append(Message("user", "go on"))
            assert await other.load() == [Message("user", "unconcerned")]
        assert _leaks(tmp_path) == []

    asyncio.run(write())

    assert MARK in asyncio.run(place.open("monday").load())[0].content


def test_an_archived_summary_loses_its_notes(tmp_path: Path) -> None:
    """They may say in their own form what another message said; its text is a message's own."""
    summary = ContextSummary("Done so far.", 3, notes={"key": [*SECRET]})
    talk = [summary.to_message(), Message("user", SECRET, id="leak"), Message("user", "go on")]

    async def write() -> list[Message]:
        async with JsonlStore(tmp_path / "monday.jsonl") as store:
            for message in talk:
                await store.append(message)
            await store.redact("leak", MARK)
            return await store.full()

    found = asyncio.run(write())

    bare = attrs.evolve(summary, notes={}).to_message()
    assert found == [bare, talk[1].replace(content=MARK), talk[2]]
    assert b'"notes"' not in (tmp_path / "monday.jsonl").read_bytes()


@pytest.mark.parametrize("kind", [JsonlStore, SqliteStore])
@pytest.mark.parametrize("secret", [None, "another text"])
@pytest.mark.parametrize(
    "payload",
    [
        [{"type": "compaction", "encrypted_content": "gAAAA"}, {"type": "message"}],
        {"content": [{"type": "compaction", "content": "The key is known."}]},
    ],
)
def test_opaque_compaction_is_removed(
    tmp_path: Path, kind: type[Any], payload: Any, secret: str | None
) -> None:
    """Nobody can search what a provider made of a message; one from before it stays."""
    native = ProviderPayload("acme", payload)
    replies = [Message("assistant", f"Answer {n}.", native=native, id=f"a{n}") for n in range(3)]
    edited = replies[2].edit(reasoning="")

    async def redact() -> list[Message]:
        async with kind(tmp_path / "monday") as store:
            for message in (replies[0], Message("user", SECRET, id="leak"), replies[1], edited):
                await store.append(message)
            await store.replace(await store.load())
            await store.redact("leak", MARK, secret=secret)
            return [*await store.load(), *await store.full()]

    messages = asyncio.run(redact())

    kept = [message.id for message in messages if message.origin is not None]
    assert kept == (["a0"] * 2 if secret is None else [])
    assert [each.content for each in messages[:4]] == ["Answer 0.", MARK, "Answer 1.", "Answer 2."]


def test_redaction_is_a_session_entry(tmp_path: Path) -> None:
    """It says which message, who and when, and older readers pass over it."""
    place = JsonlSessions(tmp_path)

    async def write() -> dict[str, Any]:
        async with place.open("monday") as store:
            await store.append(Message("user", SECRET, id="leak"))
            await store.redact("leak", MARK, by="Ann")
        lines = (place.folder / "monday.jsonl").read_bytes().splitlines()
        found: dict[str, Any] = json.loads(lines[-1])
        return found

    entry = asyncio.run(write())

    assert entry.pop("at").startswith("20")
    expected = {"v": 1, "type": "redact", "optional": True, "message": "leak", "by": "Ann"}
    assert entry == {**expected, "outputs": []}


def test_the_writer_stays_the_writer(tmp_path: Path) -> None:
    """The file that takes the place of the old one is locked before it is there."""
    path = tmp_path / "monday.jsonl"

    async def write() -> None:
        async with JsonlStore(path) as store:
            await store.append(Message("user", SECRET))
            await store.redact(0, MARK)
            with pytest.raises(HistoryConflict):
                await JsonlStore(path).append(Message("user", "second writer"))
            await store.append(Message("user", "go on"))

    asyncio.run(write())

    contents = [one.content for one in asyncio.run(JsonlStore(path).load())]
    assert contents == [MARK, "go on"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_link_to_session_is_followed(tmp_path: Path) -> None:
    """The file itself is replaced, and the link stays."""
    path, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(path)

    async def write() -> None:
        async with JsonlStore(link) as store:
            await store.append(Message("user", SECRET))
            await store.redact(0, MARK)

    asyncio.run(write())

    assert link.is_symlink()
    assert _leaks(tmp_path) == []


@pytest.mark.parametrize("kind", [JsonlStore, SqliteStore])
def test_a_link_is_another_name_of_one_session(tmp_path: Path, kind: type[Any]) -> None:
    """It has no lock and no outputs of its own."""
    path, link = tmp_path / "kept" / "real.jsonl", tmp_path / "link.jsonl"

    async def write() -> str:
        async with kind(path) as store:
            await store.append(Message("user", "hello", id="m"))
        link.symlink_to(path)
        async with kind(link) as other:
            await other.append(Message("user", "go on"))
            with pytest.raises(HistoryConflict):
                await kind(path).append(Message("user", "second writer"))
            ref: str = await other.put(f"The key is {SECRET}")
        async with kind(path) as store:
            await store.redact("m", MARK, secret=SECRET)
        return ref

    ref = asyncio.run(write())

    assert _leaks(tmp_path) == []
    with pytest.raises(OutputNotFound):
        asyncio.run(kind(link).get(ref))


def test_unknown_fields_survive_a_redaction(tmp_path: Path) -> None:
    """Of the entry and of other messages; those of the message itself may hold the secret."""
    place = JsonlSessions(tmp_path)
    message = {"v": 1, "role": "user", "content": "hello", "mood": "calm"}
    leak = {"v": 1, "role": "user", "content": SECRET, "mood": SECRET}
    plain = [
        {"v": 1, "type": "message", "message": message, "device": "phone"},
        {"v": 1, "type": "message", "message": leak, "device": "phone"},
        {"v": 7, "type": "bookmark", "optional": True},
    ]

    async def go_round() -> list[dict[str, Any]]:
        await place.import_("monday", [json.dumps(one).encode() + b"\n" for one in plain])
        await place.redact("monday", 1, MARK)
        return [json.loads(line) async for line in place.export("monday")]

    first, second, third, _ = asyncio.run(go_round())

    assert [first, third] == [plain[0], plain[2]]
    assert second == {**plain[1], "message": {"v": 1, "role": "user", "content": MARK}}


@pytest.mark.parametrize(
    "read", [lambda place: place.open("monday").load(), SqliteSessions.list], ids=["load", "list"]
)
def test_kept_error_lets_redaction_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Any], Any]
) -> None:
    """What could not be read is read no longer, even while somebody keeps the error."""
    monkeypatch.setattr("agentic.history.sqlite._database.BUSY_SECONDS", 0.2)
    place = SqliteSessions(tmp_path / "s.db")

    async def write() -> None:
        for name in ("monday", "tuesday"):
            async with place.open(name) as store:
                await store.append(Message("user", SECRET))
                await store.append(Message("user", "Why?"))
        with contextlib.closing(sqlite3.connect(place.path)) as other, other:
            other.execute("UPDATE entries SET text = x'7b', written_at = 'then' WHERE session = 1")
        with pytest.raises(HistoryCorrupt) as kept:
            await read(place)
        assert kept.traceback
        await place.redact("tuesday", 0, MARK)

    asyncio.run(write())


def test_reader_keeps_redaction_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who reads former pages is waited for, and then it is said what is still there."""
    monkeypatch.setattr("agentic.history.sqlite._database.BUSY_SECONDS", 0.2)
    place = SqliteSessions(tmp_path / "s.db")

    async def write() -> None:
        async with place.open("monday") as store:
            await store.append(Message("user", SECRET))
            reader = sqlite3.connect(place.path)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM entries").fetchone()
            with pytest.raises(HistoryConflict, match="redact again"):
                await store.redact(0, MARK)
            reader.close()
            await store.redact(0, MARK)

    asyncio.run(write())

    assert _leaks(tmp_path) == []


def test_damaged_session_is_not_partly_redacted(tmp_path: Path) -> None:
    """What cannot be read cannot be searched: nothing is changed, and the line is named."""
    path = tmp_path / "monday.jsonl"
    line = json.dumps({"v": 1, "type": "message", "message": {"role": "user", "content": SECRET}})
    path.write_text(f"{line}\nno entry\n")

    async def redact() -> None:
        async with JsonlStore(path) as store:
            await store.redact(0, MARK)

    with pytest.raises(HistoryCorrupt):
        asyncio.run(redact())

    assert path.read_text() == f"{line}\nno entry\n"


@pytest.mark.parametrize("replacement", [MARK, "[" + "x" * 300 + "]", "-"])
@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_another_stores_load_becomes_outdated(
    tmp_path: Path, kind: type[Any], replacement: str
) -> None:
    """It still says what was removed, and a replace would write it again."""
    place = kind(tmp_path / "sessions")

    async def write() -> None:
        async with place.open("monday") as first:
            for number in range(3):
                await first.append(Message("user", f"{number} {SECRET} {BULK}", id=f"m{number}"))
            loaded = await first.load()
        for number in range(3):
            await place.redact("monday", f"m{number}", replacement)
        async with first:
            for given in ({"replaces": 2}, {"replaces": 3}, {}):
                with pytest.raises(HistoryConflict, match="load again"):
                    await first.replace(loaded[1:], **given)
            loaded = await first.load()
            await first.replace(loaded[1:], replaces=2)

    asyncio.run(write())

    assert _leaks(tmp_path) == []


@pytest.mark.parametrize("by_another", [False, True])
@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_restore_leaves_the_load_outdated(
    tmp_path: Path, kind: type[Any], *, by_another: bool
) -> None:
    """Who restores has still loaded what a redaction removed since."""
    place = kind(tmp_path / "sessions")

    async def write() -> None:
        async with place.open("monday") as store:
            await store.append(Message("user", SECRET, id="leak"))
            await store.replace([Message("system", "a key")])
            await store.restore()
            loaded = await store.load()
            await store.replace([Message("system", "a key")])
            await (store.aclose() if by_another else store.redact("leak", MARK))
            if by_another:
                await place.redact("monday", "leak", MARK)
            await store.restore()
            with pytest.raises(HistoryConflict, match="load again"):
                await store.replace(loaded)

    asyncio.run(write())

    assert _leaks(tmp_path) == []


def test_a_damaged_output_is_removed(tmp_path: Path) -> None:
    """Nobody can read it, so nobody can say that it does not hold what is redacted."""
    store = JsonlStore(tmp_path / "session.jsonl")

    async def write() -> None:
        async with store:
            await store.append(Message("user", "hello", id="leak"))
            ref = await store.put("red")
            damaged = Path(f"{store.path}.outputs", ref)
            damaged.write_bytes(b"\xff\xd3")  # noqa: ASYNC240  a test has one task
            await store.redact("leak", MARK)
            with pytest.raises(OutputNotFound):
                await store.get(ref)

    asyncio.run(write())
