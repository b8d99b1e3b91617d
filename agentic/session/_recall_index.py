"""What a model no longer sees in full, newest first, each piece with a reference to read it by.

A reference is `out-` and 16 hex digits for an output that the store keeps whole, `text-` and 12 for
a message that a digest quotes in part, the id of a tool call for its result, `m17` for the 17th
message of the archive, or `m17.2` for the second result in it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentic.context.digest import message_ref
from agentic.messages import Message, ToolCall, ToolResult

__all__ = [
    "KEPT_REF",
    "PLACE_REF",
    "Piece",
    "call_name",
    "call_names",
    "hidden_pieces",
    "kept_ref",
    "message_text",
    "number_of",
    "result_text",
]

KEPT_REF = re.compile(r"out-[0-9a-f]{16}")
PLACE_REF = re.compile(r"m([0-9]{1,9})(?:\.([0-9]{1,9}))?")
"""The number of a message, and that of a result in it; no call's id, also if one looks like it."""
_TEXT_REF = re.compile(r"text-[0-9a-f]{12}")


@attrs.frozen
class Piece:
    """Something that can be read again."""

    ref: str
    label: str
    """What it is, in a few words."""
    text: str
    """As the history holds it."""
    kept: bool = False
    """Whether the store has more of it under this reference."""


def hidden_pieces(full: Sequence[Message], seen: Sequence[Message], own: str) -> Iterator[Piece]:
    """Yield what is in the archive and not, whole, in what the model sees; newest first.

    Calls of the tool named `own` and their results are left out: they repeat what is found
    elsewhere.
    """
    sight = _Sight(
        own, call_names(full), Counter(key for message in seen for key in _keys(message))
    )
    for number in range(len(full), 0, -1):
        yield from sight.hidden(full[number - 1], number)


@attrs.define(eq=False)
class _Sight:
    """What the model sees, while the archive is gone through from its end."""

    own: str
    names: dict[str, str]
    visible: Counter[Any]
    """Each thing as often as it is seen."""
    newer: set[str] = attrs.field(factory=set)
    """References that mean something later in the archive."""

    def hidden(self, message: Message, number: int) -> Iterator[Piece]:
        """Yield what is out of sight in one message."""
        for position in range(len(message.tool_results), 0, -1):
            yield from self._hidden_result(message, number, position)
            self.newer.add(message.tool_results[position - 1].call_id)
        if message.role == "tool" or _take(self.visible, _said(message)):
            return
        text = message_text(message, self.own)
        if text:
            yield Piece(f"m{number}", message.role, text)

    def _hidden_result(self, message: Message, number: int, position: int) -> Iterator[Piece]:
        result = message.tool_results[position - 1]
        kept, name = kept_ref(result), call_name(result, self.names)
        if (_take(self.visible, _gave(result)) and not kept) or name == self.own:
            return
        if kept and kept in self.newer:  # the same output once more
            return
        if kept:
            self.newer.add(kept)
        # A call's id that a later call has, too, means that one.
        taken = result.call_id in self.newer or PLACE_REF.fullmatch(result.call_id)
        by_id = "" if taken else result.call_id
        alone = len(message.tool_results) == 1 and not message_text(message)
        ref = kept or by_id or (f"m{number}" if alone else f"m{number}.{position}")
        yield Piece(ref, f"{name}, m{number}", result_text(result), bool(kept))


def message_text(message: Message, own: str = "") -> str:
    r"""Return what a message says, and its calls as the model wrote them.

    >>> message_text(Message("assistant", "I look.", tool_calls=[ToolCall("c1", "ls", "{}")]))
    'I look.\nls({})'
    """
    calls = (f"{call.name}({call.arguments})" for call in message.tool_calls if call.name != own)
    return "\n".join(part for part in (message.content, message.reasoning, *calls) if part)


def result_text(result: ToolResult) -> str:
    """Return a result without its notice, which tells of what is missing."""
    return attrs.evolve(result, notice="").text


def number_of(ref: str, full: Sequence[Message]) -> int:
    """Return the number of the newest message that a digest names so; 0 if there is none.

    >>> number_of("text-16b0eae8ab6a", [Message("user", "Why is the build red?")])
    1
    """
    if not _TEXT_REF.fullmatch(ref):
        return 0
    return next((n for n in range(len(full), 0, -1) if message_ref(full[n - 1]) == ref), 0)


def call_names(messages: Sequence[Message]) -> dict[str, str]:
    """Return the name of the tool by the id of the call."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


def call_name(result: ToolResult, names: dict[str, str]) -> str:
    """Return the name of the tool, which a foreign history may have at the call only."""
    return result.name or names.get(result.call_id, "a tool")


def kept_ref(result: ToolResult) -> str:
    """Return the reference under which a store keeps the whole output; nothing if none does."""
    return result.ref if result.ref and KEPT_REF.fullmatch(result.ref) else ""


def _keys(message: Message) -> Iterator[Any]:
    if message.role != "tool":
        yield _said(message)
    for result in message.tool_results:
        yield _gave(result)


def _said(message: Message) -> Any:
    calls: tuple[ToolCall, ...] = message.tool_calls
    return (message.role, message.content, *((call.id, call.arguments) for call in calls))


def _gave(result: ToolResult) -> Any:
    return (result.call_id, result.output, result.error and result.error.message)


def _take(visible: Counter[Any], key: Any) -> bool:
    if visible[key] <= 0:
        return False
    visible[key] -= 1
    return True
