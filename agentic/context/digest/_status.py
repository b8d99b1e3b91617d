"""Where things stand: what was said last, is running, is to be done, and still fails."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.context.digest._commands import Commands
from agentic.context.digest._cut import cut, first_sentence, one_line
from agentic.context.digest._references import message_ref
from agentic.context.digest._section import Line
from agentic.context.digest._turns import Asked, Called, Said, Turn
from agentic.messages import Message

__all__ = ["Status"]

_SENTENCE, _TASK, _STORED = 400, 160, 2000
"""Characters of a first sentence, of a to-do or a call, and of the last reply as it is stored."""
_BOX = re.compile(r"^[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?(?:^```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_TEXTS = ("content", "text", "title", "task", "step", "description")
_CLOSED = {"completed", "complete", "done", "closed", "cancelled", "canceled", "skipped"}


@attrs.define
class Status:
    """The last state of things."""

    commands: Commands
    """Knows which of them failed and never succeeded later."""
    _reply: tuple[str, str | Message] = ("", "")
    """What the assistant said last, and the message or its reference."""
    _waiting: list[str] = attrs.field(factory=list)
    _todos: list[str] = attrs.field(factory=list)

    def take(self, turn: Turn) -> None:
        """Take in what changes the state."""
        match turn:
            case Said(text, message):
                self._waiting.clear()
                prose = _FENCED.sub("", text) if "```" in text else text
                if prose.strip():
                    self._reply = prose.strip(), message
                if (todos := _boxes(text)) is not None:
                    self._todos = todos
            case Asked():
                self._waiting.clear()
            case Called():
                if turn.result is None:
                    self._waiting.append(cut(turn.label, _TASK))
                if (todos := _todos_of(turn.arguments)) is not None:
                    self._todos = todos

    def lines(self) -> Iterator[Line]:
        """Yield the last words, what has no result, and what is to be done."""
        text, ref = self._last_reply()
        if text:
            short = cut(one_line(first_sentence(text)), _SENTENCE)
            yield Line(text, short, 2, ref)
        for label in self._waiting:
            yield Line(f"Called, no result yet: {label}", rank=1)
        for todo in self._todos:
            yield Line(f"To do: {todo}", rank=1)
        for command in self.commands.failing():
            yield Line(f"Failed: `{command.label}`: {command.outcome}", rank=-1 / command.last)

    def _last_reply(self) -> tuple[str, str]:
        text, source = self._reply
        return text, source if isinstance(source, str) else message_ref(source)

    def to_plain(self) -> Any:
        """Return the last state."""
        text, ref = self._last_reply()
        reply = [cut(text, _STORED), ref]
        return {"reply": reply, "waiting": self._waiting, "todos": self._todos}

    def restore(self, plain: Any) -> None:
        """Go on from the state of a former generation."""
        match plain:
            case {"reply": [str(text), str(ref)], "waiting": list(waiting), "todos": list(todos)}:
                self._reply = text, ref
                self._waiting = [each for each in waiting if isinstance(each, str)]
                self._todos = [each for each in todos if isinstance(each, str)]


def _todos_of(arguments: Mapping[str, Any]) -> list[str] | None:
    """Return the open to-dos of a call that sets a list of them; None if it does not."""
    for value in arguments.values():
        items = value if isinstance(value, list) else []
        todos = [_todo(item) for item in items]
        if todos and None not in todos:
            return [text for text, is_open in filter(None, todos) if is_open]
    return None


def _todo(item: object) -> tuple[str, bool] | None:
    if not isinstance(item, Mapping) or not isinstance(status := item.get("status"), str):
        return None
    texts = [item[key] for key in _TEXTS if isinstance(item.get(key), str)]
    state = "" if status == "pending" else f" ({status})"
    is_open = status.casefold() not in _CLOSED
    return (cut(one_line(texts[0]), _TASK) + state, is_open) if texts else None


def _boxes(text: str) -> list[str] | None:
    """Return the unticked checkboxes of a reply; None if it has no checkboxes."""
    if "] " not in text:
        return None
    boxes = _BOX.findall(text)
    return [cut(one_line(task), _TASK) for tick, task in boxes if tick == " "] if boxes else None
