"""Write the sessions of this folder: run once, by the version whose format they preserve.

    python tests/history/compat/v1/write.py FOLDER

It makes `jsonl/`, a folder of sessions; `sessions.db`, the same ones in SQLite; `postgres.sql`, the
same ones as statements that any connection can execute; and `expected.json`, what they hold. What
is expected comes from the plain lists below, not from a store.
"""

import asyncio
import json
import runpy
import sqlite3
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import psycopg
from psycopg import sql

from agentic.history import JsonlSessions, Sessions
from agentic.history.postgres import PostgresSessions
from agentic.history.postgres._database import MIGRATIONS
from agentic.history.sqlite import SqliteSessions
from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
    from_plain,
    to_plain,
)
from agentic.usage import Usage

SERVER = Path(__file__).parents[2] / "postgres" / "server.py"
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LOG = "".join(f"{number:04} test_parser.py ok\n" for number in range(300))

SYSTEM = Message("system", "You mend builds.", pinned=True, id="s0")
ASK = Message("user", "Why is the build red?", timestamp=NOON, id="u1")
LOOK = Message(
    "assistant",
    "Let me look.",
    reasoning="The log comes first.",
    tool_calls=[
        ToolCall("c1", "run", '{"command": "make",  "quiet": true}'),
        ToolCall("c2", "read", '{"path": "no JSON', extra={"cache_control": {"type": "ephemeral"}}),
    ],
    usage=Usage(input=1200, output=40, total=1240, cache_read=1000, cache_write=150, reasoning=12),
    timestamp=NOON,
    id="a1",
    native=ProviderPayload(
        "anthropic",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "The log comes first.", "signature": "Eq=="},
                {"type": "text", "text": "Let me look.", "citations": None},
                {"type": "tool_use", "id": "c1", "name": "run", "input": {"command": "make"}},
                {"type": "block_of_tomorrow", "numbers": [1, 2.5, -0.0, 1e400, float("nan")]},
            ],
        },
    ),
)
FAILED = ToolResult(
    "c2", "read", "", error=ToolError("the arguments do not parse", kind="bad_arguments")
)
ANSWER = Message("assistant", "A test of the parser failed.", usage=Usage(input=1400, output=9))
AGAIN = Message("user", "Mend it.")
SAME = Message("user", "Mend it.")
ODD = Message(
    "user",
    "a lone \ud83d, a pair of lone ones \ud83d\ude00, \x00 \x85 \u2028 \r\n and \U0001f600",
    media=[
        Media("image/png", b"\x89PNG\r\n\x00", extra={"detail": "high"}),
        Media("application/pdf", url="https://example.org/a.pdf"),
    ],
    extra={"mood": "curious", "type": "odd", "nested": {"list": [1, 2.5, None, "\udfff"]}},
)
UNKNOWN = from_plain(
    {
        "v": 1,
        "role": "assistant",
        "content": "from a later version",
        "tool_calls": [{"id": "c9", "name": "run", "arguments": "{}", "kind": "custom"}],
        "usage": {"input": 3, "output": 1, "audio": 2},
        "native": {"provider": "gemini", "payload": {"parts": []}, "region": "eu"},
        "summary": None,
        "reactions": ["+1"],
    }
)
DAMAGED = [
    Message("tool", tool_results=[ToolResult("c0", "run", "of a call that is gone")]),
    ASK,
    LOOK,
    AGAIN,
    UNKNOWN,
    Message("tool", tool_results=[ToolResult("c9", "run", "first"), ToolResult("c9", "run", "2")]),
    Message("user", ""),
    Message("assistant", tool_calls=[ToolCall("c3", "run")]),
]


def looked(ref: str) -> Message:
    """Return the results of `LOOK`, of which one is kept elsewhere."""
    run = ToolResult("c1", "run", LOG[-48:], notice=f"[Showing the end of {ref}.]", ref=ref)
    return Message("tool", tool_results=[run, attrs.evolve(FAILED, extra={"took": 0.25})], id="t1")


