"""The stores beside their limits: loading, appending, a run on a stored conversation, bytes.

    python benchmarks/stores.py [--against FOLDER] [--turns 600] [--parts load append run bytes wal]

Each figure is a ratio to something that is measured beside it, in one process: the median of
alternating passes of processor time, or bytes. The conversation is made up: a coding session of
chat completions, once decoded by the adapter, so that each message has its payload, and once
without payloads. `--against` is a checkout of another commit, such as one made by
`git worktree add --detach /tmp/before 80268017`, which then has a column of its own. PostgreSQL is
measured if a server can be started here, and openai-agents if it is installed.
"""

import argparse
import asyncio
import contextlib
import gc
import inspect
import json
import os
import random
import runpy
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import psycopg

from agentic.history import JsonlStore
from agentic.history.postgres import PostgresStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Decision, Request, Runner
from agentic.providers import openai_chat

agents: Any
try:
    import agents
    from agents.testing import ModelStep, ScriptedModel, assistant_message
except ImportError:
    agents = None

PASSES = 21
BATCH = 8
HERE = Path(__file__).resolve().parent
SERVER = HERE.parent / "tests" / "history" / "postgres" / "server.py"
GOALS = {
    "load": 2.2,
    "run": 0.1,
    "append one": 3.0,
    "append several": 0.5,
    "bytes, JSONL": 1.3,
    "bytes, SQLite": 2.0,
    "WAL": 4.0,
}


