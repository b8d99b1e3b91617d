"""`agentic replay` on the command line."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.history import JsonlStore
from agentic.messages import Message, ToolCall, ToolResult, to_plain
from agentic.replay import ADAPTERS, POLICIES
from agentic.replay._report import COLUMNS

pytestmark = pytest.mark.slow

Agentic = Callable[..., Any]
Talk = Callable[..., list[Message]]
Write = Callable[..., Path]


@pytest.fixture
def session(talk: Talk, write: Write) -> Path:
    """Write a session of 30 turns, a tenth of which fills a window of 4,000 tokens."""
    return write([to_plain(message) for message in talk(30)], "long.jsonl")


def test_a_table_shows_every_figure(agentic: Agentic, session: Path) -> None:
    """A line a policy, the best marked, and what counted."""
    done = agentic("replay", session, "--window", "4000", "-p", "none", "-p", "digest")

    head, columns, none, digest = done.out.split("\n")[:4]
    assert done.status == 0
    assert head == "long (63 messages, agentic messages)"
    assert all(column.title in columns for column in COLUMNS)
    assert none.split()[:2] == ["none", "31"]
    assert digest.split()[:2] == ["digest", "31"]
    assert "*" in digest
    assert "*" not in none
    assert "window 4,000, reserve 1,000" in done.out


def test_json_is_for_programs(agentic: Agentic, session: Path) -> None:
    """Numbers as numbers, every compaction, and the sums over the transcripts."""
    done = agentic("replay", session, session, "-w", "4000", "-p", "fit_window", "--json")

    told = json.loads(done.out)
    one, other = told["transcripts"]
    fit = one["policies"][0]
    assert [each["name"] for each in (one, other)] == ["long", "long (2)"]
    assert fit["compactions"] == len(fit["cuts"]) > 0
    assert fit["peak"] <= 3000
    assert fit["cuts"][0]["before"] > fit["cuts"][0]["after"]
    assert told["policies"][0]["turns"] == 2 * fit["turns"] == 62


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_stored_surrogates_are_replayed(agentic: Agentic, tmp_path: Path, option: str) -> None:
    """Under every policy and every provider's rules, into every form of the report."""
    call, result = ToolCall("c\ud83d", "re\ud83d", '{"path": "\ud83d.py"}'), "x = \udfff\n" * 200

    async def store() -> None:
        async with JsonlStore(tmp_path / "stored.jsonl") as opened:
            for _ in range(12):
                await opened.append(Message("user", "Read \ud83d."))
                await opened.append(Message("assistant", "\udc80", tool_calls=[call]))
                answer = ToolResult(call.id, call.name, result)
                await opened.append(Message("tool", tool_results=[answer]))
            await opened.append(Message("assistant", "It sets \ud83d."))

    asyncio.run(store())
    given = ["--html", tmp_path / "page.html"] if option == "--html" else ["--json"]
    for name in POLICIES:
        given += ["--policy", name]
    for name in ADAPTERS:
        given += ["--provider", name]

    done = agentic("replay", tmp_path / "stored.jsonl", "-w", "4000", *given)

    assert done.status == 0, done.err
    assert done.out


def test_several_transcripts_are_added_up(agentic: Agentic, session: Path, write: Write) -> None:
    """A table for each, with what was odd about it, and one for all."""
    half = write(session.read_bytes()[:-40], "half.jsonl")

    done = agentic("replay", session, half, "-w", "4000", "-p", "none", "-p", "keep_last")

    assert "half (62 messages, agentic messages)\n  note: line 63 breaks off" in done.out
    assert "all 2 transcripts" in done.out


def test_a_name_is_nothing_that_a_terminal_obeys(
    agentic: Agentic, session: Path, tmp_path: Path
) -> None:
    """The table shows a name without its control characters; JSON has them as escapes."""
    evil = session.rename(tmp_path / "a\x1b[2Jb\u202ec.jsonl")

    table = agentic("replay", evil, "-w", "4000", "-p", "none").out
    told = agentic("replay", evil, "-w", "4000", "-p", "none", "--json").out

    assert table.startswith("abc (63 messages")
    assert not {"\x1b", "\u202e"} & {*table, *told}
    assert json.loads(told)["transcripts"][0]["name"] == "a\x1b[2Jb\u202ec"


def test_an_empty_folder_is_told(agentic: Agentic, tmp_path: Path) -> None:
    """A folder without a transcript is a mistake."""
    done = agentic("replay", tmp_path, "-w", "4000")

    assert done.status == 2
    assert "contains no .jsonl or .json file" in done.err


