"""Write the sessions of this folder: run once, by the version whose format they preserve.

    python tests/history/compat/v3/write.py FOLDER

It makes what the script of version 1 makes, with a session of it and with what came since: keys
of messages, redactions, and leases.
"""

import asyncio
import json
import runpy
import sqlite3
import sys
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import psycopg

from agentic.history import JsonlSessions, Sessions
from agentic.history._abilities import LeasedSessions
from agentic.history.postgres import PostgresSessions
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message, to_plain

V1 = runpy.run_path(str(Path(__file__).parents[1] / "v1" / "write.py"), run_name="v1")
Keys: TypeAlias = dict[str, Message]


async def _append(one: Any, keys: Keys, key: str, message: Message) -> None:
    """Append with a key to both."""
    await one.store.append(message, key=key)
    one.full.append(message)
    one.layers[-1][1].append(message)
    keys[key] = message


async def compacted(one: Any, _: Keys) -> str:
    """Write what has no keys."""
    return str(await V1["compacted"](one))


async def keyed(one: Any, keys: Keys) -> str:
    """Write messages with keys, before and after a compaction, and one without."""
    await _append(one, keys, "run-1/0", V1["ASK"])
    await _append(one, keys, "run-1/1", V1["LOOK"])
    await _append(one, keys, "run-1/2", V1["looked"](await one.keep(V1["LOG"])))
    await one.append(V1["AGAIN"])
    await one.replace(V1["summary"]("The build is red.", 3), V1["AGAIN"])
    await _append(one, keys, "run-2/\ud83d 0", V1["AGAIN"])
    return "With keys"


async def redacted(one: Any, keys: Keys) -> str:
    """Write a secret with a key and remove it, from a compaction too."""
    secret = Message("user", "The key is sk-live-4f9c1a77.", id="u9", timestamp=V1["NOON"])
    instead = attrs.evolve(secret, content="[a key was here]")
    await _append(one, keys, "run-1/0", secret)
    await one.append(V1["ANSWER"])
    await one.replace(V1["summary"]("They asked.", 1), secret, V1["ANSWER"])
    await one.store.redact("u9", "[a key was here]", by="nobody")
    one.full = [instead, V1["ANSWER"]]
    one.layers = [([], one.full), ([one.layers[-1][0][0], *one.full], [])]
    return ""


async def leased(one: Any, _: Keys) -> str:
    """Write a session that a worker has leased."""
    await one.append(V1["ASK"], V1["ANSWER"])
    return ""


async def fill(place: Sessions) -> dict[str, Any]:
    """Write every session, and say what it holds."""
    expected = {}
    for write in (compacted, keyed, redacted, leased):
        keys: Keys = {}
        store: Any = place.open(write.__name__)
        async with store:
            one = V1["Session"](store)
            title = await write(one, keys)
        if title:
            await place.rename(write.__name__, title)
        plain = {key: to_plain(message) for key, message in keys.items()}
        expected[write.__name__] = {**one.expected(title), "keys": plain}
    if isinstance(place, LeasedSessions):
        await place.acquire("leased", "worker", 0.01)
    return expected


def dump(dsn: str) -> str:
    """Return the schema and the rows as statements."""
    with psycopg.connect(dsn) as connection:
        leases = V1["_rows"](connection, "leases", "1")
    return str(V1["dump"](dsn)) + "\n".join(
        [*leases, f"ALTER TABLE agentic.leases ALTER epoch RESTART WITH {len(leases) + 1};\n"]
    )


async def write_all(folder: Path) -> None:
    """Write everything."""
    expected = await fill(JsonlSessions(folder / "jsonl"))
    assert await fill(SqliteSessions(folder / "sessions.db")) == expected
    with sqlite3.connect(folder / "sessions.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with runpy.run_path(str(V1["SERVER"]))["Server"]() as server:
        dsn = server.make_database()
        assert await fill(PostgresSessions(dsn)) == expected
        (folder / "postgres.sql").write_text(dump(dsn))
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (folder / "expected.json").write_bytes(text.encode("utf-8", "surrogatepass") + b"\n")


if __name__ == "__main__":
    asyncio.run(write_all(Path(sys.argv[1])))
