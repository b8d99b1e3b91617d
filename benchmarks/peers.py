"""The same work in other libraries: stores and loops, each in an environment of its own.

    python benchmarks/peers.py [--here] [--envs FOLDER] [--repeats 5] [store | loop ...]

Each peer is installed into a virtual environment below FOLDER, by default a temporary one, and runs
in processes of its own; all of them take turns. `--here` uses the present interpreter instead, for
those peers that are installed in it. The versions are printed. Figures are microseconds of the
processor, the median over the repeats, and the ratio to ours.

- `store`: 200 turns in one SQLite file, each a request, a call, its result and a reply. `append` is
  what a turn costs when the session is that long, `load` what it costs to read all 800 messages.
- `loop`: a request that a fake model answers by one call of a tool and then by a text. `run` is all
  of it, in an agent that is made once, without a store.

A peer's own script imports it only in its function: this module runs in every environment, and
imports nothing but the standard library.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Awaitable, Callable, Sized
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TURNS, APPENDS, RUNS = 200, 20, 100
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
)
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
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if peer.name == OURS else ""}
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
    parser.add_argument("kinds", nargs="*", choices=["store", "loop", []])
    options = parser.parse_args()
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
        for kind in options.kinds or ("store", "loop"):
            peers = [each for each in PEERS if each.kind == kind]
            if options.here:
                chosen = [(each, sys.executable) for each in peers if _is_here(each)]
            else:
                chosen = [(each, install(each, envs)) for each in peers]
            compare(kind, chosen, options.repeats)


if __name__ == "__main__":
    main()
