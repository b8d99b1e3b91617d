"""What was decided and found, in the assistant's words, and what the user refused.

A statement is known by a cue: the tables below are the only place where a language stands. Add a
language by adding lines, in lower case. A cue counts at the beginning of a word, so that `decid`
stands for decide, decided and deciding; where a script writes no blanks, it counts anywhere.
"""

import re
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._cut import FEWEST_WORDS, PARAGRAPH, one_line, sentences
from agentic.context.digest._harness import refusal
from agentic.context.digest._section import Line, Section
from agentic.context.digest._turns import Called, Said, Turn

__all__ = ["Statements"]

_DECISIONS = {
    "en": "decision, decid, agreed, choose, chose, going with, go with, went with, opt for, "
    "settled on, stick with, from now on, must not, convention",
    "de": "entscheid, entschied, beschlossen, vereinbart, ab jetzt",
    "es": "decisión, decidi, acordado, a partir de ahora",
    "fr": "décision, décid, convenu, désormais",
    "pt": "decisão, decidi, combinado, a partir de agora",
    "ru": "решение, решено, решили, договорились, отныне",
}
_FINDINGS = {
    "en": "root cause, culprit, turns out, turned out, the problem is, the issue is, the bug is, "
    "the cause is, found that, conclusion, conclud, no longer, the fix is",
    "de": "ursache, liegt daran, problem ist, fehler ist, stellt sich heraus",
    "es": "la causa, el problema es, el error es, resulta que",
    "fr": "la cause, le problème est, l'erreur est, il s'avère",
    "pt": "a causa, o problema é, o erro é, acontece que",
    "ru": "причина, проблема в, ошибка в, оказалось",
}
_DECISIONS_UNSPACED = "决定 決定 選択 选择 約定 约定 改用 从现在起 採用 方針 결정 선택 합의"
_FINDINGS_UNSPACED = "原因 问题是 問題是 問題は 发现 發現 判明 원인 문제는"


_MOST = 30
"""Statements that are looked for: several times what 2,000 tokens show."""
_REFUSED, _DECIDED, _FOUND = 2, 1, 0
"""What is shown first where room is scarce; of one kind, the newest."""
_WHOLE = re.compile(r"(?![a-z]).*[.!。！][\"'`)]?")  # noqa: RUF001
"""A sentence, no question: neither the end of a line that goes on, nor the beginning of one."""


def _cues(spaced: dict[str, str], unspaced: str) -> list[str]:
    return [f" {cue}" for cues in spaced.values() for cue in cues.split(", ")] + unspaced.split()


_DECIDES = _cues(_DECISIONS, _DECISIONS_UNSPACED)
_FINDS = _cues(_FINDINGS, _FINDINGS_UNSPACED)


@attrs.define
class _Kind:
    rank: int


@attrs.define
class Statements(Section[_Kind]):
    """Sentences that state something, each once. Replies are searched from the newest back."""

    record = _Kind
    _texts: list[tuple[str, bool]] = attrs.field(factory=list)
    """What was said, and sentences that say what the user refused; which of the two it is."""

    def take(self, turn: Turn) -> None:
        """Take in what a turn states."""
        match turn:
            case Said(text):
                self._texts.append((text, False))
            case Called() if (reason := refusal(turn.output)) is not None:
                why = f': "{one_line(reason)}"' if reason else ""
                self._texts.append((f"The user refused {turn.label}{why}.", True))

    def lines(self) -> Iterator[Line]:
        """Yield the statements from the oldest to the newest."""
        self._search()
        for age, (text, kind) in enumerate(self.known.items()):
            yield Line(text, rank=kind.rank * len(self.known) + age)

    def to_plain(self) -> list[list[Any]]:
        """Return the statements."""
        self._search()
        return super().to_plain()

    def _search(self) -> None:
        """Add what the texts state that were taken in since the last search."""
        found: dict[str, _Kind] = {}
        while self._texts:
            text, is_refusal = self._texts.pop()
            if is_refusal:
                found.setdefault(text, _Kind(_REFUSED))
            elif len(found) < _MOST:
                for sentence, is_decision in reversed(list(statements(text))):
                    found.setdefault(sentence, _Kind(_DECIDED if is_decision else _FOUND))
        for text in reversed(found):
            self.known.pop(text, None)
            self.known[text] = found[text]


def statements(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences that decide something or say what was found, and whether they decide.

    >>> list(statements("The tests all pass. We go with the new parser. 问题是缓存没有失效。"))
    [('We go with the new parser.', True), ('问题是缓存没有失效。', False)]
    """
    plain = _plain(text)
    # Few texts have any cue, and those few.
    decisions = [cue for cue in _DECIDES if cue in plain]
    findings = [cue for cue in _FINDS if cue in plain]
    for sentence in sentences(text) if decisions or findings else ():
        stated = one_line(sentence.replace("**", "")).lstrip("-*#>| ")
        # What is longer is a list or code that has no full stop.
        has_words = stated.count(" ") + 1 >= FEWEST_WORDS or not stated.isascii()
        if has_words and len(stated) <= PARAGRAPH and _WHOLE.fullmatch(stated):
            plain = _plain(sentence)
            decides = any(cue in plain for cue in decisions)
            if decides or any(cue in plain for cue in findings):
                yield stated, decides


def _plain(text: str) -> str:
    """Return a text in which every word begins after a blank."""
    return f" {text.lower()}".replace("\n", " ").replace("*", " ").replace("(", " ")
