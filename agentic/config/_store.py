"""Where an agent's sessions are kept."""

import importlib
from pathlib import Path

from agentic import history
from agentic.config._origin import Origin
from agentic.config._problems import Fault
from agentic.config._records import StoreSettings
from agentic.history import Archive, Sessions

__all__ = ["make_sessions", "open_store"]


def open_store(store: StoreSettings, agent: str, origin: Origin, session_id: str) -> Archive:
    """Return the store of a session; nothing is read or written yet."""
    if store.kind == "memory":
        return history.MemoryStore()
    return make_sessions(store, agent, origin).open(session_id)


def make_sessions(store: StoreSettings, agent: str, origin: Origin) -> Sessions:
    """Return the place where the sessions of an agent are.

    Raises:
        ConfigProblems: there is none, or it is not said where.
        ImportError: the driver of the database is not installed.
    """
    if store.kind == "jsonl":
        return history.JsonlSessions(_path(store, agent, origin))
    if store.kind == "sqlite":
        sqlite = importlib.import_module("agentic.history.sqlite")
        files: Sessions = sqlite.SqliteSessions(_path(store, f"{agent}.db", origin))
        return files
    if store.kind == "postgres" and store.dsn:
        postgres = importlib.import_module("agentic.history.postgres")
        server: Sessions = postgres.PostgresSessions(store.dsn)
        return server
    allowed = "jsonl, sqlite, or postgres with its dsn, for sessions that last"
    raise origin.problems([Fault(("store", "kind"), store.kind, allowed)])


def _path(store: StoreSettings, name: str, origin: Origin) -> Path:
    if store.path is not None:
        return origin.folder / Path(store.path).expanduser()
    return origin.folder / ".agentic" / "sessions" / name
