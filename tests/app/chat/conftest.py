"""The command in a pseudo-terminal, and the screen that a person would see."""

import contextlib
import errno
import fcntl
import json
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
from aiohttp import web

COLUMNS, LINES = 100, 40
# What runs the tests may tell its own width, which rich and prompt_toolkit would believe.
_ENVIRONMENT = {k: value for k, value in os.environ.items() if k not in {"COLUMNS", "LINES"}}
_KEYS = {"enter": "\r", "ctrl-c": "\x03", "ctrl-d": "\x04", "tab": "\t", "up": "\x1b[A"}


class Screen(pyte.Screen):
    """A screen that says where its cursor is, when it is asked."""

    keyboard: int

    def write_process_input(self, data: str) -> None:
        """Answer a question of the program."""
        os.write(self.keyboard, data.encode())


class Terminal:
    """One process, its keyboard and its screen."""

    def __init__(
        self, folder: Path, *arguments: str, columns: int = COLUMNS, **environment: str
    ) -> None:
        self._keyboard, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        self.columns = columns
        self.is_plain = "--plain" in arguments or environment.get("TERM") == "dumb"
        """Whether there is no status line below the prompt."""
        self.screen = Screen(columns, LINES)
        self.screen.keyboard = self._keyboard
        self._stream = pyte.ByteStream(self.screen)
        self._printed = bytearray()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentic", *arguments],
            cwd=folder,
            env={**_ENVIRONMENT, "TERM": "linux", "INPUTRC": os.devnull, **environment},
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
        # The status line is at the bottom, however little there is above it.
        text = re.sub(r"\n{3,}(?=[^\n]+\n$)", "\n\n", text)
        return re.sub(r"\d\.\d s", "0.1 s", text)

    @property
    def _unwrapped(self) -> str:
        """The lines as they were printed: a row that is full goes on in the next."""
        return "".join(row if len(row) == self.columns else f"{row}\n" for row in self.lines)

    @property
    def line(self) -> str:
        """What stands where the cursor is."""
        return str(self.screen.display[self.screen.cursor.y]).rstrip()

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._keyboard, text.encode())

    def press(self, key: str) -> None:
        """Press a key that is no letter."""
        self.type(_KEYS[key])

    def enter(self, text: str) -> None:
        """Type a line and send it."""
        self.type(text)
        self.press("enter")

    def paste(self, text: str) -> None:
        """Paste a text, as a terminal does that was asked to mark it."""
        assert b"\x1b[?2004h" in self._printed
        self.type(f"\x1b[200~{text}\x1b[201~")

    def ask(self, text: str) -> None:
        """Type a line, and wait for the next prompt."""
        self.type(text)
        self.shows_at_cursor(f"> {text}"[-(self.columns - 1) :])
        self.press("enter")
        self.prompt()

    def answer(self, text: str) -> None:
        """Answer the question whether a tool may run, and wait for the next prompt."""
        self.question()
        self.enter(text)
        self.prompt()

    def question(self) -> None:
        """Wait until it is asked whether a tool may run."""
        self.shows_at_cursor("because ...]")

    def prompt(self) -> None:
        """Wait until a line can be typed."""
        # A prompt stands at the cursor; that of an earlier line is above it.
        self._wait(
            lambda: (
                self.line == ">"
                and self.screen.cursor.x == len("> ")
                and (self.is_plain or " tokens" in self.lines[-1])
            )
        )

    def shows_at_cursor(self, text: str) -> None:
        """Wait until the line with the cursor ends with a text."""
        self._wait(lambda: self.line.endswith(text.rstrip()))

    def shows(self, text: str) -> None:
        """Wait until a text is somewhere on the screen, wherever the screen wraps it."""
        self._wait(lambda: text in "\n".join(self.lines) or text in self._unwrapped)

    def _wait(self, is_there: Callable[[], bool], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not is_there() and time.monotonic() < deadline and self._read(0.1):
            pass
        assert is_there(), "\n".join(self.lines)

    def end(self, seconds: float = 60) -> int:
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
        self._printed += printed
        self._stream.feed(printed)
        return bool(printed)


def _be_controlled() -> None:
    """Make stdin the controlling terminal, so that Ctrl-C is a signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell ignores it for what runs behind it
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start the command in a terminal of 100 columns."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, **options: Any) -> Terminal:
            started = Terminal(tmp_path, *arguments, **options)
            stack.callback(started.close)
            return started

        yield start


@pytest.fixture
def chat(terminal: Callable[..., Any], agent: Path) -> Any:
    """Talk with the scripted agent, in the session `work`."""
    started = terminal("chat", agent.name, "--session", "work")
    started.prompt()
    return started


@pytest.fixture
def note(agent: Path) -> Path:
    """Write a file that the agent can read."""
    path = agent.parent / "note.txt"
    path.write_text("The build is red.")
    return path


@pytest.fixture
def quiet(agent: Path) -> Path:
    """Let the agent's tools run without approval."""
    agent.write_text(f"{agent.read_text()}approve: never\n")
    return agent


@pytest.fixture
def ollama(
    serving_apart: Callable[..., contextlib.AbstractContextManager[str]],
) -> Iterator[str]:
    """Serve a model as Ollama does: it repeats requests, and `break` closes the connection."""
    with serving_apart(_speak_as_ollama) as address:
        yield address


async def _speak_as_ollama(request: web.Request) -> web.StreamResponse:
    if request.path == "/api/tags":
        return web.json_response({"models": [{"name": "parrot:1b"}]})
    asked = (await request.json())["messages"][-1]["content"]
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    await response.prepare(request)
    words = asked.split()
    for word in words:
        piece = {"message": {"role": "assistant", "content": f"{word} "}, "done": False}
        await response.write(json.dumps(piece).encode() + b"\n")
    if "break" in words:
        assert request.transport is not None
        request.transport.close()
        return response
    done = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    counts = {"prompt_eval_count": 20, "eval_count": len(words)}
    await response.write(json.dumps({**done, **counts}).encode() + b"\n")
    return response
