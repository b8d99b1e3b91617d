"""Inputs for an adapter: conversations like real histories, and data with a single defect."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import attrs

from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentic.testing._adapter_protocol import Wire, ask, broken
from agentic.testing._promises import ASK, SURROGATES

CALL = Message(
    "assistant", "Let me look.", tool_calls=[ToolCall("call_1", "read_file", '{"path": "a.py"}')]
)
RESULT = Message("tool", tool_results=[ToolResult("call_1", "read_file", "print(oops)")])
ANSWER = Message("assistant", "A name is missing in the first line.")
_MORE = Message("user", "Mend it, please.")
_ORPHAN = Message("tool", tool_results=[ToolResult("call_9", "read_file", "of nobody's call")])
_PARALLEL = [
    Message(
        "assistant",
        tool_calls=[
            ToolCall("call_a", "read_file", '{"path": "one.py"}'),
            # Models write both, and a wire that has arguments as an object must put them somewhere.
            ToolCall("call_b", "read_file", "{not JSON"),
            ToolCall("call_c", "read_file", '["a list"]'),
        ],
    ),
    Message("tool", tool_results=[ToolResult("call_c", error=ToolError("no object"))]),
    Message("tool", tool_results=[ToolResult("call_b", error="no JSON"), ToolResult("call_a")]),
]
# As Gemini gives them, and Ollama before 0.12.10: calls without ids, matched by their order.
_REPEATED = [
    Message("assistant", tool_calls=[ToolCall("", "read_file"), ToolCall("", "read_file")]),
    Message("tool", tool_results=[ToolResult("", output="one"), ToolResult("", output="two")]),
]
# Longer than the 64 characters that some providers allow, and of no alphabet of theirs.
_ODD_ID = [
    Message("assistant", tool_calls=[ToolCall("id with | and \u65e5 " * 9, "read_file")]),
    Message("tool", tool_results=[ToolResult("id with | and \u65e5 " * 9, output="text")]),
]
_PICTURE = Media("image/png", b"\x89PNG\r\n")

CONVERSATIONS: dict[str, list[Message]] = {
    "a plain request": [ASK],
    "a tool round": [ASK, CALL, RESULT, ANSWER, _MORE],
    "no messages": [],
    "system messages alone": [Message("system", "Be brief."), Message("system", "Be kind.")],
    "a conversation that starts with the assistant": [ANSWER, ASK],
    "a conversation that starts with a tool round": [CALL, RESULT, ANSWER],
    # An adapter that left the empty message out put its opening between call and result.
    "a tool round after a system message that is empty": [Message("system"), CALL, RESULT],
    "a conversation that ends with the assistant": [ASK, ANSWER],
    "two users' messages in a row": [ASK, _MORE],
    "two replies in a row": [ASK, ANSWER, ANSWER, _MORE],
    "a request right after results": [ASK, CALL, RESULT, _MORE],
    "empty messages": [ASK, Message("assistant"), Message("user"), Message("system"), _MORE],
    "white space alone": [Message("user", " \n"), Message("assistant", "\n"), _MORE],
    "a summary": [Message("system", "Be brief."), ContextSummary("Red.", 4).to_message(), _MORE],
    "a summary before a tool round": [ContextSummary("Red.", 4).to_message(), CALL, RESULT],
    "a system message in the middle": [ASK, ANSWER, Message("system", "Hurry."), _MORE],
    "parallel calls, answered out of order": [ASK, *_PARALLEL, ANSWER],
    "ids that are empty and repeat": [ASK, *_REPEATED, *_REPEATED, _MORE],
    "ids that no provider would make": [ASK, *_ODD_ID, _MORE],
    "one id in two rounds": [ASK, CALL, RESULT, CALL, RESULT],
    "a call without a result": [ASK, CALL, _MORE],
    "a call at the end": [ASK, CALL],
    "a result without a call": [ASK, _ORPHAN, ANSWER],
    "a result parted from its call": [ASK, CALL, _MORE, RESULT],
    "a result that comes twice": [ASK, CALL, RESULT, RESULT],
    "a tool message without results": [ASK, Message("tool"), ANSWER, _MORE],
    # In each of the places that a message and a result have for media.
    "images": [
        Message("user", media=[_PICTURE]),
        CALL,
        Message("tool", tool_results=RESULT.tool_results, media=[_PICTURE]),
        CALL,
        Message("tool", tool_results=[attrs.evolve(RESULT.tool_results[0], media=[_PICTURE])]),
        CALL,
        Message("tool", tool_results=[ToolResult("call_1", error="blank", media=[_PICTURE] * 2)]),
        Message("user", "And this?", media=[Media("audio/wav", url="https://example.com/a.wav")]),
    ],
    "lone surrogates": SURROGATES,
    "items that are marked as the adapter's own, and are not": [
        Message("user", "Hello.", native=ProviderPayload("", None)),
        ASK,
    ],
}
"""Conversations by what is special about them. Damaged ones must be repaired when they are sent."""
_BEGUN = [
    Message("system", "mark-rules-1"),
    Message("system", "mark-rules-2"),
    ContextSummary("mark-summary", 4).to_message(),
    Message("user", "mark-task"),
]
_Path: TypeAlias = tuple[str | int, ...]
# At most this many places of one example, evenly spaced: a recorded request may have thousands.
_MOST = 100
# A value of nearly each type that JSON has: one of them belongs there, the others do not.
_WRONG: tuple[Any, ...] = (None, [], {}, "junk", -1.5)
_FIELD = "x_unheard_of"
_ITEM = {"type": "x_unheard_of", "kept": [1, None]}
# One each, because a wire that has no place for media may only name their type.
_TYPES = {"a": "image/webp", "b": "image/gif"}


def _marked_call(name: str) -> ToolCall:
    return ToolCall(f"call_{name}", "read_file", json.dumps({"path": f"mark-path-{name}"}))


def _marked_result(name: str, *, error: str = "") -> ToolResult:
    failure = ToolError(error) if error else None
    output = "" if error else f"mark-output-{name}"
    return ToolResult(
        f"call_{name}",
        "read_file",
        output,
        error=failure,
        notice=f"mark-notice-{name}",
        media=[Media(_TYPES[name], f"mark-{name}".encode())],
    )


MARKED: dict[str, list[Message]] = {
    "a history in which everything is marked": [
        *_BEGUN,
        Message("assistant", "mark-look", tool_calls=[_marked_call("a")]),
        Message("tool", tool_results=[_marked_result("a")]),
        Message("system", "mark-later-rule"),
        Message("user", "mark-pinned", pinned=True),
        Message("assistant", "mark-again", tool_calls=[_marked_call("b")]),
        Message("tool", tool_results=[_marked_result("b", error="mark-error")], media=[_PICTURE]),
        Message("assistant", "mark-answer"),
        Message("user", "mark-last", media=[Media("image/jpeg", b"\xff\xd8\xff\xe0")]),
    ],
    # The results of all of a run of replies come after it, as Anthropic and Gemini allow.
    "a marked run of calls": [
        *_BEGUN,
        Message("assistant", "mark-one", tool_calls=[_marked_call("a")]),
        Message("assistant", "mark-between"),
        Message(
            "assistant", "mark-two", tool_calls=[ToolCall("call_b", "read_file", "mark-no-json")]
        ),
        Message("tool", tool_results=[_marked_result("a"), _marked_result("b")]),
        Message("system", "mark-later-rule"),
        Message("system", "mark-later-still"),
        Message("user", "mark-last"),
    ],
}
"""Conversations by what is special about them. Each text occurs once, so that its position shows
the order."""


def find_talk(adapter: Wire) -> str:
    """Return the field of a request that contains the result of encode()."""
    where = "a plain request"
    request = ask(where, adapter.encode_request, [ASK])
    talk = ask(where, adapter.encode, [ASK])
    for key, value in request.items():
        # Found by its value, because every wire names it differently (messages, input, contents).
        if talk and value == talk:
            return key
    raise broken(where, "a field of what encode_request() gives is what encode() gives")


def with_one_thing_wrong(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies in which one value is null, of another type, or missing, with its place.

    >>> [copy for _, copy in with_one_thing_wrong({"input": 3})][0]
    {'input': None}
    """
    for path in _some(_paths(data)):
        for wrong in _WRONG:
            yield _name(path), replaced(data, path, wrong)
        yield _name(path), _without(data, path)


