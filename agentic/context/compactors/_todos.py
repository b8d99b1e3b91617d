"""The newest list of to-dos: what a to-do tool was given, or checkboxes in a reply."""

import re
from collections.abc import Mapping
from typing import Any

from agentic.context.compactors._lines import one_line, shorten

__all__ = ["todos_in_arguments", "todos_in_text"]

_LIMIT = 160
_BOX = re.compile(r"^[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)$", re.MULTILINE)
_TEXTS = ("content", "text", "title", "task", "step", "description")
_CLOSED = {"completed", "complete", "done", "closed", "cancelled", "canceled", "skipped"}


def todos_in_arguments(arguments: Mapping[str, Any]) -> list[str] | None:
    """Give the open to-dos of a call that sets a list of them; None if it is no such call.

    >>> todos_in_arguments({"todos": [{"content": "test", "status": "pending"}]})
    ['test']
    """
    for value in arguments.values():
        items = value if isinstance(value, list) else []
        todos = [_todo(item) for item in items]
        if todos and None not in todos:
            return [text for text, is_open in filter(None, todos) if is_open]
    return None


def todos_in_text(text: str) -> list[str] | None:
    r"""Give the unticked checkboxes of a reply; None if it has no checkboxes at all.

    >>> todos_in_text("- [x] parse\n- [ ] test")
    ['test']
    """
    if "] " not in text:
        return None
    boxes = _BOX.findall(text)
    return [_tidy(task) for tick, task in boxes if tick == " "] if boxes else None


def _todo(item: object) -> tuple[str, bool] | None:
    """Give the text of one to-do and whether it is open."""
    if not isinstance(item, Mapping) or not isinstance(status := item.get("status"), str):
        return None
    texts = [item[key] for key in _TEXTS if isinstance(item.get(key), str)]
    return (_tidy(texts[0]), status.casefold() not in _CLOSED) if texts else None


def _tidy(task: str) -> str:
    return shorten(one_line(task[: 2 * _LIMIT]), _LIMIT)
