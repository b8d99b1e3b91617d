import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import chain

import pytest

from agentic.messages import Message, ToolCall, ToolResult

Run = Callable[..., str]
Called = Callable[..., list[Message]]
Cut = Callable[[str, str], str]
Summary = Callable[[str], Message]

TITLE = "Where things were last seen"


def test_an_identifier_stands_in_the_line_that_mentioned_it_last(
    digest: Run, called: Called, section: Cut
) -> None:
    """Below the call that showed the line."""
    got = digest(
        *called("grep", "2 found\n3: def parse_tabs():\nb.py:9:  x  = 1", pattern="tabs"),
        *called("grep", "1 found\nc.py:7: def parse_tabs(width):", pattern="width"),
    )

    assert section(got, TITLE) == (
        "- `grep pattern=tabs`\n  b.py:9:  x  = 1\n"
        "- `grep pattern=width`\n  c.py:7: def parse_tabs(width):"
    )


def test_what_stands_elsewhere_in_the_digest_needs_no_other_line(
    digest: Run, called: Called
) -> None:
    """The outcome of the call says it already."""
    got = digest(*called("grep", "c.py:7: def parse_tabs(width):", pattern="width"))

    assert got.count("parse_tabs") == 1
    assert TITLE not in got


def test_one_line_with_several_identifiers_goes_before_one_with_one(
    digest: Run, called: Called, section: Cut
) -> None:
    """With little room, what says more for what it costs is shown."""
    output = "look\n" + "\n".join(f"is_{n} = {n}" for n in range(40)) + "\nis_1 is_2 is_3 is_4 is_5"
    noise = "\n".join(f"module_number_{n} of the project" for n in range(500))

    got = section(digest(*called("list", noise, deep=1), *called("grep", output, x=1)), TITLE)

    assert "  is_1 is_2 is_3 is_4 is_5" in got
    assert "  is_3 = 3" not in got


def test_plain_words_are_no_identifiers(digest: Run, called: Called) -> None:
    """A bag of words would tell nobody anything."""
    got = digest(*called("weather", "It rains and the wind comes from the west.", city="Oslo"))

    assert TITLE not in got


def test_what_was_mentioned_more_often_has_the_first_right_to_the_room(
    digest: Run, called: Called
) -> None:
    """What the agent itself says weighs more than what a tool puts out."""
    noise = "500 found\n" + "\n".join(
        f"drwxr-xr-x module_number_{n} of the project" for n in range(500)
    )
    said = [Message("assistant", "The culprit is lex_tabs(), I am sure.")] * 3

    got = digest(*called("list", noise, depth=3), *said, max_tokens=300)

    assert "The culprit is lex_tabs(), I am sure." in got


def test_an_identifier_in_a_huge_line_stands_with_what_is_around_it(
    digest: Run, called: Called, section: Cut
) -> None:
    """JSON in one line is no reason to lose it."""
    output = "[" + "0, " * 5000 + '{"reservation": "JG7FMM", "cabin": "economy"}' + ", 0" * 5000

    got = section(digest(*called("fetch", output, page=2)), TITLE)

    assert '"reservation": "JG7FMM", "cabin": "economy"' in got
    assert max(map(len, got.split("\n"))) < 140


def test_what_is_cut_out_of_a_line_is_forty_characters_as_they_were(
    digest: Run, called: Called, section: Cut
) -> None:
    """A search for it in the archive finds it."""
    line = (
        " ".join(f"word{'s' * (n % 5)} and  more" for n in range(60)) + " tail_of_it " + "x " * 80
    )

    shown = section(digest(*called("cat", f"start\n{line}\nend", x=1), max_tokens=300), TITLE)

    kept = next(each for each in shown.split("\n") if "tail_of_it" in each)
    assert len(kept.strip(" .")) >= 40
    assert kept.strip(" .") in line


def test_the_same_conversation_gives_the_same_lines_in_every_process() -> None:
    """Nothing depends on the order of a set."""
    program = (
        "import asyncio, json; from agentic.context.compactors import Digest;"
        "from agentic.messages import Message;"
        "text = '\\n'.join(f'name_{n} other_{n % 7} third_{n % 3}/x.py' for n in range(300));"
        "print(asyncio.run(Digest(max_tokens=300).compact([Message('assistant', text)])))"
    )

    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(printed) == 1


