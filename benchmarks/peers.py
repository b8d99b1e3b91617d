"""The same work in other libraries, each in an environment of its own.

    python benchmarks/peers.py [--here] [--envs FOLDER] [--repeats 5] [KIND ...]

Each peer is installed into a virtual environment below FOLDER, by default a temporary one, and runs
in processes of its own; all of them take turns. `--here` uses the present interpreter instead, for
those peers that are installed in it. The versions are printed. Figures are microseconds of the
processor, the median over the repeats, and the ratio to ours. `PYTHONPATH=CHECKOUT` measures
another checkout of ours.

- `store`: 200 turns in one SQLite file, each a request, a call, its result and a reply. `append` is
  what a turn costs when the session is that long, `load` what it costs to read all 800 messages.
- `loop`: a request that a fake model answers by one call of a tool and then by a text. `run` is all
  of it, in an agent that is made once, without a store.

A peer's own script imports it only in its function: this module runs in every environment, and
imports nothing but the standard library.
"""

import argparse
import asyncio
import http.client
import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Awaitable, Callable, Sized
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TURNS, APPENDS, RUNS = 200, 20, 100
REQUESTS, DURABLE_TURNS, DURABLE_RUNS = 50, 10, 10
OUTPUT = "def function(text: str) -> str:\n    return text\n" * 6
Figures = dict[str, float]


class Peer(NamedTuple):
    """One library in one kind of work."""

    kind: str
    name: str
    distribution: str
    requires: tuple[str, ...]
    measure: Callable[[], Figures]


def texts(turn: int) -> tuple[str, str, str, str, str]:
    """Return the request, the id of the call, its arguments, its result and the reply of a turn."""
    arguments = f'{{"path": "module_{turn}.py"}}'
    reply = f"Module {turn} is fine, as far as I see. " * 4
    return f"Now look at module {turn}. " * 4, f"call_{turn}", arguments, OUTPUT, reply


def _check_length(messages: Sized) -> None:
    if len(messages) != 4 * TURNS:
        raise ValueError(f"{len(messages)} messages were loaded, of {4 * TURNS}")


async def _per_turn(append: Callable[[int], Awaitable[object]]) -> float:
    for turn in range(TURNS - APPENDS):
        await append(turn)
    start = time.process_time()
    for turn in range(TURNS - APPENDS, TURNS):
        await append(turn)
    return (time.process_time() - start) / APPENDS


async def _per_load(load: Callable[[], Awaitable[Any]]) -> float:
    await load()
    start = time.process_time()
    for _ in range(5):
        await load()
    return (time.process_time() - start) / 5


async def _per_run(run: Callable[[], Awaitable[object]]) -> float:
    for _ in range(10):  # what is loaded or cached at first is not measured
        await run()
    start = time.process_time()
    for _ in range(RUNS):
        await run()
    return (time.process_time() - start) / RUNS


def agentic_store() -> Figures:
    """Measure `SqliteStore`; the history is read anew, as by another process."""
    from agentic.history.sqlite import SqliteStore
    from agentic.messages import Message, ToolCall, ToolResult

    async def measure(path: str) -> Figures:
        async def append(turn: int) -> None:
            request, call_id, arguments, output, reply = texts(turn)
            call = ToolCall(call_id, "read", arguments)
            result = ToolResult(call_id, "read", output)
            await store.append(Message("user", request))
            await store.append(Message("assistant", tool_calls=[call]))
            await store.append(Message("tool", tool_results=[result]))
            await store.append(Message("assistant", reply))

        async def load() -> None:
            async with SqliteStore(path, "s1") as fresh:
                _check_length(await fresh.load())

        async with SqliteStore(path, "s1") as store:
            appended = await _per_turn(append)
        return {"append": appended, "load": await _per_load(load)}

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(f"{folder}/kept.db"))


