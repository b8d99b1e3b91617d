"""Runs the tests of each bridge with the oldest and with the newest versions of its framework.

    python tests/bridges/run_versions.py UV [--folder FOLDER] [NAME ...]

`versions.toml` names them. Each pair has a virtual environment of its own, by default in
`.venv-bridges`, made anew every time by the installer UV, because two frameworks at their newest
may want different versions of a third. The end is a table of what was installed and what passed,
for docs/how-to/frameworks.md. Part of `make test-bridges`; `make test` runs the same tests once,
with what pip can install together.
"""

import argparse
import datetime as dt
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = Path(__file__).with_name("versions.toml")
ENVIRONMENTS = ROOT / ".venv-bridges"
_OUTCOME = re.compile(r"^(?=.*\b(?:passed|failed|errors?|skipped)\b).* in [\d.]+s", re.MULTILINE)


@attrs.frozen
class Run:
    """The tests of one bridge at one age of its framework."""

    name: str
    age: str
    """`oldest` or `newest`."""
    bridge: Mapping[str, Any]
    """What `versions.toml` says of the bridge."""

    def outcome(self, uv: str, folder: Path) -> "Outcome":
        """Install and test; print what the commands print."""
        print(f"\n== {self.name}, {self.age}: {' '.join(self.bridge[self.age])}", flush=True)
        environment = folder / f"{self.name}-{self.age}"
        python = str(environment / "bin" / "python")
        install = [uv, "pip", "install", "--quiet", "--python", python, "--editable", "."]
        commands = [
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(environment)],
            [*install, "--group", "bridge-tests", *self.bridge[self.age]],
        ]
        for command in commands:
            if subprocess.run(command, cwd=ROOT, check=False).returncode:
                return Outcome(self, "", "not installed", passed=False)
        tests = ["-q", "-p", "no:cacheprovider", "-m", "not long and not model"]
        tests += [f"-W{each}" for each in self.bridge.get("ignore", ())]
        done = subprocess.run(
            [python, "-m", "pytest", *tests, self.bridge["tests"]],
            cwd=ROOT,
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        print(done.stdout, flush=True)
        return Outcome(
            self, self._installed(uv, python), read_outcome(done.stdout), passed=not done.returncode
        )

    def _installed(self, uv: str, python: str) -> str:
        """Return the release of the framework: what the bridge names first."""
        wanted = re.split(r"[=<>~!\[]", self.bridge[self.age][0])[0]
        command = [uv, "pip", "list", "--format", "json", "--python", python]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        releases = {each["name"]: each["version"] for each in json.loads(done.stdout)}
        return f"{wanted} {releases[wanted]}"


@attrs.frozen
class Outcome:
    """How one run ended."""

    run: Run
    release: str
    tests: str
    """What pytest says of itself, such as `12 passed`."""
    passed: bool = attrs.field(kw_only=True)

    @property
    def row(self) -> str:
        """Return the line of the table."""
        verdict = self.tests if self.passed else f"FAILED: {self.tests}"
        today = dt.datetime.now(tz=dt.UTC).date()
        return f"| {self.run.name} | {self.run.age} | {self.release} | {verdict} | {today} |"


def read_outcome(printed: str) -> str:
    r"""Return what pytest counted, without the time that it took.

    >>> read_outcome("....\n4 passed, 1 skipped in 0.12s\n")
    '4 passed, 1 skipped'
    """
    match = _OUTCOME.search(printed)
    return match[0].strip("= ").rpartition(" in ")[0] if match else "no tests"


def main(arguments: Sequence[str]) -> int:
    """Run the tests of the bridges named, by default of all; return how many runs failed."""
    parser = argparse.ArgumentParser(prog="run_versions.py", description=__doc__)
    parser.add_argument("uv", help="the installer")
    parser.add_argument("names", nargs="*", help="the bridges; by default all")
    parser.add_argument("--folder", type=Path, default=ENVIRONMENTS, help="of the environments")
    options = parser.parse_intermixed_args(arguments)
    table = tomllib.loads(VERSIONS.read_text())
    if unknown := [name for name in options.names if name not in table]:
        print(f"no bridge named {unknown[0]!r}; there are: {', '.join(table)}")
        return 2
    runs = [
        Run(name, age, table[name])
        for name in options.names or table
        for age in ("oldest", "newest")
    ]
    outcomes = [run.outcome(str(options.uv), options.folder.absolute()) for run in runs]
    print("\n| bridge | age | release | tests | date |\n|---|---|---|---|---|")
    print(*(each.row for each in outcomes), sep="\n", flush=True)
    return sum(not each.passed for each in outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
