"""Which models a chat offers: local servers that answer, providers whose key is set, or none."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agentic import limits

pytestmark = pytest.mark.slow

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
NO_KEYS = dict.fromkeys(KEYS, "")
MODELS = {"object": "list", "data": [{"id": "qwen3"}]}
LISTS = {
    "llamacpp": {
        "/v1/models": MODELS,
        "/props": {"default_generation_settings": {"n_ctx": 24_000}},
    },
    "lmstudio": {
        "/api/v0/models": {
            "data": [
                {"id": "qwen3", "type": "llm", "loaded_context_length": 24_000},
                {"id": "nomic", "type": "embeddings", "max_context_length": 2_048},
            ]
        }
    },
}
"""What the two servers answer, as their documentation shows it."""


async def _reply(request: web.Request) -> web.StreamResponse:
    asked = (await request.json())["messages"][-1]["content"]
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    common = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "qwen3"}
    for delta, reason in (({"role": "assistant", "content": asked}, None), ({}, "stop")):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        data = json.dumps({**common, "choices": [choice]})
        await response.write(f"data: {data}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


def _server(name: str) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path == "/v1/chat/completions":
            return await _reply(request)
        if request.path not in LISTS[name]:
            return web.Response(status=404)
        return web.json_response(LISTS[name][request.path])

    return handle


def _agent(folder: Path, server: str, address: str, model: str = "qwen3") -> Path:
    path = folder / "local.yaml"
    path.write_text(
        "model: agentic.app.cli._local_servers:connect\n"
        f"model_options: {{server: {server}, name: {model}, address: '{address}'}}\n"
    )
    return path


@pytest.mark.parametrize("server", ["lmstudio", pytest.param("llamacpp", marks=pytest.mark.long)])
def test_local_server_replies_in_its_window(
    process: Any,
    tmp_path: Path,
    serving_apart: Callable[..., AbstractContextManager[str]],
    server: str,
) -> None:
    """llama.cpp and LM Studio speak Chat Completions, and state the window of their model."""
    with serving_apart(_server(server)) as address:
        agent = _agent(tmp_path, server, address)
        done = process("chat", agent, input=b"Are you there?\n/model\n/context\n")

    out = done.stdout.decode()
    assert done.returncode == 0
    assert out.startswith(f"Are you there?\nNow: {server}:qwen3\n")
    assert re.search(r"Tokens:   \d+ / 18,000 ", out)


def test_a_missing_local_model_is_explained(
    agentic: Any, tmp_path: Path, serving_apart: Callable[..., AbstractContextManager[str]]
) -> None:
    """With the models that are there, or the address that did not answer."""
    with serving_apart(_server("lmstudio")) as address:
        missing = agentic("chat", _agent(tmp_path, "lmstudio", address, "qwen4"))
    gone = agentic("chat", _agent(tmp_path, "lmstudio", address))

    told = "lmstudio has no model 'qwen4'; it has qwen3 (did you mean 'qwen3'?)"
    assert re.fullmatch(rf"agentic: \S+local\.yaml:1: {re.escape(told)}\n", missing.err)
    assert re.search(rf":1: no lmstudio server answers at {address}\n", gone.err)


def test_server_and_key_models_are_listed(
    process: Callable[..., Any], agent: Path, ollama: str
) -> None:
    """Those of a key that is set, from the catalog; of the others, what is missing."""
    environment = {**NO_KEYS, "OLLAMA_HOST": ollama, "OPENAI_API_KEY": "none"}
    done = process("chat", agent, input=b"/model\n", env=environment)

    out = done.stdout.decode()
    assert out.startswith("Now: scripted.py:Scripted\n")
    assert f"On this machine ({ollama}):\n  ollama:parrot:1b\n" in out
    assert "\nBy OPENAI_API_KEY:\n" in out
    assert "\n  openai_chat:gpt-5\n" in out
    assert "gpt-oss" not in out
    assert "\n  anthropic: set ANTHROPIC_API_KEY\n" in out


@pytest.mark.parametrize(
    ("path", "answer"),
    [("/v1", "openai_chat:qwen3\n"), ("/nothing", "(it did not list its models: ")],
)
def test_configured_server_is_asked_for_its_models(  # noqa: PLR0917  two servers and a command
    agentic: Any,
    agent: Path,
    serving_apart: Callable[..., AbstractContextManager[str]],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    answer: str,
) -> None:
    """Not the catalog, whose models another server does not have; one without a list says so.

    The password in its address is not shown.
    """
    for name, value in {**NO_KEYS, "OPENAI_API_KEY": "none"}.items():
        monkeypatch.setenv(name, value)
    with serving_apart(_server("llamacpp")) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address.replace("//", "//me:s3cret@") + path)
        done = agentic("chat", agent, stdin=b"/model\n")

    assert f"\nBy OPENAI_BASE_URL, {address}{path}:\n  {answer}" in done.out
    assert "openai_chat:gpt-5" not in done.out
    assert "s3cret" not in done.out + done.err


def test_every_key_offers_a_model(process: Callable[..., Any], ollama: str) -> None:
    """Each is in the catalog; in a pipe, where nobody chooses, the sentence names them."""
    environment = {**dict.fromkeys(KEYS, "none"), "OLLAMA_HOST": ollama}
    done = process("chat", input=b"", env=environment)

    offered = done.stderr.decode().partition("there are ")[2]
    names = offered.partition(". See")[0].split(", ")
    assert done.returncode == 2
    assert [name.partition(":")[0] for name in names[:3]] == [
        "anthropic",
        "openai_chat",
        "gemini",
    ]
    assert all(limits.lookup(name).known for name in names[:3])
    assert names[3] == "ollama:parrot:1b"
    assert names[-1] == "offline"


def test_variable_holding_the_key_is_named(
    process: Callable[..., Any], agent: Path, ollama: str
) -> None:
    """Either of two may have the key of Gemini."""
    environment = {**NO_KEYS, "OLLAMA_HOST": ollama, "GOOGLE_API_KEY": "none"}
    done = process("chat", agent, input=b"/model\n", env=environment)

    assert "\nBy GOOGLE_API_KEY:\n" in done.stdout.decode()


def test_the_offline_agent_shows_the_chat(terminal: Any, tmp_path: Path) -> None:
    """It lists, reads and, after it has asked, writes files, and can be resumed."""
    (tmp_path / "note.txt").write_text("The build is red.")
    chat = terminal("chat", "--model", "offline", "--session", "work", **NO_KEYS)
    chat.prompt()
    chat.ask("list")
    chat.enter("write note.txt It is green.")
    chat.answer("once")
    chat.ask("raed note.txt")
    chat.press("ctrl-d")

    assert chat.end() == 0
    assert (tmp_path / "note.txt").read_text() == "It is green.\n"
    assert "\n  note.txt\n" in chat.text
    assert "\nDid you mean read?\n" in chat.text
    assert "\nTo continue: agentic chat --model offline --session work\n" in chat.text


@pytest.mark.long
def test_folders_only_agent_needs_no_name(agent: Path, process: Any) -> None:
    """The only one that is there is meant."""
    (agent.parent / "agents").mkdir()
    (agent.parent / "agents" / "only.yaml").write_text(
        agent.read_text().replace("scripted.py", "../scripted.py")
    )

    done = process("chat", input=b"say hello\n")

    assert done.stdout == b"hello \n"


def test_pipe_loads_no_prompt_or_rendering(agent: Path) -> None:
    """What draws in a terminal takes as long to load as all else together."""
    script = agent.parent / "run.py"
    script.write_text(
        "import sys; from agentic.app.cli import main; main(['chat', 'agent.yaml']);"
        "print([m for m in ('prompt_toolkit', 'rich.live', 'markdown_it') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=agent.parent, input=b"", capture_output=True, check=True
    )

    assert done.stdout == b"[]\n"


def test_what_is_no_model_server_is_passed_over(
    process: Any, serving_apart: Callable[..., AbstractContextManager[str]]
) -> None:
    """Anything may listen at the port, and send JSON that nests without end."""

    async def handle(_: web.Request) -> web.Response:
        return web.Response(text="[" * 100_000)

    with serving_apart(handle) as address:
        done = process("chat", input=b"", env={**NO_KEYS, "OLLAMA_HOST": address})

    assert (done.returncode, b"there are offline" in done.stderr) == (2, True)
