"""`agentic proxy` as a user starts it, and the sentences for a user's mistakes."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic.app.cli import main

pytestmark = pytest.mark.slow


def _start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "agentic", "proxy", *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_command_serves_until_it_is_interrupted(tmp_path: Path, hosts: Any, serve: Any) -> None:
    """It prints the address on loopback, logs no request, and leaves no file."""
    provider = serve().provider
    options = ("--to", hosts.provider_address, "--window", "2k", "--port", "0")
    with _start(tmp_path, *options) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found

        got = httpx.post(f"{found[0]}/v1/chat/completions?key=sk-secret", json={"messages": []})
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()

    assert got.status_code == 200
    assert provider.sent[-1].target == "/v1/chat/completions?key=sk-secret"
    assert rest == ""
    # 0 if the tests run in the background of a shell, where SIGINT is ignored from the start.
    assert process.returncode in {0, 130}
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--to", "openai.com", "--window", "9k"], "to must be an address such as https://api"),
        (["--to", "http://x", "--window", "gpt-99x"], "window must be a model whose context wind"),
        (["--to", "http://x", "--window", "0"], "a window has at least one token"),
        (["--to", "http://x", "--window=-5"], "a window has at least one token"),
        (["--to", "http://x"], "Missing option '-w' / '--window'"),
        (["--to", "http://x", "-w", "9k", "--host", "no.such.host.invalid"], "not an address of"),
        (["--to", "http://x", "-w", "9k", "--host", "\xe9" * 70], "not an address of"),
        (["--to", "http://x", "-w", "9k", "--host", ""], "--host is empty: name an address"),
        (["--to", "http://x", "-w", "9k", "--port", "{port}"], "is in use: choose another one"),
    ],
)
def test_mistake_is_one_sentence(
    capfd: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    """And the status says that nothing was served."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status = main(["proxy", *(each.format(port=port) for each in options)])

    said = capfd.readouterr().err
    assert status in {1, 2}
    assert told in said
    assert said.count("\n") == 1
