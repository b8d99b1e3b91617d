"""The tutorial, as somebody new would follow it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import agentic

pytestmark = pytest.mark.slow

PAGE = Path(agentic.__file__).parents[1] / "docs" / "tutorial.md"
FILES = re.compile(r"Write\s+`(\S+)`:\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
SCREENS = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _written(folder: Path) -> list[str]:
    """Write the files that the page shows, and name them."""
    files = dict(FILES.findall(PAGE.read_text(encoding="utf-8")))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(files)


def _steps(screen: str) -> list[tuple[list[str], str, list[str]]]:
    """Return the commands of a screen: arguments, what is typed, what is shown."""
    steps = []
    for block in re.split(r"^\$ ", screen, flags=re.MULTILINE)[1:]:
        command, *lines = block.splitlines()
        typed = [line[2:] for line in lines if line.startswith("> ")]
        shown = [line for line in lines if line and not line.startswith("> ")]
        arguments = [part.strip('"') for part in re.findall(r'"[^"]*"|\S+', command)]
        steps.append((arguments, "\n".join(typed), shown))
    return steps


def _run(arguments: list[str], typed: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        input=f"{typed}\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def _missing(shown: list[str], output: str) -> list[str]:
    """Return the lines that the output does not have, in their order."""
    missing, at = [], 0
    for line in shown:
        found = output.find(line, at)
        if found < 0:
            missing.append(line)
        else:
            at = found + len(line)
    return missing


def test_screens_show_what_pages_say(tmp_path: Path) -> None:
    """The files, the commands, what is typed and what is answered: all as on the page."""
    assert _written(tmp_path) == ["tools.py", "offline.py", "clerk.yaml"]
    screens = SCREENS.findall(PAGE.read_text(encoding="utf-8"))[1:]  # the first one installs

    steps = [step for screen in screens for step in _steps(screen)]
    outputs = [_run(arguments, typed, tmp_path) for arguments, typed, _ in steps]

    assert len(steps) == 5
    for (_, _, shown), output in zip(steps, outputs, strict=True):
        seconds = re.sub(r"in \d+\.\d s", "in 0.0 s", output)
        assert _missing(shown, seconds) == [], output


def test_last_steps_model_is_known(tmp_path: Path) -> None:
    """The line that takes the place of the first one is accepted: its client is what may fail."""
    pytest.importorskip("yaml")
    from agentic.app import config  # noqa: PLC0415  needs the extra

    _written(tmp_path)
    last = re.findall(r"^model: (\S+:\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)[-1]
    text = (tmp_path / "clerk.yaml").read_text().replace("offline.py:Clerk", last)

    assert config.loads(text, folder=tmp_path).model == last
