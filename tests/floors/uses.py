"""One use of each extra, in the environment that `run.py` made for it.

    python tests/floors/uses.py NAME

It imports only what the extra installs. A failed assertion or any exception ends it.
"""

import asyncio
import base64
import importlib.util
import io
import json
import os
import pty
import subprocess
import sys
import tempfile
import urllib.request
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import attrs
import wires

from agentic import loop, providers, testing
from agentic.history import MemoryStore
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.tools import ToolDefinition
from agentic.usage import Usage

TEXT = "Why is the build red? 設定"
READ = ToolDefinition(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
_SETTINGS = {
    "openai": {"OPENAI_BASE_URL": "/v1", "OPENAI_API_KEY": None},
    "anthropic": {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": None},
    "gemini": {"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_KEY": None},
    "bedrock": {
        "AWS_ENDPOINT_URL": "",
        "AWS_DEFAULT_REGION": None,
        "AWS_ACCESS_KEY_ID": None,
        "AWS_SECRET_ACCESS_KEY": None,
    },
    "cohere": {"CO_API_URL": "", "CO_API_KEY": None},
    "ollama": {"OLLAMA_HOST": ""},
}
"""By the extra: the variables that its SDK reads, with a path of the server or for anything."""


def main(name: str) -> None:
    """Run the use of an extra."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    result = USES[name]()
    if asyncio.iscoroutine(result):
        asyncio.run(result)


class _Reader:
    """The tool of the runs."""

    async def list_tools(self) -> list[ToolDefinition]:
        """Return its definition."""
        return [READ]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Return a text and an image."""
        return ToolResult(call.id, call.name, "text of a.py", media=[Media("image/png", PIXEL)])


@attrs.frozen
class _Whole:
    """A decider that does not stream."""

    decide: Callable[[loop.Input], Awaitable[loop.Decision]]


def _ask(extra: str, model: str, wire: wires.Wire, **settings: Any) -> list[Any]:
    """Run a call and a text through a provider's SDK, then a stream; return what was sent."""
    with wires.serving(wire) as served:
        for name, path in _SETTINGS[extra].items():
            os.environ[name] = "none" if path is None else served.address + path
        if extra == "bedrock":
            os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
        decider = providers.connect(model, **settings)
        whole = loop.Runner(_Whole(decider.decide), _Reader(), system_prompt="Be brief.")
        result = whole.run_sync("Read a.")
        assert (result.reply, len(result.tool_results)) == ("Done.", 1), result
        streamed = loop.Runner(decider, _Reader(), system_prompt="Be brief.")
        result = streamed.run_sync(loop.Request("And now?", history=result.history))
        assert result.reply == "Done.", result
        assert len(served.bodies) == 3, served.bodies
        return served.bodies


def _core() -> None:
    result = loop.Runner(testing.ScriptedDecider("Done."), _Reader()).run_sync("Read a.")
    assert result.reply == "Done.", result


def _tools() -> None:
    from agentic import tools

    @tools.tool
    def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    (result,) = asyncio.run(_execute(tools.Registry([add]), ToolCall("1", "add", '{"a": 1}')))
    assert result.output == "3", result


async def _execute(executor: Any, *calls: ToolCall) -> list[ToolResult]:
    return [await executor.execute(call) for call in calls]


def _testing() -> None:
    from hypothesis import HealthCheck, given, settings

    seen = []

    # A busy machine is no failure.
    @settings(
        max_examples=20, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    @given(testing.conversations())
    def look(messages: list[Message]) -> None:
        seen.append(len(messages))

    look()
    assert len(seen) == 20, seen
    testing.check_adapter(providers.openai_chat)


def _openai() -> None:
    _ask("openai", "openai_chat:mine", wires.OPENAI_CHAT)
    sent = _ask("openai", "openai_responses:gpt-5", wires.OPENAI_RESPONSES)
    assert wires.REASONING in sent[1]["input"], sent[1]


def _anthropic() -> None:
    thinking = {"type": "enabled", "budget_tokens": 2_000}
    options = {"thinking": thinking, "max_tokens": 8_000}
    sent = _ask("anthropic", "anthropic:claude-sonnet-4-5", wires.ANTHROPIC, options=options)
    assert wires.THINKING in sent[1]["messages"][1]["content"], sent[1]


def _gemini() -> None:
    sent = _ask("gemini", "gemini:gemini-3-pro", wires.GEMINI)
    assert wires.GEMINI_CALL in sent[1]["contents"][1]["parts"], sent[1]


def _bedrock() -> None:
    for model in ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-pro-v1:0"):
        sent = _ask("bedrock", f"bedrock:{model}", wires.BEDROCK)
        assert wires.BEDROCK_REASONING in sent[1]["messages"][1]["content"], sent[1]
        assert "cachePoint" in json.dumps(sent[1]), sent[1]


def _cohere() -> None:
    _ask("cohere", "cohere:command-a-03-2025", wires.COHERE)


def _ollama() -> None:
    _ask("ollama", "ollama:mine", wires.OLLAMA)


def _context() -> None:
    from agentic.tokens import QuicktokCounter, for_model

    assert QuicktokCounter("o200k_base").count("hello world") == 2
    assert for_model("gpt-4o").count("hello world") == 2


def _tiktoken() -> None:
    from agentic.tokens import TiktokenCounter

    with warnings.catch_warnings():
        # Without the network and without a cache, it says that sizes are estimated.
        warnings.simplefilter("ignore", RuntimeWarning)
        assert TiktokenCounter("o200k_base").count("hello world") in {2, 3}


def _tokenizers() -> None:
    from agentic.tokens import TokenizersCounter

    model = {"type": "WordLevel", "vocab": {"hello": 0, "world": 1, "?": 2}, "unk_token": "?"}
    blank: dict[str, Any] = dict.fromkeys(
        ("truncation", "padding", "normalizer", "post_processor", "decoder")
    )
    split = {"type": "Whitespace"}
    tokenizer = {**blank, "version": "1.0", "added_tokens": [], "pre_tokenizer": split}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps({**tokenizer, "model": model}))
        assert TokenizersCounter(str(path)).count("hello world hello") == 3


def _prices() -> None:
    from agentic import limits, usage

    used = Usage(input=1_000, output=500, cache_read=200, cache_write=100, reasoning=300)
    for model in ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro"):
        cost = usage.cost(used, model)
        assert cost is not None, model
        assert cost.total > 0, cost
    assert limits.lookup("groq/llama-3.3-70b-versatile").context_window > 0


async def _postgres() -> None:
    from agentic.history import postgres

    path = Path(__file__).parents[1] / "history" / "postgres" / "server.py"
    spec = importlib.util.spec_from_file_location("floors_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["floors_server"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.Server() as server:
        dsn = server.make_database()
        async with postgres.PostgresStore(dsn, "monday") as store:
            await store.append(Message("user", TEXT))
            await store.append(Message("assistant", "A test failed."))
        async with postgres.PostgresStore(dsn, "monday") as store:
            assert (await store.load())[0].content == TEXT
        (info,) = await postgres.PostgresSessions(dsn).list()
        assert info.messages == 2, info


_AGENT = """
model: openai_chat:mine
system_prompt: Be brief.
context:
  max_messages_before_summary: 40
"""


def _config() -> None:
    from agentic.app import config
    from agentic.app.config._records import schema

    agent = config.loads(_AGENT)
    assert agent.context.max_messages_before_summary == 40, agent
    assert schema()["properties"]["model"]


def _cli() -> None:
    rows = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": "A test failed."}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows * 20))
        assert _command("count", "--model", "gpt-4o", text=TEXT)
        assert "agentic" in _command("--version")
        assert _command("replay", str(path), "--window", "4000", "--policy", "none")
        agent = Path(folder) / "agent.yaml"
        agent.write_text(_AGENT)
        assert _command("sessions", folder) is not None
    assert "failed" in asyncio.run(_draws())
    assert _typed_line() == "Why?"


def _command(*arguments: str, text: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "agentic", *arguments],
        capture_output=True,
        text=True,
        input=text,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    assert "Warning" not in done.stderr, (arguments, done.stderr)
    return done.stdout


async def _draws() -> str:
    from rich.console import Console

    from agentic.app.chat._terminal import LiveReply

    console = Console(file=io.StringIO(), force_terminal=True, width=60)
    reply = LiveReply(console)
    with reply.working():
        reply.add("# Why\n\nA *test* failed:\n\n```python\nassert False\n```\n\n- one\n- two\n")
        reply.finish()
    return console.file.getvalue()  # type: ignore[no-any-return, attr-defined]


def _typed_line() -> str:
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from agentic.app.chat._terminal import TerminalPrompt

    with (
        _terminal_for_stdin(),
        create_pipe_input() as keys,
        create_app_session(input=keys, output=DummyOutput()),
        asyncio.Runner() as runner,
    ):
        keys.send_text("Why?\r")
        return next(TerminalPrompt(["/help"], lambda: "status").lines(runner))


@contextmanager
def _terminal_for_stdin() -> Iterator[None]:
    ours, theirs = pty.openpty()
    before = sys.stdin
    with os.fdopen(theirs, closefd=False) as sys.stdin:
        yield
    sys.stdin = before
    os.close(ours)
    os.close(theirs)


async def _durable() -> None:
    import uvicorn

    from agentic.app.serve._runs_api import make_app
    from agentic.durable.dbos import Service
    from agentic.history.sqlite import SqliteSessions

    runner = loop.Runner(testing.ScriptedDecider("Done."), _Reader())
    with tempfile.TemporaryDirectory() as folder:
        sessions = SqliteSessions(f"{folder}/sessions.db")
        service = Service(runner, sessions=sessions, database_url=f"sqlite:///{folder}/runs.db")
        async with service, service.worker(), _served(make_app(service, loopback=True)) as address:
            body = {"message": "Read a."}
            answer = await asyncio.to_thread(_post, f"{address}/sessions/monday/runs", body)
            outcome = await service.result(answer["run_id"], timeout_seconds=60)
    assert outcome.reply == "Done.", outcome
    assert uvicorn.__version__


@asynccontextmanager
async def _served(application: Any) -> AsyncIterator[str]:
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="warning"))
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  it has no event
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await task


def _post(address: str, body: Any) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


async def _proxy() -> None:
    from agentic.app.proxy import Proxy

    messages = [{"role": "user", "content": f"Question {n}? " * 100} for n in range(100)]
    with wires.serving(wires.OPENAI_CHAT) as provider:
        application = Proxy(f"{provider.address}/v1", 4_000)
        async with _served(application) as address:
            body = {"model": "mine", "messages": messages}
            answer = await asyncio.to_thread(_post, f"{address}/v1/chat/completions", body)
        assert answer["choices"][0]["finish_reason"] == "tool_calls", answer
        assert 0 < len(provider.bodies[0]["messages"]) < 100, provider.bodies


def _langchain() -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeListChatModel
    from langgraph.checkpoint.memory import InMemorySaver

    from agentic.bridges.langchain import ContextMiddleware, TruncateToolOutputs

    model = FakeListChatModel(responses=["That is green. " * 40])
    middleware = [ContextMiddleware(8_000), TruncateToolOutputs()]
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "ann"}}
    for number in range(100):
        asked: Any = {"messages": [("user", f"Is part {number} green?")]}
        result = agent.invoke(asked, thread)
    assert len(result["messages"]) == 200, len(result["messages"])
    assert result.get("agentic_context") is None, "private state is returned"