def summary(text: str, count: int, generation: int = 1) -> Message:
    """Return a summary message with a time that does not change."""
    made = ContextSummary(
        text,
        count,
        0,
        count - 1,
        NOON,
        60,
        tokens_before=4_000,
        tokens_after=700,
        generation=generation,
        messages_kept=2,
        low_gains=generation - 1,
    )
    return made.to_message()


@attrs.define
class Session:
    """A session by the simplest means: what was appended, and the views that stand."""

    store: Any
    full: list[Message] = attrs.field(factory=list)
    layers: list[tuple[list[Message], list[Message]]] = attrs.field(factory=lambda: [([], [])])
    """What a replace gave, and what was appended since."""
    outputs: dict[str, str] = attrs.field(factory=dict)

    async def append(self, *messages: Message) -> None:
        """Append to both."""
        for message in messages:
            await self.store.append(message)
            self.full.append(message)
            self.layers[-1][1].append(message)

    async def replace(self, *messages: Message) -> None:
        """Replace in both."""
        await self.store.load()
        await self.store.replace(messages)
        self.layers.append(([*messages], []))

    async def restore(self) -> None:
        """Take the latest replace back in both."""
        await self.store.restore()
        _, since = self.layers.pop()
        self.layers[-1][1].extend(since)

    async def keep(self, text: str) -> str:
        """Keep an output in both."""
        ref = str(await self.store.put(text))
        self.outputs[ref] = text
        return ref

    def expected(self, title: str) -> dict[str, Any]:
        """Return what the session holds, as JSON data."""
        view = [*self.layers[-1][0], *self.layers[-1][1]]
        before = [*self.layers[-2][0], *self.layers[-2][1]] if self.layers[1:] else None
        counts = [one.summary.messages_summarized for one in view if one.summary]
        return {
            "title": title,
            "messages": len(self.full),
            "summarized": counts[-1] if counts else 0,
            "full": plain(self.full),
            "view": plain(view),
            "before": before and plain(before),
            "replaced_by": plain(self.layers[-1][0]),
            "restored": before and plain([*before, *self.layers[-1][1]]),
            "outputs": self.outputs,
        }


def plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as JSON data."""
    return [to_plain(message) for message in messages]


async def everything(one: Session) -> str:
    """Write every kind of message, well formed."""
    await one.append(SYSTEM, ODD, ASK, LOOK, looked(await one.keep(LOG)), ANSWER, AGAIN, SAME)
    return "Every kind: \U0001f534"


async def damaged(one: Session) -> str:
    """Write rounds that are open, orphaned or answered twice."""
    await one.append(*DAMAGED)
    return ""


async def compacted(one: Session) -> str:
    """Write two compactions that stand, and outputs."""
    await one.keep("")
    await one.append(SYSTEM, ASK, LOOK, looked(await one.keep(LOG)), ANSWER, AGAIN)
    await one.replace(SYSTEM, summary("The build is red.", 4), ANSWER, AGAIN)
    await one.append(ANSWER, ODD)
    await one.replace(SYSTEM, summary("Red: \ud83d a typo.", 6, 2), ANSWER, ODD)
    await one.keep("a lone \udfff and \U0001f600\r\n")
    await one.append(AGAIN, ANSWER)
    return "A red build"


async def undone(one: Session) -> str:
    """Write two compactions of which the later one is undone, and an undo before them."""
    await one.append(ASK, ANSWER, AGAIN)
    await one.replace(summary("Undone at once.", 2), AGAIN)
    await one.restore()
    await one.append(ODD)
    await one.replace(summary("They asked.", 3), ODD)
    await one.append(ANSWER)
    await one.replace(summary("Undone later.", 4, 2))
    await one.append(AGAIN)
    await one.restore()
    await one.append(SAME)
    return ""


async def all_undone(one: Session) -> str:
    """Write a compaction that is undone, so that none stands."""
    await one.append(ASK, ANSWER)
    await one.replace(summary("They asked.", 2))
    await one.append(AGAIN)
    await one.restore()
    return ""


async def emptied(one: Session) -> str:
    """Write a history that was replaced by nothing."""
    await one.append(ASK, ANSWER)
    await one.replace()
    return ""


WRITERS = (everything, damaged, compacted, undone, all_undone, emptied)
LATER = b"""\
{"v":1,"type":"message","message":{"v":1,"role":"user","content":"hello"},"device":"phone"}
{"v":7,"type":"bookmark","optional":true,"at":1}

