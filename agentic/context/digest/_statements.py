"""What was said: requests and other texts as they are, the last words, and single statements.

A statement is recognized by a cue of `_languages`.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, ClassVar

import attrs

from agentic.context.digest._languages import (
    ANALYSIS,
    DECISIONS,
    LEAD_INS,
    REASONS,
    RULES,
    SECTIONS,
    Cues,
    cue_pattern,
    cues_in,
)
from agentic.context.digest._overturned import overturned
from agentic.context.digest._section import STORED_CHARS, TITLE, Fact, Line, Section
from agentic.context.digest._text import LINE, PARAGRAPH, cut, one_line, plain_sentence, sentences
from agentic.context.digest._turns import Called, Kind, Words, message_ref, refusal

_DECISIONS, _REASONS, _RULES, _LEAD_INS = map(Cues.of, (DECISIONS, REASONS, RULES, LEAD_INS))
_SECTIONS = [cue_pattern(cues_in(tables)) for tables in SECTIONS]
_ANALYSIS = cue_pattern(ANALYSIS)
_HEADING = re.compile(
    r"^(?:#{1,6}[ \t]+([^\n]+)|\d{1,2}[.)][ \t]+\*{0,2}([^\n:*]{2,60})\*{0,2}:"
    r"|\*\*([^\n*]{2,60})\*\*:?[ \t]*$|([^\W\d_][^\n:]{1,60})[:\uff1a][ \t]*$"
    r"|<([a-z_]{2,40})>[ \t]*$)",
    re.MULTILINE,
)
"""A heading of Markdown, a numbered or bold one, a line that ends with a colon, or a tag."""
_RULE_OF_USER = "Rule of the user: "
_OF_USER = "The user "
"""How the statements begin that hold what the user said in the result of a call."""
_MOST = 30
"""The search goes back to so many statements, several times what 2,000 tokens show."""
_TOGETHER = 50
"""So many texts are searched at once."""
_WHOLE = re.compile(r"(?![a-z]).*[.!。！][\"'`)]?")  # noqa: RUF001
"""A complete sentence that is not a question, rather than a fragment of one."""

# The keys under which to-do lists keep the text of an item, and the states of finished items.
_TEXTS = ("content", "subject", "text", "title", "task", "step", "description")
_STATES = ("status", "state")
_NUMBERS = ("taskid", "todoid", "id", "number")
_QUESTIONS = ("question", "questions", "prompt", "message", "text", "query", "header")
_PAIR = re.compile(r'"([^"\n]{3,})"\s*[=:]\s*"([^"\n]+)"')
"""A question with its answer, as Claude Code writes several of them into one result."""
_NUMBER = re.compile(r"(?<![\w.])#?(\d+)\b")
_QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001
_LOOK_BACK = 20
"""So many replies are searched for a statement."""
_GAP = re.compile(r"[\s,.!]+")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_WIDE = re.compile(r"[\u2e80-\U0003ffff]")
_OPEN_ENDS = (":", "：", *_QUESTION_MARKS)  # noqa: RUF001
_FEW_WORDS = 4
"""A shorter sentence is an interjection or a title. In scripts without blanks, twice as many
characters."""
_SHORT = 60
"""An answer of at most so many characters is shown with its question."""
_CLOSED = {
    "completed", "complete", "done", "closed", "cancelled", "canceled", "skipped", "deleted",
}  # fmt: skip
_TASK = "task "
"""How the keys of single tasks begin, with their number after it."""


class Notices(Section):
    """What is quoted as it is: former summaries, messages of the application, pinned outputs."""

    heading = "Former summaries and notices"
    takes: ClassVar[tuple[Kind, ...]] = ("notice",)
    share: ClassVar[float] = 0.05

    def take(self, turn: Words) -> None:
        """Add a text and the reference of its message."""
        text = turn.text.strip()
        # A digest without notes, such as one of an earlier version, is in this order already.
        if turn.is_summary and not text.startswith(TITLE):
            text = _most_needed_first(text)
        if text:
            # The recall tool cannot read a summary of ours: it is not in the history.
            self.add(text, "" if turn.message.summary else message_ref(turn.message))

    def lines(self) -> Iterator[Line]:
        """Yield the texts, oldest first. The newest ranks highest, followed by the first."""
        newest = len(self.known) - 1
        for at, (text, ref) in enumerate(self.known.items()):
            least = LINE // 4 if self.complete and 0 < at < newest else PARAGRAPH
            yield Line(text, cut(one_line(text), least), 2 * at or 2 * newest - 1, ref)


@attrs.define
class Requests(Notices):
    """What the user asked: the newest request in full if there is room, the others in brief."""

    heading = "What the user asked"
    takes = ("request", "reply")
    # So that most of a page of the newest is in full.
    complete, share = 0.35, 0.15

    _before: str = ""
    """The reply before, which may ask something."""

    def take(self, turn: Words) -> None:
        """Add a request; a short one with the question that it answers."""
        if turn.kind == "reply":
            self._before = turn.text
            return
        text, before = turn.text.strip(), self._before.rstrip(" *_")
        self._before = ""
        if len(text) <= _SHORT and before.endswith(_QUESTION_MARKS):
            question = one_line([*sentences(before[-PARAGRAPH:])][-1])
            turn = attrs.evolve(turn, text=f'{text} (asked: "{question}")')
        super().take(turn)

    def facts(self) -> Iterator[Fact]:
        """Yield the newest request."""
        for text in [*self.known][-1:]:
            yield Fact(f"Latest request: {cut(one_line(text), PARAGRAPH)}", is_request=True)


@attrs.define
class Rules(Section):
    """Sentences of the user that hold for all that follows, unless the requests show them."""

    heading = "Rules of the user"
    takes: ClassVar[tuple[Kind, ...]] = ("request",)
    is_quotation, share = True, 0.07
    _requests: list[str] = attrs.field(factory=list)

    def take(self, turn: Words) -> None:
        """Add a request, which is searched later."""
        self._requests.append(turn.text)

    def finish(self) -> None:
        """Search the requests, many at once, since most cues occur in none of them."""
        for at in range(0, len(self._requests), _TOGETHER):
            texts = self._requests[at : at + _TOGETHER]
            cues = _RULES.within(*texts)
            for text in texts if cues else ():
                self._take_rules(text, cues.within(text))
        self._requests.clear()

    def _take_rules(self, text: str, cues: Cues) -> None:
        """Add the sentences with a cue; one that ends with a colon, with what follows it."""
        lead = ""
        for sentence in sentences(text) if cues else ():
            if not lead and not cues.occur_in(sentence.lower()):
                continue
            rule = lead + plain_sentence(sentence)
            lead = ""
            if len(rule) > PARAGRAPH or rule.endswith(_QUESTION_MARKS):
                continue
            if rule.endswith(":"):
                lead = f"{rule} "
            else:
                self.add(rule)

    def lines(self) -> Iterator[Line]:
        """Yield the rules, oldest first; the newest rank highest."""
        for age, text in enumerate(self.known):
            yield Line(text, rank=age)

    def facts(self) -> Iterator[Fact]:
        """Yield the rules, oldest first."""
        yield from (Fact(f"{_RULE_OF_USER}{text}") for text in self.known)


@attrs.define
class Progress(Section):
    """The last reply and its reference, the calls that wait for a result, and the open to-dos."""

    heading = "Where things stand"
    takes = ("request", "reply", "call")
    complete, share = 0.35, 0.05
    _replies: deque[Words] = attrs.field(factory=lambda: deque(maxlen=_LOOK_BACK))
    _waiting: list[str] = attrs.field(factory=list)
    _last_call: Called | None = None

    def take(self, turn: Words | Called) -> None:
        """Update the state from a turn."""
        if isinstance(turn, Words):
            self._waiting.clear()
            if turn.kind == "reply":
                self._replies.append(turn)
                self._last_call = None
            return
        self._last_call = turn
        if turn.output is None:
            self._waiting.append(f"Called, no result yet: {turn.label}")
        lists = [value for value in turn.arguments.values() if isinstance(value, list)]
        items = [item for each in lists for item in each if isinstance(item, dict)]
        if todos := [item for item in items if any(state in item for state in _STATES)]:
            self.known["todos"] = "\n".join(filter(None, map(_todo, todos)))
        elif turn.does == "plan" and turn.output is not None and not turn.failed:
            self._take_task(turn.arguments, turn.output)

    def _take_task(self, arguments: Mapping[str, Any], output: str) -> None:
        """Add a single task, or change its state."""
        fields = {key.casefold().replace("_", ""): value for key, value in arguments.items()}
        number = next((str(fields[key]) for key in _NUMBERS if key in fields), "")
        if not number and (match := _NUMBER.search(output)):
            number = match[1]
        key = f"{_TASK}{number.lstrip('#')}"
        text = _text_of(arguments) or self.known.get(key, "").partition("\n")[0]
        status = next((one_line(str(fields[state])) for state in _STATES if state in fields), "")
        if status.casefold() in _CLOSED:
            self.known.pop(key, None)
        elif text:
            self.known[key] = f"{text}\n{status}"

    def lines(self) -> Iterator[Line]:
        """Yield the newest statement, the last reply, open calls, and open to-dos."""
        if self._replies:
            last = self._replies[-1]
            statements = (text for each in reversed(self._replies) for text in _stated(each.text))
            self.known["statement"] = next(statements, self.known.get("statement", ""))
            self.known["reply"] = cut(last.text.strip(), STORED_CHARS)
            call = self._last_call.label if self._last_call else ""
            self.known |= {"ref": message_ref(last.message), "call": call}
        reply, statement = self.known.get("reply", ""), self.known.get("statement", "")
        in_brief = cut(one_line(reply), LINE)
        if statement and statement not in in_brief:
            yield Line(statement, rank=2)
        if _only_leads_in(reply):
            call = self.known.get("call", "")
            yield Line(f"In progress: {one_line(reply)}{f' `{call}`' if call else ''}", rank=1)
        elif reply:
            yield Line(reply, in_brief, 1, self.known.get("ref"))
        yield from map(Line, [*self._waiting, *self._todos()])

    def facts(self) -> Iterator[Fact]:
        """Yield the open to-dos."""
        yield from map(Fact, self._todos())

    def _todos(self) -> list[str]:
        todos = self.known.get("todos", "").split("\n")
        tasks = [value.split("\n") for key, value in self.known.items() if key.startswith(_TASK)]
        todos += [_todo({"text": text, "status": status or "pending"}) for text, status in tasks]
        return [text for text in todos if text]


@attrs.define
class Prose(Section):
    """What the assistant said on the way, in whole sentences; those that give a reason first."""

    max_chars: int = 0
    """So much of the newest is read, in characters; 0 for nothing."""
    heading = "Said on the way"
    takes: ClassVar[tuple[Kind, ...]] = ("reply",)
    is_quotation, share = True, 0.05
    _replies: list[str] = attrs.field(factory=list)

    def take(self, turn: Words) -> None:
        """Add a reply, which is read later."""
        if self.max_chars:
            self._replies.append(turn.text)

    def lines(self) -> Iterator[Line]:
        """Yield the sentences, oldest first; those with a reason rank highest, then newer ones."""
        remaining = self.max_chars
        new: list[str] = []
        while self._replies and remaining > 0:
            statements = list(_stated(self._replies.pop()))
            remaining -= sum(map(len, statements))
            new += statements
        for text in reversed(new):
            self.add(text)
        cues = _REASONS.within(*self.known)
        for age, text in enumerate(self.known):
            yield Line(text, rank=age + len(self.known) * cues.occur_in(text.lower()))


@attrs.define
class Statements(Section):
    """Sentences with a cue, each listed once, what is remembered, refusals and answers."""

    heading = "Decided and found"
    takes = ("reply", "call")
    is_quotation, share = True, 0.07
    _replies: list[str] = attrs.field(factory=list)

    def take(self, turn: Words | Called) -> None:
        """Add a reply, which is searched later, or what the user said in the result of a call."""
        if isinstance(turn, Words):
            self._replies.append(turn.text)
        elif (reason := refusal(turn.output or "")) is not None:
            why = f': "{one_line(reason)}"' if reason else ""
            self.add(f"{_OF_USER}refused {turn.label}{why}.")
        elif turn.does == "ask" and turn.output and not turn.failed:
            for question, answer in _answers(turn.arguments, turn.output):
                self.add(f'{_OF_USER}answered "{answer}" to "{question}".')
        elif turn.does == "remember" and turn.output is not None and not turn.failed:
            # The longest argument is what is remembered; others are names and kinds.
            texts = [value for value in turn.arguments.values() if isinstance(value, str)]
            if text := one_line(max(texts, key=len, default="")):
                self.add(f"Remembered: {cut(text, PARAGRAPH)}")

    def lines(self) -> Iterator[Line]:
        """Yield the statements, oldest first. The user's rank highest, then newer ones."""
        matches: list[str] = []
        # To search all replies took a sixth of the time of a digest, and moved no figure.
        while self._replies and len(matches) < _MOST:
            newest = self._replies[-_TOGETHER:]
            del self._replies[-_TOGETHER:]
            matches[:0] = _statements(newest)
        for text in matches:
            self.add(text)
        self.forget(overturned(self.known))
        for age, text in enumerate(self.known):
            yield Line(text, rank=text.startswith(_OF_USER) * len(self.known) + age)