def _litellm() -> None:
    from agentic.bridges.litellm import Decider

    with wires.serving(wires.OPENAI_CHAT) as served:
        options = {"api_base": f"{served.address}/v1", "api_key": "none"}
        decider = Decider("openai/mine", options=options)
        whole = loop.Runner(_Whole(decider.decide), _Reader(), system_prompt="Be brief.")
        result = whole.run_sync("Read a.")
        assert (result.reply, len(result.tool_results)) == ("Done.", 1), result
        streamed = loop.Runner(decider, _Reader())
        result = streamed.run_sync(loop.Request("And now?", history=result.history))
        assert result.reply == "Done.", result


_MCP_SERVER = """
import mcp.server

SDK = getattr(mcp.server, "MCPServer", None) or mcp.server.FastMCP  # 2.x, 1.x
server = SDK("weather")


@server.tool()
def forecast(city: str) -> str:
    return f"Rain in {city}."


server.run()
"""


async def _mcp() -> None:
    from agentic.bridges.mcp import McpServer, McpTools

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weather.py"
        path.write_text(_MCP_SERVER)
        server = McpServer.stdio("weather", sys.executable, [str(path)], prefix="weather_")
        async with McpTools(server) as executor:
            assert [each.name for each in await executor.list_tools()] == ["weather_forecast"]
            call = ToolCall("1", "weather_forecast", '{"city": "Bergen"}')
            (result,) = await _execute(executor, call)
            assert result.output == "Rain in Bergen.", result


