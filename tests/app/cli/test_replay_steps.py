"""Stepping through a session in the terminal: what a policy would have sent, by request."""

import asyncio
import json
import os
import pty
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.app.replay import ContextLimits, make_policy, read_transcripts, replay
from agentic.context import budget
from agentic.messages import Message, to_plain
from agentic.tokens import for_model

LIMITS = ContextLimits(budget.Policy(2_000), for_model("default"))
STEP = ("--window", "2000", "--step")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Write a session of questions and answers."""
    lines = [{"role": "user", "content": "Begin."}]
    for number in range(20):
        lines.append({"role": "assistant", "content": f"Answer {number}. " + "So it goes. " * 60})
        lines.append({"role": "user", "content": f"Question {number}?"})
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(map(json.dumps, [*lines, lines[1]])))
    return path


@pytest.mark.parametrize("spec", ["none", "keep_last:keep_recent=5", "digest", "tiers"])
def test_every_sent_message_is_shown(
    agentic: Any, spec: str, talk: Callable[..., list[Message]], write: Callable[..., Path]
) -> None:
    """Each request names as many as it sends, and as many as it leaves out."""
    path = write(map(to_plain, talk(12)))
    [transcript] = read_transcripts(path)
    [replayed] = asyncio.run(
        replay(transcript, [make_policy(spec, LIMITS)], LIMITS, keep_views=True)
    )

    told = agentic("replay", path, *STEP, spec).out.split("\n\nrequest ")[1:]

    sent = [length for series in replayed.series for length in series.lengths]
    assert len(told) == len(replayed.requests) > 12
    for request, length in zip(told, sent, strict=True):
        lines = request.rstrip("\n").split("\n")
        before = sum(int(line.split()[0]) for line in lines if line.endswith(" as before"))
        labels = [line[:9].strip() for line in lines[1:]]
        assert before + sum(map(bool, labels)) == length


def test_missing_messages_stand_in_their_place(agentic: Any, session: Path) -> None:
    """The first request after a compaction has the summary, the gap and the newest messages."""
    done = agentic("replay", session, *STEP, "digest")

    requests = done.out.split("\nrequest ")
    cut = next(each for each in requests[2:] if "\n  summary\n" in each).split("\n")
    assert done.status == 0
    assert requests[0] == "talk under digest\n"
    assert requests[1].startswith("1 of 21: 6 tokens\n       m1 user       Begin.\n")
    assert "          # Digest of the conversation so far" in cut
    assert any(line.endswith(" messages not sent]") for line in cut)
    assert "as before" not in "".join(cut)


def test_a_misspelt_policy_is_corrected(agentic: Any, session: Path) -> None:
    """The nearest name is suggested, after all that there are."""
    done = agentic("replay", session, *STEP, "digst")

    assert done.status == 1
    assert done.err.endswith("got 'digst'; did you mean 'digest'?\n")


def test_steps_exclude_page_and_json(agentic: Any, session: Path) -> None:
    """A combination that says two things is a sentence."""
    done = agentic("replay", session, *STEP, "digest", "--json")

    assert done.status == 2
    assert "--step writes no page and no JSON: leave out --html and --json" in done.err


@pytest.mark.slow
def test_a_key_shows_the_next_request(session: Path) -> None:
    """Space goes on, and q leaves; nothing is printed ahead."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "agentic", "replay", str(session), *STEP, "none"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs) as running:
        os.close(theirs)
        shown = read_until(ours, b"leave --")
        press(ours, b" ")
        more = read_until(ours, b"leave --")
        press(ours, b"q")
        assert running.wait(60) == 0
    os.close(ours)

    assert (shown.count(b"request 1 of"), shown.count(b"request 2 of")) == (1, 0)
    assert (more.count(b"request 2 of"), more.count(b"request 3 of")) == (1, 0)


def press(terminal: int, key: bytes) -> None:
    """Press a key as soon as the program reads keys: what is typed before that is discarded."""
    deadline = time.monotonic() + 60
    while termios.tcgetattr(terminal)[3] & termios.ICANON and time.monotonic() < deadline:
        time.sleep(0.01)
    os.write(terminal, key)


def read_until(terminal: int, text: bytes) -> bytes:
    """Read what is printed up to a text."""
    read = b""
    while text not in read:
        read += os.read(terminal, 1_024)
    return read
