from collections.abc import Callable

from agentic.messages import Message

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
        *called("grep", "3: def parse_tabs():\nb.py:9: x = 1", pattern="tabs"),
        *called("grep", "c.py:7: def parse_tabs(width):", pattern="width"),
    )

    assert section(got, TITLE) == (
        "- `grep pattern=tabs`\n  b.py:9: x = 1\n"
        "- `grep pattern=width`\n  c.py:7: def parse_tabs(width):"
    )


def test_plain_words_are_no_identifiers(digest: Run, called: Called) -> None:
    """A bag of words would tell nobody anything."""
    got = digest(*called("weather", "It rains and the wind comes from the west.", city="Oslo"))

    assert TITLE not in got


def test_what_was_mentioned_more_often_has_the_first_right_to_the_room(
    digest: Run, called: Called, section: Cut
) -> None:
    """What the agent itself says weighs more than what a tool puts out."""
    noise = "\n".join(f"drwxr-xr-x module_number_{n} of the project" for n in range(500))
    said = [Message("assistant", "The culprit is lex_tabs(), I am sure.")] * 3

    got = digest(*called("list", noise, depth=3), *said, max_tokens=300)

    assert "  The culprit is lex_tabs(), I am sure." in section(got, TITLE)


def test_an_identifier_in_a_huge_line_stands_with_what_is_around_it(
    digest: Run, called: Called, section: Cut
) -> None:
    """JSON in one line is no reason to lose it."""
    output = "[" + "0, " * 5000 + '{"reservation": "JG7FMM", "cabin": "economy"}' + ", 0" * 5000

    got = section(digest(*called("fetch", output, page=2)), TITLE)

    assert '"reservation": "JG7FMM", "cabin": "economy"' in got
    assert max(map(len, got.split("\n"))) < 140


def test_ten_generations_lose_no_identifier_that_still_ranks(
    digest: Run, called: Called, section: Cut, summary: Summary
) -> None:
    """A line is carried over as it is."""
    got = digest(*called("get", '{"order": "W5061109", "item": "1586641416"}', user="ann"))

    for n in range(10):
        got = digest(summary(got), *called("get", f"page {n}", chapter=n))

    assert '  {"order": "W5061109", "item": "1586641416"}' in section(got, TITLE)