def _statements(replies: Sequence[str]) -> Iterator[str]:
    # Together, since most cues, such as those of other languages, occur in none of them.
    cues = _DECISIONS.within(*replies)
    for text in replies:
        for sentence in sentences(text) if cues.occur_in(text.lower()) else ():
            if cues.occur_in(sentence.lower()):
                statement = plain_sentence(sentence)
                # Anything longer is a list or code without a full stop.
                if len(statement) <= PARAGRAPH and _WHOLE.fullmatch(statement):
                    yield statement


def _stated(reply: str) -> Iterator[str]:
    """Yield the sentences of a reply that say something, newest first.

    A question, a title, or what announces the next call says nothing of how things stand.

    >>> list(_stated("The port was wrong. Now let me fix it:"))
    ['The port was wrong.']
    """
    for sentence in reversed([*sentences(_without_code(reply))]):
        text = plain_sentence(sentence)
        if len(text) > PARAGRAPH or text.endswith(_OPEN_ENDS) or _is_lead_in(text):
            continue
        if text.count(" ") >= _FEW_WORDS - 1 or len(_WIDE.findall(text)) >= 2 * _FEW_WORDS:
            yield text


def _only_leads_in(reply: str) -> bool:
    """Return whether a reply only announces a call."""
    last = "".join([*sentences(_without_code(reply))][-1:])
    return (last.endswith((":", "：")) or _is_lead_in(last)) and not any(_stated(reply))  # noqa: RUF001


