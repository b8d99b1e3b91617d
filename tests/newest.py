"""Prints which installed releases are not those of the lock, for `make test-newest`.

.venv-newest/bin/python tests/newest.py
"""

from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).parents[1] / "constraints.txt"


def main() -> None:
    """Print a line for each package of this environment with another release than the lock's."""
    pinned = {each.name: str(each.specifier)[2:] for each in requirements() if applies(each)}
    changed = 0
    for each in sorted(distributions(), key=lambda each: canonicalize_name(each.name)):
        name = canonicalize_name(each.name)
        if name in {"agentic-weave", "setuptools"} or pinned.get(name) == each.version:
            continue
        changed += 1
        print(f"{name}: {each.version} is installed, the lock has {pinned.get(name, 'none')}")
    print(f"{changed} of the installed releases are not those of the lock", flush=True)


def requirements() -> list[Requirement]:
    """Return the lines of the lock."""
    return [Requirement(line) for line in LOCK.read_text().split("\n") if line]


def applies(requirement: Requirement) -> bool:
    """Return whether a line of the lock is for this Python and this system."""
    return requirement.marker is None or requirement.marker.evaluate()


if __name__ == "__main__":
    main()
