"""Which version of its framework a bridge finds, read without importing the framework."""

import re
from importlib import metadata


def require(bridge: str, package: str, extra: str, oldest: str) -> None:
    """Raise unless a package is installed in this version or a newer one.

    >>> require("example", "attrs", "testing", "20.1")

    Raises:
        ImportError: it is missing, or too old.
    """
    # The metadata, because some frameworks have no `__version__`, and take seconds to import.
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError as missing:
        raise ImportError(
            f"bridges.{bridge} needs {package}: pip install 'agentic-weave[{extra}]'"
        ) from missing
    if _numbers(found) < _numbers(oldest):
        raise ImportError(
            f"bridges.{bridge} needs {package} {oldest} or newer, found {found}: "
            f"pip install -U {package}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release of a version.

    >>> _numbers("1.70.0rc1")
    (1, 70, 0)
    """
    # Not `packaging`, which would be a dependency for a comparison of two numbers. A release
    # candidate counts as its release.
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
