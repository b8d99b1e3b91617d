"""What can be done with a stored session, by every way to name one."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentic import history
from agentic.history import sqlite
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult

SAID = "Why is the build red?"
SUMMARY = ContextSummary(
    "The build was red.",
    25,
    0,
    24,
    datetime(2024, 1, 15, 10, 30, tzinfo=UTC),
    850,
    messages_kept=2,
)
NEAR = """\
Context Status
  Last summary: 25 messages → 850 tokens
  Created: 2024-01-15 10:30

Summarization Triggers (N messages OR K tokens)
  Messages: 28 / 30 (93%)
           [██████████████████░░]
"""


def talk(exchanges: int) -> list[Message]:
    """Make a conversation that begins with a tool."""
    call = ToolCall("c1", "read", '{"path": "build.log"}')
    begin = [
        Message("user", SAID),
        Message("assistant", "Let me look.", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "read", "FAILED test_parser\n" * 50)]),
        Message("assistant", "A test of the parser failed."),
    ]
    rest = [
        Message(role, f"{role} {n}")  # type: ignore[arg-type]
        for n in range(exchanges)
        for role in ("user", "assistant")
    ]
    return begin + rest


async def keep(store: Any, *messages: Message) -> None:
    """Append messages."""
    async with store:
        for message in messages:
            await store.append(message)


async def summarize_near(store: Any) -> None:
    """Leave a session that the next exchange will have summarized."""
    async with store:
        for message in talk(12)[:27]:
            await store.append(message)
        await store.replace([SUMMARY.to_message(), *talk(12)[25:27]])
        for message in talk(14)[:28]:
            await store.append(message)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Keep two sessions in a folder, the second one later."""
    asyncio.run(keep(history.JsonlStore(tmp_path / "kept" / "old.jsonl"), *talk(2)))
    asyncio.run(keep(history.JsonlStore(tmp_path / "kept" / "new.jsonl"), *talk(10)))
    return tmp_path / "kept"


