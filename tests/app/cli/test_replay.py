"""`agentic replay` on the command line."""

import asyncio
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentic.app.replay._policies import POLICIES
from agentic.app.replay._report import columns_of
from agentic.history import JsonlStore
from agentic.messages import Message, ToolCall, ToolResult, to_plain
from agentic.providers._registry import adapter_names

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

    verdict, _, head, *rows = done.out.split("\n")
    columns, none, digest = " ".join(rows[:3]).split(), rows[3], rows[4]
    assert done.status == 0
    assert verdict.startswith("digest: every request fits, ")
    assert head == "long (63 messages, agentic messages)"
    assert all({*column.title.split()} <= {*columns} for column in columns_of(with_prices=False))
    assert none.split()[:2] == ["none", "31"]
    assert digest.split()[:2] == ["digest", "31"]
    assert "*" in digest
    assert "*" not in none
    assert "window 4,000, reserve 1,000" in done.out


def test_the_help_names_every_policy(agentic: Agentic) -> None:
    """It lists them without loading them."""
    told = " ".join(agentic("replay", "--help").out.split()).replace("- ", "-")

    assert f"There are: {', '.join(POLICIES)}." in told


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
    assert told["policies"][0]["requests"] == 2 * fit["requests"] == 62


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
    for name in adapter_names():
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


def test_terminal_obeys_no_name(agentic: Agentic, session: Path, tmp_path: Path) -> None:
    """The table shows a name without its control characters; JSON has them as escapes."""
    evil = session.rename(tmp_path / "a\x1b[2Jb\u202ec.jsonl")

    table = agentic("replay", evil, "-w", "4000", "-p", "none").out
    told = agentic("replay", evil, "-w", "4000", "-p", "none", "--json").out

    assert "\nabc (63 messages" in table
    assert not {"\x1b", "\u202e"} & {*table, *told}
    assert json.loads(told)["transcripts"][0]["name"] == "a\x1b[2Jb\u202ec"


def test_an_empty_folder_is_told(agentic: Agentic, tmp_path: Path) -> None:
    """A folder without a transcript is a mistake."""
    done = agentic("replay", tmp_path, "-w", "4000")

    assert done.status == 2
    assert "contains no .jsonl, .json or .db file" in done.err


def test_a_session_may_have_no_reply(agentic: Agentic, write: Write, tmp_path: Path) -> None:
    """There was nothing to send, and the table and the page say so."""
    asked = write([{"role": "user", "content": "Hello?"}])

    done = agentic("replay", asked, "-w", "4000", "-p", "none", "--html", tmp_path / "a.html")

    assert "\nsession (1 message, chat completions)\n" in done.out
    assert re.search(r"^  none +0 ", done.out, re.MULTILINE)
    assert "so nothing was sent" in (tmp_path / "a.html").read_text()


def test_a_page_is_written(agentic: Agentic, session: Path, tmp_path: Path) -> None:
    """Where it is, is told on stderr; the table is on stdout as ever."""
    page = tmp_path / "report.html"

    done = agentic("replay", session, "-w", "4000", "--html", page)

    assert page.read_text().startswith("<!doctype html>")
    assert done.err == f"agentic: the page is in {page}\n"
    assert "\nlong (63 messages" in done.out


def test_a_model_brings_its_window(agentic: Agentic, session: Path) -> None:
    """And its tokenizer, as far as one is at hand."""
    done = agentic("replay", session, "--model", "gpt-4", "--json", "-p", "none")

    assert json.loads(done.out)["window"] == 8192


def test_folder_is_all_of_its_files(agentic: Agentic, session: Path) -> None:
    """What is no transcript is told, and passed over without a failure."""
    (session.parent / "index.json").write_text('{"files": 1}')

    done = agentic("replay", session.parent, "-w", "4000", "-p", "none")

    assert done.status == 0
    assert "index.json, line 1: found an object with 'files'" in done.err
    assert "\nlong (63 messages" in done.out


def test_stdin_is_a_transcript(agentic: Agentic, session: Path) -> None:
    """As `-`."""
    done = agentic("replay", "-", "-w", "4000", "-p", "none", stdin=session.read_bytes())

    assert "\nstdin (63 messages" in done.out