def make_wire(turns: int) -> list[dict[str, Any]]:
    """Return a coding session of chat completions: a message has 700 characters on average."""
    chance = random.Random(35)
    words = [f"{a}_{b}" for a in ("parse", "table", "node", "file") for b in range(400)]
    words += ["the", "of", "a", "to", "in", "is", "and", "return", "def", "class", "import"] * 70
    wire: list[dict[str, Any]] = [{"role": "user", "content": "Mend the parser."}]
    for number in range(turns):
        if number % 40 == 39:
            wire.append({"role": "user", "content": f"Now module {number}."})
        arguments = json.dumps({"path": f"src/part_{chance.randrange(300)}.py", "line": number})
        function = {"name": chance.choice(["read", "edit", "run"]), "arguments": arguments}
        call = {"id": f"call_{number:020}", "type": "function", "function": function}
        reply = " ".join(chance.choices(words, k=24))
        output = "\n".join(
            " ".join(chance.choices(words, k=9)) for _ in range(chance.choice([3, 12, 40]))
        )
        wire += [
            {"role": "assistant", "content": reply, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": output},
        ]
    return wire


def make_items(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a message as openai-agents stores it."""
    if message["role"] == "tool":
        call_id, output = message["tool_call_id"], message["content"]
        return [{"type": "function_call_output", "call_id": call_id, "output": output}]
    calls = [
        {"type": "function_call", "call_id": call["id"], **call["function"]}
        for call in message.get("tool_calls", [])
    ]
    return [{"role": message["role"], "content": message["content"]}, *calls]


def compare(work: Callable[[], object], beside: Callable[[], object]) -> float:
    """Return the processor time of some work, as a ratio to that of the work beside it."""
    both: tuple[list[float], list[float]] = ([], [])
    for _ in range(PASSES):
        for times, each in zip(both, (work, beside), strict=True):
            gc.collect()  # the garbage of the work before
            start = time.process_time()
            each()
            times.append(time.process_time() - start)
    return statistics.median(both[0]) / statistics.median(both[1])


async def append_all(store: Any, messages: list[Any], size: int = 1) -> None:
    """Append messages, `size` in one call where the store can take several."""
    takes_several = any(
        each.kind is each.VAR_POSITIONAL
        for each in inspect.signature(store.append).parameters.values()
    )
    for at in range(0, len(messages), size):
        batch = messages[at : at + size]
        if takes_several:
            await store.append(*batch)
            continue
        for message in batch:
            await store.append(message)


def measure_load(
    stores: "dict[str, Callable[[str], Any]]", forms: dict[str, list[Any]]
) -> Iterator[tuple[str, float]]:
    """Yield `store.load()` beside `json.loads` of the lines that it reads."""
    with asyncio.Runner() as runner:
        for kind, open_store in stores.items():
            for form, messages in forms.items():
                store = open_store(f"load-{form}")
                runner.run(append_all(store, messages))
                lines = runner.run(read_lines(kind, store))
                runner.run(store.aclose())
                # Another store each time: an open one does not read again what has not changed.
                load = partial(_load, runner, open_store, f"load-{form}")
                yield f"load, {kind}, {form}", compare(load, partial(_parse, lines))


def _load(runner: asyncio.Runner, open_store: Callable[[str], Any], name: str) -> None:
    runner.run(open_store(name).load())


def _parse(lines: list[bytes]) -> list[Any]:
    return [json.loads(line) for line in lines]


async def read_lines(kind: str, store: Any) -> list[bytes]:
    """Return the entries of a session, as they are stored."""
    if kind == "JSONL":
        return await asyncio.to_thread(lambda: Path(store.path).read_bytes().splitlines())
    if kind == "SQLite":
        with contextlib.closing(sqlite3.connect(store.path)) as connection:
            find = (
                "SELECT text FROM entries JOIN sessions ON number = session WHERE id = ?"
                " ORDER BY seq"
            )
            return [text for (text,) in connection.execute(find, (store.session_id,))]
    find = (
        "SELECT text FROM agentic.entries e JOIN agentic.sessions s ON s.number = e.session"
        " WHERE s.id = %s ORDER BY seq"
    )
    async with await psycopg.AsyncConnection.connect(store.dsn) as connection:
        rows = await (await connection.execute(find, (store.session_id,))).fetchall()
    return [bytes(text) for (text,) in rows]


def measure_append(
    folder: Path, wire: list[dict[str, Any]], forms: dict[str, list[Any]]
) -> Iterator[tuple[str, float]]:
    """Yield an append of one message beside `json.dumps` and a write, and of several."""
    names = iter(range(1_000_000))

    def write_bare() -> None:
        file = os.open(folder / f"{next(names)}.bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for item in wire:
            os.write(file, json.dumps(item).encode() + b"\n")
        os.close(file)

    with asyncio.Runner() as runner:

        def write(kind: Any, messages: list[Any], size: int) -> None:
            runner.run(_write(kind(folder / f"{next(names)}.session"), messages, size))

        def write_peer() -> None:
            runner.run(_write_peer(folder / f"{next(names)}.peer", wire))

        for form, messages in forms.items():
            for size in (1, BATCH):
                ratio = compare(partial(write, JsonlStore, messages, size), write_bare)
                what = "one" if size == 1 else f"{size} at once"
                yield f"append {what}, JSONL, {form}, beside json.dumps and write", ratio
            if agents is not None:
                ratio = compare(partial(write, SqliteStore, messages, BATCH), write_peer)
                yield f"append several ({BATCH}), SQLite, {form}, beside openai-agents", ratio


async def _write(store: Any, messages: list[Any], size: int) -> None:
    async with store:
        await append_all(store, messages, size)


async def _write_peer(path: Path, wire: list[dict[str, Any]]) -> None:
    session = agents.SQLiteSession("peer", path)
    for at in range(0, len(wire), BATCH):
        await session.add_items(wire[at : at + BATCH])
    session.close()


def measure_run(
    stores: "dict[str, Callable[[str], Any]]",
    folder: Path,
    wire: list[dict[str, Any]],
    messages: list[Any],
) -> Iterator[tuple[str, float]]:
    """Yield a run on a stored conversation beside a run of openai-agents on its session."""
    if agents is None:
        return

    class Always:
        async def decide(self, _: object) -> Decision:
            return Decision("Done.")

    with asyncio.Runner() as runner:
        peer = agents.SQLiteSession("peer", folder / "run.peer")
        runner.run(peer.add_items([item for each in wire for item in make_items(each)]))

        async def use_peer() -> None:
            model = ScriptedModel([ModelStep.respond(lambda _: [assistant_message("Done.")])])
            agent = agents.Agent("peer", model=model)
            config = agents.RunConfig(tracing_disabled=True)
            await agents.Runner.run(agent, "Next.", session=peer, run_config=config)

        for kind, open_store in stores.items():
            store = open_store("run")
            runner.run(append_all(store, messages))
            agent = Runner(Always(), store=store)
            runner.run(agent.run(Request("Begin.")))
            ratio = compare(partial(_run, runner, agent), lambda: runner.run(use_peer()))
            yield f"run on a stored conversation, {kind}, beside openai-agents", ratio
            runner.run(store.aclose())
        peer.close()


def _run(runner: asyncio.Runner, agent: Runner) -> None:
    runner.run(agent.run(Request("Next.")))


def measure_bytes(
    folder: Path, wire: list[dict[str, Any]], forms: dict[str, list[Any]]
) -> Iterator[tuple[str, float]]:
    """Yield the bytes on disk beside the wire's items as lines of JSON."""
    bare = sum(len(json.dumps(item, separators=(",", ":"))) + 1 for item in wire)
    for form, messages in forms.items():
        for kind, store in (
            ("JSONL", JsonlStore(folder / f"bytes-{form}.jsonl")),
            ("SQLite", SqliteStore(folder / f"bytes-{form}.db", "s")),
        ):

            async def write(store: Any = store, messages: list[Any] = messages) -> None:
                async with store:
                    await append_all(store, messages)

            asyncio.run(write())
            size = sum(
                path.stat().st_size
                for path in (store.path, Path(f"{store.path}-wal"))
                if path.exists()
            )
            yield f"bytes, {kind}, {form}, beside bare JSON", size / bare


def measure_wal(folder: Path, messages: list[Any]) -> Iterator[tuple[str, float]]:
    """Yield the size of the WAL of an open store at rest, in megabytes."""
    path = folder / "wal.db"

    async def write() -> int:
        async with SqliteStore(path, "s") as store:
            # 6 times, for a few megabytes.
            for _ in range(6):
                await append_all(store, messages)
            await asyncio.sleep(3)  # for a checkpoint in the background
            return await asyncio.to_thread(lambda: Path(f"{path}-wal").stat().st_size)

    yield "WAL of an open SQLite store at rest, MB", asyncio.run(write()) / 1e6


@contextlib.contextmanager
def open_stores(folder: Path, postgres: bool) -> Iterator[dict[str, Callable[[str], Any]]]:
    """Open the kinds of stores that can be had here, by the name of a session."""
    stores: dict[str, Callable[[str], Any]] = {
        "JSONL": lambda name: JsonlStore(folder / f"{name.replace(' ', '-')}.jsonl"),
        "SQLite": lambda name: SqliteStore(folder / "all.db", name.replace(" ", "-")),
    }
    with contextlib.ExitStack() as stack:
        if postgres:
            server = stack.enter_context(runpy.run_path(str(SERVER))["Server"]())
            dsn = server.make_database()
            stores["PostgreSQL"] = lambda name: PostgresStore(dsn, name.replace(" ", "-"))
        yield stores


def measure(parts: list[str], turns: int, postgres: bool) -> dict[str, float]:
    """Return every figure of the parts."""
    wire = make_wire(turns)
    decoded = openai_chat.decode(wire)
    forms = {
        "decoded": decoded,
        "without payload": [attrs.evolve(message, native=None) for message in decoded],
    }
    figures: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        open_stores(Path(name), postgres) as stores,
    ):
        folder = Path(name)
        if "load" in parts:
            figures.update(measure_load(stores, forms))
        if "append" in parts:
            figures.update(measure_append(folder, wire, forms))
        if "run" in parts:
            figures.update(measure_run(stores, folder, wire, decoded))
        if "bytes" in parts:
            figures.update(measure_bytes(folder, wire, forms))
        if "wal" in parts:
            figures.update(measure_wal(folder, decoded))
    return figures


def measure_in(checkout: Path, arguments: list[str]) -> dict[str, float]:
    """Return the figures of a checkout, measured in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, __file__, *arguments, "--json"]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(output.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--parts", nargs="*", default=["load", "append", "run", "bytes", "wal"])
    options = parser.parse_args()
    if options.json:
        print(json.dumps(measure(options.parts, options.turns, options.postgres)))
        return
    arguments = ["--turns", str(options.turns), "--parts", *options.parts]
    arguments += ["--postgres"] * options.postgres
    before = measure_in(options.against.resolve(), arguments) if options.against else {}
    after = measure_in(HERE.parent, arguments)
    print(f"| {'ratio':72} | before | now | goal |\n|---|---|---|---|")
    for name, figure in after.items():
        goal = next((f"{each:.2g}" for key, each in GOALS.items() if name.startswith(key)), "")
        former = f"{before[name]:.2f}" if name in before else ""
        print(f"| {name:72} | {former:>6} | {figure:.2f} | {goal} |")


if __name__ == "__main__":
    main()
