"""All facts of a text at once, as counts: how many it has, and how many there are."""

from collections.abc import Sequence
from functools import cached_property

import attrs

from benchmarks.retention.facts.changed import Changes, changes_of, kept_changes, right_changes
from benchmarks.retention.facts.failures import kept_failures
from benchmarks.retention.facts.last_said import kept_last_said
from benchmarks.retention.facts.lines import Sources, whole_characters
from benchmarks.retention.facts.requests import kept_requests
from benchmarks.retention.facts.transcript import Raw

__all__ = ["FACTS", "Past"]

FACTS = {
    "changed": "changed files, named under a heading for them",
    "right": "of the files named there, those really changed",
    "requests": "user requests, five words in a row",
    "failures": "commands that failed to the end, 40 characters of the error",
    "last_said": "the last thing said, five words of its first sentence",
    "whole": "characters in lines that are not clipped",
}


@attrs.define(slots=False)
class Past:
    """The messages before a cut, and what a text should have of them."""

    messages: Sequence[Raw]

    @cached_property
    def changes(self) -> Changes:
        """What became of the files."""
        return changes_of(self.messages)

    @cached_property
    def sources(self) -> Sources:
        """The lines that a text may quote."""
        return Sources.of(self.messages)

    def score(self, view: str) -> dict[str, tuple[int, int]]:
        """Return, for each of `FACTS`, how many a text has and how many there are."""
        return {
            "changed": kept_changes(self.changes, view),
            "right": right_changes(self.changes, view),
            "requests": kept_requests(self.messages, view),
            "failures": kept_failures(self.messages, view),
            "last_said": kept_last_said(self.messages, view),
            "whole": whole_characters(self.sources, view),
        }
