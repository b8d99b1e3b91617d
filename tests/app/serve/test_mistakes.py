"""What a user of `serve`, `work` and `runs` gets wrong is one sentence."""

import re
import socket
from typing import Any

import pytest

from agentic.app.cli import main


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("serve none.yaml", "none.yaml"),
        ("serve {agent} --database mysql://me:secret@h/db", "must be sqlite:///PATH or postgresql"),
        ("serve {agent} --port {port}", "is in use: choose another one with --port"),
        (
            "serve {agent} --port 0 --host 0.0.0.0",
            "anybody on the network could use 0.0.0.0: pass",
        ),
        ("serve {agent} --port 0 --token-file model.py", "model.py: no such file"),
        ("work {agent} --database postgresql://127.0.0.1:1/none", "the database cannot be used"),
        ("work {agent} --database postgresql://me:secret@h:port/db", "must be sqlite:///PATH"),
        ("runs {agent} --database postgresql:/me:secret@h/db", "must be sqlite:///PATH"),
        ("runs", "name an agent's file, or a --database"),
        ("runs {agent} --prune 30", "'30' is not an age, such as 90s, 45m, 12h or 30d"),
        ("runs {agent}", "no runs yet: start with agentic serve"),
    ],
)
def test_mistake_is_one_sentence(
    place: Any, capfd: pytest.CaptureFixture[str], line: str, told: str
) -> None:
    """It shows neither a traceback nor a password, and leaves nothing behind."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = line.format(agent=place.folder / "agent.yaml", port=port).split()
        status = main(words)

    said = capfd.readouterr().err
    assert status in {1, 2}
    assert told in said
    assert "Traceback" not in said
    assert "secret" not in said
    assert re.fullmatch(r"agentic: [^\n]+\n", said)
    assert not (place.folder / ".agentic").exists()


@pytest.mark.long
def test_second_worker_on_sqlite_is_refused(place: Any) -> None:
    """It waits as long as a crashed one would keep the database, and says what to do."""
    server = place.serve()

    other = place.start("work")
    status = other.process.wait(timeout=60)

    assert server.process.poll() is None
    assert status == 1
    assert "has a worker already, and SQLite allows one" in other.said