def _without_code(reply: str) -> str:
    return _FENCED.sub("\n", reply) if "```" in reply else reply


def _is_lead_in(sentence: str) -> bool:
    """Return whether a sentence begins with what announces a call, after two words at most."""
    low = sentence.lower()
    starts = (match.end() for match in islice(_GAP.finditer(low), 2))
    return _LEAD_INS.begin(low, 0) or any(_LEAD_INS.begin(low, at) for at in starts)


def _most_needed_first(text: str) -> str:
    r"""Return the summary of another program with its open work, current state and rules first.

    >>> _most_needed_first("Analysis:\nFirst I look.\n\n1. Intent: x\n\n7. Pending Tasks:\n- y")
    '7. Pending Tasks:\n- y\n\n1. Intent: x\n\nAnalysis:\nFirst I look.'
    """
    headings = list(_HEADING.finditer(text))
    starts = [match.start() for match in headings]
    parts = [text[start:end].strip() for start, end in pairwise([*starts, len(text)])]
    ranks = [_rank_of(next(filter(None, match.groups()), "")) for match in headings]
    if not ranks or min(ranks) >= len(_SECTIONS):
        return text
    # What is before the first heading is as dispensable as an analysis.
    parts.append(text[: starts[0]].strip())
    ranks.append(len(_SECTIONS) + 1)
    by_rank = sorted(zip(ranks, range(len(parts)), strict=True))
    return "\n\n".join(parts[at] for _, at in by_rank if parts[at])


