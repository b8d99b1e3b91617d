"""How a package of somebody else is imported: without the warnings that it prints.

A framework that warns of a deprecation in another one, or of its own classes, tells that to a user
of ours, who can do nothing about it. A warning about what the user wrote still appears: it is given
when that code runs, not when a package is loaded.
"""

import contextlib
import importlib
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import attrs

__all__ = ["load", "quietly"]


@attrs.define(eq=False)
class _Silence:
    """Whether warnings are ignored, and for how many imports at once."""

    lock: threading.Lock = attrs.field(factory=threading.Lock)
    imports: int = 0
    filters: contextlib.AbstractContextManager[object] = attrs.field(
        factory=contextlib.nullcontext[None]
    )

    def begin(self) -> None:
        with self.lock:
            if not self.imports:
                self.filters = warnings.catch_warnings(action="ignore")
                self.filters.__enter__()
            self.imports += 1

    def end(self) -> None:
        with self.lock:
            self.imports -= 1
            if not self.imports:
                self.filters.__exit__(None, None, None)


_silence = _Silence()


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Ignore every warning while packages are imported in the block.

    The filters of warnings belong to the whole process, and `warnings.catch_warnings` of two
    threads that overlap leaves those of the first in place for good. So the first import replaces
    them, and the last one that ends puts them back. No lock is held in the block: an import that
    waits for another thread's would never end.

    >>> with quietly():
    ...     import agentic.bridges.dicts
    """
    _silence.begin()
    try:
        yield
    finally:
        _silence.end()


def load(name: str) -> Any:
    """Import a module quietly by its name, and return it.

    >>> load("json").dumps([1])
    '[1]'

    Raises:
        ImportError: there is no such module.
    """
    # Not for one that is loaded: with each change of the filters, Python forgets which warnings it
    # has shown.
    if name not in sys.modules:
        with quietly():
            importlib.import_module(name)
    return importlib.import_module(name)