{"type": "message", "v": 1, "message": {"role": "assistant", "content": "spelled otherwise"}}
{"v":1,"type":"replace","messages":[{"v":1,"role":"user","content":"hello","mood":"calm"}],"by":"a"}
{"v":1,"type":"message","message":{"v":1,"role":"assistant","content":"there"}}
"""
"""A session with what a later version may add, and with what another program may write."""


def later() -> dict[str, Any]:
    """Return what `LATER` holds."""
    hello, other = Message("user", "hello"), Message("assistant", "spelled otherwise")
    calm, there = Message("user", "hello", extra={"mood": "calm"}), Message("assistant", "there")
    return {
        "title": "",
        "messages": 3,
        "summarized": 0,
        "full": plain([hello, other, there]),
        "view": plain([calm, there]),
        "before": plain([hello, other]),
        "replaced_by": plain([calm]),
        "restored": plain([hello, other, there]),
        "outputs": {},
    }


async def fill(place: Sessions) -> dict[str, Any]:
    """Write every session, and say what it holds."""
    expected = {"later": later()}
    for write in WRITERS:
        store: Any = place.open(write.__name__)
        async with store:
            one = Session(store)
            title = await write(one)
        if title:
            await place.rename(write.__name__, title)
        expected[write.__name__] = one.expected(title)
    await place.import_("later", LATER.splitlines(keepends=True))
    return expected


def dump(dsn: str) -> str:
    """Return the schema and the rows as statements."""
    parts = ["CREATE SCHEMA agentic;", *(part.strip() for part in MIGRATIONS)]
    with psycopg.connect(dsn) as connection:
        for table, order in (("version", "1"), ("sessions", "1"), ("entries", "1, 2")):
            parts += _rows(connection, table, order)
        parts += _rows(connection, "outputs", "1, 2")
        (count,) = connection.execute("SELECT max(number) FROM agentic.sessions").fetchone() or (0,)
    parts.append(f"ALTER TABLE agentic.sessions ALTER number RESTART WITH {count + 1};")
    return "\n".join(parts) + "\n"


def _rows(connection: "psycopg.Connection[Any]", table: str, order: str) -> list[str]:
    select = f"SELECT * FROM agentic.{table} ORDER BY {order}"  # noqa: S608  names of ours
    insert = sql.SQL("INSERT INTO agentic.{} OVERRIDING SYSTEM VALUE VALUES ({});")
    return [
        insert.format(sql.Identifier(table), sql.SQL(", ").join(map(sql.Literal, row))).as_string(
            connection
        )
        for row in connection.execute(select.encode())
    ]


async def write_all(folder: Path) -> None:
    """Write everything."""
    expected = await fill(JsonlSessions(folder / "jsonl"))
    (folder / "jsonl" / "later.jsonl").write_bytes(LATER)
    torn = (folder / "jsonl" / "undone.jsonl").open("ab")
    with torn:
        torn.write(b'{"v":1,"type":"message","mess')  # as a kill leaves it
    assert await fill(SqliteSessions(folder / "sessions.db")) == expected
    with sqlite3.connect(folder / "sessions.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with runpy.run_path(str(SERVER))["Server"]() as server:
        dsn = server.make_database()
        assert await fill(PostgresSessions(dsn)) == expected
        (folder / "postgres.sql").write_text(dump(dsn))
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (folder / "expected.json").write_bytes(text.encode("utf-8", "surrogatepass") + b"\n")


if __name__ == "__main__":
    asyncio.run(write_all(Path(sys.argv[1])))
