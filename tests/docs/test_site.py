"""The site that the docs are built into."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import agentic
from agentic import truncate

pytestmark = pytest.mark.slow

ROOT = Path(agentic.__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it once, strictly: a link that leads nowhere fails."""
    build = tmp_path_factory.mktemp("docs")
    script = ROOT / "docs" / "site" / "build.py"
    done = subprocess.run(
        [sys.executable, str(script), str(build)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return build / "site"


def test_site_has_every_docs_page(site: Path) -> None:
    """No page is forgotten, whether the navigation names it or not."""
    pages = {path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")}

    built = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")}
    built |= {path.with_name("README.md") for path in built if path.name == "index.md"}
    assert pages - built == set()


def test_index_has_every_how_to(site: Path) -> None:
    """What the index of the docs does not name is not found by anybody."""
    menu = (site / "index.html").read_text(encoding="utf-8")

    missing = [
        page.stem
        for page in (ROOT / "docs" / "how-to").glob("*.md")
        if f"how-to/{page.stem}.html" not in menu
    ]
    assert missing == []


def test_reference_shows_every_rooms_names(site: Path) -> None:
    """A room has a page, and a public name a heading on it."""
    assert {f"{room}.html" for room in dir(agentic) if room != "__version__"} <= {
        path.name for path in (site / "reference").iterdir()
    }
    page = (site / "reference" / "truncate.html").read_text(encoding="utf-8")
    missing = [name for name in truncate.__all__ if f'id="agentic.truncate.{name}"' not in page]
    assert missing == []


def test_former_decisions_lead_on(site: Path) -> None:
    """Every address that a decision had is a page with a link: see the test of links for where."""
    table = (ROOT / "design" / "README.md").read_text(encoding="utf-8")
    former = re.findall(r"^\| (\d{4}-[\w-]+) \|", table, re.MULTILINE)

    assert former
    assert [name for name in former if not (site / "design" / f"{name}.html").is_file()] == []


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    """Fonts, styles and scripts come with the site: reading it tells nobody."""
    fetched = re.compile(r'<(?:script|img|iframe|link rel="?(?:stylesheet|preload))[^>]*"https?://')

    assert [path.name for path in site.rglob("*.html") if fetched.search(path.read_text())] == []


class _Page(HTMLParser):
    """The links of a page, and the places in it that a link can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and its name."""
        given = dict(attrs)
        self.links |= {link for name in ("href", "src") if (link := given.get(name))}
        self.places |= {place for name in ("id", "name") if (place := given.get(name))}


def test_every_link_leads_somewhere(site: Path) -> None:
    """To a file that is there, and to a place in it; the page for errors has a server's links."""
    pages = {path: _Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    lost = []
    for path, page in pages.items():
        for link in map(urlsplit, page.links):
            if link.scheme or link.netloc:
                continue
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            named = pages[target].places if target in pages else set()
            if not target.is_file() or (link.fragment and unquote(link.fragment) not in named):
                lost.append((path.name, link.geturl()))

    assert lost == []
