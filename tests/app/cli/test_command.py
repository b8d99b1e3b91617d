"""The command as a whole: its help, its exit statuses, its manners in a pipe."""

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agentic.app.cli import main

pytestmark = pytest.mark.slow


def listed() -> list[str]:
    """Return the commands that the help lists."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(["--help"])
    commands = printed.getvalue().partition("\nCommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z]+)  ", commands, re.MULTILINE)


NAMES = listed()


@pytest.mark.parametrize("name", NAMES)
def test_every_commands_help_has_an_example(agentic: Any, name: str) -> None:
    """It fits into 80 columns, also in a pipe, and explains every option."""
    done = agentic(name, "--help")

    assert done.status == 0
    assert "Example: " in " ".join(done.out.split())
    assert f"agentic {name}" in done.out
    assert max(map(len, done.out.split("\n"))) <= 80
    lines = done.out.split("\n")
    for line, after in pairwise(lines):
        # What an option means follows it, if need be in the next line.
        if line.startswith("  -"):
            assert "  " in line.strip() or after.startswith(" " * 10)


def test_help_lists_commands_without_importing_them(agentic: Any) -> None:
    """The front door is quick, and its list is complete."""
    done = agentic("--help")

    assert done.status == 0
    assert len(NAMES) == 17
    program = (
        "import sys; from agentic.app.cli import main; main(['--help']);"
        "found = [m for m in sys.modules if m.startswith('agentic.') and m.count('.') == 1];"
        "few = {'agentic._base', 'agentic.app', 'agentic.errors'};"
        "assert set(found) <= few, found;"
        # What the work of these needs loads half of the package, and takes a second.
        "[main([name, '--help']) for name in ('replay', 'chat', 'serve', 'work', 'runs')];"
        "heavy = ('agentic.loop', 'agentic.messages', 'agentic.app.config', 'asyncio', 'rich');"
        "loaded = [m for m in heavy if m in sys.modules];"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_the_help_is_prose(agentic: Any) -> None:
    """A user reads verbs there, and no name of a class."""
    assert "Chat with an agent in the terminal." in agentic("--help").out
    assert "Talk with AGENT" in agentic("chat", "--help").out


def test_no_command_shows_the_help(agentic: Any) -> None:
    """Somebody who types the name alone wants to know what there is."""
    done = agentic()

    assert done.status == 2
    assert done.err.startswith("Usage: agentic [OPTIONS] COMMAND")
    assert "Commands:" in done.err


def test_misspelt_command_is_told_the_nearest(agentic: Any) -> None:
    """One sentence, and where to look."""
    done = agentic("truncat")

    assert done.status == 2
    assert done.err.startswith("agentic: No such command 'truncat'")
    assert "truncate" in done.err
    assert "See 'agentic --help'" in done.err


def test_the_version_is_the_packages(agentic: Any) -> None:
    """A report of a defect begins with it."""
    assert agentic("--version").out.startswith("agentic 0.")


def test_truncate_loads_only_what_it_needs() -> None:
    """A filter in a pipe starts quickly."""
    program = (
        "import sys; from agentic.app.cli import main; main(['truncate']);"
        "print([m for m in ('rich', 'asyncio', 'blinker', 'agentic.messages', 'yaml')"
        " if m in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], input=b"", capture_output=True, check=True
    )

    assert done.stdout == b"[]\n"


def test_a_missing_extra_is_one_sentence(tmp_path: Path, remedy: Callable[[str], str]) -> None:
    """No traceback for a plain installation."""
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('no click', name='click')")

    done = subprocess.run(
        [sys.executable, "-m", "agentic", "count"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == (f"agentic: the command line is not installed: {remedy('cli')}\n")


@pytest.mark.parametrize(
    "arguments", [("truncate", "--lines", "all", "--bytes", "all"), ("count",)]
)
def test_leaving_reader_is_no_traceback(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The status is that of other tools in the same place."""
    texts = [tmp_path / f"{n}.txt" for n in range(20)]
    for text in texts:
        text.write_text("word " * 40_000)
    files = texts if arguments[0] == "count" else texts[:1]
    with subprocess.Popen(
        [sys.executable, "-m", "agentic", *arguments, *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        said = running.stderr.read()

    assert running.returncode == 141
    assert b"Traceback" not in said
    assert b"Exception ignored" not in said


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_traceback(tmp_path: Path, closed: str) -> None:
    """A service may start a command without one."""
    line = f"echo text | {sys.executable} -m agentic count {closed}"

    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == {"<&-": 2, ">&-": 1, "2>&-": 0}[closed]
    assert b"Traceback" not in done.stderr
    if closed == ">&-":
        assert done.stderr == b"agentic: stdout is closed: nothing can be printed\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_one_sentence(process: Any) -> None:
    """What could not be written is not passed over in silence."""
    with Path("/dev/full").open("wb") as full:
        done = process("count", __file__, stdout=full, stderr=subprocess.PIPE)

    assert done.returncode == 1
    assert done.stderr.count(b"agentic: no space left on device\n") == 1


def test_a_missing_character_is_a_question_mark(process: Any) -> None:
    """An old locale is no traceback."""
    done = process("count", "--model", "ü", env={"PYTHONIOENCODING": "ascii"}, input=b"text")

    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