def test_a_session_without_a_reply_is_shown_as_one(
    agentic: Agentic, write: Write, tmp_path: Path
) -> None:
    """There was nothing to send, and the table and the page say so."""
    asked = write([{"role": "user", "content": "Hello?"}])

    done = agentic("replay", asked, "-w", "4000", "-p", "none", "--html", tmp_path / "a.html")

    assert done.out.split("\n")[2].split()[:2] == ["none", "0"]
    assert "there was nothing to send" in (tmp_path / "a.html").read_text()


def test_a_page_is_written(agentic: Agentic, session: Path, tmp_path: Path) -> None:
    """Where it is, is told on stderr; the table is on stdout as ever."""
    page = tmp_path / "report.html"

    done = agentic("replay", session, "-w", "4000", "--html", page)

    assert page.read_text().startswith("<!doctype html>")
    assert done.err == f"agentic: the page is in {page}\n"
    assert done.out.startswith("long (63 messages")


def test_a_model_brings_its_window(agentic: Agentic, session: Path) -> None:
    """And its tokenizer, as far as one is at hand."""
    done = agentic("replay", session, "--model", "gpt-4", "--json", "-p", "none")

    assert json.loads(done.out)["window"] == 8192


def test_a_folder_is_all_of_its_files(agentic: Agentic, session: Path) -> None:
    """What is no transcript is told, and passed over without a failure."""
    (session.parent / "index.json").write_text('{"files": 1}')

    done = agentic("replay", session.parent, "-w", "4000", "-p", "none")

    assert done.status == 0
    assert "index.json, line 1: found an object with 'files'" in done.err
    assert done.out.startswith("long (63 messages")


def test_stdin_is_a_transcript(agentic: Agentic, session: Path) -> None:
    """As `-`."""
    done = agentic("replay", "-", "-w", "4000", "-p", "none", stdin=session.read_bytes())

    assert done.out.startswith("stdin (63 messages")


def test_one_bad_file_does_not_stop_the_others(agentic: Agentic, session: Path) -> None:
    """It is told with its line, the others are replayed, and the status says that one failed."""
    bad = session.with_name("bad.jsonl")
    bad.write_text('{"role": "user", "content": "a"}\n{"role": "boss"}\n')

    done = agentic("replay", bad, session, "absent.jsonl", "-w", "4000", "-p", "none")

    told = done.err.splitlines()
    assert done.status == 1
    assert told[0].startswith(f"agentic: {bad}, line 2: found the role 'boss'")
    assert told[1] == "agentic: absent.jsonl: no such file or directory"
    assert done.out.startswith("long (63 messages")


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([], 2, "Pass --window 32000, or --model gpt-5"),
        (["--model", "my-own"], 2, "The window of 'my-own' is not known: pass --window"),
        (["-w", "4000", "-p", "forget"], 1, ", ".join(POLICIES)),
        (["-w", "4000", "-p", "keep_last:last=3"], 1, "its options: keep_recent"),
        (["-w", "4000", "-r", "4000"], 1, "less than context_window (4000)"),
        (["-w", "4000", "--provider", "acme"], 2, "'anthropic', 'openai_chat'"),
        (["-w", "4000", "--html", "no/such/folder/a.html"], 1, "no such file or directory"),
    ],
)
def test_a_mistake_is_a_sentence(
    agentic: Agentic, session: Path, arguments: list[str], status: int, told: str
) -> None:
    """What was mistaken and what would do, on one line, and no traceback."""
    done = agentic("replay", session, *arguments)

    assert done.status == status
    assert told in done.err
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1


def test_an_agent_of_ones_own_is_a_policy(agentic: Agentic, session: Path) -> None:
    """Its strategies and its budget, by its YAML file; no model is asked."""
    pytest.importorskip("yaml", reason="an agent's file needs PyYAML")
    agent = session.with_name("mender.yaml")
    agent.write_text(
        "model: openai_chat:gpt-4o\ncontext_window: 4000\nstrategies:\n  - trim_rounds:\n"
        "      max_rounds: 3\ncontext:\n  response_reserve: 500\n"
    )

    done = agentic("replay", session, "-w", "4000", "-p", "none", "-p", agent, "--json")

    none, mender = json.loads(done.out)["policies"]
    assert mender["policy"] == "mender"
    assert mender["peak"] < none["peak"]
    assert mender["over"] == 0


def test_progress_is_shown_to_a_terminal_alone(session: Path) -> None:
    """On stderr, if somebody looks at it; stdout stays clean."""
    main, other = pty.openpty()
    command = [sys.executable, "-m", "agentic", "replay", str(session), "-w", "4000", "--json"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other) as process:
        os.close(other)
        out, _ = process.communicate(timeout=60)
    shown = b""
    try:
        while part := os.read(main, 65_536):
            shown += part
    except OSError:  # how a terminal tells that the other side is closed
        pass
    os.close(main)

    assert json.loads(out)["window"] == 4000
    assert b"replaying" in shown
    assert b"63" in shown
