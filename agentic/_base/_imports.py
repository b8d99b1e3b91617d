"""How a package of somebody else is imported: without its warnings, and how to get it.

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

__all__ = ["load", "pip_install", "quietly"]

_NAME = "agentic-weave"


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


def pip_install(requirement: str) -> str:
    """Return the command that installs a requirement, such as an extra of this package.

    This package is installed from where it came from: a checkout, a folder, a repository, or else
    the index, by its name.

    >>> pip_install("acme-sdk")
    'pip install acme-sdk'
    """
    import shlex  # noqa: PLC0415  only for an error
    from pathlib import Path  # noqa: PLC0415  the same

    name, bracket, extras = requirement.partition("[")
    if name != _NAME:
        return f"pip install {shlex.quote(requirement)}"
    checkout = Path(__file__).resolve().parents[2]
    project = checkout / "pyproject.toml"
    is_checkout = project.is_file() and f'name = "{_NAME}"' in project.read_text(encoding="utf-8")
    source, options = (str(checkout), "-e ") if is_checkout else (_origin(), "")
    if source.startswith("git+"):
        return f"pip install {shlex.quote(f'{requirement} @ {source}')}"
    return f"pip install {options}{shlex.quote(f'{source or name}{bracket}{extras}')}"


def _origin() -> str:
    """Return where pip installed this package from; empty for an index.

    https://packaging.python.org/en/latest/specifications/direct-url/ (2026-11)
    """
    import json  # noqa: PLC0415  only for an error
    from importlib import metadata  # noqa: PLC0415  the same
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415  the same

    try:
        text = metadata.distribution(_NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return ""
    record = json.loads(text or "{}")
    url, repository = record.get("url", ""), record.get("vcs_info", {})
    if repository.get("vcs") == "git":
        return f"git+{url}@{repository['commit_id']}"
    # A wheel that was built by hand may be gone; its folder has no extras to install.
    return unquote(urlsplit(url).path) if "dir_info" in record else ""
