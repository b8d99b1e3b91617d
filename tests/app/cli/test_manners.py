"""What a command says in surroundings that nobody planned for: one sentence, never a traceback."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.messages import Message, to_plain

pytestmark = pytest.mark.slow


_GONE = "agentic: the working directory no longer exists: change to another one\n"


@pytest.mark.parametrize("command", ["count x.txt", "chat coder", "sessions kept", "context a.db"])
def test_a_deleted_folder_is_one_sentence(
    agentic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A path that is not absolute means nothing there."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    done = agentic(*command.split())

    assert (done.status, done.err) == (1, _GONE)


def test_a_command_starts_in_a_deleted_folder(tmp_path: Path) -> None:
    """Python itself begins there, too."""
    line = f"rmdir ../gone; exec {sys.executable} -m agentic count x.txt"
    (tmp_path / "gone").mkdir()

    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path / "gone", capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (1, _GONE)


def test_an_unknown_home_is_one_sentence(agentic: Any, tmp_path: Path) -> None:
    """Nobody of that name has a home here, as nobody has one without HOME and a user's entry."""
    agent = tmp_path / "agent.yaml"
    agent.write_text("store: {path: ~nobody-of-that-name/kept}\n")

    done = agentic("sessions", agent)

    place = "~nobody-of-that-name/kept"
    problem = f"{place}: there is no such home directory; write the whole path, or set HOME"
    assert (done.status, done.err) == (1, f"agentic: {agent}:1: {problem}\n")


def test_a_closed_stdin_is_one_sentence(tmp_path: Path, agent: Path) -> None:
    """A service starts commands without one: each command line, one after the other."""
    lines = [
        "chat agent.yaml",
        "sessions kept/ --delete x",
        "redact kept/ 1 x",
        "redact kept/ 1 x --yes --secret-file -",
        "count",
        "replay - --window 4k",
    ]
    program = (
        "import sys\n"
        "from agentic.app.cli import main\n"
        "for line in sys.argv[1:]: print(main(line.split()), flush=True)\n"
    )
    (tmp_path / "kept").mkdir()

    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", program, *lines],
        cwd=agent.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split("\n") == ["2"] * len(lines) + [""]
    sentences = done.stderr.removesuffix("\n").split("\n")
    assert len(sentences) == len(lines)
    assert all(each.startswith("agentic: ") for each in sentences)


def test_ctrl_c_before_the_command_is_silent(run_python: Callable[[str], str]) -> None:
    """The modules of a command take longer to import than many a command to run."""
    printed = run_python(
        "import signal, sys\n"
        # What runs in the background begins with Ctrl-C ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'click': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder)\n"
        "from agentic.app.cli import main\n"
        "print(main(['--version']))"
    )

    assert printed == "130"


def test_a_folder_may_have_any_name(agentic: Any, tmp_path: Path) -> None:
    """As a place, kept.db/ and kept.jsonl/ are folders of sessions like any other."""
    for name in ("kept.db", "kept.jsonl"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "monday.jsonl").write_text("")

        done = agentic("sessions", tmp_path / name)

        assert (done.status, done.err) == (0, "")

    folder = tmp_path / "kept.db"
    refused = agentic("sessions", f"sqlite:{folder}")
    assert (refused.status, refused.err) == (1, f"agentic: {folder}: is a directory\n")


def test_a_database_may_be_in_the_home(process: Any, tmp_path: Path) -> None:
    """A shell leaves the ~ in sqlite:~/kept.db to the command."""
    message = {"v": 1, "type": "message", "message": to_plain(Message("user", "Look."))}
    (tmp_path / "home").mkdir()

    arguments = ["import", "sqlite:~/kept.db", "-s", "monday"]
    home = {"HOME": str(tmp_path / "home")}
    done = process(*arguments, input=json.dumps(message).encode(), env=home)

    assert done.returncode == 0
    assert (tmp_path / "home" / "kept.db").is_file()


