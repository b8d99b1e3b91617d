"""Keeping what matters: every round has a score, and what scores too little is left out.

A message scores by its role: a short acknowledgement less than its role, a long answer more, what
carries an error or is referenced later more. A strategy that looks ahead is no fold: it looks at
the whole history every time, and may change its mind about old messages.
"""

import re
from typing import Any

import attrs

from agentic._given import whole
from agentic.context.strategies._known_rounds import KnownRounds, Sorted
from agentic.errors import ConfigError
from agentic.messages import Message, Round

__all__ = ["Importance"]

_SHORT_CHARS = 80
"""An answer up to this long that names nothing is an acknowledgement."""
_LONG_CHARS = 1_000
_ACKNOWLEDGEMENT = 0.4
"""The share of its role's score that one gets: 0.24 by default, below the threshold."""
_DETAILED, _FAILED, _REFERENCED = 0.1, 0.3, 0.3
_WORD = re.compile(r"[\w./~-]{4,120}")
_NAMES = re.compile(r"\w[/._-]\w|[a-z][A-Z]|\d[^\W\d]|[^\W\d]\d|\d{4}")
"""A path, a dotted, dashed or snake_case name, camelCase, letters with digits, a longer number."""


def _score(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= float(value) <= 1:  # type: ignore[arg-type]
        raise ConfigError(attribute.name, value, "a number from 0 to 1", "leave it at its default")


@attrs.frozen(eq=False)
class Importance:
    """Leave out rounds that score below `min_score_threshold`.

    System messages, pinned messages, the latest user message and the last `keep_recent` messages
    always stay. A tool round has one score, and stays or goes whole.

    >>> talk = [Message("user", "Mend it."), Message("assistant", "OK."), Message("user", "Now.")]
    >>> [message.content for message in Importance(keep_recent=1).compact(talk)]
    ['Mend it.', 'Now.']
    """

    keep_recent: int = attrs.field(default=10, validator=whole(0))
    user_message_score: float = attrs.field(default=1.0, validator=_score)
    assistant_message_score: float = attrs.field(default=0.6, validator=_score)
    tool_use_score: float = attrs.field(default=1.0, validator=_score)
    min_score_threshold: float = attrs.field(default=0.3, validator=_score)
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Give the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        always = {*rounds.pinned, *rounds.requests[-1:]}
        dropped = self._dropped(rounds, always, len(messages) - self.keep_recent)
        return rounds.view(messages, 0, set(), frozenset(dropped))

    def _dropped(self, rounds: Sorted, always: set[int], recent_from: int) -> list[int]:
        """Go from the newest to the oldest: what is referenced later is known by then.

        Only what stays can refer, so that leaving out twice is leaving out once.
        """
        dropped: list[int] = []
        referenced: set[str] = set()
        for index in reversed(range(len(rounds.rounds))):
            found = rounds.rounds[index]
            if found.orphaned:  # it is in no view, and refers to nothing
                continue
            stays = (
                index in always
                or found.messages[0].role == "system"
                or found.positions[-1] >= recent_from
            )
            names = _names(found)
            score = self._score(found, names) + _REFERENCED * (not names.isdisjoint(referenced))
            if stays or score >= self.min_score_threshold:
                referenced |= names
            else:
                dropped.append(index)
        return dropped

    def _score(self, found: Round, names: set[str]) -> float:
        """Score a round by itself."""
        opener = found.messages[0]
        if opener.role == "user":
            return self.user_message_score
        if opener.tool_calls:
            results = (result for message in found.messages for result in message.tool_results)
            return self.tool_use_score + _FAILED * any(result.error for result in results)
        if len(opener.content) <= _SHORT_CHARS and not names:
            return self.assistant_message_score * _ACKNOWLEDGEMENT
        return self.assistant_message_score + _DETAILED * (len(opener.content) >= _LONG_CHARS)


def _names(found: Round) -> set[str]:
    """Give what a round names in what was said and called; what tools put out is not searched."""
    opener = found.messages[0]
    said = [opener.content, *(call.arguments for call in opener.tool_calls)]
    words = (word for text in said for word in _WORD.findall(text))
    return {word.strip(".-/") for word in words if _NAMES.search(word)}
