"""What a history is at work on: where it begins, the summary at its start, and the task.

The task is the latest request, and the one that the work began with. Requests that follow each
other belong to one exchange until a reply has answered them. A reply without calls answers, unless
it is empty, asks back, or ends in an action. Agents that call tools in plain text end their replies
so, and get the outputs as user messages: in a conversation without calls nothing else tells the two
apart.
"""

import re
from collections.abc import Sequence

import attrs

from agentic.messages._message import ContextSummary, Message
from agentic.messages._rounds import leading_system_count

__all__ = ["Task", "find_summary", "find_task", "prefix_length", "read_summary"]

_HEADING = re.compile(r"\[Context Summary - (\d{1,9}) previous messages\]\n")
_MOST_QUESTIONS = 3
"""So many questions in a row keep an exchange open. Replies that always end in an offer ("Shall I
...?") would keep the first request of a day as the task."""
_QUESTION = re.compile(r"[?\uff1f][\s*_`)\"']*\Z")
_ACTION = re.compile(r"(?:```|</\w{1,40}>)\s*\Z|^Action Input:", re.MULTILINE)
_WINDOW = 4_000
"""How much of a reply's end is looked at, in characters."""


def find_summary(messages: Sequence[Message]) -> ContextSummary | None:
    """Return the summary that a history begins with, if it was compacted before.

    >>> find_summary([ContextSummary("done", 3).to_message()]).messages_summarized
    3
    """
    length = prefix_length(messages)
    return messages[length - 1].summary if length else None


def prefix_length(messages: Sequence[Message]) -> int:
    """Count the system messages at the start, up to a summary if one is among them.

    What follows the summary was kept by the compaction that made it, system messages included:
    `leading_system_count` counts those too.

    >>> prefix_length([Message("system", "Be brief."), Message("user", "Why?")])
    1
    """
    length = leading_system_count(messages)
    return next((i + 1 for i in range(length) if messages[i].summary), length)


def read_summary(text: str) -> ContextSummary | None:
    """Read the text of a summary message; None if it has not the heading of one.

    Only look where nobody but the system speaks: what a user or a tool says may be forged.

    >>> text = ContextSummary("- the parser is done", 12).to_message().content
    >>> read_summary(text).content, read_summary(text).messages_summarized
    ('- the parser is done', 12)
    """
    found = _HEADING.match(text)
    if found is None:
        return None
    content = text[found.end() :]
    # Below the heading `to_message` puts a mark, which is no part of the summary.
    return ContextSummary(content.partition("\n\n")[2] or content, int(found.group(1)))


@attrs.frozen
class Task:
    """The task of a conversation, as far as it was read. Requests are named by what `after` gets.

    >>> task = Task().after(Message("user", "Fix it."), 0).after(Message("user", "Today!"), 1)
    >>> task.requests
    (0, 1)
    >>> task.after(Message("assistant", "Fixed."), 2).after(Message("user", "Thanks."), 3).requests
    (3,)
    """

    opening: int | None = None
    """The request that the present work began with."""
    latest: int | None = None
    _answered: bool = False
    """Whether the last reply answered what was asked."""
    _questions: int = 0
    """How many questions in a row were asked back."""
    _calls: bool = False
    """Whether the conversation has tool calls."""

    @property
    def requests(self) -> tuple[int, ...]:
        """The request that the work began with and the latest one, or the one that is both."""
        found = (self.opening, self.latest)
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def after(self, message: Message, name: int) -> "Task":
        """Return the task after one more message, which is named if it is a request."""
        if message.summary is not None:
            return self
        if message.role == "user":
            opens = self.opening is None or self._answered
            return attrs.evolve(
                self,
                opening=name if opens else self.opening,
                latest=name,
                answered=False,
                questions=0 if opens else self._questions,
            )
        return self._after_reply(message) if message.role == "assistant" else self

    def _after_reply(self, reply: Message) -> "Task":
        if reply.tool_calls:  # the work goes on, whatever was said before
            return attrs.evolve(self, answered=False, questions=0, calls=True)
        end = reply.content[-_WINDOW:]
        if not end.strip() or (not self._calls and _ACTION.search(end)):
            return self
        if self._questions < _MOST_QUESTIONS and _QUESTION.search(end):
            return attrs.evolve(self, answered=False, questions=self._questions + 1)
        return attrs.evolve(self, answered=True, questions=0)


def find_task(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the positions of the task: the request that the work began with, and the latest one.

    A summary is never the task, and neither is a request that was answered.

    >>> find_task([Message("user", "Fix it."), Message("assistant", "Done."), Message("user", "?")])
    (2,)
    >>> find_task([Message("user", "Fix it."), Message("user", "Now.")])
    (0, 1)
    """
    task = Task()
    for position, message in enumerate(messages):
        task = task.after(message, position)
    return task.requests
