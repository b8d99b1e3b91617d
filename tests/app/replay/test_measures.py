"""The judge, the prompt cache and the validators, each by itself."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.app.replay._judge import Point, _terms_in, argument_texts, points_of, text_of
from agentic.app.replay._records import PromptCache, price_of
from agentic.app.replay._report import PolicyRow, best_of, columns_of, verdict_of
from agentic.app.replay._validity import Validity, adapters_of
from agentic.context.compactors import Digest
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers._registry import adapter_names
from agentic.tokens import CharCounter

TEXT = st.text("abc", max_size=5)
VIEWS = st.lists(st.lists(TEXT, max_size=6), max_size=8)
CALL = Message("assistant", tool_calls=[ToolCall("c1", "read", '{"path": "src/a.py"}')])
ANSWER = Message("tool", tool_results=[ToolResult("c1", "read", "def first_thing(): ...")])


@given(views=VIEWS)
@settings(max_examples=50)
def test_cache_holds_requests_common_beginning(views: list[list[str]]) -> None:
    """For every request, against a count from nothing."""
    cache = PromptCache(lambda message: len(message.content))
    before: list[str] = []

    for texts in views:
        sent = cache.send([Message("user", text) for text in texts])

        shared = 0
        while shared < min(len(before), len(texts)) and before[shared] == texts[shared]:
            shared += 1
        assert sent.tokens == sum(map(len, texts))
        assert sent.reused == sum(map(len, texts[:shared]))
        assert (sent.breaks, sent.shared) == (shared < len(before), shared)
        before = texts


def test_what_is_kept_is_the_line() -> None:
    """Not a bare name, but its line, or 40 characters around it."""
    line = "src/a.py:12: def first_thing(text, options):  # the one to change"
    point = Point([Message("user", f"Mind this.\n{line}\n")], ["first_thing"])

    judged = [point.judge(kept) for kept in ("", "- first_thing", line, f">{line[10:60]}<")]

    assert judged == [0, 0, 1, 1]


@pytest.mark.slow
def test_arguments_cost_grows_with_their_length(growth: Any) -> None:
    """A call may write a table, with an object for each row."""

    def read(rows: int) -> None:
        table = json.dumps({"rows": [{"a": number} for number in range(rows)]})
        assert len(argument_texts(ToolCall("c1", "write", table))) == rows

    assert growth(read, 5_000) < 10


LINES = st.lists(st.text("ab_ ", max_size=90), max_size=4)


def is_kept(term: str, past: list[str], kept: list[str]) -> bool:
    """Return whether a line of what is kept shows a term as the past did, in the plainest way."""
    told = [line for line in past if term in line]
    parts = {line[at : at + 40] for line in told for at in range(len(line) - 39)}
    whole = {line.strip() for line in told}
    short = {line for line in whole if len(line) < 40}
    return any(
        line.strip() in whole
        or any(each in line for each in short)
        or any(term in part and part in line.strip() for part in parts)
        for line in kept
        if term in line
    )


@given(past=LINES, kepts=st.lists(LINES, max_size=3), quoted=st.integers(0, 50))
def test_judge_finds_what_plain_search_finds(
    past: list[str], kepts: list[list[str]], quoted: int
) -> None:
    """Of each of several requests in turn, with parts of the past in them."""
    terms = ["a_b", "b_a", "aaaa"]
    point = Point([Message("user", "\n".join(past))], terms)
    kepts += [[f"> {line[quoted:]} <" for line in past], [line[:quoted] for line in past]]

    for kept in kepts:
        text = "\n".join(kept)
        expected = sum(is_kept(term, past, kept) for term in terms) / len(terms)
        assert point.judge(text) == expected
    # What is sent as it is needs no search.
    assert point.judge_request([*point.past]) == 1.0


def test_digest_is_judged_by_its_quotes() -> None:
    """A line counts though it is indented or escaped there, and a request by the names in it."""
    asked = "Mend the parser.\n\n- keep src/old_parser.py as it is\n- run tests/test_parser.py"
    output = "\tdef first_thing(text, options):  # the one `x` to change\nsecond_thing = 2\n"
    past = [
        Message("user", asked),
        CALL,
        Message("tool", tool_results=[ToolResult("c1", "read", output)]),
    ]
    terms = ["src/old_parser.py", "tests/test_parser.py", "first_thing", "never_met"]

    note = asyncio.run(Digest(max_tokens=500, counter=CharCounter()).compact(past))

    assert "\\- keep src/old_parser.py" in str(note)
    assert Point(past, terms).judge(str(note)) == 0.75


def test_points_have_terms_used_later() -> None:
    """A term that nobody met before is no loss; one that is used later is."""
    task = Message("user", "Mend src/a.py, not src/b.py.")
    late = Message("assistant", tool_calls=[ToolCall("c2", "write", '{"path": "src/new.py"}')])

    [point] = points_of([task, Message("user", "Please."), CALL, late], 1)

    assert point.past == [task, Message("user", "Please.")]
    assert point.terms == ["src/a.py"]


def test_actions_in_the_replies_are_actions() -> None:
    """An agent without tool calls is judged by the commands in its fences."""
    task = Message("user", "Mend src/a.py.")
    reply = Message("assistant", "I look.\n```bash\ncat src/a.py\n```")

    [point] = points_of([task, reply], 1)

    assert point.terms == ["src/a.py"]


def test_a_text_names_what_was_called() -> None:
    """Names, arguments that are JSON or not, and outputs, a line each."""
    broken = Message("assistant", tool_calls=[ToolCall("c2", "run", "{no json")])

    assert text_of([CALL, ANSWER, broken]).split("\n") == [
        "read",
        "src/a.py",
        "def first_thing(): ...",
        "run",
        "{no json",
    ]
    assert argument_texts(ToolCall("c", "f", '{"a": {"b": [1, "x"]}}')) == ["1", "x"]


@pytest.mark.parametrize("name", adapter_names())
def test_refused_request_is_found_in_place(name: str) -> None:
    """Of requests that grow, those from the damage on are refused, and none before."""
    validity = Validity(adapters_of([name]))
    torn = [Message("user", "Look."), CALL, Message("user", "Well?"), Message("user", "Well!")]

    for length in (1, 3, 4):
        validity.note(length)
    validity.conclude(torn)
    validity.note(1)
    validity.conclude([Message("user", "Anew.")])

    assert validity.refusals == dict.fromkeys((1, 2), "a call is separated from its result")


def test_unknown_provider_is_told() -> None:
    """With the names that there are."""
    with pytest.raises(ConfigError, match="must be one of anthropic, openai_chat"):
        adapters_of(["anthropic", "antropic"])


def row(policy: str, *, cost: float, over: int = 0, recall: float | None = None) -> PolicyRow:
    """Make a row."""
    return PolicyRow(
        policy=policy,
        requests=3,
        peak=100,
        compactions=0,
        over=over,
        invalid=0,
        cost=cost,
        saved=None,
        reused=None,
        recall=recall,
    )


def test_best_is_one_that_was_sendable() -> None:
    """A policy whose requests are refused wins nothing; where all are equal nobody does."""
    cost = next(column for column in columns_of(with_prices=False) if column.key == "cost")
    peak = next(column for column in columns_of(with_prices=False) if column.key == "peak")
    rows = [row("none", cost=1, over=2), row("fit", cost=5), row("digest", cost=5)]

    assert best_of(rows, cost) == {"fit", "digest"}
    assert best_of(rows, peak) == set()
    assert best_of(rows[:1], cost) == set()


def test_the_best_remembers_at_least_half() -> None:
    """Neither for its cost nor for its size; if all forget half, none is."""
    cost = next(column for column in columns_of(with_prices=False) if column.key == "cost")
    rows = [row("last", cost=1, recall=0.49), row("digest", cost=5, recall=0.8)]

    assert best_of(rows, cost) == {"digest"}
    assert best_of([rows[0], row("worse", cost=2, recall=0.1)], cost) == set()


def test_the_verdict_weighs_cost_against_memory() -> None:
    """Among policies that keep nearly the most, the cheapest; one that cannot be sent is none."""
    rows = [
        attrs.evolve(row("none", cost=9, over=2, recall=1.0), saved=0.0),
        attrs.evolve(row("last", cost=1, recall=0.4), saved=0.9),
        attrs.evolve(row("digest", cost=4, recall=0.87), saved=0.56),
        attrs.evolve(row("fit", cost=5, recall=0.9), saved=0.5),
    ]

    said = verdict_of(rows)

    assert said.startswith("digest: every request fits, 56 % cheaper than sending all, keeps 87 %")
    assert verdict_of(rows[:2]).startswith("last: every request fits, 90 % cheaper")
    assert verdict_of(rows[:1]).endswith("none comes closest, with 2 of 3 refused")


def test_prices_depend_on_request_size() -> None:
    """Above 200,000 tokens a request of Gemini 2.5 Pro costs twice as much."""
    price = price_of("gemini-2.5-pro", datetime(2026, 11, 1, tzinfo=UTC))

    assert price is not None
    small, large = price.of([(200_000, 0)]), price.of([(200_001, 0)])
    assert (small, large) == pytest.approx((0.25, 0.50), rel=1e-3)
    assert price.of([(100_000, 100_000)]) < price.of([(100_000, 0)]) / 2
    assert "gemini-2.5-pro (google) on 2026-11-01, by genai-prices " in price.description


def test_judge_takes_no_name_for_word() -> None:
    """Frames, bullets and plain words are no terms; paths, signs and inner capitals are."""
    text = "\u2502 Parser \u2500\u2500 parse_line | `src/a.py`; HTTP (camelCase) ---- 2026-11-23"

    assert [*_terms_in(text)] == ["parse_line", "src/a.py", "camelCase", "2026-11-23"]


def test_points_are_judged_in_any_order() -> None:
    """What came after a point is none of its past, though they share what they have read."""
    again = "\n".join(f"again src/parser_{number}.py" for number in range(31))
    said = [Message("user", "Mend src/parser_0.py first.")]
    for number in range(30):
        call = ToolCall(f"c{number}", "read", f'{{"path": "src/parser_{number}.py"}}')
        output = again if number == 20 else f"then comes src/parser_{number + 1}.py"
        said += [
            Message("assistant", tool_calls=[call]),
            Message("tool", tool_results=[ToolResult(call.id, "read", output)]),
        ]

    forwards = [point.judge(again) for point in points_of(said, 4)]
    backwards = [point.judge(again) for point in reversed(list(points_of(said, 4)))]

    assert forwards == [0.0, 0.0, 0.0, 1.0]
    assert backwards == forwards[::-1]