@pytest.fixture(params=["folder", "file", "sqlite file", "sqlite:", "agent's file", "agent's name"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Name one and the same conversation in every way."""
    monkeypatch.chdir(tmp_path)
    if "sqlite" in request.param:
        asyncio.run(keep(sqlite.SqliteStore("kept.db", "work"), *talk(10)))
        return "kept.db" if request.param == "sqlite file" else "sqlite:kept.db"
    asyncio.run(keep(history.JsonlStore("kept/work.jsonl"), *talk(10)))
    Path("coder.yaml").write_text("store: {path: kept}\ncontext: {summary_model: digest}\n")
    names = {"folder": "kept", "file": "kept/work.jsonl", "agent's file": "coder.yaml"}
    return names.get(request.param, "coder")


def test_session_is_compacted_inspected_and_restored(agentic: Any, place: str) -> None:
    """By every name of a place the same commands do the same."""
    compacted = agentic("compact", place)
    shown = agentic("context", place)
    diff = agentic("diff", place)
    restored = agentic("restore", place)
    again = agentic("restore", place)

    assert compacted.out.startswith("work: 18 messages summarized, ")
    assert "  Last summary: 18 messages → " in shown.out
    assert diff.out.startswith(f"- user       {SAID}\n- assistant  Let me look. · read ")
    assert "\n+   [Context Summary - 18 previous messages]\n" in diff.out
    assert restored.out == "work: Back in the context: 18 messages.\n"
    assert (again.status, again.out) == (1, "")
    assert again.err.endswith(": there is no summary to take back\n")


def test_context_shows_the_rows_screen(agentic: Any, tmp_path: Path) -> None:
    """Cell for cell, for a session near its trigger."""
    asyncio.run(summarize_near(history.JsonlStore(tmp_path / "work.jsonl")))

    done = agentic("context", tmp_path / "work.jsonl")

    assert done.out.startswith(NEAR)
    assert done.out.endswith("\n\n  ⚡ Summarization will trigger on next message\n")


def test_json_has_numbers_and_summary(agentic: Any, tmp_path: Path) -> None:
    """What the screen shows, and exactly."""
    asyncio.run(summarize_near(history.JsonlStore(tmp_path / "work.jsonl")))

    said = json.loads(agentic("context", "--json", tmp_path / "work.jsonl").out)

    assert said["session"] == "work"
    assert (said["messages"], said["max_messages"], said["will_trigger"]) == (28, 30, True)
    assert said["messages_percent"] == pytest.approx(93.3, abs=0.1)
    assert said["summary"]["messages_summarized"] == 25


def test_the_latest_session_is_the_default(agentic: Any, folder: Path) -> None:
    """And with one it is that one."""
    assert agentic("compact", folder).out.startswith("new: ")
    assert json.loads(agentic("context", folder, "--json", "-s", "old").out)["session"] == "old"


def test_a_focus_reaches_the_summarizer(agentic: Any, tmp_path: Path) -> None:
    """The agent's own summarizer is asked, with what the summary is to dwell on."""
    (tmp_path / "who.py").write_text(
        "from agentic import loop\n\n\n"
        "class Who:\n"
        "    async def decide(self, request):\n"
        "        dwells = 'the parser above all' in request.user_message\n"
        "        return loop.Decision(f'Summary that dwells: {dwells}. ' * 3)\n"
    )
    (tmp_path / "coder.yaml").write_text(
        "model: who.py:Who\nstore: {path: kept}\ncontext: {summary_model: 'who.py:Who'}\n"
    )
    asyncio.run(keep(history.JsonlStore(tmp_path / "kept" / "work.jsonl"), *talk(10)))

    agentic("compact", tmp_path / "coder.yaml", "--focus", "the parser above all")

    assert "Summary that dwells: True." in agentic("diff", tmp_path / "coder.yaml").out


def test_diff_prints_whole_messages_or_json(agentic: Any, folder: Path) -> None:
    """Clipped for the eye, whole for whoever wants to know."""
    agentic("compact", folder)

    full = agentic("diff", folder, "--full").out
    plain = json.loads(agentic("diff", folder, "--json").out)

    assert full.count("-   FAILED test_parser\n") == 49
    assert len(plain["dropped"]) == 18
    assert plain["dropped"][0]["content"] == SAID
    assert plain["added"][0]["content"].startswith("[Context Summary - 18 previous messages]")


def test_a_session_in_use_stays_whole(agentic: Any, folder: Path) -> None:
    """Looking is allowed, compacting is not."""

    async def meanwhile() -> tuple[Any, Any]:
        async with history.JsonlStore(folder / "new.jsonl") as store:
            await store.append(Message("user", "Mine."))
            loop = asyncio.get_running_loop()
            looked = await loop.run_in_executor(None, agentic, "context", folder)
            return looked, await loop.run_in_executor(None, agentic, "compact", folder)

    looked, compacted = asyncio.run(meanwhile())

    assert looked.status == 0
    assert compacted.status == 1
    assert "is in use by another writer" in compacted.err + compacted.out
    assert "Traceback" not in compacted.err


def test_a_short_session_needs_no_summary(agentic: Any, folder: Path) -> None:
    """It says so, and changes nothing."""
    asyncio.run(keep(history.JsonlStore(folder / "short.jsonl"), Message("user", "hello")))

    done = agentic("compact", folder, "-s", "short")

    assert done.status == 1
    assert "short: Nothing was summarized: " in done.err


@pytest.mark.parametrize("name", ["context", "compact", "diff", "restore", "export"])
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "Missing argument 'PLACE'. See 'agentic "),
        (["gone.jsonl"], 1, "agentic: gone.jsonl: no such file or directory\n"),
        (["sqlite:gone"], 1, "agentic: gone: no such file or directory\n"),
        (["nobody"], 1, "agentic: no agent named 'nobody'"),
        ([""], 2, "PLACE is empty: name an agent, a folder, a file or a database. See"),
        (["dec.py"], 1, "dec.py is neither an agent's file, whose name ends with .yaml, nor"),
        (["kept", "-s", ""], 1, "session_id must be 1 to 128 of"),
        (["kept/old.jsonl", "-s", ""], 1, "--session must be old, which the file is"),
        (["kept", "-s", "gone"], 1, "kept holds no session 'gone': list the sessions"),
        (["kept/old.jsonl", "-s", "new"], 1, "--session must be old, which the file is"),
        (["empty"], 1, "agentic: empty has no sessions yet: start one with agentic chat\n"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_one_sentence(  # noqa: PLR0917
    agentic: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: list[str],
    status: int,
    said: str,
) -> None:
    """The same one for every command."""
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("dec.py").touch()

    done = agentic(name, *arguments)

    assert done.status == status
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_a_wrong_file_is_named(agentic: Any, tmp_path: Path) -> None:
    """Somebody who names the wrong file learns that it is the wrong file."""
    (tmp_path / "notes.jsonl").write_text("no JSON\n" * 3)

    done = agentic("context", tmp_path / "notes.jsonl")

    assert done.status == 1
    assert "choose another file" in done.err
    assert "Traceback" not in done.err
