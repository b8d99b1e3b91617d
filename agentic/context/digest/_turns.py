"""A conversation as a digest reads it: what was asked, said and called, record by record."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, dropwhile
from typing import Any, TypeAlias

import attrs

from agentic.context.digest._cut import one_line
from agentic.context.digest._harness import is_summary, own_words
from agentic.context.digest._references import quoted
from agentic.context.digest._text_agents import Action, actions_in_text
from agentic.context.digest._tools import ToolTable
from agentic.messages import Message, Round, ToolCall, ToolResult, split_rounds

__all__ = ["Asked", "Called", "Noted", "Said", "Summarized", "Turn", "read_turns"]

_LABEL = 200
"""Characters of an argument that are read to name a call."""


@attrs.frozen
class Asked:
    """The user's own words, without what a harness put around them."""

    text: str
    message: Message
    """Where they stand."""


@attrs.frozen
class Noted:
    """What is neither the user's nor the assistant's word: a system message, or a pinned output."""

    text: str
    message: Message


@attrs.frozen
class Said:
    """The assistant's prose."""

    text: str
    message: Message


@attrs.frozen
class Called:
    """A call with its result; None as long as there is none."""

    call: ToolCall
    arguments: Mapping[str, Any]
    """The arguments, parsed; empty if they are no JSON object."""
    kind: str | None
    """What the tool table says that the tool does: read, write, edit, delete, run, or None."""
    result: ToolResult | None

    @property
    def output(self) -> str:
        """What the model saw of the result."""
        return "" if self.result is None else self.result.text

    @property
    def label(self) -> str:
        """The call in one line: the command, or the tool and what it was given."""
        given = [str(value)[:_LABEL] for value in self.arguments.values()]
        if self.kind == "run" and given:
            return one_line(given[0])
        return one_line(" ".join([self.call.name, *given]))


@attrs.frozen
class Summarized:
    """A former summary: ours with the data beside it, or somebody else's text."""

    text: str
    notes: Mapping[str, Any] = attrs.field(factory=dict)


Turn: TypeAlias = Asked | Noted | Said | Called | Summarized


def read_turns(messages: Sequence[Message], table: ToolTable) -> Iterator[Turn]:
    """Yield the turns of a conversation. System messages that it starts with are no part of it."""
    reader = _Reader(table, actions_in_text(messages), _last_request(messages))
    for found in dropwhile(_is_prompt, split_rounds(messages)):
        yield from reader.read(found)


def _is_prompt(found: Round) -> bool:
    opener = found.messages[0]
    return opener.role == "system" and opener.summary is None


def _last_request(messages: Sequence[Message]) -> int:
    users = (at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "user")
    return next(users, -1)


@attrs.define
class _Reader:
    table: ToolTable
    actions: Mapping[int, Action]
    """Calls in the text of replies, by position."""
    last_request: int

    def read(self, found: Round) -> Iterator[Turn]:
        """Yield what a round says: replies, then calls, then what the user said beside results."""
        first, position = found.messages[0], found.positions[0]
        if first.summary is not None:
            yield Summarized(first.summary.content, first.summary.notes)
        elif action := self.actions.get(position):
            if prose := first.content[: action.start].strip():
                yield Said(prose, first)
            if position == self.last_request + 1:
                yield self._called(action.call, None)
        elif action := self.actions.get(position - 1):
            yield self._called(action.call, ToolResult("", action.call.name, first.content))
        else:
            yield from self._read_messages(found)

    def _read_messages(self, found: Round) -> Iterator[Turn]:
        for message in found.messages:
            if message.role == "assistant" and message.content.strip():
                yield Said(message.content, message)
        for call, result in _answered(found):
            yield self._called(call, result)
        for message, position in zip(found.messages, found.positions, strict=True):
            if message.role == "user":
                yield from self._read_words(message, position)
            elif message.role == "system" or message.pinned:
                yield Noted(quoted(message), message)

    def _read_words(self, message: Message, position: int) -> Iterator[Turn]:
        if is_summary(message.content) and position != self.last_request:
            yield Summarized(message.content)
        elif (text := own_words(message.content)) or message.media:
            attached = ", ".join(media.media_type for media in message.media)
            yield Asked(f"{text} [attached: {attached}]".strip() if attached else text, message)

    def _called(self, call: ToolCall, result: ToolResult | None) -> Called:
        # Arguments nested too deeply raise a RecursionError.
        try:
            arguments = call.parse()
        except (ValueError, RecursionError):
            arguments = {}
        return Called(call, arguments, self.table.kind_of(call.name, arguments), result)


def _answered(found: Round) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """Yield the calls of a round with their results, then the results that answer no call."""
    results: defaultdict[str, deque[ToolResult]] = defaultdict(deque)
    for message in found.messages:
        for result in message.tool_results:
            results[result.call_id].append(result)
    for call in found.tool_calls:
        waiting = results[call.id]
        yield call, waiting.popleft() if waiting else None
    for orphan in chain.from_iterable(results.values()):
        yield ToolCall(orphan.call_id, orphan.name), orphan
