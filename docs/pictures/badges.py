"""Draws the badges of the README from pyproject.toml; `make picture` draws them anew.

They are files of the project: showing them asks no server, and they cannot say anything else than
the project does.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("badges")
_CHARACTER_WIDTH = 6.8
_PADDING = 14


def badges() -> dict[str, tuple[str, str]]:
    """Return the two halves of each badge, by the name of its file.

    >>> badges()["licence"]
    ('licence', 'MIT')
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [each.partition(">")[0] for each in project["dependencies"]]
    return {
        "python": ("python", project["requires-python"].replace(">=", "") + " or newer"),
        "licence": ("licence", project["license"]),
        "core": ("the core needs", " and ".join(needs)),
        "typed": ("typed", "mypy --strict"),
    }


def draw(left: str, right: str) -> str:
    """Return the picture of a badge."""
    first, second = (round(len(text) * _CHARACTER_WIDTH + _PADDING) for text in (left, right))
    width = first + second
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{left}: {right}">
<rect width="{width}" height="20" rx="3" fill="#24292f"/>
<path d="M{first} 0h{second - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{second - 3}z" fill="#0550ae"/>
<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" \
text-anchor="middle">
<text x="{first / 2}" y="14">{left}</text>
<text x="{first + second / 2}" y="14">{right}</text>
</g>
</svg>
"""


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, halves in badges().items():
        (FOLDER / f"{name}.svg").write_text(draw(*halves), encoding="utf-8")
    print("the badges are drawn")
