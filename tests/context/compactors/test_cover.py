import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.compactors._cover import cover
from agentic.context.compactors._mentions import Mention
from agentic.context.compactors._offers import Offers

WORTHS = {"a.py": 5.0, "b_c": 3.0, "HAT084": 2.0, "lexTabs": 1.0, "2024": 0.5}
LINES = st.lists(
    st.tuples(st.sampled_from(["grep x", "cat a.py"]), st.lists(st.sampled_from(list(WORTHS)))),
    max_size=12,
)


def _offers(lines: list[tuple[str, list[str]]]) -> Offers:
    mentions = [
        Mention(label, " ".join(words), (number, 0)) for number, (label, words) in enumerate(lines)
    ]
    return Offers(mentions, WORTHS, len)


@given(LINES)
@settings(max_examples=50)
def test_with_room_for_all_every_identifier_is_shown_once_at_least(
    lines: list[tuple[str, list[str]]],
) -> None:
    """What is left out has nothing that the chosen lines lack."""
    offers = _offers(lines)

    got = cover(offers, offers.wanted)

    shown = "\n".join(f"{mention.label} {mention.line}" for mention in got.mentions)
    assert offers.terms_in(shown) >= {word for _, words in lines for word in words}
    assert offers.least(()) <= got.tokens <= offers.wanted


@given(LINES, st.integers(0, 120))
@settings(max_examples=50)
def test_a_cover_stays_within_its_room_whatever_was_chosen_before(
    lines: list[tuple[str, list[str]]], room: int
) -> None:
    """The same lines are chosen again from offers of which all were taken."""
    offers = _offers(lines)
    fresh = cover(_offers(lines), room)

    cover(offers, offers.wanted)
    again = cover(offers, room)

    assert again.tokens <= room
    assert again == fresh


@pytest.mark.parametrize(("there", "least"), [((), 12), (("b_c",), 0)])
def test_the_least_is_what_lines_cost_that_alone_have_an_identifier(
    there: tuple[str, ...], least: int
) -> None:
    """Here `a.py` stands in two lines, `b_c` in one of them."""
    offers = _offers([("grep x", ["a.py"]), ("grep x", ["a.py", "b_c"])])

    assert offers.least(there) == least
