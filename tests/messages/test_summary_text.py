import copy
import json
import pickle
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.messages import ContextSummary, SummaryText, from_plain, to_plain
from agentic.tokens import CharCounter, count_message_tokens

NOTES: dict[str, Any] = {"example": {"v": 1, "files": {"a.py": ["read", None, 1.5, True]}}}
TEXT = SummaryText("The build is green.", NOTES)
_CYCLE: list[Any] = []
_CYCLE.append(_CYCLE)
_DEEP: list[Any] = []
for _ in range(100_000):
    _DEEP = [_DEEP]


@pytest.mark.parametrize(
    "copied",
    [
        *(pickle.loads(pickle.dumps(TEXT, protocol)) for protocol in range(6)),  # noqa: S301  its own
        copy.copy(TEXT),
        copy.deepcopy(TEXT),
        SummaryText(TEXT),
    ],
)
def test_copies_keep_the_notes(copied: SummaryText) -> None:
    """A compactor may run in another process."""
    assert type(copied) is SummaryText
    assert (copied, copied.notes) == (TEXT, NOTES)


def test_derived_texts_have_no_notes() -> None:
    """It is a text like any other: compared, cut and joined."""
    made = [TEXT.strip(), TEXT[:], TEXT + "", f"{TEXT}", str(TEXT)]

    assert [type(each) for each in made] == [str] * 5
    assert str(TEXT) == TEXT == "The build is green."
    assert hash(TEXT) == hash("The build is green.")


def test_the_notes_are_the_texts_own() -> None:
    """What their maker does with theirs later changes nothing, and none can be put in place."""
    given: dict[str, Any] = {"files": ["a.py"]}
    text = SummaryText("done", given)
    summary = ContextSummary(text, 3, notes=text.notes)
    given["files"].append("b.py")

    assert text.notes == summary.notes == {"files": ["a.py"]}
    assert summary.notes["files"] is not text.notes["files"]
    with pytest.raises(AttributeError):
        text.notes = {}  # type: ignore[misc]


def test_a_summary_holds_the_text_alone() -> None:
    """So the notes are in it once, where they are passed."""
    summary = ContextSummary(TEXT, 3)

    assert type(summary.content) is str
    assert summary.notes == {}


@pytest.mark.parametrize("notes", [OrderedDict(a=OrderedDict(b=1)), MappingProxyType({"a": 1})])
def test_any_mapping_becomes_plain_data(notes: Any) -> None:
    """What is kept is what a store gives back."""
    summary = ContextSummary("done", 3, notes=notes)

    assert summary.notes == notes
    assert json.loads(json.dumps(summary.to_dict()["notes"])) == summary.notes


@pytest.mark.parametrize("make", [SummaryText, lambda _, notes: ContextSummary("", 1, notes=notes)])
@pytest.mark.parametrize(
    "notes",
    [
        ["a"],
        "a",
        {1: "a"},
        {True: "a"},
        {None: "a"},
        {"a": (1, 2)},
        {"a": {1}},
        {"a": b"x"},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": MappingProxyType({})},
        {"a": _CYCLE},
        {"a": _DEEP},
        {"a": object()},
    ],
    ids=str.split("list str int bool none tuple set bytes nan inf mapping cycle deep object"),
)
def test_non_json_notes_are_refused(make: Callable[..., Any], notes: Any) -> None:
    """A store would give back something else, or nothing."""
    with pytest.raises(ConfigError, match=r"\.notes must be .*plain JSON data, got "):
        make("a", notes)


def test_a_text_must_be_one() -> None:
    """`str(7)` is a text, too; a compactor that answers 7 is broken."""
    with pytest.raises(ConfigError, match=r"text must be a str.*, got 7"):
        SummaryText(7)  # type: ignore[arg-type]


@given(pair=st.sampled_from(["\ud83d\ude00", "\ud83d", "\x00", "\u2028"]))
def test_every_character_survives_in_notes(pair: str) -> None:
    """Two surrogates that stand next to each other stay two."""
    assert SummaryText("", {pair: [pair]}).notes == {pair: [pair]}


def test_notes_count_for_nothing() -> None:
    """They are never sent."""
    bare, noted = ContextSummary("done", 3), ContextSummary("done", 3, notes=NOTES)

    assert bare.to_message().content == noted.to_message().content
    counts = [count_message_tokens(each.to_message(), CharCounter()) for each in (bare, noted)]
    assert counts[0] == counts[1]


def test_empty_notes_are_not_written() -> None:
    """A summary without notes is stored as before there were any."""
    summary = ContextSummary("done", 3)

    assert "notes" not in summary.to_dict()
    assert "notes" not in to_plain(summary.to_message())["summary"]


def test_an_old_entry_has_no_notes() -> None:
    """And an entry whose notes are null has none, either."""
    plain = to_plain(ContextSummary("done", 3).to_message())
    read = [
        from_plain(plain),
        from_plain({**plain, "summary": {**plain["summary"], "notes": None}}),
    ]

    assert [each.summary.notes for each in read if each.summary] == [{}, {}]


def test_summary_with_notes_is_hashable() -> None:
    """Messages are looked up by whoever counts them."""
    summary = ContextSummary("done", 3, notes=NOTES)

    assert hash(summary.to_message()) == hash(from_plain(to_plain(summary.to_message())))
