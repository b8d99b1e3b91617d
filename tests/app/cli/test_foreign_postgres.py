"""Sessions of other programs become ours in a real PostgreSQL."""

import asyncio
import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

SERVER = Path(__file__).parents[2] / "history" / "postgres" / "server.py"


@pytest.fixture
def dsn() -> Iterator[str]:
    """The address of an empty database on a server of its own."""
    parts = runpy.run_path(str(SERVER))
    try:
        running = parts["Server"]().__enter__()
    except parts["Unavailable"] as problem:
        pytest.skip(f"no PostgreSQL: {problem}")
    try:
        yield _as_url(running.make_database())
    finally:
        running.__exit__()


def _as_url(dsn: str) -> str:
    """Return an address in the form that a command line takes."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415  needs its driver

    parts = {key: quote(str(value), safe="") for key, value in conninfo_to_dict(dsn).items()}
    owner = f"{parts.pop('user')}:{parts.pop('password')}"
    server = f"{parts.pop('host')}:{parts.pop('port')}"
    options = "&".join(f"{key}={value}" for key, value in parts.items() if key != "dbname")
    return f"postgresql://{owner}@{server}/{parts['dbname']}?{options}"


@pytest.mark.slow
def test_claude_code_session_goes_on_in_postgresql(
    agentic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dsn: str
) -> None:
    """Its calls, results and words are there; a second import of that name is refused."""
    from agentic.history.postgres import PostgresSessions  # noqa: PLC0415  needs its driver

    monkeypatch.chdir(tmp_path)
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}
    said = [("user", "Read a.py."), ("assistant", [call]), ("user", [result]), ("assistant", "So.")]
    entries = [
        {
            "type": role,
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "sessionId": "s",
            "message": {"role": role, "content": content},
        }
        for at, (role, content) in enumerate(said)
    ]
    Path("monday.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in entries))

    done = agentic("import", dsn, "monday.jsonl")
    again = agentic("import", dsn, "monday.jsonl")

    async def load() -> list[tuple[str, str]]:
        async with PostgresSessions(dsn).open("monday") as store:
            return [(each.role, each.content) for each in await store.load()]

    assert (done.status, done.err) == (0, "agentic: imported as monday\n")
    assert again.status != 0
    assert "monday" in again.err
    roles = asyncio.run(load())
    assert [role for role, _ in roles] == ["user", "assistant", "tool", "assistant"]
    assert roles[-1][1] == "So."
    assert agentic("sessions", dsn).status == 0
