"""The example as a user runs it: real processes, real files, real commands, a real HTTP server."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "mono-like"
GPT = ("--model", "openai_chat:gpt-4.1")


def mono_like(
    folder: Path, *arguments: str, typed: str = "", asks: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the example in a folder, with no key and no endpoint but those that are given."""
    keys = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "AWS")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(keys)}
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments, *([] if asks else ["--yes"])],
        cwd=folder,
        env={**inherited, **environment},
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_is_at_most_250_lines() -> None:
    """A reader gets through it in ten minutes."""
    files = [path for path in EXAMPLE.iterdir() if path.suffix == ".py"]

    assert [path.name for path in files] == ["__main__.py"]
    assert len(files[0].read_text().splitlines()) <= 250


def test_it_writes_edits_reads_and_runs(tmp_path: Path) -> None:
    """Each of the four tools does real work, in one request."""
    done = mono_like(
        tmp_path,
        "write print(1) to a.py then edit a.py: 1 -> 2 then read a.py then run python a.py",
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.py").read_text() == "print(2)"
    assert "offline" in done.stdout
    assert "Done, all of 4." in done.stdout


def test_it_asks_before_it_writes_or_runs(tmp_path: Path) -> None:
    """Only what was allowed is done, and reading needs no answer."""
    script = "write one to a.txt then run cp a.txt b.txt then read b.txt"

    allowed = mono_like(tmp_path, script, typed="y\nyes\n", asks=True)
    refused = mono_like(tmp_path, "write two to a.txt", typed="\n", asks=True)
    nobody = mono_like(tmp_path, "run rm a.txt", asks=True)

    assert allowed.stdout.count("Run it? [y/N]") == 2
    assert (tmp_path / "b.txt").read_text() == "one"
    assert (tmp_path / "a.txt").read_text() == "one"
    assert "the user did not allow it" in refused.stdout
    assert "the user did not allow it" in nobody.stdout


def test_demo_visits_files_that_exist() -> None:
    """`make demo` runs the script on a copy of the package: a renamed file ends its request."""
    steps = re.split(r" then |\n", (EXAMPLE / "demo.txt").read_text())
    paths = {path for step in steps for path in re.findall(r"agentic/[\w/.*]+", step)}

    assert len(paths) > 15
    assert [path for path in paths if not list(ROOT.glob(path))] == []


def test_cut_output_is_whole_in_file(tmp_path: Path) -> None:
    """The end of the output is shown, with the place of all of it."""
    done = mono_like(tmp_path, "run seq 100000")

    spilled = done.stdout.partition("the full text is in ")[2].partition(".log")[0].split()[0]

    assert Path(spilled.rstrip(".")).read_text().count("\n") == 100_000


def test_small_window_compacts_and_goes_on(tmp_path: Path) -> None:
    """Compaction happens within a request, and the request is finished."""
    (tmp_path / "big.txt").write_text("a line of a large file\n" * 2_000)

    done = mono_like(tmp_path, "--window", "4000", " then ".join(["read big.txt"] * 6))

    assert "compacted:" in done.stdout
    assert "Done, all of 6." in done.stdout


def test_a_session_is_resumed(tmp_path: Path) -> None:
    """What was said is in the file, and there again the next time."""
    mono_like(tmp_path, "--session", "s.jsonl", "run echo one")

    done = mono_like(tmp_path, "--session", "s.jsonl", "run echo two")

    assert "Resuming session s.jsonl: 4 messages in history" in done.stdout


def test_prompt_ends_at_an_empty_line(tmp_path: Path) -> None:
    """Without a request it asks, and each line is one."""
    done = mono_like(tmp_path, typed="run echo one\nfind nothing\n\n")

    assert done.returncode == 0
    assert done.stdout.count("Done, all of 1.") == 2


def _is_running(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return "State:\tZ" not in status  # a container may have nobody who collects the dead


def test_background_processes_of_commands_are_stopped(tmp_path: Path) -> None:
    """No child outlives the command that started it."""
    command = "sleep 600 >/dev/null 2>&1 & echo $! > process"
    done = mono_like(tmp_path, f"run {command}")
    process = int((tmp_path / "process").read_text())

    assert "Done" in done.stdout
    begun = time.monotonic()
    while _is_running(process):
        assert time.monotonic() - begun < 60
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("arguments", "environment", "told"),
    [
        (["--window", "-5", "run ls"], {}, "context_window must be a whole number"),
        (["--window", "many", "run ls"], {}, "invalid int value: 'many'"),
        (["--session", "/", "run ls"], {}, "Is a directory"),
        (["--model", "my-own", "hi"], {}, "model must be PROVIDER:NAME"),
        (["--model", "acme:large", "hi"], {}, "the provider one of anthropic, bedrock, cohere"),
        (["--model", "openai_chat:gpt-4.1", "hi"], {}, "OPENAI_API_KEY"),
        (["--model", "anthropic:claude-sonnet-4-5", "hi"], {}, "ANTHROPIC_API_KEY"),
        (["--model", "gemini:gemini-2.5-pro", "hi"], {}, "API key"),
        (
            ["--model", "openai_chat:gpt-4.1", "hi"],
            {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none"},
            "did not serve the request",
        ),
        (
            ["--model", "openai_chat:gpt-4.1", "hi"],
            {"OPENAI_BASE_URL": "nonsense", "OPENAI_API_KEY": "none"},
            "OPENAI_BASE_URL must be an address",
        ),
    ],
)
def test_users_mistake_is_one_sentence(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], told: str
) -> None:
    """The last line says what was wrong, and the exit status is not 0."""
    done = mono_like(tmp_path, *arguments, **environment)

    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_request_is_answered_with_abilities(
    tmp_path: Path,
) -> None:
    """The offline decider says what it knows."""
    done = mono_like(tmp_path, "make me a sandwich")

    assert "I do not understand 'make me a sandwich'" in done.stdout
    assert "read PATH" in done.stdout


@contextmanager
def chat_server(*answers: tuple[int, str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve chat completions from a script; give the address, and the requests that came."""
    seen: list[dict[str, Any]] = []
    script = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body = next(script)
            self.send_response(status)
            kind = "text/event-stream" if status == 200 else "application/json"
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
        server.shutdown()


def reply(
    content: str = "", reason: str = "stop", calls: tuple[tuple[str, str], ...] = ()
) -> tuple[int, str]:
    """Write a streamed reply as a server does."""
    delta: dict[str, Any] = {"role": "assistant", "content": content or None}
    if calls:
        delta["tool_calls"] = [
            {"index": at, "id": f"call_{at}", "function": {"name": name, "arguments": arguments}}
            for at, (name, arguments) in enumerate(calls)
        ]
    usage = {"prompt_tokens": 900, "completion_tokens": 10}
    chunks = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": usage},
    ]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return 200, "".join([*lines, "data: [DONE]\n\n"])


def test_endpoint_gets_tools_and_results(tmp_path: Path) -> None:
    """A model behind HTTP drives the same tools."""
    calls = (("bash", '{"command": "echo hello"}'),)
    with chat_server(reply("Let me see.", "tool_calls", calls), reply("It says hello.")) as (
        url,
        seen,
    ):
        done = mono_like(tmp_path, *GPT, "greet", OPENAI_BASE_URL=url, OPENAI_API_KEY="none")

    assert done.returncode == 0, done.stderr
    assert "It says hello." in done.stdout
    assert [tool["function"]["name"] for tool in seen[0]["tools"]] == [
        "read",
        "write",
        "edit",
        "bash",
    ]
    assert seen[1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "content": "hello\n",
    }


def test_edits_of_one_turn_all_survive(tmp_path: Path) -> None:
    """Tools of a turn run at once, and still every edit of the same file is in it."""
    (tmp_path / "a.txt").write_text("filler\n" * 50_000 + " ".join(f"old{n}." for n in range(9)))
    edits = tuple(
        ("edit", json.dumps({"path": "a.txt", "old": f"old{n}.", "new": f"new{n}."}))
        for n in range(9)
    )
    with chat_server(reply("", "tool_calls", edits), reply("Edited.")) as (url, _):
        done = mono_like(tmp_path, *GPT, "edit", OPENAI_BASE_URL=url, OPENAI_API_KEY="none")

    assert done.returncode == 0, done.stderr
    assert "old" not in (tmp_path / "a.txt").read_text()


def test_overflow_leads_to_smaller_request(tmp_path: Path) -> None:
    """The refused request is not sent again as it was."""
    (tmp_path / "big.txt").write_text("a line of a large file\n" * 2_000)
    read = reply("", "tool_calls", (("read", '{"path": "big.txt"}'),))
    overflow = (
        400,
        json.dumps({"error": {"code": "context_length_exceeded", "message": "Too long."}}),
    )
    with chat_server(*[read] * 8, overflow, reply("Read.")) as (url, seen):
        done = mono_like(tmp_path, *GPT, "read it", OPENAI_BASE_URL=url, OPENAI_API_KEY="none")

    refused, retried = (len(json.dumps(body["messages"])) for body in seen[-2:])

    assert "Read." in done.stdout, done.stderr
    assert retried < refused


def test_cut_off_reply_is_told(tmp_path: Path) -> None:
    """What is missing does not look like an answer."""
    with chat_server(reply("It is", "length")) as (url, _):
        done = mono_like(tmp_path, *GPT, "go", OPENAI_BASE_URL=url, OPENAI_API_KEY="none")

    assert "It is\n  the reply was cut off at the limit of tokens\n" in done.stdout, done.stderr
