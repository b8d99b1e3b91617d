"""How a cut in a digest says where the whole of a message can be read."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.compactors import Digest, first_of, message_ref, with_digest
from agentic.context.compactors._drafts import draft
from agentic.context.compactors._entries import Quote
from agentic.context.compactors._lines import clip
from agentic.context.compactors._notes import HEADINGS, Quotes
from agentic.context.compactors._quoted import quoted
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Media, Message, ToolResult
from agentic.tokens import CharCounter

Run = Callable[..., str]
Cut = Callable[[str, str], str]
Summary = Callable[[str], Message]

LONG = "Mend the parser. " + "Details follow here. " * 400 + "Do not touch the tests."
PLACES = st.from_regex(r'\w{1,9}\(ref="text-[0-9a-f]{12}"\)', fullmatch=True)
WORDS = st.lists(st.sampled_from(["word", "a", "src/a.py\n", "x" * 40, "é\ud83d"]), min_size=20)


def _place(message: Message, name: str = "recall") -> str:
    return f'characters left out: {name}(ref="{message_ref(message)}") ...]'


def _wishes(count: int, generation: int = 0) -> list[Message]:
    return [Message("user", f"Wish {generation}.{n}: {'faster, ' * 90}") for n in range(count)]


@given(WORDS.map(" ".join), st.integers(24, 90), st.integers(6, 90), PLACES, st.booleans())
@settings(max_examples=50, deadline=None)
def test_a_cut_that_is_cut_again_names_the_same_place_and_counts_all(
    text: str, limit: int, less: int, place: str, named: bool
) -> None:
    """The first cut knew the whole text; one that names no place stays as it always was."""
    once = clip(text, limit, place if named else None)
    again = clip(once, less)

    marker = f": {place}" if named else ""
    for got in (once, again):
        found = re.search(rf" \[\.\.\. (\d+) characters left out{re.escape(marker)} \.\.\.\] ", got)
        assert (
            got == text if found is None else len(got) - len(found[0]) + int(found[1]) == len(text)
        )
        assert got.count("[...") == (0 if found is None else 1)


def test_without_the_name_of_a_tool_a_cut_names_nothing(digest: Run) -> None:
    """A model without the tool would be sent to nothing."""
    got = digest(Message("user", LONG), max_tokens=400)

    assert re.search(r"\d characters left out \.\.\.\] ", got)
    assert "ref=" not in got


def test_a_cut_names_the_tool_and_what_to_pass(digest: Run) -> None:
    """As the placeholder of a cleared output does."""
    asked = Message("user", LONG)

    got = digest(asked, *_wishes(3), max_tokens=600, recall="look_up")

    assert _place(asked, "look_up") in got
    assert _place(_wishes(3)[2], "look_up") in got


def test_a_message_in_the_middle_and_a_pinned_one_can_be_read_again_too(
    digest: Run, section: Cut
) -> None:
    """Whatever stands in a digest as one message; a pinned output with all that it said."""
    told = Message("system", LONG)
    kept = Message("tool", tool_results=[ToolResult("c1", "ls", LONG)], pinned=True)

    got = digest(Message("user", "Go."), told, kept, max_tokens=800, recall="recall")

    assert _place(told) in section(got, "Told on the way")
    assert _place(kept) in section(got, "Pinned")


def test_what_no_message_says_names_no_place(digest: Run, summary: Summary, section: Cut) -> None:
    """Somebody's prose is the text of a summary: an archive may not have it."""
    got = digest(summary("The parser is half done. " * 1000), max_tokens=400, recall="recall")

    assert "characters left out ...] " in section(got, "Former summary")


def test_a_request_with_an_attachment_has_the_reference_of_the_message(digest: Run) -> None:
    """What a digest adds to it is no other text."""
    asked = Message("user", LONG, media=[Media("image/png", b"\x89PNG")])

    got = digest(asked, max_tokens=300, recall="recall")

    assert _place(asked) in got
    assert "[attached: image/png]" in got
    assert message_ref(asked) != message_ref(Message("user", LONG))


def test_three_folds_keep_the_reference(digest: Run, summary: Summary) -> None:
    """However small the quote gets, it names the message that it began with."""
    asked = Message("user", LONG)
    got = digest(asked, max_tokens=1600, recall="recall")
    lengths = []

    for fold, size in enumerate((1200, 900, 700)):
        got = digest(summary(got), *_wishes(4, fold), max_tokens=size, recall="recall")
        line = next(line for line in got.split("\n") if line.startswith("- Mend the parser."))
        left_out = re.search(r"\[\.\.\. (\d+) characters left out: (\S+) \.\.\.\] ", line)
        assert left_out is not None
        assert left_out[2] == f'recall(ref="{message_ref(asked)}")'
        lengths.append(len(line) - len("- ") - len(left_out[0]) - 1 + int(left_out[1]))

    assert lengths == [len(LONG)] * 3


