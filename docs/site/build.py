"""Build the docs as a site in build/site, or in the folder that is given: `make docs`.

The pages link to each other, to the decisions and to the examples as they lie in the checkout, so
all of them are gathered as they lie, with a page of reference for every room, and a page for every
file of code that a page links to. A link that leads nowhere fails the build.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import agentic

ROOT = Path(__file__).parents[2]
GATHERED = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs", "design", "examples"]
GATHERED += ["benchmarks"]
MOVED = {
    "bridges.dbos": "durable.dbos",
    "bridges.proxy": "app.proxy",
    "cli": "app.cli",
    "config": "app.config",
    "context.config": "compat.open_agent_sdk",
    "replay": "app.replay",
}
"""The former and the present path of each room that has moved: CHANGELOG.md has the same table."""
MOVED_PAGES = {
    "a-session": "keep-a-session.md#a-session-that-stays-small",
    "compact-by-configuration": "choose-how-to-compact.md#compact-by-configuration",
    "cut-by-hand": "budget-in-your-own-agent.md#cut-by-hand",
    "external-memory": "search-what-was-dropped.md#remember-elsewhere",
    "know-the-limits": "connect-a-model.md#the-limits-of-a-model",
    "postgres-at-scale": "keep-sessions-in-postgres.md#a-million-sessions",
    "sessions-that-are-read": "replay-your-transcripts.md#which-sessions-are-read",
    "stateless-agents": "budget-in-your-own-agent.md#keep-no-history",
    "survive-a-crash": "serve-agents.md#let-runs-survive-their-process",
    "three-tiers": "choose-how-to-compact.md#three-tiers",
    "use-with-agent-framework": "frameworks.md#microsoft-agent-framework",
    "use-with-claude-code": "use-with-proxy.md#claude-code-and-the-claude-agent-sdk",
    "use-with-crewai": "frameworks.md#crewai",
    "use-with-haystack": "frameworks.md#haystack",
    "use-with-llama-index": "frameworks.md#llamaindex",
    "use-with-smolagents": "frameworks.md#smolagents",
    "watch-an-agent": "run-the-loop.md#watch-an-agent",
    "watch-the-budget": "budget-in-your-own-agent.md#watch-the-size",
    "write-a-decider": "write-an-adapter.md#write-a-decider",
    "your-own-list-anthropic": "your-own-list.md#anthropic",
    "your-own-list-gemini": "your-own-list.md#gemini",
    "your-own-list-openai": "your-own-list.md",
}
"""The how-tos that became a section of another one, and where it is."""


def gather(pages: Path) -> None:
    """Copy what the pages consist of and link to."""
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    for name in GATHERED:
        here, there = ROOT / name, pages / name
        if here.is_dir():
            shutil.copytree(here, there, ignore=shutil.ignore_patterns("__pycache__", "site"))
        else:
            shutil.copy(here, there)


_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)")
_SHOWN_BY_BROWSERS = {".html", ".md", ".png", ".svg"}


def show_code(pages: Path) -> None:
    """Write a page for every file or folder of code that a page links to, and link to that page."""
    for page in list(pages.rglob("*.md")):
        folder = page.parent.relative_to(pages)

        def led(link: re.Match[str], folder: Path = folder) -> str:
            path = Path(os.path.normpath(folder / link[1]))
            if path.suffix in _SHOWN_BY_BROWSERS or not (ROOT / path).exists():
                return link[1]
            if (ROOT / path / "README.md").exists():
                return link[1]
            _write_code(pages, path)
            return f"{link[1].rstrip('/')}.md"

        text = page.read_text(encoding="utf-8")
        page.write_text(_LINK.sub(led, text), encoding="utf-8")


def _write_code(pages: Path, path: Path) -> None:
    source, page = ROOT / path, pages / f"{path}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shown = "\n".join(f"- `{each.name}`" for each in sorted(source.glob("*.py")))
    else:
        kind = "python" if path.suffix == ".py" else "text"
        shown = f"~~~~~~{kind}\n{source.read_text(encoding='utf-8')}\n~~~~~~"
    page.write_text(f"# {path}\n\n{shown}\n", encoding="utf-8")


def rooms() -> list[str]:
    """Name every room that can be imported, and the rooms inside `context`, `history`, `providers`.

    >>> "agentic.context.budget" in rooms()
    True
    """
    packages = [ROOT / "agentic" / name for name in dir(agentic) if name != "__version__"]
    names = [f"agentic.{package.name}" for package in packages]
    for package in packages:
        inner = sorted(path for path in package.glob("[a-z]*") if path.name != "__pycache__")
        public = (path for path in inner if path.suffix == ".py" or (path / "__init__.py").exists())
        names += [f"agentic.{package.name}.{path.stem}" for path in public]
    return sorted(names)


def write_reference(folder: Path) -> dict[str, str]:
    """Write a page for every room, and give the page of each title."""
    folder.mkdir()
    titles = [room.removeprefix("agentic.") for room in rooms()]
    for title in titles:
        page = f"# {title}\n\n::: agentic.{title}\n"
        (folder / f"{title}.md").write_text(page, encoding="utf-8")
    return {title: f"reference/{title}.md" for title in titles}


def how_tos() -> dict[str, dict[str, str]]:
    """Return the how-to pages by their groups, in the order of the index of the docs."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    groups = re.split(
        r"^### ", index.partition("\n## How to\n")[2].partition("\n## ")[0], flags=re.MULTILINE
    )
    return {
        group.partition("\n")[0]: {
            title: f"docs/{page}"
            for title, page in re.findall(r"^- \[(.+?)\]\((how-to/.+?\.md)\)", group, re.MULTILINE)
        }
        for group in groups[1:]
    }