def openai_agents_store() -> Figures:
    """Measure `SQLiteSession`, with all items of a turn in one `add_items`."""
    from agents import SQLiteSession

    async def measure(path: str) -> Figures:
        session = SQLiteSession("s1", path)

        async def append(turn: int) -> None:
            request, call_id, arguments, output, reply = texts(turn)
            call = {"type": "function_call", "call_id": call_id, "name": "read"}
            items: list[Any] = [
                {"role": "user", "content": request},
                {**call, "arguments": arguments},
                {"type": "function_call_output", "call_id": call_id, "output": output},
                {"role": "assistant", "content": reply},
            ]
            await session.add_items(items)

        async def load() -> None:
            _check_length(await session.get_items())

        appended = await _per_turn(append)
        return {"append": appended, "load": await _per_load(load)}

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(f"{folder}/kept.db"))


def langgraph_store() -> Figures:
    """Measure the state of messages with `SqliteSaver`, one checkpoint a turn."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    async def measure(path: str) -> Figures:
        with SqliteSaver.from_conn_string(path) as saver:
            graph: Any = StateGraph(MessagesState)
            graph.add_node("agent", lambda _: {"messages": []})
            graph.add_edge(START, "agent")
            graph.add_edge("agent", END)
            graph = graph.compile(checkpointer=saver)
            config: Any = {"configurable": {"thread_id": "s1"}}

            async def append(turn: int) -> None:
                request, call_id, arguments, output, reply = texts(turn)
                call = {"id": call_id, "name": "read", "args": json.loads(arguments)}
                messages = [
                    HumanMessage(request),
                    AIMessage("", tool_calls=[call]),
                    ToolMessage(output, tool_call_id=call_id),
                    AIMessage(reply),
                ]
                graph.update_state(config, {"messages": messages}, as_node="agent")

            async def load() -> None:
                _check_length(graph.get_state(config).values["messages"])

            appended = await _per_turn(append)
            return {"append": appended, "load": await _per_load(load)}

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(f"{folder}/kept.db"))


def adk_store() -> Figures:
    """Measure `DatabaseSessionService`, one event for each message."""
    from google.adk.events import Event  # type: ignore[import-untyped,unused-ignore]
    from google.adk.sessions import (  # type: ignore[import-untyped,unused-ignore]
        DatabaseSessionService,
    )
    from google.genai import types

    async def measure(path: str) -> Figures:
        service = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
        names = {"app_name": "bench", "user_id": "u1", "session_id": "s1"}
        session = await service.create_session(**names)

        async def append(turn: int) -> None:
            request, call_id, arguments, output, reply = texts(turn)
            call = types.FunctionCall(id=call_id, name="read", args=json.loads(arguments))
            answer = types.FunctionResponse(id=call_id, name="read", response={"result": output})
            for author, role, part in (
                ("user", "user", types.Part(text=request)),
                ("bench", "model", types.Part(function_call=call)),
                ("bench", "user", types.Part(function_response=answer)),
                ("bench", "model", types.Part(text=reply)),
            ):
                content = types.Content(role=role, parts=[part])
                await service.append_event(session, Event(author=author, content=content))

        async def load() -> None:
            kept = await service.get_session(**names)
            _check_length(kept.events if kept else [])

        appended = await _per_turn(append)
        return {"append": appended, "load": await _per_load(load)}

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(f"{folder}/kept.db"))


def pydantic_ai_store() -> Figures:
    """Measure its JSON of all messages, which its pages store: there is no store to append to."""
    from pydantic_ai import messages as m

    path = Path(tempfile.mkdtemp()) / "kept.json"
    history: list[m.ModelMessage] = []

    async def append(turn: int) -> None:
        request, call_id, arguments, output, reply = texts(turn)
        history.extend(
            [
                m.ModelRequest([m.UserPromptPart(request)]),
                m.ModelResponse([m.ToolCallPart("read", arguments, call_id)]),
                m.ModelRequest([m.ToolReturnPart("read", output, call_id)]),
                m.ModelResponse([m.TextPart(reply)]),
            ]
        )
        path.write_bytes(m.ModelMessagesTypeAdapter.dump_json(history))

    async def load() -> None:
        _check_length(m.ModelMessagesTypeAdapter.validate_json(path.read_bytes()))

    async def measure() -> Figures:
        appended = await _per_turn(append)
        return {"append": appended, "load": await _per_load(load)}

    return asyncio.run(measure())


def agentic_loop() -> Figures:
    """Measure `Runner`, without a store."""
    from agentic.loop import Decision, Input, Request, Runner
    from agentic.messages import ToolCall
    from agentic.tools import Registry, tool
    from agentic.usage import Usage

    @tool
    def read(path: str) -> str:
        """Read a file.

        Args:
            path: its path
        """
        return f"{path}:\n{OUTPUT}"

    class Model:
        async def decide(self, request: Input, /) -> Decision:
            usage = Usage(input=100, output=10)
            if request.history[-1].role == "tool":
                return Decision("Fine.", usage=usage)
            return Decision("", [ToolCall("c1", "read", '{"path": "a.py"}')], usage=usage)

    runner = Runner(Model(), Registry([read]))
    request = Request("Read a.py.")
    return {"run": asyncio.run(_per_run(lambda: runner.run(request)))}


def langchain_loop() -> Figures:
    """Measure `create_agent`."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Model(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "fake"

        def bind_tools(self, *_: Any, **__: Any) -> "Model":
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            usage: Any = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
            if isinstance(messages[-1], ToolMessage):
                reply = AIMessage("Fine.", usage_metadata=usage)
            else:
                call: Any = {"id": "c1", "name": "read", "args": {"path": "a.py"}}
                reply = AIMessage("", tool_calls=[call], usage_metadata=usage)
            return ChatResult(generations=[ChatGeneration(message=reply)])

        async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            return self._generate(messages)

    def read(path: str) -> str:
        """Read a file."""
        return f"{path}:\n{OUTPUT}"

    agent: Any = create_agent(Model(), [read])
    request = {"messages": [("user", "Read a.py.")]}
    return {"run": asyncio.run(_per_run(lambda: agent.ainvoke(request)))}


