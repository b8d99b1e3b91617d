"""What a place with the sessions of a fixture must give back, whatever version wrote them."""

import json
from pathlib import Path
from typing import Any

from agentic.errors import NothingToRestore
from agentic.history import Sessions
from agentic.history._replace import compare
from agentic.messages import Message, close_open_rounds, from_plain, to_plain


def read_expected(version: Path) -> dict[str, Any]:
    """Read what the sessions of a fixture hold."""
    found = json.loads((version / "expected.json").read_bytes().decode("utf-8", "surrogatepass"))
    assert isinstance(found, dict)
    return found


async def check(place: Sessions, expected: dict[str, Any]) -> None:
    """Compare everything, then take back a compaction of each session."""
    infos = {info.id: info for info in await place.list()}
    assert set(infos) == set(expected)
    for session_id, wanted in expected.items():
        info = infos[session_id]
        for name in ("title", "messages", "summarized"):
            assert getattr(info, name) == wanted[name], (session_id, name)
        store: Any = place.open(session_id)
        async with store:
            await _check(store, wanted)


async def check_keys(place: Sessions, expected: dict[str, Any]) -> None:
    """Append what has a key again: nothing is added."""
    for session_id, wanted in expected.items():
        store: Any = place.open(session_id)
        async with store:
            for key, plain in wanted.get("keys", {}).items():
                await store.append(from_plain(plain), key=key)
            assert _text(await store.full()) == _text(_messages(wanted["full"]))


async def _check(store: Any, wanted: dict[str, Any]) -> None:
    # synthetic results are made at every load, so they belong to no format
    assert _text(await store.load()) == _text(close_open_rounds(_messages(wanted["view"])))
    assert _text(await store.full()) == _text(_messages(wanted["full"]))
    for ref, output in wanted["outputs"].items():
        assert await store.get(ref) == output
    if wanted["before"] is None:
        try:
            await store.diff()
        except NothingToRestore:
            return
        raise AssertionError("a compaction stands")
    diff, expected = await store.diff(), _diff(wanted)
    assert (_text(diff.dropped), _text(diff.added)) == expected
    await store.restore()
    assert _text(await store.load()) == _text(close_open_rounds(_messages(wanted["restored"])))


def _diff(wanted: dict[str, Any]) -> tuple[list[str], list[str]]:
    diff = compare(_messages(wanted["before"]), _messages(wanted["replaced_by"]))
    return _text(diff.dropped), _text(diff.added)


def _messages(plain: list[dict[str, Any]]) -> list[Message]:
    return [from_plain(one) for one in plain]


def _text(messages: Any) -> list[str]:
    """Return messages as texts, since NaN equals nothing."""
    return [json.dumps(to_plain(one), sort_keys=True, ensure_ascii=False) for one in messages]
