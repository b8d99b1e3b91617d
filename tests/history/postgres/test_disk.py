"""A server whose disk is full, made by the system: a small tmpfs."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

FILL_A_DISK = """
import asyncio
import runpy
import secrets
import shutil
import sys
import tempfile

from agentic.errors import HistoryNotWritten
from agentic.history.postgres import PostgresStore
from agentic.messages import Message

disk, server = sys.argv[1:]
tempfile.tempdir = disk

async def fill(dsn):
    async with PostgresStore(dsn, "s") as store:
        await store.append(Message("user", "before"))
        # The log of the server has its 16 MB already: what does not fit are the rows.
        with open(f"{disk}/ballast", "wb") as ballast:
            ballast.write(bytes(shutil.disk_usage(disk).free - 2_000_000))
        count = 1
        try:
            while True:
                await store.append(Message("user", secrets.token_hex(10_000)))
                count += 1
        except HistoryNotWritten as problem:
            print(problem)
        assert len(await store.load()) == count > 5
        with open(f"{disk}/ballast", "r+b") as ballast:
            ballast.truncate(0)
        await store.append(Message("user", "after"))
        assert [message.content for message in await store.full()][count:] == ["after"]

with runpy.run_path(server)["Server"]() as server:
    asyncio.run(fill(server.make_database()))
"""


@pytest.mark.long
def test_session_outlives_a_full_disk_of_the_server() -> None:
    """Refused when it is full, whole all the time, written on afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server has an account of its own
        _fill(folder)


def _fill(folder: str) -> None:
    mount = f'mount -t tmpfs -o size=160m,mode=1777 tmpfs "{folder}"'
    namespace = ["unshare", "--mount", "sh", "-ec"]
    if not shutil.which("unshare") or subprocess.run([*namespace, mount], check=False).returncode:
        pytest.skip("needs to be allowed to mount a tmpfs of its own")
    server = Path(__file__).with_name("server.py")
    script = [sys.executable, "-c", FILL_A_DISK, folder, str(server)]

    done = subprocess.run(
        [*namespace, f'{mount}; exec "$@"', "sh", *script],
        check=True,
        capture_output=True,
        text=True,
    )

    assert "(the server's disk is full: free some space)" in done.stdout
