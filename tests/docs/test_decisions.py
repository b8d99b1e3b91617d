"""The decisions are listed, and nothing leads to a page that they had before."""

import re
from pathlib import Path

import agentic

ROOT = Path(agentic.__file__).parents[1]
_README = (ROOT / "design" / "README.md").read_text("utf-8")
_FORMER = dict(re.findall(r"^\| (\d{4}-[\w-]+) \| \[.+\]\((\S+)\) \|$", _README, re.MULTILINE))
_PAGES = {path.name for path in (ROOT / "design").glob("*.md")} - {"README.md"}


def test_readme_lists_every_page() -> None:
    """A page that the table does not name is not in the menu of the site either."""
    assert set(re.findall(r"^\| \[.+\]\((\S+)\) \| ", _README, re.MULTILINE)) == _PAGES


def test_every_former_page_leads_to_a_page() -> None:
    """There were 81 until 2026-11-28. Who renames a page of today renames it in the table."""
    assert len(_FORMER) == 81
    assert set(_FORMER.values()) <= _PAGES


def test_no_text_leads_to_a_former_page() -> None:
    """Neither by its address nor by its number."""
    folders = ["agentic", "benchmarks", "design", "docs", "examples", "tests"]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    texts = [path for path in [*files, *ROOT.glob("*.md")] if path.suffix in {".md", ".py"}]

    former = re.compile(r"design/(00\d\d)|\((00\d\d-[\w-]+\.md)")
    assert [path.name for path in texts if former.search(path.read_text("utf-8"))] == []
