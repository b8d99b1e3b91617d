"""A pooler in transaction mode: each transaction is on another connection of the server.

With PGBOUNCER set to the path of a PgBouncer, that is used. Otherwise a proxy hands out a few
connections of psycopg in turn and passes on the bytes of the wire. It does less than PgBouncer, and
is worse to its clients: no transaction follows another on the same connection.
"""

import asyncio
import contextlib
import os
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["pooled"]

SERVERS = 3
REPORTED = ("server_version", "client_encoding", "standard_conforming_strings", "DateStyle")
SECONDS = 60


@contextlib.contextmanager
def pooled(dsn: str) -> Iterator[str]:
    """Yield the address of a database behind a pooler."""
    if "PGBOUNCER" in os.environ:
        with _run_pgbouncer(dsn, os.environ["PGBOUNCER"]) as address:
            yield address
        return
    started: Future[tuple[int, Callable[[], object]]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_run(dsn, started)))
    thread.start()
    port, stop = started.result(SECONDS)
    try:
        yield make_conninfo(dsn, host="127.0.0.1", port=port, sslmode="disable")
    finally:
        stop()
        thread.join(SECONDS)


async def _run(dsn: str, started: "Future[tuple[int, Callable[[], object]]]") -> None:
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    proxy = Proxy(dsn)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    started.set_result((port, lambda: loop.call_soon_threadsafe(end.set)))
    await end.wait()
    server.close()
    proxy.close()


class Proxy:
    """Connections of the server, handed out in turn."""

    def __init__(self, dsn: str) -> None:
        self.connections = [psycopg.connect(dsn, autocommit=True) for _ in range(SERVERS)]
        self.sockets = [socket.socket(fileno=os.dup(c.pgconn.socket)) for c in self.connections]
        self.free = deque(self.sockets)
        self.freed = asyncio.Condition()

    def close(self) -> None:
        """Close all connections."""
        for each in (*self.sockets, *self.connections):
            each.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until it leaves."""
        with contextlib.suppress(OSError, EOFError), contextlib.closing(writer):
            await self._greet(reader, writer)
            while True:
                first = await _read_message(reader)
                if first[:1] == b"X":
                    break
                async with self._server() as server:
                    await self._pass_on(first, reader, writer, server)

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("!I", await reader.readexactly(4))
        await reader.readexactly(length - 4)  # whoever comes is let in
        writer.write(_frame(b"R", struct.pack("!I", 0)))
        for name in REPORTED:
            value = self.connections[0].pgconn.parameter_status(name.encode()) or b""
            writer.write(_frame(b"S", name.encode() + b"\0" + value + b"\0"))
        writer.write(_frame(b"K", struct.pack("!II", 1, 1)) + _frame(b"Z", b"I"))

    @contextlib.asynccontextmanager
    async def _server(self) -> AsyncIterator[socket.socket]:
        async with self.freed:
            await self.freed.wait_for(lambda: self.free)
            server = self.free.popleft()
        try:
            yield server
        finally:
            async with self.freed:
                self.free.append(server)
                self.freed.notify()

    async def _pass_on(
        self,
        first: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: socket.socket,
    ) -> None:
        """Pass on one transaction: until the server says that it is idle."""
        loop, message, rest = asyncio.get_running_loop(), first, b""
        while True:
            await loop.sock_sendall(server, message)
            if message[:1] not in b"QS":  # Query and Sync are what the server answers
                message = await _read_message(reader)
                continue
            status = b""
            while not status:
                rest += await loop.sock_recv(server, 65536)
                answers, rest = _split(rest)
                writer.write(b"".join(answers))
                status = next((each[5:6] for each in answers if each[:1] == b"Z"), b"")
            if status == b"I":
                return
            message = await _read_message(reader)


def _frame(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content


async def _read_message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


def _split(content: bytes) -> tuple[list[bytes], bytes]:
    """Return the complete messages, and the rest."""
    found = []
    while len(content) > 4 and len(content) > (size := struct.unpack("!I", content[1:5])[0]):
        found.append(content[: size + 1])
        content = content[size + 1 :]
    return found, content


@contextlib.contextmanager
def _run_pgbouncer(dsn: str, program: str) -> Iterator[str]:
    parts: dict[str, Any] = conninfo_to_dict(dsn)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        users, settings = Path(folder, "users.txt"), Path(folder, "pgbouncer.ini")
        users.write_text(f'"{parts["user"]}" "{parts["password"]}"\n')
        settings.write_text(
            f"[databases]\n* = host={parts['host']} port={parts['port']}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {users}\npool_mode = transaction\n"
            f"default_pool_size = {SERVERS}\nserver_round_robin = 1\n"
        )
        for each in (Path(folder), users, settings):
            each.chmod(0o755)  # for the account that it runs as
        account: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}
        with subprocess.Popen([program, "-q", settings], **account) as process:
            address = make_conninfo(dsn, host="127.0.0.1", port=port)
            try:
                _wait(address)
                yield address
            finally:
                process.terminate()


def _wait(address: str) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
