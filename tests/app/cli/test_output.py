"""What is printed: all of it or an error, and nothing that a terminal would obey."""

import array
import asyncio
import fcntl
import os
import shlex
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic import history
from agentic.messages import Message

pytestmark = pytest.mark.slow

AGENTIC = f"{shlex.quote(sys.executable)} -m agentic"
EVIL = "red\x1b[2J\x9b2J\u202eder\u2066x"
HALF = "half of a pair: \ud83d"
UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"])
_TRUNCATE = ("truncate", "-n", "all", "-c", "all", "big.jsonl")
_PAIRS = [
    (_TRUNCATE, ""),
    (_TRUNCATE, "1"),
    (("truncate", "--json", *_TRUNCATE[1:]), ""),
    (("export", "big.jsonl"), "1"),
]
PAIRS = pytest.mark.parametrize(("command", "unbuffered"), _PAIRS)


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """Keep a session of three megabytes."""

    async def keep() -> None:
        async with history.JsonlStore(tmp_path / "big.jsonl") as store:
            for n in range(30):
                await store.append(Message("user", f"{n} " * 50_000))

    asyncio.run(keep())
    return tmp_path / "big.jsonl"


@PAIRS
def test_file_that_cannot_grow_is_error(
    tmp_path: Path, big: Path, command: tuple[str, ...], unbuffered: str
) -> None:
    """What a system call has not taken is not forgotten, buffered or not."""
    line = f"ulimit -f 500; exec {AGENTIC} {shlex.join(command)} > out"

    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stderr=subprocess.PIPE,
        check=False,
    )

    assert big.stat().st_size > (tmp_path / "out").stat().st_size
    assert done.returncode == 1
    assert done.stderr == b"agentic: file too large\n"


@PAIRS
def test_partial_writes_are_completed(  # noqa: PLR0917  a command, here and in a process
    tmp_path: Path,
    big: Path,
    agentic: Any,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    unbuffered: str,
) -> None:
    """Its reader may be slow, and have made it one that does not block."""
    monkeypatch.chdir(tmp_path)
    whole = agentic(*command).raw
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, os.O_NONBLOCK)

    with subprocess.Popen(
        [sys.executable, "-m", "agentic", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=writing,
    ) as running:
        os.close(writing)
        waiting = array.array("i", [0])
        while waiting[0] < fcntl.fcntl(reading, fcntl.F_GETPIPE_SZ):  # until the pipe is full
            fcntl.ioctl(reading, termios.FIONREAD, waiting)
            time.sleep(0.01)
        with os.fdopen(reading, "rb") as source:
            got = source.read()

    assert running.returncode == 0
    assert len(got) >= big.stat().st_size - 1
    assert got == whole


@UNBUFFERED
def test_a_leaving_reader_sets_the_status(tmp_path: Path, big: Path, unbuffered: str) -> None:
    """As other tools have it."""
    line = f"{AGENTIC} export {big.name} | head -c 10; exit ${{PIPESTATUS[0]}}"

    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, len(done.stdout), done.stderr) == (141, 10, b"")


@pytest.fixture
def evil(tmp_path: Path) -> str:
    """Keep a conversation of somebody who means harm, under a name that does, too."""

    async def keep() -> None:
        async with history.JsonlStore(tmp_path / "kept" / "work.jsonl") as store:
            for _ in range(10):
                await store.append(Message("user", EVIL))
                await store.append(Message("assistant", HALF))
        (tmp_path / "kept" / "work.jsonl.title").write_text(EVIL)

    asyncio.run(keep())
    (tmp_path / f"{EVIL}.jsonl").write_text(
        '{"role": "user", "content": "x"}\n{"role": "assistant", "content": "y"}\n'
    )
    return f"{EVIL}.jsonl"


@pytest.mark.parametrize(
    "command",
    [
        ("sessions", "kept"),
        ("sessions", "kept", "--json"),
        ("compact", "kept"),
        ("diff", "kept"),
        ("diff", "kept", "--full"),
        ("diff", "kept", "--json"),
        ("context", "kept", "--json"),
        ("count", EVIL),
        ("count", f"{EVIL}.jsonl"),
        ("count", "--json", f"{EVIL}.jsonl"),
        ("context", EVIL),
        ("truncate", EVIL),
        ("replay", "-w", "9000", f"{EVIL}.jsonl"),
        ("replay", "-w", "9000", "--json", f"{EVIL}.jsonl"),
        ("replay", "-w", "9000", EVIL),
        ("sessions", "kept", f"--{EVIL}"),
    ],
)
def test_outside_text_is_read_not_obeyed(
    agentic: Any,
    evil: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    """Titles, messages, names of files: none moves a cursor or turns a line round."""
    monkeypatch.chdir(tmp_path)
    assert Path(evil).exists()
    if command[0] == "diff":
        agentic("compact", "kept")

    done = agentic(*command)

    assert done.out + done.err
    assert not set("\x1b\x9b\u202e\u2066") & set(done.out + done.err)


@pytest.mark.usefixtures("evil")
def test_an_export_survives_a_terminal(
    tmp_path: Path, in_terminal: Callable[..., bytes], agentic: Any
) -> None:
    """What would be obeyed is written as JSON escapes; into a file it goes as it is."""
    (tmp_path / "kept" / "work.jsonl.title").unlink()
    shown = in_terminal(sys.executable, "-m", "agentic", "export", "kept", cwd=tmp_path)

    text = shown.decode().replace("\r\n", "\n")
    assert not set("\x1b\x9b\u202e\u2066") & set(text)
    assert agentic("import", f"{tmp_path}/new/", "-s", "work", stdin=text.encode()).status == 0
    back = asyncio.run(history.JsonlStore(tmp_path / "new" / "work.jsonl").full())
    assert [each.content for each in back[:2]] == [EVIL, HALF]
