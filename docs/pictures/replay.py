"""Takes replay-light.png and replay-dark.png: `agentic replay` on a recorded session.

It is `large-session.jsonl` of pi's tests (MIT licence, Mario Zechner), a day of work on pi itself,
recorded by pi in November 2025. `ADDRESS` names the commit. It is not part of this repository:

    curl -LO ADDRESS
    python -m docs.pictures.replay large-session.jsonl

The pictures are of the page that `agentic replay` writes, in a real browser.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from docs.pictures.browser import Browser, find_chromium

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = (
    "https://raw.githubusercontent.com/badlogic/pi-mono/"
    "3e3f805b2f402d36345adbbcb00dacf8c72b63f5/packages/coding-agent/test/fixtures/large-session.jsonl"
)
POLICIES = ["none", "keep_last", "fit_window", "digest"]
OPTIONS = ["--model", "gpt-5", "--window", "64k"]


def write_page(transcript: Path, folder: Path) -> Path:
    """Replay the session by the command, and return the page."""
    page = folder / "report.html"
    command = [sys.executable, "-m", "agentic", "replay", str(transcript), "--html", str(page)]
    policies = [part for policy in POLICIES for part in ("--policy", policy)]
    subprocess.run([*command, *OPTIONS, *policies], check=True, cwd=ROOT)
    return page


def take(page: Path, program: str) -> None:
    """Take both pictures: the figures in the light scheme, a compaction told in the dark one."""
    pictures = Path(__file__).parent
    with Browser(program) as browser:
        browser.open(page, width=1200, height=1068)
        (pictures / "replay-light.png").write_bytes(browser.picture())
        browser.open(page, width=1200, height=660, dark=True)
        browser.evaluate(
            "document.documentElement.style.scrollBehavior = 'auto';"
            "document.querySelector('.panels').scrollIntoView()"
        )
        x, y = browser.evaluate(
            "(() => { const mark = document.querySelector('[data-panel=\"0-3\"] .mark .knob');"
            "const box = mark.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        browser.point(x, y)
        (pictures / "replay-dark.png").write_bytes(browser.picture())


def main() -> None:
    """Take the pictures of the session whose file is named, where there is a browser."""
    if len(sys.argv) != 2:  # noqa: PLR2004  the program and its argument
        sys.exit(f"name the session: curl -LO {ADDRESS}")
    program = find_chromium()
    if program is None:
        sys.exit("no Chromium on this machine: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        take(write_page(Path(sys.argv[1]).resolve(), Path(folder)), program)


if __name__ == "__main__":
    main()
