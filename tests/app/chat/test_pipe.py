"""The chat at the end of a pipe: a request a line, replies on stdout, the rest on stderr."""

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic import history
from agentic.messages import ContextSummary, Message

pytestmark = pytest.mark.slow


def test_output_is_replies_and_nothing_else(agentic: Any, agent: Path) -> None:
    """So that a reply can be piped on."""
    done = agentic("chat", agent, "-s", "work", stdin=b"say one\n\nsay two\n")

    assert done.status == 0
    assert done.out == "one \ntwo \n"
    assert done.err.startswith("New session work. ")
    assert "[" in done.err


def test_session_that_cannot_be_kept_is_refused_first(agentic: Any, agent: Path) -> None:
    """In one line that names the place, before the model is asked."""
    (agent.parent / ".agentic").touch()

    done = agentic("chat", agent, "-s", "work", stdin=b"say one\n")

    assert (done.status, done.out) == (1, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"agentic: {agent.parent}/.agentic/sessions/")
    assert line.endswith("work.jsonl: not a directory")


def test_a_backslash_continues_the_line(agentic: Any, agent: Path) -> None:
    """A request may have several lines."""
    done = agentic("chat", agent, stdin=b"say one\\\ntwo\n")

    assert done.out == "one two \n"


def test_a_new_session_says_its_id(agentic: Any, agent: Path) -> None:
    """It is printed, and resumed by it or as the latest."""
    first = agentic("chat", agent, stdin=b"say one\n")
    new = first.err.split()[2].rstrip(".")

    by_name = agentic("chat", agent, "--session", new)
    latest = agentic("chat", agent, "--resume")

    assert by_name.err == f"Resuming session {new}\n2 messages in history\n"
    assert latest.err == by_name.err


def test_long_session_greets_with_its_summary(agentic: Any, agent: Path) -> None:
    """52 messages, 25 of them in a summary."""
    said = [
        Message(role, f"{role} {n}")  # type: ignore[arg-type]
        for n in range(26)
        for role in ("user", "assistant")
    ]

    async def keep() -> None:
        folder = agent.parent / ".agentic" / "sessions" / "scripted"
        async with history.JsonlStore(folder / "abc123.jsonl") as store:
            for message in said:
                await store.append(message)
            summary = ContextSummary("What was said.", 25, 0, 24, messages_kept=27)
            await store.replace([summary.to_message(), *said[25:]])

    asyncio.run(keep())

    done = agentic("chat", agent, "--session", "abc123")

    assert done.err == "Resuming session abc123\n52 messages in history (25 summarized)\n"


def test_a_triggered_summary_is_reported(agentic: Any, agent: Path) -> None:
    """N is 10 here; a summarizer that fails is reported and a digest takes its place."""
    with (agent.parent / "scripted.py").open("a") as file:
        file.write(
            "\n\nclass Broken:\n    async def decide(self, request):\n"
            "        raise OSError('out of order')\n"
        )
    agent.write_text(
        "model: scripted.py:Scripted\n"
        "context: {max_messages_before_summary: 10, summary_model: 'scripted.py:Broken'}\n"
    )

    request = b"say " + b"something " * 200 + b"\n"
    done = agentic("chat", agent, stdin=request * 6 + b"/context\n")

    assert done.status == 0
    assert done.out.count("something") == 6 * 200
    assert re.search(r"^\d+ messages summarized: [\d,]+ → [\d,]+ tokens$", done.err, re.MULTILINE)
    assert "  Last summary: " in done.out


