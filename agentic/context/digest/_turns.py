"""A conversation as a digest reads it: what was asked, said and called, record by record."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import attrs

from agentic.context.digest._cut import LINE, cut, one_line
from agentic.context.digest._harness import is_summary, own_words
from agentic.context.digest._outcome import failed
from agentic.context.digest._references import quoted
from agentic.context.digest._text_agents import Action, actions_in_text
from agentic.context.digest._tools import ToolTable
from agentic.messages import Message, Round, ToolCall, ToolResult, split_rounds

__all__ = ["Asked", "Called", "Noted", "Said", "Summarized", "Turn", "called", "read_turns"]


@attrs.frozen
class _Words:
    text: str
    message: Message
    """Where they stand."""


class Asked(_Words):
    """The user's own words, without what a harness put around them."""


class Noted(_Words):
    """What is neither the user's nor the assistant's word: a system message, or a pinned output."""


class Said(_Words):
    """The assistant's prose."""


@attrs.frozen
class Summarized:
    """A former summary: ours with the data beside it, or somebody else's text."""

    text: str
    notes: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Called:
    """A call with its result; None as long as there is none."""

    call: ToolCall
    arguments: Mapping[str, Any]
    """The arguments, parsed; empty if they are no JSON object."""
    kind: str | None
    """What the tool table says that the tool does: read, write, edit, delete, run, or None."""
    command: str
    """What is run, if it runs something."""
    paths: tuple[str, ...]
    """The files that the arguments name, if it does something to files."""
    result: ToolResult | None
    failed: bool

    @property
    def output(self) -> str:
        """What the model saw of the result."""
        return "" if self.result is None else self.result.text

    @property
    def label(self) -> str:
        """The call in one line: the command, or the tool and what it was given."""
        given = [str(value)[:LINE] for value in self.arguments.values()]
        words = [self.command[:LINE]] if self.command else [self.call.name, *given]
        return cut(one_line(" ".join(words)), LINE)


Turn: TypeAlias = Asked | Noted | Said | Called | Summarized


def read_turns(messages: Sequence[Message], table: ToolTable) -> Iterator[Turn]:
    """Yield the turns of a conversation. System messages that it starts with are no part of it."""
    reader = _Reader(table, actions_in_text(messages), _last_request(messages))
    is_prompt = True
    for found in split_rounds(messages):
        opener = found.messages[0]
        is_prompt = is_prompt and opener.role == "system" and opener.summary is None
        if not is_prompt:
            yield from reader.read(found)


def called(call: ToolCall, result: ToolResult | None, table: ToolTable) -> Called:
    """Return a call with what the table knows of its tool."""
    # Arguments nested too deeply raise a RecursionError.
    try:
        arguments = call.parse()
    except (ValueError, RecursionError):
        arguments = {}
    kind = table.kind_of(call.name, arguments)
    command = table.command_of(arguments) if kind == "run" else ""
    paths = table.paths_of(arguments) if kind and kind != "run" else ()
    went_wrong = result is not None and failed(result, is_command=kind == "run")
    return Called(call, arguments, kind, command, paths, result, went_wrong)


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
            if position > self.last_request:
                yield called(action.call, None, self.table)
        elif action := self.actions.get(position - 1):
            result = ToolResult("", action.call.name, first.content)
            yield called(action.call, result, self.table)
        else:
            yield from self._read_messages(found)

    def _read_messages(self, found: Round) -> Iterator[Turn]:
        for message in found.messages:
            if message.role == "assistant" and message.content.strip():
                yield Said(message.content, message)
        for call, result in _answered(found):
            yield called(call, result, self.table)
        for message, position in zip(found.messages, found.positions, strict=True):
            if message.role == "user":
                yield from self._read_words(message, position)
            elif message.role == "system" or message.pinned:
                yield Noted(quoted(message), message)

    def _read_words(self, message: Message, position: int) -> Iterator[Turn]:
        if is_summary(message.content) and position != self.last_request:
            yield Summarized(message.content)
        elif (text := own_words(message.content)) or message.media:
            yield Asked(quoted(message.replace(content=text)), message)


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