def with_one_thing_unknown(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies with an unknown field in an object, or an unknown item in a list."""
    for path in [(), *_some(_paths(data))]:
        value = _at(data, path)
        if isinstance(value, Mapping):
            yield _name(path), replaced(data, path, {**value, _FIELD: {"kept": [1, None]}})
        # Only lists of objects: in a list of numbers or texts no provider has anything else.
        elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            yield _name(path), replaced(data, path, [*value, _ITEM])


def replaced(data: Any, path: _Path, value: Any) -> Any:
    """Return a copy with one value replaced.

    >>> replaced({"parts": [{"text": "a"}]}, ("parts", 0, "text"), "b")
    {'parts': [{'text': 'b'}]}
    """
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = replaced(data[path[0]], path[1:], value)
    return copy


def _paths(data: Any) -> Iterator[_Path]:
    """Yield every place in the data, outer places first.

    >>> list(_paths({"parts": [{"text": "a"}]}))
    [('parts',), ('parts', 0), ('parts', 0, 'text')]
    """
    entries: list[tuple[str | int, Any]] = []
    if isinstance(data, Mapping):
        entries = list(data.items())
    elif isinstance(data, list):
        entries = list(enumerate(data))
    yield from ((key,) for key, _ in entries)
    for key, value in entries:
        yield from ((key, *path) for path in _paths(value))


def strings(data: Any) -> dict[_Path, str]:
    """Return every text in the data, by its place.

    >>> strings({"parts": [{"text": "a", "size": 1}]})
    {('parts', 0, 'text'): 'a'}
    """
    entries = ((path, _at(data, path)) for path in _paths(data))
    return {path: value for path, value in entries if isinstance(value, str)}


def _some(entries: Iterator[_Path]) -> list[_Path]:
    places = list(entries)
    return places[:: len(places) // _MOST + 1]


def _without(data: Any, path: _Path) -> Any:
    around = _at(data, path[:-1]).copy()
    del around[path[-1]]
    return replaced(data, path[:-1], around)


def _at(data: Any, path: _Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _name(path: _Path) -> str:
    return ".".join(map(str, path)) or "all of it"
