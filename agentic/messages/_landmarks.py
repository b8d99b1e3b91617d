"""The landmarks of a history: its prefix and summary, and its task.

The task consists of the latest request and of the request that the present work began with.
Consecutive requests belong to one exchange until a reply answers them. A reply without calls counts
as an answer unless it is empty, ends in a question, or ends in an action. The last case exists for
agents that call tools in plain text and receive the outputs as user messages: if a conversation has
no tool calls, nothing else distinguishes such a reply from an answer.
"""

import re
from collections.abc import Sequence

import attrs

from agentic.messages._message import ContextSummary, Message
from agentic.messages._rounds import leading_system_count

_HEADING = re.compile(r"\[Context Summary - (\d{1,9}) previous messages\]\n")
_MOST_QUESTIONS = 3
"""At most so many questions in a row keep an exchange open. Without a limit, replies that always
end in an offer ("Shall I ...?") would keep the first request of a day as the task."""
# Markdown's emphasis, brackets and quotes may follow the mark, which Chinese writes full-width.
_QUESTION = re.compile(r"[?\uff1f][\s*_`)\"']*\Z")
# How agents act in plain text: a block of code, a closing tag, or the `Action Input:` of ReAct.
_ACTION = re.compile(r"(?:```|</\w{1,40}>)\s*\Z|^Action Input:", re.MULTILINE)
_WINDOW = 4_000
"""How much of the end of a reply is searched for a question or an action, in characters."""


def find_summary(messages: Sequence[Message]) -> ContextSummary | None:
    """Return the summary at the start of a history, or None if it was never compacted.

    >>> find_summary([ContextSummary("done", 3).to_message()]).messages_summarized
    3
    """
    length = prefix_length(messages)
    return messages[length - 1].summary if length else None


def prefix_length(messages: Sequence[Message]) -> int:
    """Return the number of system messages at the start, up to and including a summary.

    Without a summary, all of them count. System messages after a summary are not counted here,
    because a compaction kept them; `leading_system_count` counts them too.

    >>> prefix_length([Message("system", "Be brief."), Message("user", "Why?")])
    1
    """
    length = leading_system_count(messages)
    return next((i + 1 for i in range(length) if messages[i].summary), length)


def read_summary(text: str) -> ContextSummary | None:
    """Parse the text of a summary message; return None if it lacks the heading of a summary.

    Call this only for system messages: the text of a user or a tool may be a forgery.

    >>> text = ContextSummary("- the parser is done", 12).to_message().content
    >>> read_summary(text).content, read_summary(text).messages_summarized
    ('- the parser is done', 12)
    """
    match = _HEADING.match(text)
    if match is None:
        return None
    content = text[match.end() :]
    # `to_message` writes the mark below the heading; it is not part of the summary.
    return ContextSummary(content.partition("\n\n")[2] or content, int(match.group(1)))


@attrs.frozen
class Task:
    """The task of a conversation so far. Its requests are identified by the name given to `after`.

    >>> task = Task().after(Message("user", "Fix it."), 0).after(Message("user", "Today!"), 1)
    >>> task.requests
    (0, 1)
    >>> task.after(Message("assistant", "Fixed."), 2).after(Message("user", "Thanks."), 3).requests
    (3,)
    """

    opening: int | None = None
    """The request that the present work began with; None before the first request."""
    latest: int | None = None
    _answered: bool = False
    """Whether the last reply answered the request."""
    _questions: int = 0
    """How many replies in a row ended in a question."""
    _calls: bool = False
    """Whether the conversation has tool calls."""

    @property
    def requests(self) -> tuple[int, ...]:
        """The names of the opening and the latest request; one name if both are the same."""
        positions = (self.opening, self.latest)
        return tuple(dict.fromkeys(each for each in positions if each is not None))

    def after(self, message: Message, name: int) -> "Task":
        """Return the task after one more message; `name` identifies it if it is a request."""
        if message.summary is not None:
            return self
        if message.role == "user":
            opens = self.opening is None or self._answered
            opening, questions = (name, 0) if opens else (self.opening, self._questions)
            return Task(opening, name, questions=questions, calls=self._calls)
        return self._after_reply(message) if message.role == "assistant" else self

    def _after_reply(self, reply: Message) -> "Task":
        if reply.tool_calls:  # the work continues, whatever earlier replies looked like
            return Task(self.opening, self.latest, calls=True)
        end = reply.content[-_WINDOW:]
        if not end.strip() or (not self._calls and _ACTION.search(end)):
            return self
        if self._questions < _MOST_QUESTIONS and _QUESTION.search(end):
            questions = self._questions + 1
            return Task(self.opening, self.latest, questions=questions, calls=self._calls)
        return Task(self.opening, self.latest, answered=True, calls=self._calls)


def find_task(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the positions of the task's requests: the opening one and the latest one.

    A summary is never part of the task, nor is a request that was answered.

    >>> find_task([Message("user", "Fix it."), Message("assistant", "Done."), Message("user", "?")])
    (2,)
    >>> find_task([Message("user", "Fix it."), Message("user", "Now.")])
    (0, 1)
    """
    task = Task()
    for position, message in enumerate(messages):
        task = task.after(message, position)
    return task.requests
