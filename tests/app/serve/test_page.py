"""The program in docs/how-to/serve-agents.md does what the page says."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "serve-agents.md"


def _kill_at_the_gate(server: Any, folder: Path) -> None:
    while not (folder / "at-the-gate").exists():
        time.sleep(0.05)
    server.process.kill()


def test_program_comes_back_by_its_key(place: Any) -> None:
    """After kill -9 of the server, the next start finishes the run: the program gets its reply."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    program: dict[str, Any] = {}
    exec(found[1], program)  # noqa: S102  our own page
    (gate := place.folder / "gate").touch()
    first = place.serve()
    program["SERVER"] = first.url
    threading.Thread(target=_kill_at_the_gate, args=(first, place.folder)).start()

    with pytest.raises((httpx.TransportError, ConnectionError)):
        program["ask"]("monday", "write notes: 1", "k1")
    gate.unlink()
    second = place.serve()
    program["SERVER"] = second.url

    assert program["ask"]("monday", "write notes: 1", "k1") == "Done."
    assert "is taken over from worker" in second.said
    assert len(second.get("/runs")) == 1
    assert (place.folder / "notes.txt").read_text() == "note 1\n"
