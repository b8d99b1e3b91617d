"""Where things stand: what was said last, is running, is to be done, and still fails."""

from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._commands import Commands
from agentic.context.digest._section import MAIN, STORED_CHARS, Line, Section
from agentic.context.digest._text import PARAGRAPH, cut, one_line
from agentic.context.digest._turns import Called, Words

__all__ = ["Status"]

_TEXTS = ("content", "text", "title", "task", "step", "description")
_CLOSED = {"completed", "complete", "done", "closed", "cancelled", "canceled", "skipped"}


@attrs.define
class _State:
    text: str
    """What was said last, or calls or to-dos, one a line."""
    ref: str = ""
    """The message that it is from, if that is longer than what is shown at least."""


@attrs.define
class Status(Section[_State]):
    """The last reply, the calls that wait for a result, and the open to-dos, under these names."""

    heading = "Where things stand"
    noun = "items"
    takes = ("request", "reply", "call")
    share = MAIN
    record = _State
    commands: Commands = attrs.field(kw_only=True)
    """Knows which of them failed and never succeeded later."""

    def take(self, turn: Words | Called) -> None:
        """Take in what changes the state."""
        if isinstance(turn, Words):
            self.known.pop("waiting", None)
            if turn.kind == "reply":
                ref = turn.ref if len(turn.text) > PARAGRAPH else ""
                self.known["reply"] = _State(cut(turn.text.strip(), STORED_CHARS), ref)
            return
        if turn.result is None:
            waiting = self.known.setdefault("waiting", _State(""))
            waiting.text += f"Called, no result yet: {turn.label}\n"
        for value in turn.arguments.values():
            todos = [_todo(item) for item in value] if isinstance(value, list) else []
            if todos and None not in todos:
                self.known["todos"] = _State("\n".join(filter(None, todos)))

    def lines(self) -> Iterator[Line]:
        """Yield the last words, what has no result, what is to be done, and what failed."""
        if reply := self.known.get("reply"):
            yield Line(reply.text, cut(one_line(reply.text), PARAGRAPH), 2, reply.ref)
        for name in ("waiting", "todos"):
            text = self.known[name].text if name in self.known else ""
            yield from (Line(line, rank=1) for line in text.split("\n") if line)
        for label, error in self.commands.failing():
            yield Line(f"Failed: `{label}`" + (f": {error}" if error else ""))


def _todo(item: Any) -> str | None:
    """Return a to-do, an empty text if it is closed; None if it is no to-do."""
    if not isinstance(item, dict) or not isinstance(status := item.get("status"), str):
        return None
    text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), None)
    if text is None or status.casefold() in _CLOSED:
        return text and ""
    state = "" if status == "pending" else f" ({one_line(status)})"
    return cut(f"To do: {one_line(text)}", PARAGRAPH) + state
