"""Sessions of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json` or `.jsonl`.

By packages/core/src/services/chatRecordingTypes.ts and chatRecordingService.ts of
https://github.com/google-gemini/gemini-cli (2026-11). An older file is one object with all
`messages`. A newer one has a line for each message; one that changed is written again with the same
`id`. A `$set` line updates the session, perhaps with all `messages`; a `$rewindTo` line takes back
a message and all after it. A reply holds its calls and their results in `toolCalls`. Messages of
the types `info`, `warning` and `error` were shown to the user, never sent.

Since 0.45 every result is recorded once more, as a message of the user with a `functionResponse`;
after a session was resumed, calls and thoughts stand in the parts of a reply's `content` alone.
"""

from collections.abc import Iterable, Iterator, Sequence

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats._usage import whole_usage
from agentic.app.replay._formats.gemini_calls import has_ended, recorded_calls, recorded_result
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import Parts, make_result, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers.kit import text_at

_SENT = {"user", "gemini"}
_SHOWN = {"info", "warning", "error"}


def is_line(data: Entry) -> bool:
    """Return whether an object is a line of a session of Gemini CLI, or one of its messages.

    >>> is_line({"id": "m1", "timestamp": "", "type": "gemini", "content": "Hello."})
    True
    """
    if "$rewindTo" in data or isinstance(data.get("$set"), dict):
        return True
    if "projectHash" in data and "sessionId" in data:
        return True
    # An entry of Claude Code has the type `user`, too.
    kinds = {"gemini"} if "parentUuid" in data else _SENT | _SHOWN
    is_message = text_at(data, "type") in kinds and "role" not in data
    return is_message and "id" in data and "content" in data


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages that were not taken back, each in its latest version."""
    latest: dict[str, Entry] = {}
    taken_back = 0
    for value in values:
        data = value.data
        if "$rewindTo" in data:
            # As Gemini CLI does, a message that is not known takes back all of them.
            ids, first = list(latest), text_at(data, "$rewindTo")
            obsolete = ids[ids.index(first) :] if first in latest else ids
            taken_back += len(obsolete)
            for each in obsolete:
                del latest[each]
        # An empty list replaces nothing (`loadConversationRecord` in chatRecordingService.ts).
        elif snapshot := objects_at(data, "$set", "messages"):
            latest = {text_at(each, "id"): each for each in snapshot}
        elif text_at(data, "type") in _SENT:
            latest[text_at(data, "id")] = data
        elif text_at(data, "type") not in _SHOWN and "content" in data:
            reading.skip(f"message of the type {text_at(data, 'type')!r}", data)
    _Conversation(reading).read(latest.values())
    reading.note_count(
        taken_back,
        "message that was taken back is left out",
        "messages that were taken back are left out",
    )


class _Conversation:
    """Pairs calls with their results, which are recorded at one or two places."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._open: dict[str, str] = {}
        """The tool of each call that has no result yet, by the call's id."""
        self._answered: set[str] = set()

    def read(self, records: Iterable[Entry]) -> None:
        """Read records in order."""
        for record in records:
            if record.get("type") == "user":
                self._read_user(record)
            # A snapshot also has what was only shown.
            elif record.get("type") == "gemini":
                self._read_reply(record)

    def _read_user(self, record: Entry) -> None:
        parts = read_parts(record.get("content"), self._reading)
        # A result that is known from its call is recorded here once more.
        fresh = list(self._fresh(parts.results))
        repeats = bool(parts.results) and not fresh
        parts.results = fresh
        if not repeats or parts.texts or parts.media:
            for message in parts.messages("user"):
                self._reading.add(message)

    def _fresh(self, results: Sequence[ToolResult]) -> Iterator[ToolResult]:
        for result in results:
            call_id = result.call_id or self._waiting_for(result.name)
            if call_id not in self._answered:
                self._answered.add(call_id)
                name = self._open.pop(call_id, result.name)
                text = result.error.message if result.error else result.output
                is_error = result.error is not None
                yield make_result(call_id, name, text, is_error=is_error, media=result.media)

    def _waiting_for(self, name: str) -> str:
        """Return the first open call of a tool, for a result without an id."""
        return next((call for call, tool in self._open.items() if tool == name), "")

    def _read_reply(self, record: Entry) -> None:
        parts = read_parts(record.get("content"), self._reading)
        records = objects_at(record, "toolCalls")
        ids = {text_at(each, "id") for each in records}
        calls = recorded_calls(records)
        calls += [
            call if call.id else ToolCall(f"{record.get('id')}-{at}", call.name, call.arguments)
            for at, call in enumerate(parts.calls)
            if call.id not in ids
        ]
        # Gemini CLI keeps summaries of thoughts, each with a heading.
        thoughts = [
            f"{each.get('subject')}: {each.get('description')}"
            for each in objects_at(record, "thoughts")
        ]
        tokens = whole_usage(record.get("tokens"), "input", "output", "cached")
        self._reading.use_model(record.get("model"))
        reply = Parts(parts.texts, thoughts or parts.thoughts, calls, [], parts.media)
        [message] = reply.messages("assistant", usage=tokens)
        if message.content or message.reasoning or calls or message.media:
            self._reading.add(message)
        self._open |= {call.id: call.name for call in calls}
        answers = [recorded_result(each, self._reading) for each in records if has_ended(each)]
        results = list(self._fresh(answers))
        if results:
            self._reading.add(Message("tool", tool_results=results))


FORMAT = Format(
    name="Gemini CLI session",
    recognizes=is_line,
    read=read,
    places=(Place((".gemini", "tmp"), "*/chats/session-*.json*"),),
)
