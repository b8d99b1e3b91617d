"""The code reviewer as a user runs it: real files, a real session, a real process."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentic import history
from agentic.messages import Message, split_rounds

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "code-reviewer"
FILES = 120
WORK = '''"""Part {0}."""


def part_{0}(value: int) -> int:
    """Do part {0} of the work."""
    try:
        return value // {0}
    except {1}:
        return 0
'''


def code_reviewer(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the example with no key and no endpoint but those that are given."""
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


async def read_session(path: Path) -> tuple[list[Message], list[Message]]:
    """Return every message ever said, and the history as it is now."""
    async with history.JsonlStore(path) as store:
        return await store.full(), await store.load()


@pytest.fixture(scope="module")
def reviewed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, list[Message], list[Message]]:
    """Review 120 files, every third with something to find: what was printed, said, and kept."""
    folder = tmp_path_factory.mktemp("reviewer")
    (folder / "code").mkdir()
    for number in range(1, FILES + 1):
        caught = "Exception" if number % 3 == 0 else "ZeroDivisionError"
        (folder / "code" / f"part_{number:03}.py").write_text(WORK.format(number, caught) * 3)
    done = code_reviewer(
        str(folder / "code"), "--session", str(folder / "s.jsonl"), "--window", "8000"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, *asyncio.run(read_session(folder / "s.jsonl"))


def test_it_is_at_most_200_lines() -> None:
    """A reader gets through it in ten minutes."""
    files = [path for path in EXAMPLE.iterdir() if path.suffix == ".py"]

    assert [path.name for path in files] == ["__main__.py"]
    assert len(files[0].read_text().splitlines()) <= 200


def test_every_finding_is_in_the_report(
    reviewed: tuple[str, list[Message], list[Message]],
) -> None:
    """Also those of files that were read a hundred files ago, and no other."""
    report = reviewed[0].partition(" findings:\n")[2]

    assert re.findall(
        r"^(\S+) line (\d+): it catches every exception\.$", report, re.MULTILINE
    ) == [
        (f"part_{number:03}.py", str(line))
        for number in range(3, FILES + 1, 3)
        for line in (17, 26, 8)
    ]


def test_history_ends_shorter_than_the_talk(
    reviewed: tuple[str, list[Message], list[Message]],
) -> None:
    """One request, more than two hundred messages, several compactions."""
    _, said, now = reviewed
    summaries = [message.summary for message in now if message.summary]

    assert len(said) == 2 * (FILES + 1) + 2
    assert len(now) < len(said) / 4
    assert len(summaries) == 1
    assert summaries[0].generation >= 5


def test_report_says_what_summaries_kept(
    reviewed: tuple[str, list[Message], list[Message]],
) -> None:
    """All but the newest findings were out of sight when the report was made."""
    told = re.search(
        r"(\d+) findings: (\d+) were in messages .* (\d+) only in the summary, and (\d+) are lost",
        reviewed[0],
    )

    assert told is not None
    found, seen, kept, lost = map(int, told.groups())
    assert (found, lost) == (FILES, 0)
    assert seen + kept == found
    assert kept > 0.8 * found


def test_no_request_is_over_the_window(
    reviewed: tuple[str, list[Message], list[Message]],
) -> None:
    """The largest is told at the end."""
    told = re.search(r"at most ([\d,]+) of ([\d,]+) tokens in a request", reviewed[0])

    assert told is not None
    largest, window = (int(number.replace(",", "")) for number in told.groups())
    assert 0 < largest <= window == 8_000


def test_no_chain_is_broken(reviewed: tuple[str, list[Message], list[Message]]) -> None:
    """Every call has its result, and every result its call, in the archive and in the history."""
    _, said, now = reviewed

    for messages in (said, now):
        assert not any(found.orphaned or found.open_calls for found in split_rounds(messages))


def test_by_default_it_reviews_this_package() -> None:
    """Every file of it, many times the window, without being told where it is."""
    done = code_reviewer()

    assert done.returncode == 0, done.stderr
    package = Path(__file__).parents[2] / "agentic"
    assert f"{len(list(package.rglob('*.py')))} files, " in done.stdout
    compactions = re.search(r"(\d+) compactions", done.stdout)
    assert compactions is not None
    assert int(compactions[1]) > 10


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--window", "-5"], "context_window must be a whole number"),
        (["--model", "my-own"], "model must be PROVIDER:NAME"),
        (["--model", "gemini:gemini-2.5-pro"], "API key"),
    ],
)
def test_users_mistake_is_one_sentence(tmp_path: Path, arguments: list[str], told: str) -> None:
    """The last line says what was wrong, and the exit status is not 0."""
    (tmp_path / "a.py").write_text("pass\n")

    done = code_reviewer(str(tmp_path), *arguments)

    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_next_to_its_package_is_read(tmp_path: Path) -> None:
    """A path and a text are ordered differently."""
    (tmp_path / "part").mkdir()
    for name in ("part/more.py", "part.py", "zero.py"):
        (tmp_path / name).write_text(WORK.format(1, "Exception"))

    done = code_reviewer(str(tmp_path))

    assert "3 files, " in done.stdout
    assert "part.py line 8: it catches every exception." in done.stdout
