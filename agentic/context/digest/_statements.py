"""What was decided and found, in the assistant's words, and what the user refused."""

import re
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._cues import statements
from agentic.context.digest._cut import cut, first_sentence, one_line
from agentic.context.digest._harness import refusal
from agentic.context.digest._section import Line
from agentic.context.digest._turns import Asked, Called, Said, Turn

__all__ = ["Statements"]

_LIMIT = 300
"""Characters of a statement: longer ones are lists or code that has no full stop."""
_FEWEST_WORDS = 4
_STORED = 30
"""So many statements are kept for the next generation: several times what 2,000 tokens show."""
_REFUSED, _DECIDED, _FOUND, _ANSWERED = 3, 2, 1, 0
"""What is shown first where room is scarce; of one kind, the newest."""


_SENTENCE = re.compile(r"(?![a-z]).*[.!。！][\"'`)]?")  # noqa: RUF001
"""A whole one, no question: neither the end of a line that goes on, nor the beginning of one."""


@attrs.define
class Statements:
    """Sentences that state something, each once."""

    _kinds: dict[str, int] = attrs.field(factory=dict)
    """The statements, from the oldest to the newest, and what each is."""
    _answer: str = ""
    """The last reply, which ends a request if nothing is called after it."""

    _worked: bool = False
    """Whether anything was called since the last request: if not, the reply is small talk."""

    def take(self, turn: Turn) -> None:
        """Take in what a turn states."""
        match turn:
            case Said(text):
                self._answer = text
                for sentence, is_decision in statements(text):
                    self._put(sentence, _DECIDED if is_decision else _FOUND)
            case Asked():
                if self._answer and self._worked:
                    self._put(first_sentence(self._answer), _ANSWERED)
                self._answer, self._worked = "", False
            case Called():
                self._answer, self._worked = "", True
                if turn.result is not None and (reason := refusal(turn.output)) is not None:
                    why = f': "{one_line(reason)}"' if reason else ""
                    self._put(f"The user refused {cut(turn.label, _LIMIT // 2)}{why}.", _REFUSED)

    def lines(self) -> Iterator[Line]:
        """Yield the statements from the oldest to the newest."""
        for age, (text, kind) in enumerate(self._kinds.items()):
            yield Line(text, rank=kind * len(self._kinds) + age)

    def to_plain(self) -> Any:
        """Return the statements that rank highest."""
        entries = list(self._kinds.items())
        best = sorted(range(len(entries)), key=lambda at: (entries[at][1], at))[-_STORED:]
        answer = first_sentence(self._answer) if self._worked else ""
        return {"kinds": [list(entries[at]) for at in sorted(best)], "answer": answer}

    def restore(self, plain: Any) -> None:
        """Go on from the statements of a former generation."""
        match plain:
            case {"kinds": list(entries), "answer": str(answer)}:
                self._answer, self._worked = answer, bool(answer)
                for entry in entries:
                    match entry:
                        case [str(text), int(kind)]:
                            self._kinds[text] = kind

    def _put(self, sentence: str, kind: int) -> None:
        text = one_line(sentence.replace("**", "")).lstrip("-*#>| ")
        is_long = text.count(" ") + 1 >= _FEWEST_WORDS or not text.isascii()
        if is_long and len(text) <= _LIMIT and _SENTENCE.fullmatch(text):
            self._kinds[text] = max(kind, self._kinds.pop(text, kind))
