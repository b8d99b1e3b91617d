"""What was said: requests and other texts as they are, the last words, and single statements.

A statement is recognized by a cue, in a table that alone depends on the language: to add one, add a
line in lower case. A cue matches anywhere, so `decid` matches decide, decided and deciding.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs

from agentic.context.digest._section import STORED_CHARS, Line, Section
from agentic.context.digest._text import LINE, PARAGRAPH, cut, one_line, sentences
from agentic.context.digest._turns import Called, Kind, Words, message_ref, refusal

_CUES = {
    "en": "decision, decid, agreed, choose, chose, going with, go with, went with, settled on, "
    "from now on, must not, root cause, culprit, turns out, turned out, problem is, issue is, "
    "bug is, cause is, found that, conclu, no longer, fix is",
    "de": "entscheid, entschied, beschlossen, vereinbart, ab jetzt, ursache, liegt daran, "
    "problem ist, fehler ist, stellt sich heraus",
    "es": "decisión, decidi, acordado, a partir de ahora, causa, problema es, resulta que",
    "fr": "décision, décid, convenu, désormais, la cause, problème est, erreur est, il s'avère",
    "pt": "decisão, combinado, a partir de agora, a causa, o problema é, o erro é, acontece que",
    "ru": "решение, решено, решили, договорились, отныне, причина, проблема в, ошибка в, оказалось",
    "zh": "决定, 決定, 选择, 选用, 约定, 改用, 从现在起, 採用, 原因, 问题是, 問題是, 发现, 發現",
    "ja": "選択, 方針, 問題は, 判明",
    "ko": "결정, 선택, 합의, 원인, 문제는",
}
_LIST = [cue for cues in _CUES.values() for cue in cues.split(", ")]
_REFUSED = "The user refused"
_MOST = 30
"""The search goes back to so many statements, several times what 2,000 tokens show."""
_WHOLE = re.compile(r"(?![a-z]).*[.!。！][\"'`)]?")  # noqa: RUF001
"""A complete sentence that is not a question, rather than a fragment of one."""

# The keys under which to-do lists keep the text of an item, and the states of finished items.
_TEXTS = ("content", "text", "title", "task", "step", "description")
_CLOSED = {"completed", "complete", "done", "closed", "cancelled", "canceled", "skipped"}


class Notices(Section):
    """What is quoted as it is: former summaries, messages of the application, pinned outputs."""

    heading = "Former summaries and notices"
    takes: ClassVar[tuple[Kind, ...]] = ("notice",)

    def take(self, turn: Words) -> None:
        """Add a text and the reference of its message."""
        if text := turn.text.strip():
            # The recall tool cannot read a summary of ours: it is not in the history.
            self.add(text, "" if turn.message.summary else message_ref(turn.message))

    def lines(self) -> Iterator[Line]:
        """Yield the texts, oldest first. The newest ranks highest, followed by the first."""
        newest = len(self.known) - 1
        for at, (text, ref) in enumerate(self.known.items()):
            least = LINE // 4 if self.is_complete and 0 < at < newest else PARAGRAPH
            yield Line(text, cut(one_line(text), least), 2 * at or 2 * newest - 1, ref)


class Requests(Notices):
    """What the user asked: the newest request in full if there is room, the others in brief."""

    heading = "What the user asked"
    takes = ("request",)
    # So that a page of the newest is in full; with 0.2, the index shows a point less evidence.
    is_complete, share = True, 0.15


@attrs.define
class Progress(Section):
    """The last reply and its reference, the calls that wait for a result, and the open to-dos."""

    heading = "Where things stand"
    takes = ("request", "reply", "call")
    _reply: Words | None = None
    _waiting: list[str] = attrs.field(factory=list)

    def take(self, turn: Words | Called) -> None:
        """Update the state from a turn."""
        if isinstance(turn, Words):
            self._waiting.clear()
            self._reply = turn if turn.kind == "reply" else self._reply
            return
        if turn.output is None:
            self._waiting.append(f"Called, no result yet: {turn.label}")
        for value in turn.arguments.values():
            items = value if isinstance(value, list) else []
            todos = [item for item in items if isinstance(item, dict) and "status" in item]
            if todos:
                self.known["todos"] = "\n".join(filter(None, map(_todo, todos)))

    def lines(self) -> Iterator[Line]:
        """Yield the last reply, calls without a result, and open to-dos."""
        if self._reply:
            text = cut(self._reply.text.strip(), STORED_CHARS)
            self.known |= {"reply": text, "ref": message_ref(self._reply.message)}
        if reply := self.known.get("reply"):
            yield Line(reply, cut(one_line(reply), LINE), 1, self.known.get("ref"))
        todos = self.known.get("todos", "").split("\n")
        yield from (Line(text) for text in [*self._waiting, *todos] if text)


@attrs.define
class Statements(Section):
    """Sentences with a cue, each listed once, and refusals."""

    heading = "Decided and found"
    takes = ("reply", "call")
    _replies: list[str] = attrs.field(factory=list)

    def take(self, turn: Words | Called) -> None:
        """Add a reply, which is searched later, or the user's refusal of a call."""
        if isinstance(turn, Words):
            self._replies.append(turn.text)
        elif (reason := refusal(turn.output or "")) is not None:
            why = f': "{one_line(reason)}"' if reason else ""
            self.add(f"{_REFUSED} {turn.label}{why}.")

    def lines(self) -> Iterator[Line]:
        """Yield the statements, oldest first. Refusals rank highest, then newer statements."""
        found: list[str] = []
        # To search all replies took a sixth of the time of a digest, and moved no figure.
        while self._replies and len(found) < _MOST:
            found[:0] = _statements(self._replies.pop())
        for text in found:
            self.add(text)
        for age, text in enumerate(self.known):
            yield Line(text, rank=text.startswith(_REFUSED) * len(self.known) + age)


def _statements(text: str) -> Iterator[str]:
    # Most texts have no cue, and the others only a few.
    low = text.lower()
    cues = [cue for cue in _LIST if cue in low]
    for sentence in sentences(text) if cues else ():
        stated = one_line(sentence.replace("**", "")).lstrip("-*#>| ")
        # Anything longer is a list or code without a full stop.
        is_whole = len(stated) <= PARAGRAPH and _WHOLE.fullmatch(stated)
        if is_whole and any(cue in stated.lower() for cue in cues):
            yield stated


def _todo(item: Mapping[str, Any]) -> str:
    """Return the line of a to-do; empty if it is closed."""
    text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), "")
    status = one_line(str(item["status"]))
    if not text or status.casefold() in _CLOSED:
        return ""
    state = "" if status == "pending" else f" ({status})"
    return cut(f"To do: {one_line(text)}", PARAGRAPH) + state
