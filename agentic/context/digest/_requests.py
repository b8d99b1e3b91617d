"""What the user asked: every request, the newest one in full as far as there is room."""

from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._cut import cut, one_line
from agentic.context.digest._references import message_ref
from agentic.context.digest._section import Line
from agentic.context.digest._turns import Asked, Turn

__all__ = ["Requests"]

_NEWEST, _FIRST, _OTHERS = 480, 240, 52
"""Characters that a request has at least: a paragraph of the one that is worked on, some sentences
of the one that all began with, eight words or so of each other."""
_STORED, _STORED_OTHERS = 4000, 100
"""Characters that the next generation gets of the newest and the first, and of each other."""


@attrs.define
class _Request:
    text: str
    ref: str
    times: int = 1


@attrs.define
class Requests:
    """The user's words."""

    _requests: dict[str, _Request] = attrs.field(factory=dict)
    """By their words in one line, each where it was asked last."""

    def take(self, turn: Turn) -> None:
        """Take in a request; one that was asked before moves to the end."""
        if isinstance(turn, Asked):
            self._put(_Request(turn.text, message_ref(turn.message)))

    def lines(self) -> Iterator[Line]:
        """Yield the requests from the first to the newest."""
        requests = list(self._requests.values())
        newest = len(requests) - 1
        for at, request in enumerate(requests):
            least = _NEWEST if at == newest else _OTHERS if at else _FIRST
            times = f" ({request.times} times)" if request.times > 1 else ""
            short = cut(one_line(request.text), least) + times
            rank = newest + 1 if at == 0 else at
            yield Line(
                request.text + times, short, newest + 2 if at == newest else rank, request.ref
            )

    def to_plain(self) -> Any:
        """Return the requests."""
        requests = list(self._requests.values())
        ends = {0, len(requests) - 1}
        return [
            [cut(each.text, _STORED if at in ends else _STORED_OTHERS), each.ref, each.times]
            for at, each in enumerate(requests)
        ]

    def restore(self, plain: Any) -> None:
        """Go on from the requests of a former generation."""
        for entry in plain if isinstance(plain, list) else ():
            match entry:
                case [str(text), str(ref), int(times)]:
                    self._put(_Request(text, ref, times))

    def _put(self, request: _Request) -> None:
        key = one_line(request.text)
        if former := self._requests.pop(key, None):
            request.times += former.times
        self._requests[key] = request