def test_bad_file_does_not_stop_others(agentic: Agentic, session: Path) -> None:
    """It is told with its line, the others are replayed, and the status says that one failed."""
    bad = session.with_name("bad.jsonl")
    bad.write_text("# Notes\n")

    done = agentic("replay", bad, session, "absent.jsonl", "-w", "4000", "-p", "none")

    told = done.err.splitlines()
    assert done.status == 1
    assert told[0].startswith(f"agentic: {bad}, line 1: '# Notes' is not JSON")
    assert told[1] == "agentic: absent.jsonl: no such file or directory"
    assert "\nlong (63 messages" in done.out


def test_window_of_a_newer_model_is_its_relative_s(agentic: Agentic, session: Path) -> None:
    """A family that is known has a window to start with, and a line says so."""
    done = agentic("replay", session, "--model", "grok-5")

    assert done.status == 0
    assert "500,000 tokens are assumed, as for grok-4.7" in done.err


def test_page_that_could_not_be_written_is_refused_first(
    agentic: Agentic, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the work, where a folder may not be written to."""
    page = session.with_name("page.html")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != page.parent)

    done = agentic("replay", session, "-w", "4000", "-p", "none", "--html", page)

    assert (done.status, done.out) == (1, "")
    assert done.err == f"agentic: {page}: permission denied\n"
    assert not page.exists()


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([], 2, "Pass --window 32k, or --model gpt-5"),
        (["--model", "my-own"], 2, "The window of 'my-own' is not known: pass it in tokens"),
        (["-w", "0"], 2, "a window has at least one token"),
        (["-w", "-5"], 2, "a window has at least one token"),
        (["-w", "16q"], 2, "The window of '16q' is not known: pass it in tokens"),
        (["-w", "1e999k"], 2, "The window of '1e999k' is not known"),
        (["-w", "4000", "--model", "my-own"], 0, "the price list does not have 'my-own'"),
        (["-w", "4000", "--model", "gtp-5"], 0, "'gtp-5'; did you mean 'gpt-5'?"),
        (["-w", "4000", "-p", "forget"], 1, ", ".join(POLICIES)),
        (["-w", "4000", "-p", "keep_last:last=3"], 1, "its options: keep_recent"),
        (["-w", "4000", "-r", "4000"], 1, "less than context_window (4000)"),
        (["-w", "4000", "--provider", "acme"], 2, "'anthropic', 'openai_chat'"),
        (["-w", "4000", "--html", "no/such/folder/a.html"], 2, "there is no folder no/such/folder"),
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


def test_own_agent_is_a_policy(agentic: Agentic, session: Path) -> None:
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


def test_progress_shows_on_terminals_only(session: Path) -> None:
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


@pytest.mark.parametrize(
    ("written", "window"),
    [("16k", 16_000), ("1m", 1_000_000), ("128_000", 128_000), ("12,000", 12_000), ("1.5K", 1_500)],
)
def test_window_is_written_as_people_do(
    agentic: Agentic, session: Path, written: str, window: int
) -> None:
    """With k for a thousand, m for a million, and digits in groups."""
    done = agentic("replay", session, "-w", written, "-r", "0.5k", "-p", "none", "--json")

    told = json.loads(done.out)
    assert (told["window"], told["reserve"]) == (window, 500)


def test_page_is_not_overwritten_by_accident(
    agentic: Agentic, session: Path, tmp_path: Path
) -> None:
    """A file that exists stays as it is, unless told otherwise."""
    page = tmp_path / "notes.html"
    page.write_text("mine")

    refused = agentic("replay", session, "-w", "4000", "-p", "none", "--html", page)
    kept = page.read_text()
    forced = agentic("replay", session, "-w", "4000", "-p", "none", "--html", page, "--force")

    assert (refused.status, kept, forced.status) == (2, "mine", 0)
    assert f"{page} exists: pass --force to overwrite it" in refused.err
    assert page.read_text().startswith("<!doctype html>")


def test_a_model_prices_its_input(agentic: Agentic, session: Path) -> None:
    """In dollars, with the day of the price."""
    pytest.importorskip("genai_prices", reason="dollars need a price list")
    table = agentic("replay", session, "--model", "gpt-4o", "-w", "4000", "-p", "none").out
    told = agentic("replay", session, "--model", "gpt-4o", "-w", "4k", "-p", "none", "--json").out

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    assert re.search(r" \$0\.\d+ ", table)
    assert f"input at the prices of gpt-4o (openai) on {today}, by genai-prices" in table
    assert 0 < json.loads(told)["policies"][0]["dollars"] < 1


def test_the_summary_comes_before_the_details(agentic: Agentic, session: Path) -> None:
    """The verdict, all transcripts, then each; of very many only the first ones."""
    (session.parent / "more").mkdir()
    (session.parent / "more/0.jsonl").write_bytes(session.read_bytes())
    for number in range(1, 23):
        (session.parent / f"more/{number}.jsonl").write_bytes(b'{"role": "user", "content": "?"}')

    done = agentic("replay", session.parent / "more", "-w", "4000", "-p", "fit_window")

    first, _, second = done.out.split("\n")[:3]
    assert first.startswith("fit_window: every request fits")
    assert second == "all 23 transcripts"
    assert "and 3 more transcripts: --json has the figures of each" in done.out


def named(path: Path, model: str, words: int = 10) -> Path:
    """Write a session of Claude Code whose reply names its model."""
    said = [("user", {}), ("assistant", {"model": model})]
    lines = [
        {
            "type": role,
            "sessionId": "s",
            "uuid": f"u{at}",
            "parentUuid": None if not at else "u0",
            "message": {"role": role, "content": "word " * words, **fields},
        }
        for at, (role, fields) in enumerate(said)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_the_model_in_the_file_counts(agentic: Agentic, tmp_path: Path) -> None:
    """Its tokenizer, its window and its prices, unless another one is named."""
    session = named(tmp_path / "s.jsonl", "claude-sonnet-4-5")

    own = agentic("replay", session, "-p", "none")
    other = agentic("replay", session, "-p", "none", "--model", "gpt-4o")

    assert "a window of 200,000 tokens, as in most sessions; --window sets another" in own.err
    assert "window 200,000" in own.out
    assert "o200k_base times 1.3" in own.out
    assert "at the prices of claude-sonnet-4-5" in own.out
    assert "window 128,000" in other.out
    assert "o200k_base times" not in other.out


def test_stdin_is_read_once_for_model_and_session(agentic: Agentic, tmp_path: Path) -> None:
    """The window comes from what it names."""
    content = named(tmp_path / "s.jsonl", "claude-sonnet-4-5").read_bytes()

    assert "window 200,000" in agentic("replay", "-", "-p", "none", stdin=content).out


def test_folders_are_searched_deeply(agentic: Agentic, tmp_path: Path) -> None:
    """As `~/.claude/projects` has one for each project; a few of the other files are named."""
    named(tmp_path / "projects/-src/s.jsonl", "claude-sonnet-4-5")
    named(tmp_path / "projects/-src/s/subagents/agent-1.jsonl", "claude-haiku-4-5")
    for number in range(8):
        (tmp_path / f"projects/{number}.json").write_text("{}")
    (tmp_path / "projects/node_modules").mkdir()
    (tmp_path / "projects/node_modules/package.json").write_text("{}")

    done = agentic("replay", tmp_path / "projects", "-p", "none", "-w", "100k")

    assert done.status == 0
    assert "all 2 transcripts" in done.out
    assert "counted for the model that each session names" in done.out
    assert done.err.count("which is not a message") == 5
    assert "3 more files are not transcripts either" in done.err


def test_what_is_not_understood_has_no_verdict(agentic: Agentic, tmp_path: Path) -> None:
    """Nor figures, nor a part in those of all; beside others it is told how many are left out."""
    odd = {"role": "assistant", "content": [{"type": "vision", "prose": "A cat. " * 99}]}
    for name, lines in {"odd": [{"role": "user", "content": "Hi."}, odd], "plain": []}.items():
        said = lines or [
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hm."},
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in said))
    page = tmp_path / "page.html"

    alone = agentic("replay", tmp_path / "odd.jsonl", "-w", "4k", "--html", page)
    both = agentic("replay", tmp_path, "-w", "4k", "-p", "none")

    assert alone.out.startswith("No verdict: 100 % of the text was not understood\n")
    assert "not understood: 1 x part of the kind 'vision' (699 characters)" in alone.out
    assert "prefix reused" not in alone.out
    assert "No verdict: 100 % of the text was not understood." in page.read_text()
    assert 'class="panel"' not in page.read_text()
    assert both.out.startswith("none: every request fits as it is")
    assert "1 of 2 transcripts: of the others, too much is not understood" in both.out
    assert "  No verdict: 100 % of the text was not understood" in both.out


def agent(path: Path, window: int, rounds: int) -> Path:
    """Write the file of an agent with a strategy."""
    path.write_text(
        f"model: openai_chat:gpt-4o\ncontext_window: {window}\nstrategies:\n"
        f"  - trim_rounds:\n      max_rounds: {rounds}\n"
    )
    return path


def test_a_changed_policy_is_compared(agentic: Agentic, session: Path, tmp_path: Path) -> None:
    """Session by session: how many requests differ, and the first of them in detail."""
    old, new = (agent(tmp_path / f"{n}.yaml", n * 1_000, n) for n in (9, 3))
    short = named(tmp_path / "short.jsonl", "gpt-4o")

    done = agentic("replay", session, short, "-w", "4000", "-p", old, "--compare", new)
    told = agentic("replay", session, "-w", "4000", "-p", old, "--compare", new, "--json")

    head, _, first, differs, figures, _, second, same = done.out.splitlines()
    assert head == "1 of 2 sessions would be sent differently by 3 than by 9"
    assert first == "long (63 messages, agentic messages)"
    assert re.match(r"  \d+ of 31 requests differ, the first is request \d+: [\d,]+ -> ", differs)
    assert "peak tokens" in figures
    assert second.startswith("short (2 messages")
    assert same == "  no request differs, of 1"
    [plain] = json.loads(told.out)["sessions"]
    assert plain["first"] <= plain["differing"] <= plain["requests"] == 31
    assert plain["sizes"][0] > plain["sizes"][1]
    assert plain["gone"] > 0


def test_a_policy_is_compared_with_what_was_sent(agentic: Agentic, session: Path) -> None:
    """By default, with the record; with itself, nothing differs."""
    record = agentic("replay", session, "-w", "4000", "--compare", "digest")
    itself = agentic("replay", session, "-w", "4000", "-p", "none", "--compare", "as_recorded")
    wrong = agentic("replay", session, "-w", "4000", "--compare", "digest", "--step", "none")

    assert "by digest than by as_recorded" in record.out
    assert itself.out.startswith("0 of 1 session would be sent differently")
    assert wrong.status == 2


@pytest.fixture
def home(tmp_path: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a home folder in which pi has left two sessions, and go there."""
    for age, name in enumerate(["new", "old"]):
        path = tmp_path / f".pi/agent/sessions/--src--/{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(to_plain(each))}\n" for each in talk(3)))
        os.utime(path, (2_000_000_000 - age, 2_000_000_000 - age))
    for variable in [name for name in os.environ if name.endswith(("_DIR", "_HOME"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_transcript_lists_the_machines_own(agentic: Agentic, home: Path) -> None:
    """In a pipe nobody is asked: the list has whole paths, and stderr says what to pass."""
    done = agentic("replay")

    latest, older = done.out.splitlines()
    path = home / ".pi/agent/sessions/--src--/new.jsonl"
    assert done.status == 0
    assert latest.startswith("  1  2033-05-")
    assert latest.endswith(f" pi              {path}")
    assert older.endswith("old.jsonl")
    assert f"such as: agentic replay {path} --window 200k" in done.err


def test_a_machine_without_sessions_is_told(agentic: Agentic, home: Path) -> None:
    """With what to do."""
    shutil.rmtree(home / ".pi")

    done = agentic("replay")

    assert done.status == 2
    assert "on this machine: name a file or a folder of transcripts" in done.err


def in_terminal(typed: list[str], *arguments: str, cwd: Path) -> str:
    """Run the command in a terminal, answer each of its questions, and return what it showed."""
    main, other = pty.openpty()
    command = [sys.executable, "-m", "agentic", "replay", *arguments]
    streams = {"stdin": other, "stdout": other, "stderr": other}
    wide = {**os.environ, "COLUMNS": "120"}
    shown = b""
    with subprocess.Popen(command, cwd=cwd, env=wide, **streams) as process:
        os.close(other)
        try:
            while part := os.read(main, 65_536):
                shown += part
                if typed and shown.rstrip().endswith(b"]:"):
                    os.write(main, f"{typed.pop(0)}\n".encode())
        except OSError:  # how a terminal tells that the other side is closed
            pass
        process.wait(60)
    os.close(main)
    return shown.decode()


def test_terminal_asks_for_the_sessions(home: Path) -> None:
    """And the window; a mistake is asked for again."""
    shown = in_terminal(["7", "2", "4k"], "-p", "none", cwd=home)

    assert "7 is not in the list, which has 1 to 2" in shown
    assert "~/.pi/agent/sessions/--src--/new.jsonl" in shown
    assert "old (9 messages, agentic messages)" in shown
    assert "window 4,000" in shown


def test_many_files_use_all_cores(home: Path, talk: Talk, tmp_path: Path) -> None:
    """In the order of their names, with progress by file, and the same figures as alone."""
    lines = "".join(f"{json.dumps(to_plain(each))}\n" for each in talk(40, words=1_500))
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.jsonl").write_text(lines)
    (folder / "torn.jsonl").write_text("no")

    shown = in_terminal([], str(folder), "-w", "16k", "-p", "keep_last", cwd=home)
    alone = in_terminal([], str(folder / "3.jsonl"), "-w", "16k", "-p", "keep_last", cwd=home)

    rows = [line for line in shown.splitlines() if line.startswith("  keep_last ")]
    assert "6/6" in shown
    assert "torn.jsonl, line 1: 'no' is not JSON" in shown
    assert re.findall(r"^(\d) \(\d+ messages", shown, re.MULTILINE) == [*"01234"]
    assert len(rows) == 6
    assert rows[4] in alone


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="children are listed in /proc")
def test_ctrl_c_ends_starting_workers_silently(talk: Talk, tmp_path: Path) -> None:
    """A terminal sends it to all processes, of which some still import modules."""
    lines = "".join(f"{json.dumps(to_plain(each))}\n" for each in talk(40, words=4_000))
    for number in range(8):
        (tmp_path / f"{number}.jsonl").write_text(lines)
    # What runs in the background begins with Ctrl-C ignored.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from agentic.app.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "replay", str(tmp_path), "-w", "16k"]

    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while running.poll() is None and len(children.read_text().split()) < 3:  # one is a tracker
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=60)

    assert (running.returncode, told) == (130, "")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="children are listed in /proc")
