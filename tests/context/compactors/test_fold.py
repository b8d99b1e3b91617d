from collections.abc import Callable

import pytest

from agentic.messages import Message, ToolCall

Run = Callable[..., str]
Called = Callable[..., list[Message]]
Cut = Callable[[str, str], str]
Summary = Callable[[str], Message]


@pytest.fixture
def session(called: Called) -> list[Message]:
    """A session with something in every section."""
    return [
        Message("user", "Make it build:\n\n- with make\n- on Linux"),
        *called("read", "text", path="a.py", offset=1, limit=50),
        *called("edit", "ok", path="a.py"),
        *called("read", "text", path="`b` c.py"),
        *called("bash", "echo `x`\nfatal: no rule\nexit code: 2", command="make `x` y"),
        *called("find_user", '{"id": 7}', id=7),
        Message("system", "Half of the time is over."),
        Message("assistant", "The makefile lacks a rule. It is mended now.\n- [ ] test it"),
        Message(
            "assistant",
            "The rule came from lex.mk. Now I test it:",
            tool_calls=[ToolCall("c9", "test")],
        ),
    ]


def test_a_digest_of_a_digest_alone_is_that_digest(
    digest: Run, summary: Summary, session: list[Message]
) -> None:
    """Nothing came since, so nothing changes."""
    once = digest(*session)

    assert once.count("\n## ") == 12
    assert digest(summary(once)) == once


def test_a_former_digest_is_merged_section_by_section(
    digest: Run, summary: Summary, called: Called, section: Cut, session: list[Message]
) -> None:
    """One digest in two steps says what one digest in one step says, but for the rounded ranks."""
    later = [
        Message("user", "And on BSD."),
        *called("read", "text", path="a.py", offset=60, limit=10),
        *called("edit", "ok", path="`b` c.py"),
        *called("bash", "built", command="make `x` y"),
    ]

    folded = digest(summary(digest(*session)), *later)

    ranks = "\n\n<!-- ranks "
    assert folded.partition(ranks)[0] == digest(*session, *later).partition(ranks)[0]
    assert section(folded, "Files changed") == (
        "- `a.py`: 1 edit, 2 reads, last lines 60-69\n- ``b` c.py``: 1 edit, 1 read"
    ).replace("``b` c.py``", "`` `b` c.py ``")
    assert "fatal: no rule" not in folded


def test_what_is_missing_is_counted_over_generations(digest: Run, summary: Summary) -> None:
    """A reader knows how much is gone, not only since when."""
    asked = [Message("user", f"Wish {n}: make the parser of module {n} faster.") for n in range(90)]

    got = digest(*asked[:30], max_tokens=150)
    for start in (30, 60):
        got = digest(summary(got), *asked[start : start + 30], max_tokens=150)

    missing = 90 - got.count("- Wish ")
    assert "- Wish 0:" in got
    assert f"\n- ({missing} more, left out here)\n" in got


def test_a_clipped_request_stays_clipped_once(digest: Run, summary: Summary) -> None:
    """The one mark says how much is missing in all."""
    asked = "Mend the parser. " + "Details follow here. " * 200 + "Do not touch the tests."
    more = [Message("user", f"Wish {n}: {'make it faster ' * 20}") for n in range(3)]

    got = digest(summary(digest(Message("user", asked), max_tokens=500)), *more, max_tokens=400)

    clipped = next(line for line in got.split("\n") if line.startswith("- Mend the parser."))
    kept, missing = clipped.removeprefix("- ").split(" [... ")
    count, _, tail = missing.partition(" characters left out ...] ")
    assert len(kept) + int(count) + len(tail) == len(asked)


def test_ten_generations_keep_what_counts(digest: Run, summary: Summary, called: Called) -> None:
    """Requests, changed files and the last errors outlive folding as long as there is room."""
    got = ""
    for n in range(10):
        got = digest(
            *([summary(got)] if got else []),
            Message("user", f"Mend module {n}, please."),
            *called("edit", "ok", path=f"src/module_{n}.py"),
            *[
                message
                for at in range(40)
                for message in called("bash", "ok", command=f"t {n} {at}")
            ],
            *called("bash", f"exit code: 1\nTypeError: number {n}", command=f"pytest {n}"),
            Message("assistant", f"Module {n} is mended but for one test."),
        )

    assert all(f"- Mend module {n}, please." in got for n in range(10))
    assert all(f"- `src/module_{n}.py`: 1 edit" in got for n in range(10))
    assert all(f"TypeError: number {n}" in got for n in range(5, 10))


def test_what_was_in_progress_is_over_when_the_work_goes_on(
    digest: Run, summary: Summary, session: list[Message]
) -> None:
    """The new digest says what is in progress now, or nothing."""
    once = digest(*session)

    got = digest(summary(once), Message("assistant", "All the tests pass now."))

    assert "In progress" in once
    assert "In progress" not in got


def test_somebody_elses_summary_is_quoted(digest: Run, summary: Summary, section: Cut) -> None:
    """A model's prose is kept as it is, and not taken apart."""
    prose = "## Errors\n- none so far\n\nThe parser is half done."

    got = digest(summary(prose), Message("user", "Go on."))

    assert section(got, "Former summary") == f"~~~\n{prose}\n~~~"


def test_a_long_summary_leaves_room_for_the_rest(digest: Run, summary: Summary) -> None:
    """It is clipped like a request."""
    got = digest(
        summary("The parser is half done. " * 1000), Message("user", "Go on with the lexer.")
    )

    assert "- Go on with the lexer." in got
    assert "characters left out ...]" in got


def test_what_somebody_wrote_into_a_digest_is_kept(digest: Run, summary: Summary) -> None:
    """A line that is no entry moves to the former summary."""
    once = digest(Message("user", "Go."))

    got = digest(summary(f"{once}\nMind the budget!\n## A heading of theirs\n* and a list"))

    assert "Mind the budget!\n## A heading of theirs\n* and a list" in got


@pytest.mark.parametrize("end", range(80, 400, 7))
def test_a_digest_that_was_cut_anywhere_is_read_as_far_as_it_goes(
    digest: Run, summary: Summary, session: list[Message], end: int
) -> None:
    """Somebody truncated it; what was left of the request is not lost."""
    assert "Make it" in digest(summary(digest(*session)[:end]))
