"""The suite is installed from a lock, so that what was released this morning cannot fail it."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).parents[1]
_LINES = [line for line in (_ROOT / "constraints.txt").read_text().split("\n") if line]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())
_PIN = re.compile(r"[a-z0-9-]+==[0-9][a-z0-9.+]*( ; [^@/]+)?")


def _direct() -> Iterator[Requirement]:
    """Yield what pyproject.toml asks for: the core, the extras, and the groups of `make`."""
    project = _PROJECT["project"]
    groups = _PROJECT["dependency-groups"]
    lists: list[Any] = [project["dependencies"], *project["optional-dependencies"].values()]
    lists += [groups[name] for name in ("dev", "docs", "bridge-tests", "mutation", "bench")]
    lists += [_PROJECT["build-system"]["requires"], ["pip"]]
    for each in (each for some in lists for each in some if isinstance(each, str)):
        if not each.startswith("agentic-weave"):
            yield Requirement(each)


def test_a_line_pins_one_release() -> None:
    """No option, no address: everybody installs from an index of their own, or from a mirror."""
    assert len(_LINES) > 100
    assert [line for line in _LINES if not _PIN.fullmatch(line)] == []


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_everything_is_pinned_once_for_each_python(python: str) -> None:
    """By a release that the project accepts."""
    here = {"python_version": python, "python_full_version": f"{python}.9"}
    pins: dict[str, list[str]] = {}
    for pin in map(Requirement, _LINES):
        if pin.marker is None or pin.marker.evaluate(here):
            pins.setdefault(pin.name, []).append(str(pin.specifier).removeprefix("=="))

    assert {name: versions for name, versions in pins.items() if len(versions) > 1} == {}
    asked = {canonicalize_name(each.name): each.specifier for each in _direct()}
    assert asked.keys() - pins.keys() == set()
    assert {n: pins[n] for n, accepted in asked.items() if pins[n][0] not in accepted} == {}


@pytest.mark.parametrize("target", ["lint", "unit", "quick", "demo"])
def test_an_environment_is_made_anew_with_the_lock(target: str) -> None:
    """If it changed, and from nothing else."""
    make = ["make", "--dry-run", "--assume-new=constraints.txt", target]

    printed = subprocess.run(make, cwd=_ROOT, capture_output=True, text=True, check=True).stdout

    installs = [line for line in printed.replace("\\\n", "").split("\n") if "pip install" in line]
    assert installs
    assert [line for line in installs if "--constraint constraints.txt" not in line] == []
