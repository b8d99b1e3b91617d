"""Lists of sessions, their titles and their end."""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from agentic import history
from agentic.messages import Message


async def keep(path: Path, text: str) -> None:
    """Begin a session."""
    async with history.JsonlStore(path) as store:
        await store.append(Message("user", text))
        await store.append(Message("assistant", "Yes."))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Keep two sessions, the second one later."""
    for name in ("monday", "tuesday"):
        asyncio.run(keep(tmp_path / "kept" / f"{name}.jsonl", name))
    return tmp_path / "kept"


def test_the_latest_session_is_listed_first(agentic: Any, kept: Path) -> None:
    """A table that does not depend on the width of a screen, so that cut(1) and awk(1) work."""
    lines = agentic("sessions", kept).out.splitlines()

    assert lines[0] == "SESSION  MESSAGES  SUMMARIZED  CHANGED           TITLE"
    assert [line.split()[0:3] for line in lines[1:]] == [
        ["tuesday", "2", "0"],
        ["monday", "2", "0"],
    ]


def test_json_times_have_their_zone(agentic: Any, kept: Path) -> None:
    """For programs."""
    said = json.loads(agentic("sessions", kept, "--json").out)

    assert [each["id"] for each in said] == ["tuesday", "monday"]
    assert datetime.fromisoformat(said[0]["changed_at"]).tzinfo


def test_a_title_is_for_people(agentic: Any, kept: Path) -> None:
    """The id stays what it was."""
    done = agentic("sessions", kept, "--rename", "monday", "A red build")

    listed = [line for line in agentic("sessions", kept).out.splitlines() if "monday" in line]
    assert done.status == 0
    assert [line.endswith("  A red build") for line in listed] == [True]


def test_session_is_deleted_when_meant(agentic: Any, kept: Path) -> None:
    """Without a terminal to ask in, --yes says so."""
    refused = agentic("sessions", kept, "--delete", "monday")
    done = agentic("sessions", kept, "--delete", "monday", "--yes")

    assert refused.status == 2
    assert "add --yes" in refused.err
    assert done.status == 0
    assert [path.name for path in kept.glob("*.jsonl")] == ["tuesday.jsonl"]


def test_session_file_lists_one_session(agentic: Any, kept: Path) -> None:
    """The place is that file, whatever stands beside it."""
    lines = agentic("sessions", kept / "monday.jsonl").out.splitlines()

    assert [line.split()[0] for line in lines] == ["SESSION", "monday"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "Missing argument 'PLACE'"),
        (["nobody"], 1, "no agent named 'nobody'"),
        (["kept", "--delete", "gone", "--yes"], 1, "holds no session 'gone'"),
        (["kept", "--rename", "gone", "x"], 1, "holds no session 'gone'"),
        (["kept", "--rename", "monday", "red\x1b[2J"], 1, "title must be "),
        (["kept", "--rename", "monday"], 2, "requires 2 arguments"),
        ([""], 2, "PLACE is empty: name an agent, a folder"),
        (["sqlite:"], 2, "PLACE is empty"),
        (["gone/"], 1, "gone: no such file or directory"),
        (["kept", "--delete", "", "--yes"], 1, "session_id must be 1 to 128 of"),
        (["kept", "--rename", "", "x"], 1, "session_id must be 1 to 128 of"),
        (["kept", "--delete", "monday", "--rename", "tuesday", "x"], 2, "cannot be used together"),
        (["kept", "--yes"], 2, "--yes needs --delete ID"),
        (["kept", "--delete", "monday", "--yes", "--json"], 2, "--json applies only to the list"),
        (["kept", "--rename", "monday", "x", "--json"], 2, "--json applies only to the list"),
        (["kept", "--delete", "../x", "--yes"], 1, "session_id must be 1 to 128 of"),
        (["kept/monday.jsonl", "--delete", "tuesday", "--yes"], 1, "--session must be monday"),
        (["kept/monday.jsonl", "--rename", "tuesday", "x"], 1, "--session must be monday"),
        (["agent.yaml"], 1, "store.kind must be "),
    ],
)
@pytest.mark.usefixtures("kept")
def test_a_mistake_is_one_sentence(  # noqa: PLR0917
    agentic: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    status: int,
    said: str,
) -> None:
    """With what was given, and what would do."""
    monkeypatch.chdir(tmp_path)
    Path("agent.yaml").write_text("store: {kind: memory}\n")

    done = agentic("sessions", *arguments)

    assert done.status == status
    assert said in done.err
    assert done.err.count("\n") == 1
    assert len(list(Path("kept").glob("*.jsonl"))) == 2


@pytest.mark.slow
def test_times_are_those_on_the_wall(process: Callable[..., Any], kept: Path) -> None:
    """A list is read by people."""
    listed = process("sessions", kept, "--json", env={"TZ": "JST-9"}).stdout
    shown = process("sessions", kept, env={"TZ": "JST-9"}).stdout.decode()

    [when, _] = [datetime.fromisoformat(each["changed_at"]) for each in json.loads(listed)]
    assert f"{when.astimezone(timezone(timedelta(hours=9))):%Y-%m-%d %H:%M}" in shown
