"""Write the sessions of this folder: run once, by the version whose format they preserve.

    python tests/history/compat/v4/write.py FOLDER

What came since version 3: payloads without the texts that the message has itself, and messages that
are appended together.
"""

import asyncio
import json
import runpy
import sqlite3
import sys
from pathlib import Path
from typing import Any

from agentic.history import JsonlSessions, Sessions
from agentic.history.postgres import PostgresSessions
from agentic.history.sqlite import SqliteSessions
from agentic.messages import ProviderPayload, to_plain
from agentic.providers import anthropic, openai_chat

V1 = runpy.run_path(str(Path(__file__).parents[1] / "v1" / "write.py"), run_name="v1")
V3 = runpy.run_path(str(Path(__file__).parents[1] / "v3" / "write.py"), run_name="v3")
ARGUMENTS = {"path": "src/parser.py", "text": "def parse(text):\n    return text.split()\n"}
CHAT = [
    {"role": "user", "content": "Why is the build red, and since when?"},
    {
        "role": "assistant",
        "content": "The build is red, since the parser fails.",
        "tool_calls": [
            {
                "id": "call_0123456789abcdef",
                "type": "function",
                "function": {"name": "write", "arguments": json.dumps(ARGUMENTS)},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_0123456789abcdef", "content": "wrote 42 characters"},
]
BLOCKS = [
    {"role": "user", "content": "Mend it, and all that it imports."},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "The parser is to be mended first."},
            {"type": "tool_use", "id": "toolu_0123456789", "name": "write", "input": ARGUMENTS},
        ],
    },
]


async def payloads(one: Any) -> dict[str, Any]:
    """Write decoded messages, one by one and together, before and after a compaction."""
    chat, blocks = openai_chat.decode(CHAT), anthropic.decode(BLOCKS)
    await one.append(chat[0])
    keys = dict(zip(("run-1/0", "run-1/1"), chat[1:], strict=True))
    await one.store.append(*chat[1:], key=[*keys])
    one.full += chat[1:]
    one.layers[-1][1].extend(chat[1:])
    edited = chat[1].edit(content="The build is red.")
    await one.replace(V1["summary"]("The build is red.", 2), edited, chat[2])
    odd = V1["ASK"].replace(native=ProviderPayload("acme", {"$": V1["ASK"].content}))
    await one.append(odd, *blocks)
    return {key: to_plain(message) for key, message in keys.items()}


async def fill(place: Sessions) -> dict[str, Any]:
    """Write the session, and say what it holds."""
    async with place.open("payloads") as store:  # type: ignore[attr-defined]
        one = V1["Session"](store)
        keys = await payloads(one)
    return {"payloads": {**one.expected(""), "keys": keys}}


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
        (folder / "postgres.sql").write_text(V3["dump"](dsn))
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (folder / "expected.json").write_bytes(text.encode("utf-8", "surrogatepass") + b"\n")


if __name__ == "__main__":
    asyncio.run(write_all(Path(sys.argv[1])))
