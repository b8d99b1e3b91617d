"""What a command says in surroundings that nobody planned for: one sentence, never a traceback."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic.cli._output import escape, printable

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("command", ["count x.txt", "chat coder", "sessions kept", "context a.db"])
def test_a_deleted_folder_is_one_sentence(tmp_path: Path, command: str) -> None:
    """A path that is not absolute means nothing there."""
    line = f"rmdir ../gone; exec {sys.executable} -m agentic {command}"
    (tmp_path / "gone").mkdir()

    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path / "gone", capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr == (
        "agentic: the working directory no longer exists: change to another one\n"
    )


def test_an_unknown_home_is_one_sentence(agentic: Any, tmp_path: Path) -> None:
    """Nobody of that name has a home here, as nobody has one without HOME and a user's entry."""
    agent = tmp_path / "agent.yaml"
    agent.write_text("store: {path: ~nobody-of-that-name/kept}\n")

    done = agentic("sessions", agent)

    assert (done.status, done.err) == (
        1,
        "agentic: the home directory that a path with ~ needs is not known: set HOME\n",
    )


@pytest.mark.parametrize(
    "command", ["chat agent.yaml", "sessions kept/ --delete x", "redact kept/ 1 x", "count"]
)
def test_a_closed_stdin_is_one_sentence(tmp_path: Path, agent: Path, command: str) -> None:
    """A service starts commands without one."""
    (tmp_path / "kept").mkdir()
    line = f"exec {sys.executable} -m agentic {command} <&-"

    done = subprocess.run(
        ["sh", "-c", line], cwd=agent.parent, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr.startswith("agentic: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("mark", ["\u061c", "\u200e", "\u200f", "\u202e", "\u2066", "\u2069"])
def test_marks_of_direction_are_left_out(mark: str) -> None:
    """Text is shown in the order in which it is; JSON keeps the mark as an escape."""
    assert printable(f"user{mark}name") == "username"
    assert escape(f'"user{mark}"') == f'"user\\u{ord(mark):04x}"'


def test_letters_from_right_to_left_stay() -> None:
    """Hebrew and Arabic are text, and a terminal knows how to order them."""
    assert printable("שלום, مرحبا") == "שלום, مرحبا"