def _rank_of(heading: str) -> int:
    """Return how soon a section is needed, the soonest 0, from its heading."""
    if _ANALYSIS.search(heading):
        return len(_SECTIONS) + 1
    ranks = (rank for rank, pattern in enumerate(_SECTIONS) if pattern.search(heading))
    return next(ranks, len(_SECTIONS))


def _answers(arguments: Mapping[str, Any], output: str) -> list[tuple[str, str]]:
    """Return questions with their answers, each in one line."""
    if pairs := _PAIR.findall(output):
        return [
            (cut(one_line(question), LINE), cut(one_line(answer), LINE))
            for question, answer in pairs
        ]
    questions = next((arguments[key] for key in _QUESTIONS if key in arguments), "")
    while isinstance(questions, list) and questions:
        questions = questions[0]
    if isinstance(questions, Mapping):
        questions = next((questions[key] for key in _QUESTIONS if key in questions), "")
    return [(cut(one_line(str(questions)), LINE), cut(one_line(output), LINE))]


def _text_of(item: Mapping[str, Any]) -> str:
    return one_line(next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), ""))


def _todo(item: Mapping[str, Any]) -> str:
    """Return the line of a to-do; empty if it is closed."""
    text = _text_of(item)
    status = one_line(next(str(item[state]) for state in _STATES if state in item))
    if not text or status.casefold() in _CLOSED:
        return ""
    state = "" if status == "pending" else f" ({status})"
    return cut(f"To do: {text}", PARAGRAPH) + state
