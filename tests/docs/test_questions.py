"""What a newcomer asks is answered within two clicks of the README."""

import re
from pathlib import Path

import agentic

ROOT = Path(agentic.__file__).parents[1]
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def _linked(page: Path) -> set[Path]:
    text = page.read_text(encoding="utf-8")
    return {(page.parent / link).resolve() for link in _LINK.findall(text)}


def test_every_answer_is_two_clicks_away() -> None:
    """From the README to the questions, and from there to each page."""
    questions = ROOT / "docs" / "questions.md"
    rows = [line for line in questions.read_text().splitlines() if line.startswith("| ")][1:]

    assert questions in _linked(ROOT / "README.md")
    assert len(rows) == 10
    assert [row for row in rows if "](" not in row] == []
    assert [path for path in _linked(questions) if not path.exists()] == []


def test_badges_say_what_the_project_says() -> None:
    """They are drawn from pyproject.toml, and committed as they are drawn."""
    script = ROOT / "docs" / "pictures" / "badges.py"
    namespace: dict[str, object] = {"__name__": "badges", "__file__": str(script)}
    exec(compile(script.read_text(), str(script), "exec"), namespace)  # noqa: S102  our own script
    badges, draw = namespace["badges"], namespace["draw"]

    assert callable(badges)
    assert callable(draw)
    for name, halves in badges().items():
        assert (script.parent / "badges" / f"{name}.svg").read_text() == draw(*halves)