def test_a_killed_worker_is_one_sentence(talk: Talk, tmp_path: Path) -> None:
    """As a system does that has no memory left."""
    lines = "".join(f"{json.dumps(to_plain(each))}\n" for each in talk(40, words=4_000))
    for number in range(8):
        (tmp_path / f"{number}.jsonl").write_text(lines)
    command = [sys.executable, "-m", "agentic", "replay", str(tmp_path), "-w", "16k"]

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while running.poll() is None and len(found := children.read_text().split()) < 2:
            time.sleep(0.05)
        os.kill(int(found[-1]), signal.SIGKILL)
        _, told = running.communicate(timeout=60)

    assert running.returncode == 1
    assert told.startswith("agentic: a process that replayed a file was killed")
    assert told.count("\n") == 1


def test_pipe_and_device_in_folder_are_left_out(agentic: Agentic, session: Path) -> None:
    """A pipe waits for its writer, and a device may have no end: neither is read."""
    os.mkfifo(session.parent / "pipe.jsonl")
    (session.parent / "zero.json").symlink_to("/dev/zero")

    done = agentic("replay", session.parent, "-w", "8k")

    assert done.status == 0
    assert "pipe.jsonl is a pipe or a device, and left out" in done.err
    assert "zero.json is a pipe or a device, and left out" in done.err
