"""Takes replay-light.png and replay-dark.png: `agentic replay` on a session about this repository.

The session is made up, of real material: it searches the repository's own files, reads what it
finds, edits, runs tests, and comes back to files that it met long before. The pictures are of the
page that the command writes, in a real browser: `python -m docs.pictures.replay`.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentic.messages import Message, ToolCall, ToolResult, to_plain
from docs.pictures.browser import Browser, find_chromium

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["split_rounds", "TokenCache", "low_watermark", "ToolError", "context_window", "close_open"]
POLICIES = ["none", "keep_last", "fit_window", "digest"]
WINDOW = 48_000
CHANGES = (2, 5, 8)
"""After how many files of a search an earlier one is changed."""


def session() -> Iterator[Message]:
    """Make the session."""
    draw = random.Random(5)  # noqa: S311  the same session every time
    files = {path: path.read_text() for path in sorted(ROOT.glob("agentic/*/**/*.py"))}
    yield Message("system", "You maintain a Python library. Use search, read, edit and test.")
    found: list[Path] = []
    for number, word in enumerate(WORDS):
        yield Message("user", f"Rename {word} where a better name would say more, and test it.")
        hits = [path for path, text in files.items() if word in text][:9]
        yield from turn(f"s{number}", "search", {"word": word}, lines(word, hits, files))
        for step, path in enumerate(hits):
            name = path.relative_to(ROOT).as_posix()
            yield from turn(f"r{number}-{step}", "read", {"path": name}, files[path])
            if found and step in CHANGES:
                earlier = draw.choice(found).relative_to(ROOT).as_posix()
                change = {"path": earlier, "old": word, "new": f"{word}_of"}
                yield from turn(f"e{number}-{step}", "edit", change, f"Changed {earlier}.")
                outcome = f"{draw.randint(20, 90)} passed in 0.{draw.randint(10, 99)}s"
                test = {"command": f"pytest tests -k {path.stem.strip('_')}"}
                yield from turn(f"t{number}-{step}", "test", test, outcome)
        found += hits
    yield Message("assistant", "All of it is renamed, and the tests pass.")


def turn(call_id: str, tool: str, arguments: dict[str, str], output: str) -> Iterator[Message]:
    """Call a tool, and get its output."""
    call = ToolCall(call_id, tool, json.dumps(arguments))
    yield Message("assistant", f"I {tool}.", tool_calls=[call])
    yield Message("tool", tool_results=[ToolResult(call_id, tool, output)])


def lines(word: str, hits: list[Path], files: dict[Path, str]) -> str:
    """Return what a search would print."""
    return "\n".join(
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in hits
        for number, line in enumerate(files[path].split("\n"), 1)
        if re.search(word, line)
    )


def write_page(folder: Path) -> Path:
    """Replay the session by the command, and give the page."""
    transcript, page = folder / "rename-session.jsonl", folder / "report.html"
    transcript.write_text("".join(f"{json.dumps(to_plain(each))}\n" for each in session()))
    command = [sys.executable, "-m", "agentic", "replay", str(transcript), "--html", str(page)]
    options = ["--model", "gpt-5"]
    options += [part for policy in POLICIES for part in ("--policy", policy)]
    subprocess.run([*command, "--window", str(WINDOW), *options], check=True, cwd=ROOT)
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
    """Take the pictures, where there is a browser."""
    program = find_chromium()
    if program is None:
        sys.exit("no Chromium on this machine: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        take(write_page(Path(folder)), program)


if __name__ == "__main__":
    main()