def test_sessions_are_listed_without_a_stdin(process: Any, tmp_path: Path) -> None:
    """Nobody can be asked which one to replay, so it says how to name one."""
    kept = tmp_path / ".agentic" / "sessions" / "coder" / "monday.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_text('{"role": "user", "content": "Look."}\n')

    done = process("replay", preexec_fn=lambda: os.close(0), env={"HOME": str(tmp_path)}, text=True)

    assert (done.returncode, done.stdout.count("monday.jsonl")) == (0, 1)
    assert done.stderr.startswith("agentic: pass the sessions to replay, such as: agentic replay ")


@pytest.mark.parametrize(
    ("columns", "row"),
    [(80, "  compactions  +0 +[0-9]+"), (45, "  digest\n    requests: 31\n    peak tokens: ")],
)
def test_a_table_fits_a_narrow_terminal(
    in_terminal: Any, talk: Any, write: Any, columns: int, row: str
) -> None:
    """Policies side by side where they fit, and below one another where they do not."""
    session = write([to_plain(message) for message in talk(30)], "long.jsonl")
    command = [sys.executable, "-m", "agentic", "replay", session, "--window", "4000"]
    policies = ["--policy", "none", "--policy", "digest"]

    shown = in_terminal(*command, *policies, env={**os.environ, "COLUMNS": str(columns)})

    text = re.sub("\x1b\\[[0-9]*m", "", shown.decode().replace("\r", ""))
    table = text.partition("messages)\n")[2].partition("\n\n")[0]
    assert re.search(row, text)
    assert max(map(len, table.split("\n"))) <= columns


def test_a_dumb_terminal_gets_text_alone(
    in_terminal: Any, talk: Any, write: Any, tmp_path: Path
) -> None:
    """It would show what makes letters bold."""
    session = write([to_plain(message) for message in talk(3)], "long.jsonl")
    replay = [sys.executable, "-m", "agentic", "replay", session, "--window", "4000"]
    dumb = {**os.environ, "TERM": "dumb"}

    shown = in_terminal(*replay, env=dumb, cwd=tmp_path)

    assert b"every request fits" in shown
    assert b"\x1b" not in shown


@pytest.mark.parametrize("mark", ["\u061c", "\u200e", "\u200f", "\u202e", "\u2066", "\u2069"])
def test_marks_of_direction_are_left_out(agentic: Any, tmp_path: Path, mark: str) -> None:
    """A name is shown in the order in which it is; JSON keeps the mark as an escape."""
    file = tmp_path / f"user{mark}name"
    file.write_text("text")

    assert agentic("count", file).out.endswith("/username\n")
    assert f"user\\u{ord(mark):04x}name" in agentic("count", "--json", file).out


def test_letters_from_right_to_left_stay(agentic: Any, tmp_path: Path) -> None:
    """Hebrew and Arabic are text, and a terminal knows how to order them."""
    file = tmp_path / "שלום, مرحبا"
    file.write_text("text")

    assert agentic("count", file).out.endswith("/שלום, مرحبا\n")


_BROKEN = """
class Broken:
    def limits(self):
        from agentic.limits import ModelLimits
        return ModelLimits(100_000, 0)

    async def decide(self, request, /):
        raise KeyError("turn")
"""


@pytest.mark.parametrize("way", ["AGENTIC_DEBUG", "--debug"])
def test_a_failure_in_users_code_names_its_line(
    agentic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The traceback is printed on request only."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTIC_DEBUG", "")
    (tmp_path / "mine.py").write_text(_BROKEN)
    (tmp_path / "agent.yaml").write_text("model: mine.py:Broken\n")

    quiet = agentic("chat", "agent.yaml", stdin=b"hi\n")
    if way == "AGENTIC_DEBUG":
        monkeypatch.setenv(way, "1")
    debugged = agentic(*([way] if way == "--debug" else []), "chat", "agent.yaml", stdin=b"hi\n")

    assert "KeyError: 'turn' (mine.py:8; AGENTIC_DEBUG=1 prints the traceback)" in quiet.err
    assert "Traceback" not in quiet.err
    assert "KeyError: 'turn' (mine.py:8)" in debugged.err
    assert "Traceback (most recent call last)" in debugged.err
