"""The command in a pseudo-terminal, and the screen that a person would see."""

import contextlib
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest

COLUMNS, LINES = 100, 40


class Terminal:
    """One process, its keyboard and its screen."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self._keyboard, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self._printed = bytearray()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentic", *arguments],
            cwd=folder,
            env={**os.environ, "TERM": "linux", "INPUTRC": os.devnull, **environment},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_be_controlled,  # noqa: PLW1509  there are no threads
        )
        os.close(theirs)

    @property
    def lines(self) -> list[str]:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")

    @property
    def text(self) -> str:
        """The same as one text, the time of day and durations made equal for every run."""
        text = "\n".join(["", *self.lines, ""])
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2024-01-15 10:30", text)
        return re.sub(r"\d\.\d s", "0.1 s", text)

    @property
    def _unwrapped(self) -> str:
        """The lines as they were printed: a row that is full goes on in the next."""
        return "".join(row if len(row) == COLUMNS else f"{row}\n" for row in self.lines)

    @property
    def _latest_request(self) -> str:
        return next((line for line in reversed(self.lines) if line.startswith("> ")), "")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._keyboard, text.encode())

    def ask(self, text: str) -> None:
        """Type a line, and wait for the next prompt."""
        before = len(self._printed)
        self.type(f"{text}\n")
        # The same line may be on the screen already: what counts is that it is echoed now.
        self._wait(lambda: text.encode() in self._printed[before:])
        # While a line is accepted the prompt is drawn empty once: that is not yet the next one.
        self._wait(lambda: self.lines[-1] == ">" and self._latest_request == f"> {text}"[:COLUMNS])

    def prompt(self) -> None:
        """Wait until a line can be typed."""
        self._wait(lambda: self.lines[-1] == ">")

    def shows(self, text: str) -> None:
        """Wait until a text is somewhere on the screen, wherever the screen wraps it."""
        self._wait(lambda: text in "\n".join(self.lines) or text in self._unwrapped)

    def _wait(self, is_there: Callable[[], bool], seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while not is_there() and time.monotonic() < deadline and self._read(0.1):
            pass
        assert is_there(), "\n".join(self.lines)

    def end(self, seconds: float = 20) -> int:
        """Wait until the process ends, and return its exit status."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._read(0.1):
            pass
        try:
            return self.process.wait(max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError("\n".join(["the process goes on:", *self.lines])) from None

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._keyboard)

    def _read(self, seconds: float) -> bool:
        """Take what was printed; false when there will be no more."""
        if not select.select([self._keyboard], [], [], seconds)[0]:
            return self.process.poll() is None
        try:
            printed = os.read(self._keyboard, 65_536)
        except OSError as gone:
            if gone.errno != errno.EIO:
                raise
            return False
        self._stream.feed(printed)
        self._printed += printed
        return bool(printed)


def _be_controlled() -> None:
    """Make stdin the controlling terminal, so that Ctrl-C is a signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell ignores it for what runs behind it
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start the command in a terminal of 100 columns."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, **environment: str) -> Terminal:
            started = Terminal(tmp_path, *arguments, **environment)
            stack.callback(started.close)
            return started

        yield start