def pydantic_ai_loop() -> Figures:
    """Measure `Agent` with a `FunctionModel`."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def reply(messages: Any, _: Any) -> ModelResponse:
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse([TextPart("Fine.")])
        return ModelResponse([ToolCallPart("read", {"path": "a.py"}, "c1")])

    agent = Agent(FunctionModel(reply))

    @agent.tool_plain
    def read(path: str) -> str:
        """Read a file."""
        return f"{path}:\n{OUTPUT}"

    return {"run": asyncio.run(_per_run(lambda: agent.run("Read a.py.")))}


def openai_agents_loop() -> Figures:
    """Measure `Runner.run`, without traces."""
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from agents import set_tracing_disabled as without_traces
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class Fake(Model):
        async def get_response(self, *_: Any, **fields: Any) -> ModelResponse:
            items = fields["input"]
            usage = Usage(requests=1, input_tokens=100, output_tokens=10, total_tokens=110)
            if isinstance(items, list) and items[-1].get("type") == "function_call_output":
                text = ResponseOutputText(annotations=[], text="Fine.", type="output_text")
                output: Any = ResponseOutputMessage(
                    id="m1", content=[text], role="assistant", status="completed", type="message"
                )
            else:
                output = ResponseFunctionToolCall(
                    arguments='{"path": "a.py"}', call_id="c1", name="read", type="function_call"
                )
            return ModelResponse(output=[output], usage=usage, response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    @function_tool
    def read(path: str) -> str:
        """Read a file."""
        return f"{path}:\n{OUTPUT}"

    without_traces(disabled=True)
    agent = Agent("bench", tools=[read], model=Fake())
    return {"run": asyncio.run(_per_run(lambda: Runner.run(agent, "Read a.py.")))}


async def _per_request(app: Any, configure: Callable[[str], Awaitable[None]]) -> Figures:
    """Measure an ASGI application that passes requests on to the address that it is told."""
    import uvicorn

    client = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        "--client",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ""},
    )
    if client.stdin is None or client.stdout is None:
        raise ValueError("the client has no pipes")
    await configure(f"http://127.0.0.1:{int(await client.stdout.readline())}/v1")
    settings: dict[str, Any] = {"log_config": None, "access_log": False}
    server = uvicorn.Server(uvicorn.Config(app, port=0, **settings))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  it has no event for this
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    client.stdin.write(b"%d\n" % port)
    await client.stdout.readline()  # it has made the requests that are not measured
    start = time.process_time()
    client.stdin.write(b"\n")
    await client.stdout.readline()
    seconds = time.process_time() - start
    if await client.wait():
        raise ValueError("a request failed")
    server.should_exit = True
    await serving
    return {"request": seconds / REQUESTS}


class _Provider(http.server.BaseHTTPRequestHandler):
    """Answers every request at once."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "Fine."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        reply = {"id": "r1", "object": "chat.completion", "created": 1, "model": "bench"}
        content = json.dumps({**reply, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def be_client_and_provider() -> None:
    """Provide on a port that is printed; send the requests to the one that is read."""
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    print(provider.server_port, flush=True)
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.stdin.readline()))
    for name, turns in (("warm", 10), ("bench", REQUESTS)):
        messages: list[Any] = [{"role": "system", "content": name}]
        for turn in range(turns):
            request, call_id, arguments, output, reply = texts(turn)
            function = {"name": "read", "arguments": arguments}
            call = {"id": call_id, "type": "function", "function": function}
            messages.append({"role": "user", "content": request})
            body = json.dumps({"model": "bench", "messages": messages})
            headers = {"Content-Type": "application/json", "Authorization": "Bearer bench"}
            connection.request("POST", "/v1/chat/completions", body, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                raise ValueError(f"status {answer.status}: {content.decode()}")
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call_id, "content": output},
                {"role": "assistant", "content": reply},
            ]
        print(name, flush=True)
        if name == "warm":
            sys.stdin.readline()
    connection.close()