@pytest.mark.parametrize("how", ["by a trigger", "on demand"])
def test_summary_is_part_of_price(agentic: Any, agent: Path, how: str) -> None:
    """It has the price of the model that wrote it, 2.50 and 1.00 dollars here."""
    with (agent.parent / "scripted.py").open("a") as file:
        file.write(
            "\nfrom agentic.usage import Usage\n\n\n"
            "class Paid:\n    async def decide(self, request):\n"
            "        used = Usage(input=1_000_000, output=100_000)\n"
            "        return loop.Decision('ok', usage=used, response_model='gpt-4o')\n"
        )
    most = 10 if how == "by a trigger" else 100
    agent.write_text(
        "model: scripted.py:Scripted\n"
        f"context: {{max_messages_before_summary: {most}, summary_model: 'scripted.py:Paid'}}\n"
    )
    asked = b"say " + b"something " * 200 + b"\n"
    slash = b"" if how == "by a trigger" else b"/summarize\n"

    done = agentic("chat", agent, stdin=asked * 5 + slash + b"/context\n")

    assert "  Last summary: " in done.out
    assert "\nThis chat: $3.5000.\n" in done.err


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ("fail", "the model did not serve the request (HTTP 503): it is overloaded, try again"),
        ("crash", "KeyError: 'turn'"),
    ],
)
def test_the_chat_survives_a_failing_model(
    agentic: Any, agent: Path, request_: str, said: str
) -> None:
    """A script learns from the status that a request got no reply."""
    done = agentic("chat", agent, stdin=f"{request_}\nsay here\n".encode())

    assert done.status == 1
    assert said in done.err
    assert done.out == "here \n"


def test_a_failed_tool_shows_its_reason(agentic: Any, agent: Path) -> None:
    """The call, clipped, and what became of it."""
    done = agentic("chat", agent, stdin=b"read no-such-file\n")

    assert '→ read {"path": "no-such-file"}\n' in done.err
    assert re.search(r"← read failed in \d+\.\d s: FileNotFoundError", done.err)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/foo", "There is no /foo. There are /context, /summarize, /undo, /restore, "),
        ("/history many", "/history takes a number of messages, such as /history 50, not 'many'."),
        (f"/history {'9' * 5_000}", "such as /history 50, not '9999999999999999999…'."),
        ("/restore", "there is no summary to take back"),
        ("/undo", "There is no exchange to take back: /restore undoes a summary."),
        ("/open", "There is no tool call to open yet."),
        ("/model nope:x", "No module named 'nope'"),
        ("/summarize", "Nothing was summarized: "),
    ],
)
def test_a_mistaken_command_is_one_sentence(
    agentic: Any, agent: Path, line: str, said: str
) -> None:
    """And the chat goes on."""
    done = agentic("chat", agent, stdin=f"{line}\nsay here\n".encode())

    assert said in done.err + done.out
    assert done.out.endswith("here \n")
    assert "Traceback" not in done.err


def test_a_path_is_no_command(agentic: Any, agent: Path) -> None:
    """A request may begin with a slash."""
    done = agentic("chat", agent, stdin=b"/etc/hosts what is it?\n")

    assert done.out == "what is it? \n"


def test_help_lists_every_command(agentic: Any, agent: Path) -> None:
    """Each with what it does."""
    done = agentic("chat", agent, stdin=b"/help\n/quit\nsay unheard\n")

    for name in ("/context", "/summarize", "/undo", "/restore", "/open", "/model", "/quit"):
        assert f"\n  {name}" in f"\n{done.out}"
    assert "unheard" not in done.out


def test_history_shows_the_latest_messages(agentic: Any, agent: Path) -> None:
    """By the numbers that the recall tool knows them by."""
    done = agentic("chat", agent, stdin=b"say one\nsay two\n/history 2\n/history 3\n")

    assert done.out.endswith("   m3 user       say two\n   m4 assistant  two\n")
    assert "2 earlier messages; /history 4 shows all." in done.err
    assert "1 earlier message; /history 4 shows all." in done.err


def test_history_marks_what_was_taken_back(agentic: Any, agent: Path) -> None:
    """Also where the same request was typed again; what a summary replaced is not marked."""
    lines = b"say one\nsay two\n/undo\nsay two\nsay three\n/undo\n/history\n"
    done = agentic("chat", agent, stdin=lines)

    history = done.out.split("\n")[-9:-1]
    assert [line.split()[0] for line in history if line.endswith("  (taken back)")] == [
        "m3",
        "m4",
        "m7",
        "m8",
    ]


def test_another_model_continues_the_session(agentic: Any, agent: Path) -> None:
    """/model names it; what was said before is there."""
    with (agent.parent / "scripted.py").open("a") as file:
        file.write("\n\nclass Other(Scripted):\n    pass\n")

    done = agentic(
        "chat", agent, stdin=b"say one\n/model\n/model scripted.py:Other\n/model\n/history\n"
    )

    assert "Now: scripted.py:Scripted\n" in done.out
    assert "Now served by scripted.py:Other.\nNow: scripted.py:Other\n" in done.out
    assert "m1 user       say one" in done.out


