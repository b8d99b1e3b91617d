"""What reading a file brings: messages, notes, and the size of what was not understood.

What a format is known to hold besides the conversation (titles, snapshots, what was only shown) is
left out by its reader. Anything else that a reader does not know is passed to `Reading.skip`, which
counts it: it never becomes empty content. An entry of a wrong shape is left out with a note.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from agentic.app.replay._json_values import Damage, note
from agentic.messages import Message

_METADATA = frozenset(
    {
        *("role", "type", "id", "uuid", "parent", "parentId", "parent_id", "name", "model", "v"),
        *("provider", "timestamp", "ts", "time", "created", "created_at", "createdAt", "status"),
        *("updated_at", "usage", "metadata", "state", "stop_reason", "finish_reason", "version"),
        *("sessionId", "session_id", "cwd", "metrics", "extra", "tool_call_id", "tool_name"),
        *("toolCallId", "summary", "error", "errorMessage"),
    }
)
"""Keys of a message that say something about it, and hold none of its content."""
_NOTED = 5
"""The most entries and kinds that are noted one by one."""


@attrs.frozen
class RecordedCompaction:
    """A compaction that the agent itself made: what its next requests began with."""

    position: int
    """How many messages of the transcript came before it."""
    view: tuple[Message, ...]
    """What stood in place of the messages before `resumes`."""
    resumes: int
    """The position of the first message that was still sent as it was; at most `position`."""


@attrs.define
class Reading:
    """Collects what a reader finds in one conversation."""

    messages: list[Message] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    compactions: list[RecordedCompaction] = attrs.field(factory=list)
    damages: list[Damage] = attrs.field(factory=list)
    """Entries that were left out because they are not of the form that they should have."""
    unknown_chars: int = 0
    """The characters in what was skipped and in damaged entries."""
    _skipped: Counter[str] = attrs.field(factory=Counter)
    """How many parts of each unknown kind were left out."""
    _sizes: Counter[str] = attrs.field(factory=Counter)
    _models: Counter[str] = attrs.field(factory=Counter)

    @property
    def model(self) -> str:
        """The model that most replies name; empty if none does."""
        return next((name for name, _ in self._models.most_common(1)), "")

    @property
    def unknown_share(self) -> float:
        """The share of all text that was not understood, from 0 to 1."""
        total = self.unknown_chars + sum(map(message_size, self.messages))
        return self.unknown_chars / total if total else 0.0

    def use_model(self, name: Any) -> None:
        """Count a reply's model; anything but a name is ignored."""
        # Claude Code writes `<synthetic>` where no model was asked.
        if isinstance(name, str) and name and not name.startswith("<"):
            self._models[name] += 1

    def skip(self, kind: str, data: Any) -> None:
        """Count a part whose kind is not known; one without any text is not worth a note."""
        size = text_size(data)
        if size:
            self._skipped[kind] += 1
            self._sizes[kind] += size
            self.unknown_chars += size

    def skip_entry(self, line: int | None, reason: str, data: Any = None) -> None:
        """Leave out an entry of a wrong shape, with the reason."""
        self.damages.append(Damage(line, reason))
        self.unknown_chars += text_size(data)

    def skip_damage(self, problem: Damage, data: Any = None) -> None:
        """Leave out an entry that a reader refused."""
        self.skip_entry(problem.line, problem.found, data)

    def add(self, message: Message, data: Mapping[str, Any] | None = None) -> None:
        """Append a message; `data` is what it was read from.

        A message without content is compared with its data: if that has texts under other keys than
        those of metadata, they are counted as not understood.
        """
        self.messages.append(message)
        if data is not None and is_empty(message):
            keys = {"content", "tool_calls", "reasoning", "reasoning_content", "function_call"}
            rest = {
                key: value
                for key, value in data.items()
                if key not in _METADATA | keys and not key.lower().endswith("reason")
            }
            self.skip(f"message with {', '.join(sorted(rest))}", rest)

    def extend(self, messages: Iterable[Message]) -> None:
        """Append messages."""
        self.messages += messages

    def note_count(self, number: int, one: str, many: str) -> None:
        """Note a number of things; nothing for 0."""
        self.notes += note(number, one, many)

    def note_own(self, number: int, nouns: str) -> None:
        """Note what the agent made of its history and is left out; nothing for 0."""
        be = "is" if number == 1 else "are"
        sentence = f"of its own {nouns} {be} left out: the originals are replayed"
        self.notes += note(number, sentence, sentence)

    def note_branches(self, number: int) -> None:
        """Note entries before which the user went back; nothing for 0."""
        self.note_count(
            number,
            "entry of an abandoned branch is left out",
            "entries of abandoned branches are left out",
        )

    def compact(self, *view: Message, resumes: int | None = None) -> None:
        """Record a compaction of the agent's own, after the messages so far.

        Args:
            view: what stands in place of the messages so far, or of those before `resumes`.
            resumes: the position from which messages are still sent.
        """
        position = len(self.messages)
        start = position if resumes is None else resumes
        self.compactions.append(RecordedCompaction(position, view, start))

    def named(self) -> tuple[Message, ...]:
        """Return the messages, in which each result names the tool of its call."""
        names: dict[str, str] = {}
        messages = []
        for message in self.messages:
            names |= {call.id: call.name for call in message.tool_calls}
            results = message.tool_results
            if any(not each.name and each.call_id in names for each in results):
                results = tuple(
                    attrs.evolve(each, name=each.name or names.get(each.call_id, ""))
                    for each in results
                )
                message = attrs.evolve(message, tool_results=results)  # noqa: PLW2901
            messages.append(message)
        return tuple(messages)

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, with those about what was left out because it was not understood."""
        return (*self.notes, *self._notes_of_damage(), *self._notes_of_unknown())

    def _notes_of_damage(self) -> Iterator[str]:
        for problem in self.damages[:_NOTED]:
            where = "an entry" if problem.line is None else f"line {problem.line}"
            yield f"{where} is left out: {problem.found}"
        more = len(self.damages) - _NOTED
        yield from note(more, "more line is left out", "more lines are left out")

    def _notes_of_unknown(self) -> Iterator[str]:
        kinds = self._skipped.most_common()
        for kind, number in kinds[:_NOTED]:
            size = f"{self._sizes[kind]:,} characters"
            yield f"not understood: {number:,} x {kind} ({size})"
        rest = kinds[_NOTED:]
        yield from note(len(rest), "more kind is not understood", "more kinds are not understood")


def message_size(message: Message) -> int:
    """Return the number of characters in the texts of a message."""
    calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    results = sum(len(result.text) for result in message.tool_results)
    return len(message.content) + len(message.reasoning) + calls + results


def is_empty(message: Message) -> bool:
    """Return whether a message holds nothing that a model could read."""
    return not (
        message.content
        or message.reasoning
        or message.tool_calls
        or message.tool_results
        or message.media
    )


def text_size(data: Any) -> int:
    """Return the number of characters in the texts of JSON data.

    >>> text_size({"a": "four", "b": [1, "two"]})
    7
    """
    size, waiting = 0, [data]
    while waiting:
        match waiting.pop():
            case str(text):
                size += len(text)
            case dict() as inner:
                waiting += inner.values()
            case list() as inner:
                waiting += inner
            case _:
                pass
    return size


def json_text(data: Any) -> str:
    """Return JSON data as a text; a text as it is.

    >>> json_text("a"), json_text({"a": 1})
    ('a', '{"a": 1}')
    """
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
