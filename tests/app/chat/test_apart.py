"""What deciders and tools do that is nobody's business: print, read, leave, block."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.app.cli import main

pytestmark = pytest.mark.slow

ROUGH = '''
import asyncio
import subprocess
import sys
import time

from agentic import loop
from agentic.messages import ToolCall


class Rough:
    """Does what no decider should."""

    async def decide(self, request):
        words = request.user_message.split()
        if request.tool_results:
            return loop.Decision(request.tool_results[-1].text)
        match words:
            case ["print"]:
                print("of the decider")
                subprocess.run(["echo", "of a child"], check=True)
            case ["read"]:
                child = subprocess.run(["cat"], capture_output=True, check=True)
                return loop.Decision(f"read {sys.stdin.read()!r} and {child.stdout!r}")
            case ["exit"]:
                sys.exit(3)
            case ["interrupt"]:
                raise KeyboardInterrupt
            case ["tool", what]:
                return loop.Decision("", [ToolCall("", what, "{}")])
            case ["block"]:
                print("blocking", flush=True)
                time.sleep(600)
        return loop.Decision("a reply")


class Stuck:
    async def decide(self, request):
        print("summarizing", file=sys.stderr, flush=True)
        await asyncio.sleep(600)


class Evil:
    async def decide(self, request):
        raise ValueError("red\\x1b[2J\\x9b2J\\u202eder")


def leave() -> str:
    """Leave."""
    sys.exit(3)


async def interrupt() -> str:
    """Interrupt."""
    raise KeyboardInterrupt
'''


@pytest.fixture
def rough(tmp_path: Path) -> Path:
    """Write an agent that has no manners."""
    (tmp_path / "rough.py").write_text(ROUGH)
    path = tmp_path / "rough.yaml"
    path.write_text(
        "model: rough.py:Rough\ntools: [rough.py:leave, rough.py:interrupt]\n"
        "context_window: 9000\ncontext: {summary_model: digest}\nstore: {path: kept}\n"
    )
    return path


Chat = Callable[..., Any]


@pytest.fixture
def chat(process: Any, rough: Path) -> Chat:
    """Pipe requests to it in a process of its own."""
    return lambda *lines: process(
        "chat", rough, "-s", "work", input="".join(f"{line}\n" for line in lines).encode()
    )


def test_what_others_print_is_no_reply(chat: Chat) -> None:
    """Neither what a decider prints nor what its child processes do gets among the replies."""
    done = chat("print")

    assert (done.returncode, done.stdout) == (0, b"a reply\n")
    assert b"of the decider\n" in done.stderr
    assert b"of a child\n" in done.stderr


def test_what_others_read_is_no_request(chat: Chat) -> None:
    """Nobody takes the next line away, nor waits for it."""
    done = chat("read", "hello")

    assert done.stdout == b"read '' and b''\na reply\n"


def test_chat_leaves_streams_as_before(rough: Path, agentic: Any) -> None:
    """A program that runs the command goes on."""
    before = sys.stdout, sys.stdin

    status = main(["chat", str(rough), "--session", ""])

    assert (status, sys.stdout, sys.stdin) == (1, *before)
    assert "session_id must be 1 to 128 of" in agentic("chat", rough, "--session", "").err


@pytest.mark.parametrize("request_", ["exit", "tool leave"])
def test_called_exit_does_not_end_chat(agentic: Any, rough: Path, request_: str) -> None:
    """One sentence, or an answer for the model, and the next request is served."""
    done = agentic("chat", rough, stdin=f"{request_}\nhello\n".encode())

    assert done.out.endswith("a reply\n")
    assert "Traceback" not in done.err
    if request_ == "exit":
        assert done.status == 1
        assert "sys.exit(3) was called instead of a reply: the chat continues.\n" in done.err


@pytest.mark.parametrize("request_", ["interrupt", "tool interrupt"])
def test_an_inner_interrupt_ends_the_chat(
    chat: Chat, agentic: Any, rough: Path, request_: str
) -> None:
    """The session is whole, and the status is that of Ctrl-C."""
    done = chat(request_, "hello")
    again = agentic("chat", rough, "-s", "work", stdin=b"hello\n")

    assert (done.returncode, done.stdout) == (130, b"")
    assert b"Stopped. What has arrived is kept.\n" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"never retrieved" not in done.stderr
    assert again.out == "a reply\n"


def test_second_ctrl_c_ends_what_blocks(rough: Path) -> None:
    """A client that does not give way cannot be cancelled; it can be interrupted."""
    with subprocess.Popen(
        [sys.executable, "-m", "agentic", "chat", rough, "-s", "work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin
        assert running.stderr
        running.stdin.write(b"block\nhello\n")
        running.stdin.flush()
        while b"blocking" not in running.stderr.readline():
            pass
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.5)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)

    assert (running.returncode, out) == (130, b"")
    assert b"Stopped. What has arrived is kept.\n" in err
    assert b"Traceback" not in err


def test_a_stopped_summary_says_so(rough: Path) -> None:
    """Ctrl-C while a summary is made is no error with a name of Python."""
    rough.write_text(
        "model: rough.py:Rough\ncontext_window: 9000\nstore: {path: kept}\n"
        "context: {summary_model: 'rough.py:Stuck', max_messages_before_summary: 10,\n"
        "  min_recent_messages: 2}\n"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "agentic", "chat", rough, "-s", "work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin
        assert running.stderr
        running.stdin.write(b"hello\n" * 8)
        running.stdin.flush()
        while b"summarizing" not in running.stderr.readline():
            pass
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)

    assert running.returncode == 130
    assert b"CancelledError" not in err
    assert b"stopped" in err.lower()


def test_logged_text_is_read_not_obeyed(rough: Path, process: Any) -> None:
    """The words of a summarizer that failed, among others."""
    rough.write_text(
        "model: rough.py:Rough\ncontext_window: 9000\nstore: {path: kept}\n"
        "context: {summary_model: 'rough.py:Evil', max_messages_before_summary: 10,\n"
        "  min_recent_messages: 2}\n"
    )

    done = process("chat", rough, input=b"hello\n" * 8)

    said = done.stderr.decode()
    assert "no summary by a model, a digest takes its place: " in said
    assert "redx2J" not in said
    assert not set("\x1b\x9b\u202e") & set(said)


def test_a_terminal_obeys_no_reply(
    tmp_path: Path, agent: Path, in_terminal: Callable[..., bytes]
) -> None:
    """What matters is where a reply goes to."""
    (tmp_path / "evil.txt").write_text("red\x1b[2J\x9b2J\u202eder", encoding="utf-8")
    (tmp_path / "requests").write_text("read evil.txt\n")

    with (tmp_path / "requests").open("rb") as requests:
        shown = in_terminal(
            sys.executable, "-m", "agentic", "chat", agent, stdin=requests, cwd=tmp_path
        )

    assert b"red2Jder" in shown
    assert not set("\x1b\x9b\u202e") & set(shown.decode())


def test_a_wrong_model_names_its_source(rough: Path, agentic: Any) -> None:
    """No line of the file has it."""
    typed = agentic("chat", rough, stdin=b"/model foo:bar\n")
    given = agentic("chat", rough, "--model", "foo:bar")

    assert (
        "/model: cannot import foo:bar: ModuleNotFoundError: No module named 'foo'; providers are "
        in typed.err
    )
    assert given.err.startswith("agentic: --model: cannot import foo:bar: ")