def test_command_line_names_the_model(agentic: Any, agent: Path) -> None:
    """It takes the place of the one in the file."""
    done = agentic("chat", agent, "--model", "scripted.py:Nobody")

    assert done.status == 1
    assert "scripted.py" in done.err
    assert "Nobody" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["no-such.yaml"], 1, "no-such.yaml: no such file"),
        (["nobody"], 1, "no agent named 'nobody'"),
        ([], 2, "Missing argument 'AGENT', which cannot be asked for in a pipe: name one,"),
        (
            ["agent.yaml", "--resume"],
            1,
            "agent.yaml has no sessions yet: start one with agentic chat",
        ),
        (["agent.yaml", "--session", "../x"], 1, "session_id must be 1 to 128 of"),
        (["agent.yaml", "--session", "a", "--resume"], 2, "choose one"),
    ],
)
def test_mistake_is_told_before_chat_begins(  # noqa: PLR0917
    agentic: Any,
    agent: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    status: int,
    said: str,
) -> None:
    """In a sentence, with what to do."""
    monkeypatch.chdir(agent.parent)
    done = agentic("chat", *arguments)

    assert done.status == status
    assert said in done.err
    assert done.err.count("\n") == 1


def test_all_mistakes_are_told_at_once(agentic: Any, agent: Path) -> None:
    """With file, line and key."""
    agent.write_text("modle: x\nmax_turns: 0\n")

    done = agentic("chat", agent)

    assert done.status == 1
    assert f"{agent}:1: unknown key 'modle'" in done.err
    assert f"{agent}:2: max_turns" in done.err


def test_ctrl_c_leaves_a_whole_session(agentic: Any, agent: Path) -> None:
    """The status is the one that a shell expects, and what follows is not asked."""
    with subprocess.Popen(
        [sys.executable, "-m", "agentic", "chat", agent, "-s", "work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin
        assert running.stdout
        running.stdin.write(b"count 1000\nsay unheard\n")
        running.stdin.flush()
        assert running.stdout.read(4) == b"0 1 "
        running.send_signal(signal.SIGINT)
        rest, said = running.communicate(timeout=60)

    assert running.returncode == 130
    assert b"unheard" not in rest
    assert b"Stopped. What has arrived is kept." in said
    assert "2 messages in history" in agentic("chat", agent, "-s", "work").err


def test_leaving_reader_ends_the_chat(agent: Path) -> None:
    """No traceback, and the status of other tools."""
    with subprocess.Popen(
        [sys.executable, "-m", "agentic", "chat", agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout
        running.stdout.close()
        assert running.stdin
        running.stdin.write(b"say one\nsay two\n")
        running.stdin.close()
        assert running.stderr
        said = running.stderr.read()

    assert running.returncode == 141
    assert b"Traceback" not in said
    assert b"Error" not in said


def test_an_incomplete_reply_is_told(agentic: Any, agent: Path) -> None:
    """Neither thinking alone nor the start of a reply looks like an answer."""
    with (agent.parent / "scripted.py").open("a") as file:
        file.write(
            "\n\nfrom agentic import loop\nclass Cut:\n"
            "    async def decide(self, request):\n"
            "        if request.user_message == 'think':\n"
            "            return loop.Decision('', reasoning='Hm.')\n"
            "        return loop.Decision('It is', stop_reason='max_tokens')\n"
        )

    done = agentic("chat", agent, "--model", "scripted.py:Cut", stdin=b"think\ngo\n")

    reasoned = "The model said nothing but reasoned, also when it was asked again.\n"
    assert reasoned in done.err
    assert "The reply was cut off at the limit of tokens.\n" in done.err


def test_a_pipe_refuses_to_ask(agentic: Any, agent: Path) -> None:
    """Nobody is there to answer; without that line, tools run as in any program."""
    agent.write_text(f"{agent.read_text()}approve: ask\n")

    done = agentic("chat", agent, stdin=b"say hello\n")

    assert (done.status, done.out) == (1, "")
    assert "approve: ask, but nobody can be asked" in done.err
