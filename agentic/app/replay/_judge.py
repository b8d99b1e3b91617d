"""The judge of a cut: how much of what the agent later used it kept.

A term is a path or an identifier in the tool calls of the next messages that the past also
contained. It is kept if a line of the request contains a whole line of the past with the term in
it, or at least 40 characters of one around the term: its name alone would not help anybody.

What is a term is decided here by other means than in the digest, and with no pattern of its own: a
digest could otherwise keep just what the judge looks for (design/replay.md).
"""

import operator
import re
from collections import deque
from collections.abc import Iterator, Sequence

import attrs

from agentic.app.replay._records import MessageMemo
from agentic.messages import Message, ToolCall, split_rounds

POINTS = 12
"""The number of places in a session at which cuts are judged."""
# The messages after a point in which a term counts as used, and the characters of a line that must
# be kept around it.
_FUTURE, _WINDOW = 40, 40
_BETWEEN = str.maketrans(dict.fromkeys("\"'`()[]{}<>,;:=|*!?&%$#@^\\+", " "))
"""What separates words besides white space: quotes, brackets and operators."""
# The lengths of terms: shorter ones name little, and longer ones are data.
_SHORTEST, _LONGEST = 4, 120
_FENCED = re.compile(r"```\w*\n(.*?)(?:```|\Z)", re.DOTALL)


