"""Which statements a later one replaces."""

import asyncio

import pytest

from agentic.context.compactors import Digest
from agentic.context.digest._overturned import overturned
from agentic.messages import Message


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Serve it on port 8080.", "Serve it on port 9090."),
        ("The journey budget is $800 in all.", "Update: keep the journey under $500."),
        ("We release on 2027-03-19.", "The release moved to August 21."),
        ("The working branch is spike/tabs-12.", "We switched to spike/lines-40."),
        ("NOTE: Show the hours in UTC.", "From now on, show the hours in Berlin time."),
        ("The build rotation owner is Ada Byron.", "Grace Hopper now owns the builds."),
        ("The launch deadline is 2027-03-19.", "The launch date moved to 2027-04-02."),
        ("The branch fix/tabs-12 is based on the old tag.", "We rebased onto fix/lines-40."),
        ("Ada Byron is handling the releases this week.", "Releases now belong to Grace Hopper."),
        ("Die Frist endet am 2027-03-19.", "Die Frist ist jetzt der 2027-04-02."),
        ("Wir liefern am Montag.", "Wir liefern jetzt am Freitag."),
        ("La entrega es el 3 de mayo.", "La entrega es ahora el 9 de junio."),
        ("La livraison est lundi.", "La livraison est maintenant vendredi."),
        ("截止日期是 2027-03-19。", "截止日期改为 2027-04-02。"),
    ],
)
def test_later_value_of_the_same_thing_replaces(earlier: str, later: str) -> None:
    """In the same words, or with a word that says that something changed."""
    assert overturned([earlier, "Go on with the parser.", later]) == {earlier}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The project budget is $800.", "The travel budget is $300."),
        ("The project budget is $800.", "Update: the travel budget is now $300."),
        ("Ada Byron approves releases.", "Grace Hopper reviews designs."),
        ("The owner of the page is Ada Byron.", "The page is now in Sorbian."),
        ("Read src/a.py in line 12.", "Read src/a.py in line 12 again."),
        ("Serve it on port 8080.", "Is it on port 9090 now?"),
        ("Use the parser of 2027-03-19.", "Now write the page of 3 examples."),
    ],
)
def test_two_things_both_stay(earlier: str, later: str) -> None:
    """Something similar, the same again, a question, and another subject."""
    assert overturned([earlier, later]) == frozenset()


def test_one_message_does_not_contradict_itself() -> None:
    """Lines of a list have the same words and other values."""
    assert overturned(["tool success bg 283228\ntool success bg 3c2828"]) == frozenset()


def test_digest_shows_only_what_holds() -> None:
    """In no section and in no line of the index; the rest of the message stays."""
    asked = [
        "Mend the parser. Never serve it on port_number 8080.",
        "Thank you.",
        "Never serve it on port_number 9090.",
        "Go on.",
    ]
    got = asyncio.run(Digest().compact([Message("user", each) for each in asked]))

    assert "8080" not in got
    assert "9090" in got
    assert "- Mend the parser." in got
