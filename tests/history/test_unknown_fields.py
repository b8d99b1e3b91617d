"""What a later version adds to an entry is kept, or the entry is refused if it says so."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import HistoryError, HistoryTooNew
from agentic.history import JsonlSessions, Sessions
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message

HELLO = {"v": 1, "role": "user", "content": "hello"}


@pytest.fixture(params=[JsonlSessions, SqliteSessions])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Sessions:
    """Return an empty place."""
    found: Sessions = request.param(tmp_path / "sessions")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder for session files."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


def _line(**fields: Any) -> bytes:
    return json.dumps({"v": 1, **fields}).encode() + b"\n"


def _entry(**fields: Any) -> bytes:
    return _line(type="message", message=HELLO, **fields)


def _message(**fields: Any) -> bytes:
    return _line(type="message", message={**HELLO, **fields})


TOO_NEW = [
    _entry(span=[0, 3], must_understand=["span"]),
    _message(ciphertext="x", must_understand=["ciphertext"]),
    _message(must_understand="ciphertext"),
    _line(type="replace", messages=[{**HELLO, "must_understand": ["a"]}]),
    _line(type="splice", messages=[]),
    _line(type="message", message={**HELLO, "v": 3}),
    json.dumps({"v": 2, "type": "message", "message": HELLO}).encode() + b"\n",
]


def _written(folder: Path, *lines: bytes) -> Any:
    (folder / "monday.jsonl").write_bytes(b"".join(lines))
    return JsonlSessions(folder).open("monday")


@pytest.mark.parametrize("line", TOO_NEW)
def test_required_unknown_field_is_refused(folder: Path, line: bytes) -> None:
    """The error is one sentence, names what is not known, and asks for a newer version."""
    store = _written(folder, _entry(), line)

    for step in (store.load, store.full):
        with pytest.raises(HistoryTooNew, match="newer version") as caught:
            asyncio.run(step())
        assert isinstance(caught.value, HistoryError)
        assert ". " not in str(caught.value).replace("monday.jsonl", "")


@pytest.mark.parametrize("line", TOO_NEW)
def test_too_new_import_is_refused(place: Sessions, line: bytes) -> None:
    """No place takes in what it would misread."""
    with pytest.raises(HistoryTooNew):
        asyncio.run(place.import_("monday", [_entry(), line]))

    assert list(asyncio.run(place.list())) == []


def test_no_reader_misses_unknown_kinds(place: Any) -> None:
    """A row of a later kind is in no view that is read, and yet `full()` does not leave it out."""
    asyncio.run(place.import_("monday", [_entry(), _line(type="replace", messages=[])]))
    _make_newer(place)

    with pytest.raises(HistoryTooNew):
        asyncio.run(place.open("monday").full())


def _make_newer(place: Any) -> None:
    newer = _line(type="batch", messages=[HELLO])
    if isinstance(place, JsonlSessions):
        path = place.folder / "monday.jsonl"
        path.write_bytes(path.read_bytes().replace(_entry(), newer))
        return
    import sqlite3  # noqa: PLC0415  one of the two needs it

    connection = sqlite3.connect(place.path)
    change = "UPDATE entries SET kind = 'batch', text = ? WHERE kind = 'message'"
    with connection:
        connection.execute(change, (newer[:-1],))
    connection.close()


def test_understood_fields_may_be_required(folder: Path) -> None:
    """A field that this version knows is no reason to refuse."""
    message = _message(must_understand=["v", "content"])
    store = _written(folder, _entry(must_understand=["type", "message"]), message)

    assert [one.content for one in asyncio.run(store.load())] == ["hello", "hello"]


def test_optional_entry_is_not_refused(folder: Path) -> None:
    """An entry that says it is optional is passed over, whatever else it says."""
    newer = _entry(span=1, must_understand=["span"], optional=True)
    store = _written(folder, _entry(), newer)

    assert len(asyncio.run(store.load())) == 1


NESTED: dict[str, Any] = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "name": "run", "kind": "custom"}],
    "media": [{"media_type": "image/png", "url": "https://example.org", "detail": "high"}],
    "usage": {"input": 3, "audio": 2},
    "native": {"provider": "gemini", "payload": {"parts": []}, "region": "eu"},
    "reactions": ["+1"],
}
RESULT: dict[str, Any] = {
    "role": "tool",
    "tool_results": [
        {"call_id": "c1", "name": "run", "took": 0.5, "error": {"message": "no", "code": 7}}
    ],
}


@pytest.mark.parametrize("fields", [NESTED, RESULT], ids=["assistant", "tool"])
def test_fields_that_change_nothing_are_kept(place: Any, fields: dict[str, Any]) -> None:
    """Through a load, a replace, an undo, an export and an import, at every depth."""
    plain = {"v": 1, "content": "", **fields}
    line = _line(type="message", message=plain, device="phone")

    async def go_round() -> list[dict[str, Any]]:
        await place.import_("monday", [_entry(), line])
        async with place.open("monday") as store:
            full = await store.full()
            await store.replace([Message("system", "past"), *full])
            await store.restore()
        await place.import_("tuesday", place.export("monday"))
        return [json.loads(text) async for text in place.export("tuesday")]

    entries = asyncio.run(go_round())

    assert entries[1]["device"] == "phone"
    kept = [entries[1]["message"], entries[2]["messages"][-1], entries[3]["messages"][-1]]
    assert [{**one, "content": ""} for one in kept] == [plain] * 3
