"""Where things stand: what was said last, is running, is to be done, and still fails."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from agentic.context.digest._commands import Commands
from agentic.context.digest._cut import PARAGRAPH, cut, first_sentence, one_line
from agentic.context.digest._references import message_ref
from agentic.context.digest._section import Line, Section
from agentic.context.digest._turns import Asked, Called, Said, Turn

__all__ = ["Status"]

_TEXTS = ("content", "text", "title", "task", "step", "description")
_CLOSED = {"completed", "complete", "done", "closed", "cancelled", "canceled", "skipped"}
_REPLY, _WAITING, _TODO = 0, 1, 2
"""In the order in which they are read."""


@attrs.define
class _Item:
    kind: int
    ref: str = ""
    """The message that it is from, if that is longer than what is shown at least."""


@attrs.define
class Status(Section[_Item]):
    """The last state of things."""

    commands: Commands = attrs.field(factory=Commands, kw_only=True)
    """Knows which of them failed and never succeeded later."""
    record = _Item

    def take(self, turn: Turn) -> None:
        """Take in what changes the state."""
        match turn:
            case Asked():
                self._replace(_WAITING)
            case Said(text, message):
                self._replace(_WAITING)
                ref = message_ref(message) if len(text) > PARAGRAPH else ""
                self._replace(_REPLY, [text.strip()], ref)
            case Called():
                if turn.result is None:
                    self.known[f"Called, no result yet: {turn.label}"] = _Item(_WAITING)
                if (todos := _todos_of(turn.arguments)) is not None:
                    self._replace(_TODO, todos)

    def lines(self) -> Iterator[Line]:
        """Yield the last words, what has no result, what is to be done, and what failed."""
        for text, item in sorted(self.known.items(), key=lambda pair: pair[1].kind):
            if item.kind == _REPLY:
                yield Line(text, cut(one_line(first_sentence(text)), PARAGRAPH), 2, item.ref)
            else:
                yield Line(text, rank=1)
        for age, command in enumerate(self.commands.failing()):
            code = f" (exit {command.code})" if command.code else ""
            why = f": {command.outcome}" if command.outcome else ""
            yield Line(f"Failed: `{command.label}`{code}{why}", rank=-age)

    def _replace(self, kind: int, texts: Iterable[str] = (), ref: str = "") -> None:
        for text in [text for text, item in self.known.items() if item.kind == kind]:
            del self.known[text]
        self.known.update({text: _Item(kind, ref) for text in texts})


def _todos_of(arguments: Mapping[str, Any]) -> list[str] | None:
    """Return the open to-dos of a call that sets a list of them; None if it does not."""
    for value in arguments.values():
        items = value if isinstance(value, list) else []
        todos = [_todo(item) for item in items]
        if todos and None not in todos:
            return [todo for todo in todos if todo]
    return None


def _todo(item: object) -> str | None:
    """Return a to-do, an empty text if it is closed; None if it is no to-do."""
    if not isinstance(item, Mapping) or not isinstance(status := item.get("status"), str):
        return None
    text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), None)
    if text is None or status.casefold() in _CLOSED:
        return text and ""
    return cut(f"To do: {one_line(text)}", PARAGRAPH) + (
        "" if status == "pending" else f" ({status})"
    )
