import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic.errors import SessionNotFound
from agentic.history import JsonlSessions, JsonlStore, Sessions
from agentic.history._abilities import SessionInfo
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message
from agentic.testing import check_sessions

HELLO = Message("user", "hello")


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Path]:
    """Return a new place at each call of next()."""
    return (tmp_path / str(number) for number in itertools.count())


@pytest.mark.parametrize("fsync", [False, True])
def test_folder_sessions_keep_their_promises(places: Iterator[Path], *, fsync: bool) -> None:
    """JsonlSessions passes the contract suite, and its sessions move to a database and back."""
    check_sessions(
        lambda: JsonlSessions(next(places), fsync=fsync),
        other=lambda: SqliteSessions(next(places)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("fsync", [False, True])
def test_database_sessions_keep_their_promises(places: Iterator[Path], *, fsync: bool) -> None:
    """SqliteSessions passes the contract suite."""
    check_sessions(lambda: SqliteSessions(next(places), fsync=fsync))


class _Broken(JsonlSessions):
    """A folder of sessions in a place of its own, to be broken in one way."""


class _OpeningAnything(_Broken):
    def open(self, session_id: str) -> JsonlStore:
        return JsonlStore(self.folder / f"{session_id}.jsonl")


class _ListingByName(_Broken):
    async def list(self) -> Sequence[SessionInfo]:
        return sorted(await super().list(), key=lambda info: info.id)


class _Behind(_Broken):
    """Times of a server whose clock is a minute late."""

    minutes = 1

    async def list(self) -> Sequence[SessionInfo]:
        late = timedelta(minutes=self.minutes)
        return [
            attrs.evolve(info, created_at=info.created_at - late, changed_at=info.changed_at - late)
            for info in await super().list()
        ]


class _Forgetful(_Behind):
    minutes = 60 * 24 * 365 * 50


@pytest.mark.slow
def test_a_servers_clock_may_be_behind(places: Iterator[Path]) -> None:
    """By a minute, as clocks of two machines are."""
    check_sessions(lambda: _Behind(next(places), fsync=False))


class _CountingEntries(_Broken):
    async def list(self) -> Sequence[SessionInfo]:
        return [attrs.evolve(info, messages=info.messages + 1) for info in await super().list()]


class _ForgettingTitles(_Broken):
    async def rename(self, session_id: str, title: str) -> None:
        await super().rename(session_id, title and "untitled")


class _TakingAnyTitle(_Broken):
    async def rename(self, session_id: str, title: str) -> None:
        await super().rename(session_id, str(title).partition("\n")[0][:200])


class _LeavingOutputs(_Broken):
    async def delete(self, session_id: str) -> None:
        self._find(session_id).unlink()


class _DeletingByPrefix(_Broken):
    async def delete(self, session_id: str) -> None:
        await super().delete(session_id)
        for path in self.folder.glob(f"{session_id}*.jsonl"):
            path.unlink()


class _DeletingUnderTheWriter(_Broken):
    async def delete(self, session_id: str) -> None:
        for path in self.folder.glob(f"{self._find(session_id).name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


class _DeletingWhatIsNotThere(_Broken):
    async def delete(self, session_id: str) -> None:
        try:
            await super().delete(session_id)
        except SessionNotFound:
            return


class _ExportingTheView(_Broken):
    async def export(self, session_id: str) -> AsyncIterator[bytes]:
        lines = [line async for line in super().export(session_id)]
        views = [at for at, line in enumerate(lines) if b'"type":"replace"' in line]
        for line in lines[views[-1] if views else 0 :]:
            yield line


class _ImportingOver(_Broken):
    async def import_(self, session_id: str, lines: Any) -> None:
        path = self._path(session_id)
        path.unlink(missing_ok=True)
        await super().import_(session_id, lines)


class _ImportingHalf(_Broken):
    async def import_(self, session_id: str, lines: Any) -> None:
        try:
            await super().import_(session_id, lines)
        except ValueError:
            raise
        except Exception:
            self._path(session_id).touch()
            raise


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_OpeningAnything, "could lead elsewhere"),
        (_ListingByName, "changed last first"),
        (_CountingEntries, "with its counts"),
        (_Forgetful, "with its counts and times"),
        (_ForgettingTitles, r"rename\(\) gives a title"),
        (_TakingAnyTitle, "one line of text"),
        (_LeavingOutputs, "It returned|the outputs with it"),
        (_DeletingByPrefix, "leaves all others"),
        (_DeletingUnderTheWriter, "that somebody writes"),
        (_DeletingWhatIsNotThere, "raises SessionNotFound"),
        (_ExportingTheView, r"import_\(\) takes"),
        (_ImportingOver, "changes nothing"),
        (_ImportingHalf, "makes no session"),
    ],
)
def test_broken_place_is_told_the_promise(
    places: Iterator[Path], broken: type[_Broken], promise: str
) -> None:
    """The suite fails on every way of being broken, in words that name the promise."""
    with pytest.raises(AssertionError, match=promise):
        check_sessions(lambda: broken(next(places)))


@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_looking_at_nothing_makes_nothing(tmp_path: Path, kind: type[Any]) -> None:
    """Opening, loading and listing leave no trace."""
    place: Sessions = kind(tmp_path / "sessions")

    assert asyncio.run(place.open("monday").load()) == []
    assert list(asyncio.run(place.list())) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_an_import_reads_from_a_file(tmp_path: Path, kind: type[Any]) -> None:
    """A file opened for bytes is lines, its last one with or without a newline."""
    file, place = tmp_path / "export.jsonl", kind(tmp_path / "sessions")
    message = b'{"v":1,"type":"message","message":{"v":1,"role":"user","content":"hello"}}'
    unknown = b'{"v":7,"type":"bookmark","optional":true}'
    file.write_bytes(b"\n".join([message, unknown, b"", message]))

    with file.open("rb") as lines:
        asyncio.run(place.import_("monday", lines))

    store = place.open("monday")
    assert asyncio.run(store.full()) == asyncio.run(store.load()) == [HELLO, HELLO]

    async def export() -> list[bytes]:
        return [line async for line in place.export("monday")]

    assert asyncio.run(export()) == [message + b"\n", unknown + b"\n", message + b"\n"]


@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_store_opens_an_export(tmp_path: Path, kind: type[Any]) -> None:
    """Written to a file, the lines are a session; title and outputs are passed over."""
    place = kind(tmp_path / "sessions")

    async def write() -> list[bytes]:
        async with place.open("monday") as store:
            await store.append(HELLO)
            await store.put("red")
        await place.rename("monday", "A red build")
        return [line async for line in place.export("monday")]

    (tmp_path / "copy.jsonl").write_bytes(b"".join(asyncio.run(write())))
    assert asyncio.run(JsonlStore(tmp_path / "copy.jsonl").load()) == [HELLO]
