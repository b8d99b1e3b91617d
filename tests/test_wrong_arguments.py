"""Wrong arguments that no room tests itself: each is answered by a sentence, none by a trace."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic import history, loop, messages, tokens, tools, truncate, usage
from agentic.context import compactors, strategies
from agentic.errors import ConfigError
from agentic.history import sqlite

TEXT = messages.Message("user", "hello")


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: tokens.count_tokens([TEXT], per_message_overhead=-1),
        lambda: tokens.count_tokens(["hello"]),  # type: ignore[list-item]
        lambda: tokens.EstimateCounter(scale=0),
        lambda: tokens.for_model(3),  # type: ignore[arg-type]
        lambda: tokens.TokenCounter("words"),
        lambda: strategies.KeepLast(-1),
        lambda: strategies.TrimRounds(0),
        lambda: strategies.TruncateToolOutputs("long"),  # type: ignore[arg-type]
        lambda: strategies.ClearToolOutputs(100, low_watermark=2),
        lambda: strategies.ClearToolOutputs(100, keep_tools=[3]),  # type: ignore[list-item]
        lambda: strategies.ClearToolOutputs(100, keep_tools="read"),
        lambda: strategies.Importance(user_message_score=2),
        lambda: strategies.Chain([strategies.KeepLast]),  # type: ignore[list-item]
        lambda: strategies.truncate_messages([TEXT], keep=-1),
        lambda: tokens.ContextMeter(len),  # type: ignore[arg-type]
        lambda: strategies.FitContextWindow(10, 3),  # type: ignore[arg-type]
        lambda: strategies.FitContextWindow(10, digest="short"),  # type: ignore[arg-type]
        lambda: compactors.Digest(recall=3),  # type: ignore[arg-type]
        lambda: compactors.Digest().write([{}]),  # type: ignore[list-item]
        lambda: asyncio.run(compactors.Model(print).compact([{}])),  # type: ignore[arg-type,list-item]
        lambda: compactors.ToolTable(kinds={"peek": "look"}),  # type: ignore[dict-item]
        lambda: compactors.ToolTable(kinds=["peek"]),  # type: ignore[arg-type]
        lambda: truncate.read_file(Path(__file__), 3),  # type: ignore[arg-type]
        lambda: loop.truncate_result(messages.ToolResult("c1"), None),  # type: ignore[arg-type]
        lambda: tools.ToolDefinition("read", description=3),  # type: ignore[arg-type]
        lambda: tools.AllowlistPolicy(None),  # type: ignore[arg-type]
        lambda: usage.StopWords("acme", {"done": "weird"}),  # type: ignore[dict-item]
        lambda: history.JsonlStore(3),
        lambda: history.JsonlStore(""),
        lambda: history.JsonlSessions(3),
        lambda: history.JsonlSessions("sessions").open("../monday"),
        lambda: asyncio.run(history.JsonlSessions("sessions").rename("monday", "a\nb")),
        lambda: asyncio.run(history.JsonlSessions("sessions").import_("monday", [3])),  # type: ignore[list-item]
        lambda: asyncio.run(history.JsonlSessions("sessions").import_("monday", 3)),  # type: ignore[arg-type]
        lambda: asyncio.run(history.MemoryStore().put(b"bytes")),  # type: ignore[arg-type]
        lambda: asyncio.run(history.MemoryStore().get("../monday")),
        lambda: sqlite.SqliteStore(3),
        lambda: sqlite.SqliteStore("sessions.db", "a/b"),
        lambda: sqlite.SqliteSessions(""),
        lambda: asyncio.run(sqlite.SqliteSessions("sessions.db").delete("")),
        lambda: messages.Message("user", pinned="yes"),  # type: ignore[arg-type]
        lambda: messages.Message("user", summary="done"),  # type: ignore[arg-type]
        lambda: messages.Message("user", usage={"input": 3}),  # type: ignore[arg-type]
        lambda: messages.Message("user", timestamp="now"),  # type: ignore[arg-type]
        lambda: messages.ContextSummary("done", -1),
        lambda: messages.ContextSummary("done", 1, created_at="now"),  # type: ignore[arg-type]
        lambda: messages.ToolResult("c1", error=3),  # type: ignore[arg-type]
    ],
)
def test_mistake_tells_given_allowed_and_remedy(
    mistake: Callable[[], object],
) -> None:
    """Found where it is made, not some calls later."""
    with pytest.raises(ConfigError, match=r"(?s)^.+ must be .+, got .+"):
        mistake()


def test_place_may_be_a_path() -> None:
    """A tool names the file of its whole output by whatever it has."""
    assert messages.ToolResult("c1", ref=Path("out.log")).ref == "out.log"  # type: ignore[arg-type]
