"""Runs the tests of each bridge with the oldest and with the newest versions of its framework.

    python tests/bridges/run_versions.py [NAME ...]

`versions.toml` names them. Each pair has a virtual environment of its own in `.venv-bridges`, made
anew every time, because two frameworks at their newest may want different versions of a third. Part
of `make test-bridges`; `make test` runs the same tests once, with what pip can install together.
"""

import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = Path(__file__).with_name("versions.toml")
ENVIRONMENTS = ROOT / ".venv-bridges"


def main(names: Sequence[str]) -> int:
    """Run the tests of the bridges named, by default of all; return how many runs failed."""
    table = tomllib.loads(VERSIONS.read_text())
    if unknown := [name for name in names if name not in table]:
        print(f"no bridge named {unknown[0]!r}; there are: {', '.join(table)}")
        return 2
    runs = [(name, age) for name in names or table for age in ("oldest", "newest")]
    failed = [run for run in runs if not _passes(table[run[0]], *run)]
    print(f"\n{len(runs) - len(failed)} passed, {len(failed)} failed", flush=True)
    for name, age in failed:
        print(f"failed: {name}, {age}: {' '.join(table[name][age])}")
    return len(failed)


def _passes(bridge: Mapping[str, Any], name: str, age: str) -> bool:
    folder = ENVIRONMENTS / f"{name}-{age}"
    print(f"\n== {name}, {age}: {' '.join(bridge[age])}", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    ours = ["--editable", ".", "--group", "bridge-tests"]
    # pip of an older Python knows no groups.
    commands = [
        [*install, "--upgrade", "pip"],
        [*install, *ours, *bridge[age]],
        [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not long and not model",
            bridge["tests"],
        ],
    ]
    return all(subprocess.run(each, cwd=ROOT, check=False).returncode == 0 for each in commands)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