@attrs.define(eq=False)
class MessageTexts:
    """The texts of messages, each made once, for requests that have most messages in common."""

    _text: MessageMemo[str] = attrs.field(
        factory=lambda: MessageMemo(lambda message: "\n".join(filter(None, _parts(message)))),
        init=False,
    )

    def of(self, messages: Sequence[Message]) -> str:
        """Return what `text_of` does."""
        return "\n".join(filter(None, map(self._text, messages)))

    def of_each(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the text of each message; most are those of the message itself, and no copies."""
        return map(self._text, messages)


@attrs.define(eq=False)
class _PastLines:
    """The lines of a session so far, as hashes: the lines would take several times its room."""

    texts: MessageTexts
    _hashes: set[int] = attrs.field(factory=set, init=False)
    _length: int = attrs.field(default=0, init=False)
    """How many messages they are of."""

    def of(self, past: Sequence[Message]) -> set[int]:
        """Return the lines of the first messages of the session: only those that are new cost."""
        if len(past) < self._length:
            self._hashes.clear()
            self._length = 0
        for text in self.texts.of_each(past[self._length :]):
            self._hashes.update(hash(line.strip()) for line in text.split("\n"))
        self._length = len(past)
        return self._hashes


@attrs.define
class Point:
    """A place in a session: what came before and after it."""

    past: list[Message]
    terms: list[str]
    """The terms of the past that the future uses; at least one."""
    texts: MessageTexts = attrs.field(factory=MessageTexts, repr=False)
    _lines: _PastLines = attrs.field(repr=False)
    _lines_by_term: dict[str, set[str]] = attrs.field(factory=dict, init=False, repr=False)
    _quoting: dict[tuple[str, str], bool] = attrs.field(factory=dict, init=False, repr=False)

    @_lines.default
    def _lines_of_texts(self) -> _PastLines:
        return _PastLines(self.texts)

    def judge_request(self, messages: Sequence[Message]) -> float:
        """Return the share of the terms whose lines a request keeps, from 0 to 1."""
        # Until its first cut, a policy keeps everything.
        if len(messages) == len(self.past) and all(map(operator.is_, messages, self.past)):
            return 1.0
        return self.judge(self.texts.of(messages))

    def judge(self, view: str) -> float:
        """Return the share of the terms whose lines a text keeps, from 0 to 1.

        >>> point = Point([Message("user", "Mend src/parser.py.")], ["src/parser.py"])
        >>> point.judge("It was about src/parser.py"), point.judge("Asked: Mend src/parser.py.")
        (0.0, 1.0)
        """
        matches = [term for term in self.terms if self._is_evident(term, view)]
        return len(matches) / len(self.terms)

    def _is_evident(self, term: str, view: str) -> bool:
        past = self._lines.of(self.past)
        lines = map(str.strip, _lines_with(term, view))
        return any(hash(line) in past or self._quotes(term, line) for line in lines)

    def _quotes(self, term: str, line: str) -> bool:
        """Return whether a line contains a line of the past with the term, or a part of one."""
        # Several policies send the same summaries and notices.
        if (term, line) not in self._quoting:
            if term not in self._lines_by_term:
                self._lines_by_term[term] = {
                    each
                    for text in self.texts.of_each(self.past)
                    for each in _lines_with(term, text)
                }
            lines = self._lines_by_term[term]
            short = any(each in line for each in map(str.strip, lines) if len(each) < _WINDOW)
            self._quoting[term, line] = short or _holds_window(term, line, "\n".join(lines))
        return self._quoting[term, line]


def _holds_window(term: str, line: str, text: str) -> bool:
    """Return whether a text contains at least 40 characters of a line, with the term in them."""
    # A term may itself be longer than the window.
    size = max(_WINDOW, len(term))
    for match in re.finditer(re.escape(term), line):
        first, last = max(match.end() - size, 0), min(match.start(), len(line) - size)
        if any(line[at : at + size] in text for at in range(first, last + 1)):
            return True
    return False


def _lines_with(term: str, text: str) -> Iterator[str]:
    r"""Yield the lines of a text that contain a term.

    >>> list(_lines_with("a.py", "Mend a.py.\n  a.py or b.py?\nb.py\n"))
    ['Mend a.py.', '  a.py or b.py?']
    """
    # Not line by line: nearly all lines contain no term, and there are many terms.
    at = text.find(term)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[text.rfind("\n", 0, at) + 1 : end]
        at = text.find(term, end)


def points_of(
    messages: Sequence[Message], number: int = POINTS, texts: MessageTexts | None = None
) -> Iterator[Point]:
    """Yield places spread evenly over a session, each before a reply and with terms used later.

    >>> from agentic.messages import ToolCall
    >>> look = Message("assistant", tool_calls=[ToolCall("c1", "read", '{"path": "a.py"}')])
    >>> [point.terms for point in points_of([Message("user", "Mend a.py."), look], 1)]
    [['a.py']]
    """
    texts = MessageTexts() if texts is None else texts
    lines = _PastLines(texts)
    places = list(_places(messages, number))
    futures = [dict.fromkeys(_used_terms(messages, at, at + _FUTURE)) for at in places]
    # What the past never said, no request could have kept. A term has no white space, so it is
    # looked for in words, of which a session has far fewer than it has characters.
    evident: set[str] = set()
    first = 0
    for point, at in enumerate(places):
        words = {word for text in texts.of_each(messages[first:at]) for word in text.split()}
        words_text, first = "\n".join(words), at
        unknown = {term for future in futures[point:] for term in future} - evident
        evident.update(term for term in unknown if term in words_text)
        terms = [term for term in futures[point] if term in evident]
        if terms:
            yield Point(list(messages[:at]), terms, texts, lines)


def _places(messages: Sequence[Message], number: int) -> Iterator[int]:
    """Yield positions spread evenly over a session, each where a round begins."""
    starts = {group.positions[0] for group in split_rounds(messages)}
    for step in range(1, number + 1):
        at = step * len(messages) // (number + 1)
        # A point within a round would part a call from its result.
        while at < len(messages) and at not in starts:
            at += 1
        yield at


def text_of(messages: Sequence[Message]) -> str:
    r"""Return messages as a text: contents, calls with the texts in their arguments, outputs.

    >>> text_of([Message("user", "Look."), Message("assistant", "At what?")])
    'Look.\nAt what?'
    """
    return MessageTexts().of(messages)


def _used_terms(messages: Sequence[Message], first: int, end: int) -> Iterator[str]:
    r"""Yield the terms in what the messages from one position to another do.

    >>> talk = [Message("user", "Run it."), Message("assistant", "```\nmake a.py\n```")]
    >>> list(_used_terms(talk, 0, 1)), list(_used_terms(talk, 0, 2))
    ([], ['a.py'])
    """
    # Without calls, actions are written in replies, and outputs come back as user messages.
    in_text = not any(message.tool_calls for message in messages)
    for message in messages[first:end]:
        for text in _actions(message, in_text):
            yield from _terms_in(text)


def _actions(message: Message, in_text: bool) -> Iterator[str]:
    for call in message.tool_calls:
        yield from argument_texts(call)
    if in_text and message.role == "assistant":
        yield from _FENCED.findall(message.content)


def argument_texts(call: ToolCall) -> list[str]:
    """Return the texts in the arguments of a call, and other values as Python writes them.

    >>> argument_texts(ToolCall("c1", "read", '{"path": "a.py", "lines": [1, 9]}'))
    ['a.py', '1', '9']
    """
    try:
        waiting: deque[object] = deque(call.parse().values())
    except (ValueError, RecursionError):
        return [call.arguments]
    texts: list[str] = []
    while waiting:
        match waiting.popleft():
            case str(text):
                texts.append(text)
            # Before what waits already, so that the texts come in the order of the JSON.
            case dict() as mapping:
                waiting.extendleft(reversed(mapping.values()))
            case list() as mapping:
                waiting.extendleft(reversed(mapping))
            case other:
                texts.append(str(other))
    return texts


def _terms_in(text: str) -> Iterator[str]:
    """Yield the paths and identifiers in a text.

    >>> list(_terms_in("Mend ./src/a.py, not B; see parseLine() and HTTP, of 2026-11."))
    ['./src/a.py', 'parseLine', '2026-11']
    """
    for word in text.translate(_BETWEEN).split():
        # The end of a sentence, or of a folder, is no part of a name.
        term = word.rstrip("./~-")
        if _SHORTEST <= len(term) <= _LONGEST and _is_name(term):
            yield term


def _is_name(word: str) -> bool:
    """Return whether a word is no word of a language: it has a sign, a digit or a capital inside.

    >>> [_is_name(word) for word in ("parser", "Parser", "HTTP", "_parse", "parseLine", "9876")]
    [False, False, False, True, True, True]
    """
    if word.isalpha():
        return word not in (word.lower(), word.upper(), word.title())
    return any(character.isalnum() for character in word)


def _parts(message: Message) -> Iterator[str]:
    yield message.content
    for call in message.tool_calls:
        yield call.name
        yield from argument_texts(call)
    for result in message.tool_results:
        yield result.text