def test_ten_generations_lose_no_identifier_that_still_ranks(
    digest: Run, called: Called, section: Cut, summary: Summary
) -> None:
    """A line is carried over as it is."""
    output = 'found\n{"order": "W5061109", "item": "1586641416"}\nend'
    got = digest(*called("get", output, user="ann"))

    for n in range(10):
        got = digest(summary(got), *called("get", f"page {n}", chapter=n))

    assert '  {"order": "W5061109", "item": "1586641416"}' in section(got, TITLE)


def test_ten_generations_of_a_full_digest_keep_what_is_mentioned_most(
    digest: Run, called: Called, summary: Summary
) -> None:
    """What everybody talks about is never crowded out by what was seen once."""
    got = ""
    for generation in range(10):
        former = [summary(got)] if got else []
        talk = [
            message
            for n in range(20)
            for message in called(
                "grep",
                f"1 found\nlib/part_{generation}_{n}.py:{n}: seen once",
                pattern=f"sought_{generation}_{n}",
            )
        ]
        asked = [
            Message("assistant", f"The core is in src/core_{n}.py, I think.") for n in range(5)
        ]
        got = digest(*former, *(asked if generation < 2 else []), *talk, max_tokens=1500)

    assert all(f"src/core_{n}.py" in got for n in range(5))
    assert all(f"sought_9_{n}" in got for n in range(20))


def test_how_often_something_was_mentioned_outlives_ten_generations(
    digest: Run, called: Called, summary: Summary
) -> None:
    """A former digest says what its lines count: an old habit goes before a passing mention."""
    habit = [
        called("run_check", f"started {n}\nok: pool_size is 8\nended", number=n) for n in range(60)
    ]
    got = digest(*chain.from_iterable(habit), max_tokens=300)

    for generation in range(10):
        names = [" ".join(f"passing_{generation}_{n}_{k}" for k in range(4)) for n in range(12)]
        seen = [called("look", f"{n}\nfound {names[n]}\n{n}", at=n) for n in range(12)]
        got = digest(summary(got), *chain.from_iterable(seen), max_tokens=300)

    assert "pool_size is 8" in got


@pytest.mark.parametrize("edit", [("<!-- ranks ", "<!-- ranks 0"), ("<!-- ranks ", "<!-- rank")])
def test_ranks_that_somebody_spoilt_are_ignored(
    digest: Run, called: Called, summary: Summary, edit: tuple[str, str]
) -> None:
    """All lines are carried over, and count alike."""
    lines = [f"file_{n}.py:{n}: name_{n}" for n in range(9)]
    once = digest(*called("grep", "\n".join(["found", *lines, "end"]), pattern="n"))

    again = digest(summary(once.replace(*edit)))

    assert "<!-- ranks " in once
    assert all(f"\n  {line}\n" in again for line in lines)


def test_a_short_line_of_a_command_stands_with_what_was_around_it(digest: Run) -> None:
    """As the model wrote it, escapes included: forty characters or more."""
    command = "cat > run.sh <<'EOF'\nset -e\nlexer_tabs --strict\nmake install\nEOF\nsh run.sh"
    call = ToolCall("c1", "bash", json.dumps({"command": command}))

    got = digest(
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "bash", "done")]),
        max_tokens=400,
    )

    line = next(line for line in got.split("\n") if "lexer_tabs" in line and "\\n" in line)
    assert "lexer_tabs --strict" in line
    assert max(map(len, (part.strip() for part in line.split("... ")))) >= 40
    assert any(part.strip(" .") in call.arguments for part in line.split("... ") if "lexer" in part)


def test_what_no_section_has_room_for_any_more_is_shown_by_its_line(
    digest: Run, called: Called, section: Cut, summary: Summary
) -> None:
    """An outcome that leaves the list of calls stays known by its identifiers."""
    got = digest(*called("find_user", "the user is omar_3817", name="Omar"), max_tokens=400)

    for n in range(6):
        calls = [called("wait", f"after {'so ' * 20}many seconds", turn=n, of=k) for k in range(20)]
        got = digest(summary(got), *[each for call in calls for each in call], max_tokens=400)

    assert "omar_3817" not in section(got, "Other calls and their outcome")
    assert "omar_3817" in section(got, TITLE)
