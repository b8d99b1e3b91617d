"""How many facts that can be checked without a model were missing in a summary by a model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from agentic.messages._message import ContextSummary
from agentic.usage import Usage

if TYPE_CHECKING:
    from agentic.usage._usage import ReportedCall

_NOTES, _VERSION = "coverage", 1
"""The key and the format of a coverage among the notes of a summary."""


@attrs.frozen(kw_only=True)
class Coverage:
    """The facts that a summary was checked for, and those that it lacked.

    >>> Coverage(facts=8, missing=2).share
    0.75
    """

    facts: int
    """The user's rules, files that were changed, what still fails, open to-dos, and the latest
    request if it does not stay."""
    missing: int
    """How many of them the summary did not have. They are listed below it, as far as there is
    room."""

    @property
    def share(self) -> float:
        """The share of the facts that the summary had; 1 if there was none."""
        return 1 - self.missing / self.facts if self.facts else 1.0

    def to_notes(self) -> dict[str, Any]:
        """Return it as notes of a summary, in plain JSON data."""
        return {_NOTES: {"v": _VERSION, "facts": self.facts, "missing": self.missing}}

    @classmethod
    def of_summary(cls, summary: ContextSummary) -> "Coverage | None":
        """Return that of a summary; None if it was not checked."""
        plain = summary.notes.get(_NOTES)
        if not isinstance(plain, Mapping) or plain.get("v") != _VERSION:
            return None
        facts, missing = plain.get("facts"), plain.get("missing")
        if not (isinstance(facts, int) and isinstance(missing, int)):
            return None
        return cls(facts=facts, missing=missing)


class SummaryOutcome:
    """What follows from a summary, in whatever record it is."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def summary(self) -> ContextSummary | None:
            """None if nothing was changed."""

        @property
        def calls(self) -> tuple[ReportedCall, ...]:
            """The model calls that reported their usage."""

    @property
    def usage(self) -> Usage:
        """The sum of what the calls used."""
        return sum((call.usage for call in self.calls), Usage())

    @property
    def coverage(self) -> Coverage | None:
        """How many facts a model's summary lacked; None if it was not checked."""
        return None if self.summary is None else Coverage.of_summary(self.summary)