async def _openai_agents() -> None:
    from agents import Agent, RunConfig, Runner, set_tracing_disabled
    from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
    from openai import AsyncOpenAI

    from agentic.bridges.openai_agents import InputFilter, StoreSession

    set_tracing_disabled(disabled=True)
    with wires.serving(attrs.evolve(wires.OPENAI_CHAT, call=wires.OPENAI_CHAT.text)) as served:
        client = AsyncOpenAI(base_url=f"{served.address}/v1", api_key="none")
        agent = Agent(name="clerk", model=OpenAIChatCompletionsModel("mine", client))
        session = StoreSession(MemoryStore())
        config = RunConfig(call_model_input_filter=InputFilter(8_000))
        for _ in range(60):
            asked = "Is it green? " * 40
            result = await Runner.run(agent, asked, session=session, run_config=config)
            assert result.final_output == "Done.", result
        assert len(await session.get_items()) == 120
        assert len(served.bodies[-1]["messages"]) < 100, len(served.bodies[-1]["messages"])


def _otel() -> None:
    from agentic.bridges.otel import instrument

    runner = loop.Runner(testing.ScriptedDecider("Done."), _Reader())
    with instrument(runner, agent_name="clerk"):
        assert runner.run_sync("Read a.").reply == "Done."


async def _pydantic_ai() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from agentic.bridges.pydantic_ai import ContextBudget, TruncateToolReturns

    sizes = []

    def reply(messages: list[Any], _: Any) -> ModelResponse:
        sizes.append(len(messages))
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse([TextPart("It defines nothing.")])
        return ModelResponse([ToolCallPart("read", {"path": "a.py"})])

    capabilities = [ContextBudget(8_000), TruncateToolReturns()]
    agent: Any = Agent(FunctionModel(reply), capabilities=capabilities)

    @agent.tool_plain
    def read(path: str) -> str:
        """Return the text of a file."""
        return "\n".join(f"# {path} says nothing in line {n}" for n in range(100))

    history: list[Any] = []
    for number in range(20):
        result = await agent.run(f"What does part{number}.py define?", message_history=history)
        history = result.all_messages()
    assert len(history) == 80, len(history)
    assert max(sizes) < 70, max(sizes)


USES: dict[str, Callable[[], Any]] = {
    "core": _core,
    "tools": _tools,
    "testing": _testing,
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "cohere": _cohere,
    "ollama": _ollama,
    "context": _context,
    "tiktoken": _tiktoken,
    "tokenizers": _tokenizers,
    "prices": _prices,
    "postgres": _postgres,
    "config": _config,
    "cli": _cli,
    "durable": _durable,
    "langchain": _langchain,
    "litellm": _litellm,
    "mcp": _mcp,
    "openai-agents": _openai_agents,
    "otel": _otel,
    "proxy": _proxy,
    "pydantic-ai": _pydantic_ai,
}

if __name__ == "__main__":
    main(sys.argv[1])
