"""No page, text or module leads to a room where it was before it moved."""

import functools
import re
import runpy
from pathlib import Path

import pytest

import agentic

ROOT = Path(agentic.__file__).parents[1]
_CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
_MOVED = dict(
    re.findall(r"^\| `(agentic[\w.]+)` \| `(agentic[\w.]+)` \|$", _CHANGELOG, re.MULTILINE)
)
_FOLDERS = ["agentic", "benchmarks", "design", "docs", "examples", "tests"]
_FILES = [
    path
    for folder in _FOLDERS
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".md", ".py", ".toml", ".txt", ".yaml"} and path != Path(__file__)
]
_FILES += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")]


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _files(module: str) -> list[Path]:
    """Return the file of a module or of a package, if there is one."""
    path = ROOT / module.replace(".", "/")
    return [each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()]


def test_the_table_is_read() -> None:
    """The changelog names each room that moved, and each of them is where it says."""
    assert len(_MOVED) >= 5
    for old, new in _MOVED.items():
        assert not _files(old)
        assert _files(new)


@pytest.mark.parametrize("old", sorted(_MOVED))
def test_no_text_leads_to_the_former_place(old: str) -> None:
    """Neither as a module nor as a folder, nor by an import from the front door."""
    room = old.removeprefix("agentic.")
    ways = [rf"(?<![\w./])agentic([./]){re.escape(room).replace(chr(92) + '.', '[./]')}(?![\w-])"]
    if "." in room:
        ways.append(rf"(?<![\w.]){re.escape(room)}(?!\w)")
    else:
        ways.append(rf"from agentic import (?:[\w, ]+, )?{room}\b")
    pattern = re.compile("|".join(ways))

    leads = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in _FILES
        if path != ROOT / "docs/site/build.py" and room.rpartition(".")[2] in _text(path)
        for match in pattern.finditer(_text(path))
    ]
    assert not leads


def test_each_page_that_moved_leads_on() -> None:
    """The site redirects from the former address to a section that is there."""
    pages = ROOT / "docs" / "how-to"
    moved = runpy.run_path(str(ROOT / "docs" / "site" / "build.py"))["MOVED_PAGES"]

    assert [old for old in moved if (pages / f"{old}.md").exists()] == []
    for place in moved.values():
        name, _, section = place.partition("#")
        text = (pages / name).read_text(encoding="utf-8").lower()
        titles = re.findall("^#+ (.+)$", text, re.MULTILINE)
        assert section in {"", *(title.replace(" ", "-") for title in titles)}
