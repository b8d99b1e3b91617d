"""What a conversation is at work on: the latest request, and the one that the work began with.

Requests that follow each other belong to one exchange until a reply has answered them. A reply
without calls answers, unless it is empty, asks back, or ends in an action. Agents that call tools
in plain text end their replies so, and get the outputs as user messages: in a conversation without
calls nothing else tells the two apart.
"""

import re
from collections.abc import Sequence

import attrs

from agentic.messages._message import Message

__all__ = ["Task", "find_task"]

_MOST_QUESTIONS = 3
"""So many questions in a row keep an exchange open. Replies that always end in an offer ("Shall I
...?") would keep the first request of a day as the task."""
_QUESTION = re.compile(r"[?\uff1f][\s*_`)\"']*\Z")
_ACTION = re.compile(r"(?:```|</\w{1,40}>)\s*\Z|^Action Input:", re.MULTILINE)
_WINDOW = 4_000
"""How much of a reply's end is looked at, in characters."""


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
