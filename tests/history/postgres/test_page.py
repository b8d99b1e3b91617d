import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = "docs/how-to/keep-sessions-in-postgres.md"


def test_page_runs_as_printed(dsn: str) -> None:
    """Every snippet of the how-to does what it says, on a real server."""
    command = [sys.executable, "-m", "pytest", PAGE, "-p", "no:cacheprovider", "-o", "addopts="]

    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": dsn},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
