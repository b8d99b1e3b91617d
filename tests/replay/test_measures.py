"""The judge, the prompt cache and the validators, each by itself."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.compactors import Digest
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolResult
from agentic.replay import ADAPTERS, PromptCache
from agentic.replay._judge import Judgement, Point, argument_texts, points_of, text_of
from agentic.replay._report import COLUMNS, PolicyRow, best_of
from agentic.replay._validity import Validity, adapters_of
from agentic.tokens import CharCounter

TEXT = st.text("abc", max_size=5)
VIEWS = st.lists(st.lists(TEXT, max_size=6), max_size=8)
CALL = Message("assistant", tool_calls=[ToolCall("c1", "read", '{"path": "src/a.py"}')])
ANSWER = Message("tool", tool_results=[ToolResult("c1", "read", "def first_thing(): ...")])


@given(views=VIEWS)
@settings(max_examples=50)
def test_the_cache_has_what_two_requests_begin_with(views: list[list[str]]) -> None:
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


def test_evidence_is_the_line_and_knowledge_the_name() -> None:
    """A bare name is known; its line, or 40 characters around it, is evidence."""
    line = "src/a.py:12: def first_thing(text, options):  # the one to change"
    point = Point([Message("user", f"Mind this.\n{line}\n")], ["first_thing"])

    judged = [point.judge(kept) for kept in ("", "- first_thing", line, f">{line[10:60]}<")]

    assert [(each.known, each.evidence) for each in judged] == [(0, 0), (1, 0), (1, 1), (1, 1)]


def test_a_digest_is_judged_by_what_it_quotes() -> None:
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
    assert Point(past, terms).judge(str(note)) == Judgement(evidence=0.75, known=0.75)


def test_points_look_at_what_the_future_takes_from_the_past() -> None:
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


def test_the_text_of_a_conversation_has_what_was_called() -> None:
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


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_refused_request_is_found_where_it_stands(name: str) -> None:
    """Of requests that grow, those from the damage on are refused, and none before."""
    validity = Validity(adapters_of([name]))
    torn = [Message("user", "Look."), CALL, Message("user", "Well?"), Message("user", "Well!")]

    for length in (1, 3, 4):
        validity.note(length)
    validity.conclude(torn)
    validity.note(1)
    validity.conclude([Message("user", "Anew.")])

    assert validity.refusals == dict.fromkeys((1, 2), "a call is separated from its result")


def test_a_provider_that_is_none_is_told() -> None:
    """With the names that there are."""
    with pytest.raises(ConfigError, match="must be one of anthropic, openai_chat"):
        adapters_of(["anthropic", "antropic"])


def row(policy: str, *, cost: float, over: int = 0) -> PolicyRow:
    """Make a row."""
    return PolicyRow(
        policy=policy,
        turns=3,
        peak=100,
        compactions=0,
        over=over,
        invalid=0,
        cost=cost,
        reused=None,
        term=None,
        evidence=None,
    )


def test_the_best_is_one_that_could_be_sent() -> None:
    """A policy whose requests are refused wins nothing; where all are equal nobody does."""
    cost = next(column for column in COLUMNS if column.key == "cost")
    peak = next(column for column in COLUMNS if column.key == "peak")
    rows = [row("none", cost=1, over=2), row("fit", cost=5), row("digest", cost=5)]

    assert best_of(rows, cost) == {"fit", "digest"}
    assert best_of(rows, peak) == set()
    assert best_of(rows[:1], cost) == set()
