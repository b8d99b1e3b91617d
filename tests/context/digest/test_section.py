"""How lines are selected for the room of a section."""

from collections.abc import Iterator
from typing import ClassVar

import pytest

from agentic.context.digest._section import Line, Section, _Draft
from agentic.context.digest._turns import Kind


class Some(Section):
    """A section of some lines."""

    heading = "Some"
    takes: ClassVar[tuple[Kind, ...]] = ()

    def lines(self) -> Iterator[Line]:
        """Yield each text, in short its first letters."""
        for at, text in enumerate(self.known):
            yield Line(text, text[: len(text) // 3], rank=at % 3)


@pytest.mark.parametrize("room", [5, 60, 200, 900])
def test_size_is_that_of_the_text(room: int) -> None:
    """Counted while lines are shown, extended and left out, since the text is made once."""
    texts = ["# One\nand more", "Two. " * 30, "Three\n\n- of them", "Four is the last."]
    draft = _Draft(Some(dict.fromkeys(texts, "")), "recall")
    sizes = [draft.size == len(draft.text)]
    for said in ([], texts[2:], texts[:1], []):
        before = draft.size if draft.shown else 0
        growth = draft.grow(room, in_short=not said) + draft.leave_out(said)
        sizes += [draft.size == len(draft.text), before + growth == draft.size * bool(draft.shown)]

    assert all(sizes)


def test_sentences_are_those_that_are_shown() -> None:
    """Of a text that is cut, only what is before the cut, without marks of Markdown."""
    text = "**Never** push.\n- # Ask first. " + f"{'Then go on. ' * 9}Then stop."
    draft = _Draft(Some({text: ""}), "")
    draft.grow(200, in_short=True)
    cut = {each for said in draft.sentences() for each in said}
    draft.grow(10_000)
    whole = {each for said in draft.sentences() for each in said}

    assert cut == {"Ask first.", "Never push.", "Then go on."}
    assert whole == cut | {"Then stop."}