def configure(build: Path, reference: dict[str, str]) -> Path:
    """Complete the configuration by what is only known here."""
    text = (Path(__file__).parent / "zensical.toml").read_text(encoding="utf-8")
    groups = ", ".join(f'{{ "{group}" = {_entries(pages)} }}' for group, pages in how_tos().items())
    for word, known in [("HOW-TO", f"[{groups}]"), ("REFERENCE", _entries(reference))]:
        text = text.replace(f'"{word}"', known)
    path = build / "zensical.toml"
    path.write_text(text.replace("CHECKOUT", str(ROOT)), encoding="utf-8")
    return path


def _entries(pages: dict[str, str]) -> str:
    return "[" + ", ".join(f'{{ "{title}" = "{page}" }}' for title, page in pages.items()) + "]"


def former_decisions() -> dict[str, str]:
    """Return the page that has the content of each former page of `design`: its README says so.

    >>> former_decisions()["0024-runs-of-assistant-messages"]
    'pairing'
    """
    table = (ROOT / "design" / "README.md").read_text(encoding="utf-8")
    return dict(
        re.findall(r"^\| (\d{4}-[\w-]+) \| \[.+\]\(([\w-]+)\.md\) \|$", table, re.MULTILINE)
    )


def redirect(site: Path) -> None:
    """Lead from each page that has moved to the new one: of a room, a how-to, a decision."""
    for old, new in MOVED.items():
        path = site / "reference" / f"{old}.html"
        _lead(path, f"{new}.html", f"agentic.{old} is agentic.{new} now")
    for old, new in MOVED_PAGES.items():
        path = site / "docs" / "how-to" / f"{old}.html"
        _lead(path, new.replace(".md", ".html"), f"{old} has moved")
    for old, new in former_decisions().items():
        _lead(site / "design" / f"{old}.html", f"{new}.html", f"{old} is in {new} now")


def _lead(path: Path, target: str, title: str) -> None:
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta http-equiv="refresh" content="0; url={target}">\n'
        f'<p><a href="{target}">{title}.</a></p>\n',
        encoding="utf-8",
    )


def main() -> None:
    """Gather, configure, build, redirect."""
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").absolute()
    gather(build / "site-pages")
    show_code(build / "site-pages")
    config = configure(build, write_reference(build / "site-pages" / "reference"))
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run([*command, "--config-file", str(config)], cwd=build, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    redirect(build / "site")
    print(f"The site begins at {build / 'site' / 'index.html'}")


if __name__ == "__main__":
    main()
