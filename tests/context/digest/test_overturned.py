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
        ("NOTE: Keep log files under $800.", "NEW RULE: Keep log files under $500."),
        ("Ports 8080 and 8443 are open.", "Ports 8080 and 9443 are open."),
        ("We release on 2027-03-19.", "The release moved to August 21."),
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
        ("The file a1.py has 300 lines.", "The file b2.py has 400 lines."),
        (
            "The issue is that line 345 has the wrong field_1 name.",
            "But the simplest change is to rename field_2 in line 678 instead.",
        ),
        ("The issue is that a Key of SQLite is wrong.", "The issue is now in a Join of Oracle."),
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