def test_a_request_that_was_whole_at_first_is_named_when_it_is_cut(
    digest: Run, summary: Summary
) -> None:
    """A digest holds the very text by which it is named, attachments included."""
    asked = Message("user", LONG, media=[Media("image/png", b"\x89PNG")])
    whole = digest(asked, max_tokens=5000, recall="recall")

    got = digest(summary(whole), *_wishes(4), max_tokens=700, recall="recall")

    assert LONG in whole
    assert _place(asked) in got


def test_a_digest_that_named_no_places_is_read_as_before(digest: Run, summary: Summary) -> None:
    """What was cut without a reference cannot be named any more; the count goes on."""
    once = digest(Message("user", LONG), max_tokens=500)

    got = digest(summary(once), *_wishes(4), max_tokens=600, recall="recall")

    line = next(line for line in got.split("\n") if line.startswith("- Mend the parser."))
    kept, missing = line.removeprefix("- ").split(" [... ")
    count, _, tail = missing.partition(" characters left out ...] ")
    assert len(kept) + int(count) + len(tail) == len(LONG)
    assert _place(_wishes(4)[3]) in got


def test_a_cut_in_what_the_user_wrote_is_not_ours(digest: Run, section: Cut) -> None:
    """Somebody pastes a digest: their message is named, not what that digest was made of."""
    pasted = clip(LONG, 900, 'recall(ref="text-0123456789ab")')
    asked = Message("user", f"I got this:\n{pasted}")

    got = section(digest(asked, max_tokens=200, recall="recall"), "Asked by the user")

    assert _place(asked) in got
    assert "text-0123456789ab" not in got


@pytest.mark.parametrize("room", range(20, 120, 3))
def test_no_request_is_left_out_for_its_reference(room: int) -> None:
    """Where there is no room for both, the words of the user count more."""
    asked = Quotes()
    for message in _wishes(5):
        asked.put_text(message.content)
    count = CharCounter().count

    named, plain = (
        draft(asked, HEADINGS[0], room, count, recall).fit(room, count) for recall in ("recall", "")
    )

    assert len(named[0].entries) == len(plain[0].entries)
    assert named[1] <= room


def test_a_reference_is_no_identifier_of_the_conversation(
    digest: Run, summary: Summary, section: Cut
) -> None:
    """Lines are for what was spoken of: a cut is not among it, nor its size."""
    got = ""
    for n in range(6):
        former = [summary(got)] if got else []
        asked = Message("user", f"Wish {n}: {LONG}")
        got = digest(*former, asked, max_tokens=600, recall="recall")

    assert "characters left out: recall(" in section(got, "Asked by the user")
    assert "left out" not in section(got, "Where things were last seen")


@given(st.text(st.one_of(st.characters(codec=None), st.sampled_from("\n\r~- `[]"))))
@settings(max_examples=50, deadline=None)
def test_a_quote_that_is_read_back_is_the_text_that_is_named(text: str) -> None:
    """Or a reference made from a former digest would lead nowhere."""
    said = quoted(Message("user", text))

    read = Quote.read(Quote(said).markdown().split("\n"))

    assert read is not None
    assert read.text == said


class _Prose:
    async def compact(self, messages: list[Message], /) -> str:
        return "They spoke."


def test_the_digests_in_a_chain_are_told_the_name() -> None:
    """In copies: what was given stays as it was."""
    asked = Message("user", LONG)
    given = first_of(with_digest(first_of(_Prose()), Digest(max_tokens=300)), Digest(recall="own"))

    named = given.for_conversation(recall="recall")

    assert _place(asked) in asyncio.run(named.compact([asked]))
    assert named.compactors[1].recall == "own"
    assert "ref=" not in asyncio.run(given.compact([asked]))


def test_a_compactor_of_ones_own_is_left_alone() -> None:
    """Nobody knows what is in it."""
    own = _Prose()

    assert with_digest(own).for_conversation(recall="recall").model is own


@pytest.mark.parametrize("name", [True, 3, "", "re call", 're"call', "recall\n"])
def test_a_name_that_no_tool_has_is_refused(name: Any) -> None:
    """With what to do instead; it would break the form of the marker."""
    with pytest.raises(ConfigError, match=r"recall is .*; allowed: the name of a tool"):
        Digest(recall=name)


def test_what_a_cut_says_is_no_identifier() -> None:
    """A fold shows lines of what was said, never the marker of an earlier cut as one of them."""
    words = " ".join(f"word{n % 7}" for n in range(1_500))
    long = Message("user", f"Mend src/parser.py. {words} Leave src/lexer.py.")
    others = [Message("user", f"Look at part {n}, {'with care. ' * 30}") for n in range(20)]
    noise = [Message("assistant", f"Step {n} of src/part_{n}.py is done.") for n in range(60)]
    first = asyncio.run(Digest(max_tokens=1_000).compact([long, *noise]))
    former = ContextSummary(first, 61).to_message()

    later = asyncio.run(Digest(max_tokens=900).compact([former, *others, *noise]))

    assert "characters left out" in first
    assert "left out" not in later.partition("## Where things were last seen")[2]