def agentic_proxy() -> Figures:
    """Measure `agentic.app.proxy.Proxy`, with a window that the conversation fits in."""
    from agentic.app.proxy import Proxy

    apps: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await apps[0](scope, receive, send)

    async def configure(address: str) -> None:
        apps.append(Proxy(address, 200_000))

    return asyncio.run(_per_request(app, configure))


def starlette_proxy() -> Figures:
    """Measure a route that passes bytes on with httpx."""
    import httpx
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    addresses: list[str] = []
    client = httpx.AsyncClient()

    async def answer(request: Any) -> Response:
        headers = {"Content-Type": "application/json", **request.headers}
        content = await request.body()
        path = request.url.path.removeprefix("/v1")
        reply = await client.post(addresses[0] + path, content=content, headers=headers)
        return Response(reply.content, reply.status_code, media_type="application/json")

    async def configure(address: str) -> None:
        addresses.append(address)

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])])
    return asyncio.run(_per_request(app, configure))


def litellm_proxy() -> Figures:
    """Measure LiteLLM's proxy, with one model and without keys, budgets and a database."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it is downloaded otherwise
    from litellm.proxy import proxy_server

    server: Any = proxy_server

    async def configure(address: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "config.yaml")
            parameters = {"model": "openai/bench", "api_base": address, "api_key": "bench"}
            models = [{"model_name": "bench", "litellm_params": parameters}]
            general = {"dangerously_permit_weak_or_unset_master_key": True}  # it checks none
            # JSON is YAML, too.
            text = json.dumps({"model_list": models, "general_settings": general})
            config.write_text(text)  # noqa: ASYNC240  nobody waits
            await server.initialize(config=str(config))

    return asyncio.run(_per_request(server.app, configure))


async def _per_turn_of_run(run: Callable[[], Awaitable[object]]) -> Figures:
    await run()
    start = time.process_time()
    for _ in range(DURABLE_RUNS):
        await run()
    return {"turn": (time.process_time() - start) / DURABLE_RUNS / DURABLE_TURNS}


def agentic_durable() -> Figures:
    """Measure a `Runner` whose decisions and calls are steps of a workflow."""
    from dbos import DBOS

    from agentic.durable import Durable
    from agentic.durable.dbos import DbosSteps
    from agentic.loop import Decision, Input, Runner
    from agentic.messages import ToolCall
    from agentic.tools import Registry, tool

    @tool
    async def read(path: str) -> str:
        """Read a file.

        Args:
            path: its path
        """
        return f"{path}:\n{OUTPUT}"

    class Model:
        async def decide(self, request: Input, /) -> Decision:
            if request.turn >= DURABLE_TURNS:
                return Decision("Fine.")
            _, call_id, arguments, _, reply = texts(request.turn)
            return Decision(reply, [ToolCall(call_id, "read", arguments)])

    with tempfile.TemporaryDirectory() as folder:
        DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/runs.db"})

        @DBOS.workflow()
        async def run() -> None:
            durable = Durable(DbosSteps(), datetime.now(UTC))
            decider, executor = durable.decider(Model()), durable.executor(Registry([read]))
            runner = Runner(decider, executor, tool_timeout_seconds=None)
            with durable.clock():
                await runner.run("Read them.", run_id=str(DBOS.workflow_id))

        return _with_engine(run)


def dbos_durable() -> Figures:
    """Measure workflows of bare steps: a decision and a call for each turn."""
    from dbos import DBOS

    with tempfile.TemporaryDirectory() as folder:
        DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/runs.db"})

        @DBOS.step()
        async def decide(turn: int) -> dict[str, Any]:
            _, call_id, arguments, _, reply = texts(turn)
            return {"reply": reply, "id": call_id, "name": "read", "arguments": arguments}

        @DBOS.step()
        async def read(path: str) -> str:
            return f"{path}:\n{OUTPUT}"

        @DBOS.workflow()
        async def run() -> None:
            for turn in range(DURABLE_TURNS):
                decision = await decide(turn)
                if turn < DURABLE_TURNS - 1:
                    await read(json.loads(decision["arguments"])["path"])

        return _with_engine(run)


def pydantic_ai_durable() -> Figures:
    """Measure an agent with `DBOSDurability`, whose tool is a step as its pages advise."""
    from dbos import DBOS
    from pydantic_ai import Agent
    from pydantic_ai.durable_exec.dbos import DBOSDurability
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def decide(messages: Any, _: Any) -> ModelResponse:
        turn = len(messages) // 2
        if turn >= DURABLE_TURNS - 1:
            return ModelResponse([TextPart("Fine.")])
        _, call_id, arguments, _, reply = texts(turn)
        return ModelResponse([TextPart(reply), ToolCallPart("read", arguments, call_id)])

    with tempfile.TemporaryDirectory() as folder:
        DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/runs.db"})
        agent = Agent(FunctionModel(decide), name="bench", capabilities=[DBOSDurability()])

        @agent.tool_plain
        @DBOS.step()
        async def read(path: str) -> str:
            """Read a file."""
            return f"{path}:\n{OUTPUT}"

        @DBOS.workflow()
        async def run() -> None:
            await agent.run("Read them.")

        return _with_engine(run)


def _with_engine(run: Callable[[], Awaitable[None]]) -> Figures:
    from dbos import DBOS

    async def measure() -> Figures:
        DBOS.launch()
        return await _per_turn_of_run(run)

    try:
        return asyncio.run(measure())
    finally:
        DBOS.destroy()


_SERVICE = f"{ROOT}[durable,tools]"
PEERS = (
    Peer("store", "agentic", "agentic-weave", (str(ROOT),), agentic_store),
    Peer("store", "openai-agents", "openai-agents", ("openai-agents",), openai_agents_store),
    Peer(
        "store",
        "langgraph",
        "langgraph-checkpoint-sqlite",
        ("langgraph", "langgraph-checkpoint-sqlite"),
        langgraph_store,
    ),
    Peer("store", "google-adk", "google-adk", ("google-adk", "aiosqlite"), adk_store),
    Peer("store", "pydantic-ai", "pydantic-ai-slim", ("pydantic-ai-slim",), pydantic_ai_store),
    Peer("loop", "agentic", "agentic-weave", (f"{ROOT}[tools]",), agentic_loop),
    Peer("loop", "langchain", "langchain", ("langchain",), langchain_loop),
    Peer("loop", "pydantic-ai", "pydantic-ai-slim", ("pydantic-ai-slim",), pydantic_ai_loop),
    Peer("loop", "openai-agents", "openai-agents", ("openai-agents",), openai_agents_loop),
    Peer("proxy", "agentic", "agentic-weave", (f"{ROOT}[proxy]",), agentic_proxy),
    Peer("proxy", "starlette", "starlette", ("starlette", "httpx", "uvicorn"), starlette_proxy),
    Peer("proxy", "litellm", "litellm", ("litellm[proxy]",), litellm_proxy),
    Peer("durable", "agentic", "agentic-weave", (_SERVICE,), agentic_durable),
    Peer("durable", "dbos", "dbos", ("dbos",), dbos_durable),
    Peer(
        "durable",
        "pydantic-ai",
        "pydantic-ai-slim",
        ("pydantic-ai-slim[dbos]",),
        pydantic_ai_durable,
    ),
)
KINDS = ("store", "loop", "proxy", "durable")
OURS = "agentic"


def install(peer: Peer, envs: Path) -> str:
    """Return the interpreter of a peer's environment, which is made if it is not there."""
    folder = envs / f"{peer.kind}-{peer.name}"
    python = str(folder / "bin" / "python")
    if not (folder / "installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [python, "-m", "pip", "install", "--quiet", *peer.requires]
        subprocess.run(command, check=True)
        (folder / "installed").touch()
    return python


def run_peer(peer: Peer, python: str) -> tuple[str, Figures]:
    """Return a peer's version and its figures, measured in a process of its own."""
    command = [python, __file__, "--run", peer.kind, peer.name]
    ours = os.environ.get("PYTHONPATH", str(ROOT))
    environment = {**os.environ, "PYTHONPATH": ours if peer.name == OURS else ""}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    version, figures = json.loads(done.stdout.splitlines()[-1])
    return version, figures


def _is_here(peer: Peer) -> bool:
    try:
        metadata.version(peer.distribution)
    except metadata.PackageNotFoundError:
        return peer.name == OURS
    return True


def compare(kind: str, peers: list[tuple[Peer, str]], repeats: int) -> None:
    """Print a table of one kind of work."""
    runs: dict[str, list[Figures]] = {peer.name: [] for peer, _ in peers}
    versions: dict[str, str] = {}
    for _ in range(repeats):
        for peer, python in peers:
            versions[peer.name], figures = run_peer(peer, python)
            runs[peer.name].append(figures)
    columns = list(next(iter(runs.values()))[0])
    print(f"{kind:28}" + "".join(f"{column + ', us':>14}{'ratio':>8}" for column in columns))
    medians = {
        name: {column: statistics.median(run[column] for run in figures) for column in columns}
        for name, figures in runs.items()
    }
    for name, figures in medians.items():
        cells = (
            f"{figures[column] * 1e6:14,.0f}{figures[column] / medians[OURS][column]:8.2f}"
            for column in columns
        )
        print(f"{name + ' ' + versions[name]:28}" + "".join(cells))
    print(flush=True)


def main() -> None:
    """Print a table for each kind of work."""
    parser = argparse.ArgumentParser(prog="python benchmarks/peers.py")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--envs", type=Path, metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--run", nargs=2, metavar=("KIND", "NAME"), help=argparse.SUPPRESS)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []])
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        be_client_and_provider()
        return
    if options.run:
        peer = next(each for each in PEERS if [each.kind, each.name] == options.run)
        figures = peer.measure()
        try:
            version = metadata.version(peer.distribution)
        except metadata.PackageNotFoundError:
            version = "(this checkout)"
        print(json.dumps([version, figures]))
        return
    with tempfile.TemporaryDirectory() as folder:
        envs = options.envs or Path(folder)
        for kind in options.kinds or KINDS:
            peers = [each for each in PEERS if each.kind == kind]
            if options.here:
                chosen = [(each, sys.executable) for each in peers if _is_here(each)]
            else:
                chosen = [(each, install(each, envs)) for each in peers]
            compare(kind, chosen, options.repeats)


if __name__ == "__main__":
    main()
