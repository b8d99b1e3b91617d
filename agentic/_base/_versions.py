"""Which version of its framework a room finds, read without importing the framework."""

import re
from importlib import metadata

from agentic._base._imports import pip_install


def require(room: str, package: str, extra: str, oldest: str) -> None:
    """Raise unless a package is installed in this version or a newer one.

    >>> require("bridges.example", "attrs", "testing", "20.1")

    Raises:
        ImportError: it is missing, or too old.
    """
    # The metadata, because some frameworks have no `__version__`, and take seconds to import.
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError as missing:
        raise ImportError(
            f"{room} needs {package}: {pip_install(f'agentic-weave[{extra}]')}"
        ) from missing
    if _numbers(version) < _numbers(oldest):
        raise ImportError(
            f"{room} needs {package} {oldest} or newer, found {version}: pip install -U {package}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release of a version.

    >>> _numbers("1.70.0rc1")
    (1, 70, 0)
    """
    # Not `packaging`, which would be a dependency for a comparison of two numbers. A release
    # candidate counts as its release.
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()
