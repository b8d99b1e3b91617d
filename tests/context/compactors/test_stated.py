from collections.abc import Callable
from itertools import chain

import pytest

from agentic.messages import Message, ToolCall

Run = Callable[..., str]
Called = Callable[..., list[Message]]
Cut = Callable[[str, str], str]
Summary = Callable[[str], Message]
Fold = Callable[..., str]

RESULTS, FINDINGS = "Results, in the assistant's words", "Found on the way"
DECISIONS = {
    6: "Decision: keep the public API as it is; rename only in private modules.",
    15: "We agreed on SQLite for the cache, because two processes share it.",
    22: "We stick with 2.4 as the name of the release, since nothing breaks for callers.",
    29: "The root cause is the lexer: it drops tabs when it reads from a pipe.",
    38: "Columns of the export have names like order_id, never orderId.",
    44: "Old configuration files must not be dropped before the spring.",
}
"""What is stated once, by the number of the round: every other time in a final reply."""
FACTS = dict(
    zip(
        DECISIONS,
        [
            "The release is called 2.4 and comes in June.",
            "Two processes share the cache.",
            "The export is read by a spreadsheet.",
            "Tabs come from a pipe.",
            "Old configuration files are read until the spring.",
            "The tests need a database.",
        ],
        strict=True,
    )
)


@pytest.fixture
def fold(digest: Run, summary: Summary, called: Called) -> Fold:
    """Digest a session of some 200 messages in ten generations; tools put out most of it."""

    def take(number: int, stated: dict[int, str], chatter: str) -> list[Message]:
        said = stated.get(number, "" if number % 5 else chatter.format(number))
        output = "\n".join(f"lib/part_{number}.py:{n}: name_{number}_{n} = 1" for n in range(40))
        _, answer = called("grep", f"40 found\n{output}", pattern=f"name_{number}")
        call = ToolCall("c1", "grep", f'{{"pattern": "name_{number}"}}')
        if number in stated and number % 2:
            look = Message("assistant", "Let me look closer:", tool_calls=[call])
            return [look, answer, Message("assistant", said), Message("user", "Go on.")]
        return [Message("assistant", f"{said} Let me look there:", tool_calls=[call]), answer]

    def run(stated: dict[int, str], chatter: str, max_tokens: int) -> str:
        got = digest(Message("user", "Mend the parser."))
        for start in range(0, 100, 10):
            news = (take(number, stated, chatter) for number in range(start + 1, start + 11))
            got = digest(summary(got), *chain.from_iterable(news), max_tokens=max_tokens)
        return got

    return run


@pytest.mark.parametrize("max_tokens", [1_000, 2_000, 4_000])
def test_what_was_decided_once_outlives_ten_folds(fold: Fold, max_tokens: int) -> None:
    """However much the tools put out since, and whatever else was said, it has a place."""
    got = fold(DECISIONS, "Part {} passes its width on.", max_tokens)

    assert [stated for stated in DECISIONS.values() if stated not in got] == []


@pytest.mark.parametrize("max_tokens", [1_000, 2_000, 4_000])
def test_what_was_stated_outlives_ten_folds_if_little_was(fold: Fold, max_tokens: int) -> None:
    """No word need say that it is a decision."""
    got = fold(FACTS, "", max_tokens)

    assert [stated for stated in FACTS.values() if stated not in got] == []


def test_of_much_that_was_stated_the_oldest_and_the_newest_stay(fold: Fold, section: Cut) -> None:
    """And the digest says how much is missing."""
    chatter = "Part {} passes its width on to the one that comes after it in the list."
    got = section(fold({}, chatter, 1_000), FINDINGS)

    kept = [line for line in got.split("\n") if line.startswith("- Part ")]
    assert kept[0] == f"- {chatter.format(5)}"
    assert kept[-1] == f"- {chatter.format(100)}"
    assert 4 <= len(kept) < 20
    assert f"- ({20 - len(kept)} more, left out here)" in got


def test_long_statements_are_clipped_so_that_more_find_room(
    digest: Run, called: Called, section: Cut
) -> None:
    """Both ends of each stay, and nothing is clipped to less than two lines."""
    calls = [ToolCall("c1", "look")]
    said = [
        f"Part {n} has to {'go to the next one and ' * 8}to stop at part {n + 1}." for n in range(9)
    ]
    noise = "\n".join(f"lib/module_{n}.py:{n}: name_{n}" for n in range(900))

    got = digest(
        *[Message("assistant", text, tool_calls=calls) for text in said],
        *called("list", noise, deep=True),
        max_tokens=800,
    )

    kept = [line for line in section(got, FINDINGS).split("\n") if line.startswith("- Part ")]
    assert len(kept) >= 3
    assert all(line.endswith(".") and " ... " in line for line in kept)
    assert min(map(len, kept)) >= 120


def test_a_decision_in_the_middle_of_a_reply_is_a_result(digest: Run, section: Cut) -> None:
    """Replies begin with what was done and end with a question."""
    reply = (
        "The parser reads tabs now. It was not easy. We decided to drop Windows 7. "
        "It is no news to anybody. All the tests pass."
    )

    got = digest(Message("assistant", reply))

    assert section(got, RESULTS) == (
        "- We decided to drop Windows 7.\n- The parser reads tabs now. ... All the tests pass."
    )


def test_a_label_stands_with_what_it_labels(digest: Run, section: Cut) -> None:
    """`Decision:` alone would say nothing, and what follows would not say what it is."""
    got = digest(
        Message("assistant", "Decision: Use the old names.", tool_calls=[ToolCall("c1", "ls")])
    )

    assert section(got, FINDINGS) == "- Decision: Use the old names."


def test_what_a_finding_decides_stands_by_itself(digest: Run, section: Cut) -> None:
    """What led there may be left out without it."""
    said = f"{'The lexer reads one more line. ' * 9}So we keep the old lexer. {'It is slow. ' * 9}"

    got = digest(Message("assistant", said, tool_calls=[ToolCall("c1", "ls")]))

    assert section(got, FINDINGS).startswith("- So we keep the old lexer.\n- The lexer reads one")


def test_an_announcement_that_decides_is_kept(digest: Run, section: Cut) -> None:
    """It is true after it is done."""
    said = "I'll keep the public API as it is. Let me look at the tests:"

    got = digest(Message("assistant", said, tool_calls=[ToolCall("c1", "ls")]))

    assert section(got, FINDINGS) == "- I'll keep the public API as it is."
