"""Reading a conversation into the notes of a digest, once, from its start to its end."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, dropwhile

import attrs

from agentic.context.compactors._actions import Action, read_action
from agentic.context.compactors._entries import CallNote, FileNote
from agentic.context.compactors._lines import shorten, uncut
from agentic.context.compactors._mentions import SAID
from agentic.context.compactors._notes import Notes, Quotes, from_markdown
from agentic.context.compactors._outcomes import Outcome, read_outcome
from agentic.context.compactors._protocol import outputs_in_text
from agentic.context.compactors._quoted import quoted
from agentic.context.compactors._ranks import read_ranks
from agentic.context.compactors._shell import files_in_command
from agentic.context.compactors._stated import announced, found, result_of
from agentic.context.compactors._todos import todos_in_arguments, todos_in_text
from agentic.context.compactors._tools import ToolKind, ToolTable
from agentic.messages import Message, Round, ToolCall, ToolResult, split_rounds

__all__ = ["gather"]

_STATUS_LIMIT = 120
_COUNTED: dict[ToolKind | None, str] = {
    "read": "reads",
    "write": "writes",
    "edit": "edits",
    "delete": "deletions",
}


def gather(messages: Sequence[Message], table: ToolTable) -> Notes:
    """Read a conversation. A former digest among the messages is read back, not quoted.

    System messages that a conversation starts with are no part of it: they stay in the view.
    """
    gatherer = _Gatherer(table, outputs_in_text(messages))
    rounds = split_rounds(messages)
    for taken in dropwhile(_is_prompt, rounds):
        gatherer.take(taken)
    if rounds:
        gatherer.finish(rounds[-1])
    return gatherer.notes


def _is_prompt(taken: Round) -> bool:
    opener = taken.messages[0]
    return opener.role == "system" and opener.summary is None


@attrs.define
class _Gatherer:
    """The notes while they grow."""

    table: ToolTable
    outputs: Mapping[int, ToolCall]
    """User messages that are outputs, by position, and the calls that they answer."""
    notes: Notes = attrs.field(factory=Notes)

    def take(self, taken: Round) -> None:
        """Note what a round says."""
        opener = taken.messages[0]
        self.notes.mentions.go_on(len(taken.messages))
        if opener.summary is not None:
            self._fold(opener.summary.content)
        elif call := self.outputs.get(taken.positions[0]):
            self._take_call(call, ToolResult(call.id, call.name, opener.content))
        elif opener.role == "user":
            self._take_words(opener)
        elif opener.role == "system":
            self.notes.reminders.put_text(quoted(opener))
        for message in taken.messages:
            if message.role == "assistant" and message.summary is None:
                self._take_reply(message, acts=bool(taken.tool_calls))
        for call, result in _answered(taken):
            self._take_call(call, result)
        self._take_rest(taken)

    def _take_rest(self, taken: Round) -> None:
        """Note what the user said beside results, and what is pinned."""
        for message in taken.messages[1:]:
            self._take_words(message)
        for message in taken.messages:
            if message.pinned and message.role != "user":
                self.notes.pinned.put_text(quoted(message))

    def _take_words(self, message: Message) -> None:
        """Note what the user said, perhaps beside the results of tools."""
        if message.role == "user":
            self.notes.asked.put_text(quoted(message))
            self.notes.mentions.read("the user", message.content, SAID)

    def finish(self, last: Round) -> None:
        """Note what the last reply was about to do, and which of its calls have no result."""
        if last.tool_calls:
            for message in last.messages:
                if message.role == "tool":
                    break
                self.notes.progress.put_text(announced(message.content))
            for call in last.open_calls:
                label = read_action(call, self.table).label
                self.notes.progress.put_text(f"Called, no result yet: {label}")

    def _fold(self, summary: str) -> None:
        """Go on from a former summary."""
        former = from_markdown(summary)
        self._read_former(former)
        for note in [*former.changed.entries.values(), *former.read.entries.values()]:
            self.notes.put_file(note)
        seen = [
            (note.label, line)
            for note in former.seen.entries.values()
            for line in note.lines or ("",)
        ]
        for (label, line), rank in zip(seen, read_ranks(former.ranks, len(seen)), strict=True):
            self.notes.mentions.read_former(label, line, rank)
        former.seen.entries.clear()
        former.changed.entries.clear()
        former.read.entries.clear()
        self.notes.add(former)

    def _read_former(self, former: Notes) -> None:
        """Note the identifiers in a former digest: what finds no room elsewhere is shown again."""
        read = self.notes.mentions.read
        for quote in former.asked.entries.values():
            read("the user", uncut(quote.text), SAID)
        for quote in [*former.results.entries.values(), *former.findings.entries.values()]:
            read("the assistant", quote.text, SAID)
        for section in (former.commands, former.calls, former.errors):
            for note in section.entries.values():
                read(note.label, note.label, SAID)
                read(note.label, "\n".join([note.status, *note.lines]))

    def _take_reply(self, reply: Message, *, acts: bool) -> None:
        self.notes.mentions.read("the assistant", reply.content, SAID)
        self.notes.progress = Quotes()
        if acts:
            self.notes.findings.put_texts(found(reply.content))
        else:
            self.notes.results.put_texts(result_of(reply.content))
        self._set_todos(todos_in_text(reply.content))

    def _take_call(self, call: ToolCall, result: ToolResult) -> None:
        action = read_action(call, self.table)
        for text in _texts(action.arguments):
            self.notes.mentions.read_call(action.label, text, call.arguments if call.id else "")
        self.notes.mentions.read(action.label, result.text)
        todos = todos_in_arguments(action.arguments)
        self._set_todos(todos)
        if todos is not None:
            return
        outcome = read_outcome(result, action.kind)
        if action.kind is None or action.kind == "run":
            section = self.notes.commands if action.kind else self.notes.calls
            section.put(CallNote(action.label, status=_status(outcome)))
        if not outcome.failed:
            self._note_files(action)
        self._note_error(action, outcome)

    def _note_files(self, action: Action) -> None:
        if action.kind == "run":
            for note in files_in_command(self.table.command_of(action.arguments)):
                self.notes.put_file(note)
        counted = _COUNTED.get(action.kind, "")
        for path in action.paths:
            self.notes.put_file(FileNote(path, lines=action.lines, **{counted: 1}))

    def _note_error(self, action: Action, outcome: Outcome) -> None:
        """Note an error; one that the same call overcame later is no news."""
        if outcome.failed and outcome.lines:
            status = f"exit {outcome.exit_code}" if outcome.exit_code else ""
            self.notes.errors.put(CallNote(action.label, status=status, lines=outcome.lines))
        elif not outcome.failed:
            self.notes.errors.entries.pop(action.label, None)

    def _set_todos(self, todos: list[str] | None) -> None:
        if todos is not None:
            self.notes.todos = Quotes()
            for todo in todos:
                self.notes.todos.put_text(todo)


def _texts(arguments: Mapping[str, object]) -> Iterator[str]:
    """Give the texts in the arguments of a call, however deep they are nested."""
    waiting: deque[object] = deque(arguments.values())
    while waiting:
        value = waiting.popleft()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _answered(taken: Round) -> Iterator[tuple[ToolCall, ToolResult]]:
    """Give the calls of a round that have a result, then the results that answer no call."""
    results: defaultdict[str, deque[ToolResult]] = defaultdict(deque)
    for message in taken.messages:
        for result in message.tool_results:
            results[result.call_id].append(result)
    for call in taken.tool_calls:
        if waiting := results[call.id]:
            yield call, waiting.popleft()
    for orphan in chain.from_iterable(results.values()):
        yield ToolCall(orphan.call_id, orphan.name), orphan


def _status(outcome: Outcome) -> str:
    if outcome.failed:
        return f"failed, exit {outcome.exit_code}" if outcome.exit_code else "failed"
    return shorten(outcome.lines[0], _STATUS_LIMIT) if outcome.lines else "no output"
