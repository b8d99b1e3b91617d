"""Loading on first use: some names of a room, and modules that only a run needs.

`import asyncio` takes longer than `import attrs`, and hashlib loads OpenSSL. A program that only
builds a Runner, opens a history or shows a session's status has no event loop yet.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "asyncio", "futures", "hashlib", "load_lazily", "logging"]


class LazyModule:
    """Stands for a module that is imported when one of its names is first used."""

    # No ModuleType, whose own search for a name would cost each use ten times as much.
    __slots__ = ("_module", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._module is None:
            self._module = importlib.import_module(self._name)
        # At each use: nest_asyncio, for notebooks, replaces `asyncio.run` at any time
        # (https://github.com/erdewit/nest_asyncio, 2026-11).
        return getattr(self._module, name)


if TYPE_CHECKING:
    import asyncio
    import hashlib
    import logging
    from concurrent import futures
else:
    asyncio = LazyModule("asyncio")
    futures = LazyModule("concurrent.futures")
    hashlib = LazyModule("hashlib")
    logging = LazyModule("logging")


def load_lazily(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a room with names that load on first use.

    `modules` maps each name to its module: `._jsonl` is one of the room's own, and a name that maps
    to itself (`anthropic` to `.anthropic`) is a room of its own. `__dir__` lists these rooms and
    the room's `__all__`, which are the names that are meant for users.
    """
    rooms = [name for name, module in modules.items() if module == f".{name}"]

    def load(name: str) -> Any:
        if name not in modules:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = importlib.import_module(modules[name], package)
        value = module if name in rooms else getattr(module, name)
        vars(sys.modules[package])[name] = value  # so that no later use comes here
        return value

    def names() -> list[str]:
        return [*rooms, *importlib.import_module(package).__all__]

    return load, names
