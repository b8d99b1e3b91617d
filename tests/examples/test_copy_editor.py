"""The copy editor as a user runs it: real files, a real session, a real process."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentic import history
from agentic.messages import Message, split_rounds

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "copy-editor"
SPELLINGS = (
    ("lighthouse", "light-house", "light house"),
    ("coastguard", "coast-guard", "coast guard"),
    ("grey", "gray"),
    ("half past", "half-past"),
    ("whisky", "whiskey"),
    ("towards", "toward"),
    ("storm lantern", "storm-lantern"),
)


def copy_editor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the example with no key and no endpoint but those that are given."""
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def read_session(path: Path) -> tuple[list[Message], list[Message]]:
    """Return every message ever said, and the history as it is now."""
    async with history.JsonlStore(path) as store:
        return await store.full(), await store.load()


@pytest.fixture(scope="module")
def edited(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Path, list[Message], list[Message]]:
    """Edit the book: what was printed, where the book is, all that was said, the history."""
    folder = tmp_path_factory.mktemp("editor")
    done = copy_editor("--session", str(folder / "s.jsonl"), TMPDIR=str(folder))
    assert done.returncode == 0, done.stderr
    book = next(folder.glob("copy-editor-*"))
    return done.stdout, book, *asyncio.run(read_session(folder / "s.jsonl"))


def spellings_in(book: Path) -> list[set[str]]:
    """Return, for each word, how it is spelled in the book."""
    text = "\n".join(path.read_text() for path in book.glob("*.txt"))
    return [{form for form in forms if re.search(rf"\b{form}\b", text)} for forms in SPELLINGS]


def test_it_is_at_most_230_lines() -> None:
    """A reader gets through it in ten minutes."""
    files = [path for path in EXAMPLE.iterdir() if path.suffix == ".py"]

    assert [path.name for path in files] == ["__main__.py"]
    assert len(files[0].read_text().splitlines()) <= 230


def test_every_word_has_one_spelling(
    edited: tuple[str, Path, list[Message], list[Message]],
) -> None:
    """Twenty chapters on, the decisions of the first still hold: no word was decided twice."""
    out, book, *_ = edited

    assert len(list(book.glob("*.txt"))) == 20
    assert [len(forms) for forms in spellings_in(book)] == [1] * len(SPELLINGS)
    told = re.findall(r"^.*this book writes ([^.]+)\.", out, re.MULTILINE)
    words = [word for each in told for word in each.split(", ")]
    assert len(words) == len(set(words)) == len(SPELLINGS)


def test_the_decisions_stand_in_the_summary(
    edited: tuple[str, Path, list[Message], list[Message]],
) -> None:
    """The messages in which they were made are long gone from the history."""
    _, book, _, now = edited
    summary = next(message.content for message in now if message.summary)
    later = [message.content for message in now if not message.summary]

    assert all(forms.pop() in summary for forms in spellings_in(book))
    assert not any("this book writes" in text for text in later)


def test_history_ends_shorter_than_the_talk(
    edited: tuple[str, Path, list[Message], list[Message]],
) -> None:
    """More than a hundred messages, several compactions, and a quarter of them at most is left."""
    _, _, said, now = edited
    summaries = [message.summary for message in now if message.summary]

    assert len(said) > 100
    assert len(now) < len(said) / 4
    assert len(summaries) == 1
    assert summaries[0].generation >= 5
    assert summaries[0].messages_summarized + len(now) - 1 == len(said)


def test_no_request_is_over_the_window(
    edited: tuple[str, Path, list[Message], list[Message]],
) -> None:
    """The largest is told at the end."""
    told = re.search(r"at most ([\d,]+) of ([\d,]+) tokens in a request", edited[0])

    assert told is not None
    largest, window = (int(number.replace(",", "")) for number in told.groups())
    assert 0 < largest <= window


def test_no_chain_is_broken(edited: tuple[str, Path, list[Message], list[Message]]) -> None:
    """Every call has its result, and every result its call, in the archive and in the history."""
    _, _, said, now = edited

    for messages in (said, now):
        assert not any(found.orphaned or found.open_calls for found in split_rounds(messages))


def test_it_edits_files_of_named_folder(tmp_path: Path) -> None:
    """In place, and nothing else in it."""
    (tmp_path / "a.txt").write_text("The grey sea.\n")
    (tmp_path / "b.txt").write_text("The gray sky, the gray sea.\n")
    (tmp_path / "c.md").write_text("gray\n")

    done = copy_editor(str(tmp_path))

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.txt").read_text() == "The grey sky, the grey sea.\n"
    assert (tmp_path / "c.md").read_text() == "gray\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--window", "-5"], "context_window must be a whole number"),
        (["--model", "my-own"], "model must be PROVIDER:NAME"),
        (["--model", "anthropic:claude-sonnet-4-5"], "ANTHROPIC_API_KEY"),
        (["--session", "/"], "Is a directory"),
    ],
)
def test_users_mistake_is_one_sentence(tmp_path: Path, arguments: list[str], told: str) -> None:
    """The last line says what was wrong, and the exit status is not 0."""
    (tmp_path / "a.txt").write_text("The grey sea.\n")

    done = copy_editor(str(tmp_path), *arguments)

    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr
