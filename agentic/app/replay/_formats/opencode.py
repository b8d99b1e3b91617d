"""Sessions of OpenCode, in each of the three forms that its versions have.

The format is that of packages/opencode/src/session/message-v2.ts of https://github.com/sst/opencode
(2026-11). A message is an `info` with a `role`, and `parts`; a tool part holds the call and its
result. They are stored below `$XDG_DATA_HOME/opencode` (by default ~/.local/share/opencode):

- a database, `opencode.db`, with a row of JSON for each message and each part;
- before 2026, a file for each: `storage/session/<project>/<session>.json`,
  `storage/message/<session>/<message>.json` and `storage/part/<message>/<part>.json`;
- `opencode export` writes one object with the session's `info` and all `messages`.

A compaction is a user message with a `compaction` part, answered by a reply whose `summary` is
true. Both are left out: the originals are stored. What the user has reverted (`revert` in the
session, session/revert.ts) is no longer sent: the messages from `messageID` on, or of that message
the parts from `partID` on.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats.opencode_parts import (
    result_of,
    skip_unknown,
    texts_of,
    usage_of,
)
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, read_parts, split_steps
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import at, text_at

_ENDED = {"completed", "error"}


def is_message(data: Entry) -> bool:
    """Return whether an object is a message with its parts, or a session with its messages.

    >>> is_message({"info": {"role": "user"}, "parts": [{"type": "text", "text": "Hello."}]})
    True
    """
    if not isinstance(data.get("info"), dict):
        return False
    # A trajectory of mini-swe-agent has `info` and `messages`, too.
    messages = objects_at(data, "messages")
    return isinstance(data.get("parts"), list) or any("info" in each for each in messages)


def _split(values: Sequence[Value]) -> Iterator[tuple[str, Sequence[Value]]]:
    exports = [value for value in values if isinstance(value.data.get("messages"), list)]
    if not exports:
        yield "", values
    for value in exports:
        session = Value(value.line, {"session": value.data["info"]})
        messages = [Value(value.line, each) for each in objects_at(value.data, "messages")]
        yield text_at(value.data, "info", "id"), [session, *messages]


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages; each step of a reply is a message, followed by its results."""
    revert: Any = next(
        (at(v.data, "session", "revert") for v in values if "session" in v.data), None
    )
    summaries = count = 0
    for value in values:
        info, parts = value.data.get("info"), objects_at(value.data, "parts")
        if "session" in value.data:
            continue
        if not isinstance(info, dict):
            reading.skip_entry(value.line, "found a message without an `info`", value.data)
            continue
        messages = _not_reverted(info, parts, revert)
        count += len(messages) < len(parts)
        # A user's message has a `summary` as well, an object that lists the changed files.
        if info.get("summary") is True:
            summaries += 1
            reading.compact(Message("user", texts_of(parts, "text")))
        elif info.get("role") == "user":
            _read_request(messages, reading)
        else:
            reading.use_model(info.get("modelID") or at(info, "model", "modelID"))
            for step in split_steps(messages):
                _read_step(step, reading)
    reading.note_own(summaries, "summaries")
    reading.note_count(
        count,
        "message that was reverted is left out",
        "messages that were reverted are left out",
    )


def _not_reverted(info: Entry, parts: list[Entry], revert: Any) -> list[Entry]:
    """Return the parts of a message that the user has not taken back."""
    boundary, part = text_at(revert, "messageID"), text_at(revert, "partID")
    own = text_at(info, "id")
    # Its ids ascend with time.
    if not boundary or not own or own < boundary:
        return parts
    if own > boundary or not part:
        return []
    return [each for each in parts if text_at(each, "id") < part]


def _read_request(parts: list[Entry], reading: Reading) -> None:
    skip_unknown(parts, reading)
    text = texts_of(parts, "text")
    media = read_parts([part for part in parts if part.get("type") == "file"], reading).media
    if text or media:
        reading.add(Message("user", text, media=media))


def _read_step(parts: list[Entry], reading: Reading) -> None:
    skip_unknown(parts, reading)
    tools = [part for part in parts if part.get("type") == "tool"]
    calls = [
        make_call(text_at(part, "callID"), text_at(part, "tool"), at(part, "state", "input"))
        for part in tools
    ]
    text, reasoning = texts_of(parts, "text"), texts_of(parts, "reasoning")
    if text or reasoning or calls:
        usage = usage_of(parts)
        reading.add(Message("assistant", text, reasoning=reasoning, tool_calls=calls, usage=usage))
    # A call that was still running has no result: it is closed like any open call.
    results = [result_of(part) for part in tools if text_at(part, "state", "status") in _ENDED]
    if results:
        reading.add(Message("tool", tool_results=results))


_DATA = (".local", "share")
FORMAT = Format(
    name="OpenCode session",
    recognizes=is_message,
    read=read,
    split=_split,
    places=(
        Place(_DATA, "opencode/opencode.db", "XDG_DATA_HOME"),
        Place(_DATA, "opencode/storage/session/*/*.json", "XDG_DATA_HOME"),
    ),
)
