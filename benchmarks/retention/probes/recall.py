"""Recall: what was asked, and the values and names that come up again."""

import re
from collections.abc import Iterable, Iterator

from benchmarks.retention.probes.probe import MOST, Cut, Probe, sentences_of, spaced

__all__ = ["names_in", "recall_probes", "values_in"]

_VALUE = re.compile(
    r"(?<![\w.#])(?:#[0-9a-fA-F]{6}\b"  # a colour
    r"|v?\d+\.\d+(?:\.\d+)+(?:[-+]\w+)?"  # a version
    r"|(?<=localhost:)\d{2,5}|(?<=[Pp]ort )\d{2,5}"
    r"|\d{4}-\d\d-\d\d"  # a day
    r"|(?=[A-Z0-9_]*[A-Z])(?=[A-Z0-9_]*\d)[A-Z0-9_]{5,}"  # an id or a key
    r"|[a-z]+_[a-z]+_\d{3,}|\d{4,})(?![\w.]*\w)"
)
_NAME = re.compile(
    r"(?<![\w./-])(?:[A-Za-z]+(?:_[A-Za-z0-9]+)+|_{1,2}[a-z]\w+|[a-z]+(?:[A-Z][a-z0-9]+)+"
    r"|(?:[A-Z][a-z0-9]+){2,})(?![\w/-])"
)
_BEFORE = 10


def recall_probes(cut: Cut) -> Iterator[Probe]:
    """Yield what asks for requests, values and names."""
    openings = [opening for text in cut.requests if (opening := _opening(text))]
    for opening in openings[-1:]:
        yield Probe.saying("task", opening)
    for opening in dict.fromkeys([*openings[:-1][:1], *openings[:-1][-_BEFORE:]]):
        yield Probe.saying("request", opening)
    for kind, texts in (("value", values_in(cut.needs)), ("name", names_in(cut.needs))):
        for text in _of_past(cut, texts):
            yield Probe.saying(kind, text)


def values_in(text: str) -> Iterator[str]:
    """Yield the values in a text: versions, ports, colours, days, ids and long numbers.

    >>> list(values_in("curl localhost:8080, v1.2.3, order OBUT9V, #8abeb7, line 12"))
    ['8080', 'v1.2.3', 'OBUT9V', '#8abeb7']
    """
    return (match[0] for match in _VALUE.finditer(text))


def names_in(text: str) -> Iterator[str]:
    """Yield the identifiers in a text that are no plain words.

    >>> list(names_in("call to_field of ForeignKey in parseLine, not Word"))
    ['to_field', 'ForeignKey', 'parseLine']
    """
    return (match[0] for match in _NAME.finditer(text))


def _of_past(cut: Cut, texts: Iterable[str]) -> list[str]:
    """Return the first different ones that stand in the past."""
    known = [
        text for text in dict.fromkeys(texts) if Probe.saying("name", text).is_answered([cut.text])
    ]
    return known[:MOST]


def _opening(text: str) -> str:
    """Return the first sentence of a request with a word in it, whole or its first words."""
    sentences = [each for each in sentences_of(text) if re.search(r"\w{2}", each)]
    told = [each for each in sentences if not re.fullmatch(r"<[^>]*>", each)]
    return spaced((told or [""])[0])
