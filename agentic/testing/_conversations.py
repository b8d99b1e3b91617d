"""Conversations for Hypothesis: sound ones, and ones like real histories.

A *sound* conversation is one that a provider accepts: every call is answered once, right after the
assistant messages that it belongs to; call ids are unique; no message is empty; every text can be
encoded as UTF-8. A *damaged* one is a sound one after a few accidents, or a random list of
messages.
"""

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import attrs

from agentic._base import _imports
from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
    split_rounds,
)
from agentic.usage import Usage

try:
    with _imports.quietly():
        from hypothesis import strategies as st
except ImportError as missing:
    raise ImportError(
        f"conversations() needs Hypothesis: {_imports.pip_install('agentic-weave[testing]')}"
    ) from missing

# Everything below is drawn by as few choices as can be: Hypothesis takes longer to choose than most
# tests take to run. What is repeated in a list is drawn more often.
_PROSE = "look at the parser, then run every test again and tell me what is red. " * 20
_CHARACTERS = 'ab9 \n\t"\\{}<\u00e9\u0301\u200b\u65e5\ud55c\U0001f600'
# Each character stands before each other one.
_ODD = "".join(first + second for first in _CHARACTERS for second in _CHARACTERS)
_SPECIAL = ["one\ntwo\n", "\r\x0b\x85\u2028", "\x00", "\u65e5\u672c", "\U0001f600"]
# Also a pair of lone ones, which some encoders join to one character.
_LONE_SURROGATES = ["\ud83d", "a \udfff b", "\ud83d\ude00\n\udc00"]
_LENGTHS = range(1, len(_PROSE) + 1)
_SOUND_TEXTS = [
    *(_ODD[at : at + length] for length in range(1, 9) for at in range(0, len(_ODD), 2)),
    *(_PROSE[:length] for length in _LENGTHS),
    *(_SPECIAL * (len(_LENGTHS) // len(_SPECIAL))),
]
_DAMAGED_TEXTS = [
    *_SOUND_TEXTS,
    *[""] * len(_LENGTHS),
    *(_LONE_SURROGATES * (len(_LENGTHS) // len(_LONE_SURROGATES))),
]
_ARGUMENTS = ["{}", "", '{"path": "a.py"}', '{ "path" : "\\ud83d\\ude00.py" }']
# What models write where an object should be.
_NOT_JSON = ["{oops", "[1]", '{"path": "\ud83d"}']
_TOOL_NAMES = ["read", "write", "edit", "bash"]
_A_TOOL_NAME = st.sampled_from(_TOOL_NAMES)
_NOTICES = ["", "", "[Showing the last line.]"]
_REFS = [None, None, "full.log"]
_KINDS = st.sampled_from(["user", "assistant", "tools", "user", "tools", "tools", "system"])
_SELDOM = st.sampled_from([False, False, False, True])
_UP_TO_TWO = st.integers(0, 2)
_ONE_TO_FOUR = st.integers(1, 4)
_FAILURE_KINDS = ["raised", "timeout", "interrupted", "not_run"]
# Only a few, so that they repeat within a message and across messages.
_FEW_IDS = ["c1", "c2", "c3"]
_UNKNOWN: list[dict[str, Any]] = [
    {},
    {"mood": "curious"},
    {"index": 0, "cache_control": {"type": "ephemeral"}, "seen": [None]},
]
_ZONES = [UTC, timezone(timedelta(hours=5, minutes=45))]
_MOMENTS = [
    datetime(year, 1, 2, 3, 4, 5, microsecond, zone)
    for year in (2000, 1, 1969, 2026, 9998)
    for microsecond in (0, 678_901)
    for zone in _ZONES
]
_MEDIA = st.one_of(
    st.builds(
        Media,
        st.just("image/png"),
        data=st.binary(max_size=8),
        extra=st.sampled_from(_UNKNOWN),
    ),
    st.builds(Media, st.just("audio/wav"), url=st.just("https://example.com/a.wav")),
)
_A_MOMENT = st.sampled_from(_MOMENTS)
_OPTIONAL: dict[str, list[Any]] = {
    "pinned": [*[None] * 7, True],
    "extra": [*[None] * 3, *_UNKNOWN],
    "id": [None, None, "m1", "m2"],
    "native": [None, None, [], {"content": [1.5]}],
    "timestamp": [*[None] * len(_MOMENTS), *_MOMENTS],
    "usage": [*[None] * 12, *(Usage(i, o) for i in (0, 1, 999, 10**6) for o in (0, 7, 10**5))],
}


def _choose(choices: Sequence[Sequence[Any]], number: int) -> list[Any]:
    """Choose one of each by the digits of a number."""
    chosen = []
    for each in choices:
        number, digit = divmod(number, len(each))
        chosen.append(each[digit])
    return chosen


def _optional_fields(number: int) -> dict[str, Any]:
    """Return none for half of all numbers."""
    if number < _COMBINATIONS:
        return {}
    chosen = _choose(list(_OPTIONAL.values()), number - _COMBINATIONS)
    fields = {name: each for name, each in zip(_OPTIONAL, chosen, strict=True) if each is not None}
    if "native" in fields:  # one of its own for each message
        fields["native"] = ProviderPayload("example", copy.copy(fields["native"]))
    return fields


_COMBINATIONS = math.prod(len(each) for each in _OPTIONAL.values())
_BESIDE = st.integers(0, 2 * _COMBINATIONS - 1).map(_optional_fields)
"""The optional fields of any message besides its texts."""
# How a result failed, if it did; its notice; its reference; how many media; unknown fields.
_RESULTS: list[Sequence[Any]] = [
    [*[None] * 12, *_FAILURE_KINDS],
    _NOTICES,
    _REFS,
    [*[0] * 10, 1, 2],
    _UNKNOWN,
]
_A_RESULT = st.integers(0, math.prod(len(each) for each in _RESULTS) - 1)


def conversations(*, damaged: bool = True, max_rounds: int = 8) -> st.SearchStrategy[list[Message]]:
    """Generate conversations, from no messages to a few dozen.

    Both kinds include parallel calls in one message or several, results in any order and several in
    one message, pinned messages, leading system messages, media, an earlier summary, native
    payloads, and unknown fields of the JSON form. With `damaged` (which leaves some sound), there
    are also missing results; ids that repeat within a message and across messages; results that
    answer nothing, that occur twice, or that other messages separate from their call; empty
    messages; tool messages without results; arguments that are not a JSON object; and lone
    surrogates. A round in which only some results are orphans has no pinned message: a view would
    contain edited copies of its messages.

    >>> from hypothesis import given, settings
    >>> @given(conversations(damaged=False))
    ... @settings(max_examples=5, database=None)
    ... def every_call_has_a_result(messages):
    ...     calls = sum(len(message.tool_calls) for message in messages)
    ...     assert calls == sum(len(message.tool_results) for message in messages)
    >>> every_call_has_a_result()
    """
    if not damaged:
        return _sound(_SOUND, max_rounds)
    parts = _DAMAGED
    heaps = _heap(parts, 2 * max_rounds)
    return (_after_accidents(parts, max_rounds) | heaps).map(_without_pins_on_orphans)


@attrs.frozen
class _Parts:
    """The elements that the messages of a conversation are made from."""

    texts: st.SearchStrategy[str]
    calls: st.SearchStrategy[tuple[str, str, dict[str, Any]]]
    """Names, arguments, unknown fields."""

    @classmethod
    def of(cls, texts: Sequence[str], arguments: Sequence[str]) -> "_Parts":
        """Choose from texts and from arguments of calls."""
        calls = list(itertools.product(_TOOL_NAMES, arguments, _UNKNOWN))
        return cls(st.sampled_from(texts), st.sampled_from(calls))


_SOUND = _Parts.of(_SOUND_TEXTS, _ARGUMENTS)
_DAMAGED = _Parts.of(_DAMAGED_TEXTS, [*_ARGUMENTS * 3, *_NOT_JSON * 4])


@st.composite
def _sound(draw: st.DrawFn, parts: _Parts, max_rounds: int) -> list[Message]:
    """Draw a conversation in which every call is answered once, right after it."""
    ids = itertools.count(1)
    messages = [_said(draw, parts, "system") for _ in range(draw(_UP_TO_TWO))]
    if draw(_SELDOM):
        # After the system messages, where a compaction puts it.
        messages.append(_former_summary(draw, parts))
    for _ in range(draw(st.integers(0, max_rounds))):
        kind = draw(_KINDS)
        if kind == "tools":
            messages += _tool_round(draw, parts, ids)
        else:
            messages.append(_said(draw, parts, kind))
    return messages


@st.composite
def _heap(draw: st.DrawFn, parts: _Parts, max_messages: int) -> list[Message]:
    """Draw messages that are unrelated, except for ids that happen to be equal."""
    return [_any_message(draw, parts) for _ in range(draw(st.integers(0, max_messages)))]


@st.composite
def _after_accidents(draw: st.DrawFn, parts: _Parts, max_rounds: int) -> list[Message]:
    """Draw a sound conversation, and apply a few accidents to it."""
    messages = draw(_sound(parts, max_rounds))
    for accident in draw(st.lists(st.sampled_from(_ACCIDENTS), max_size=4)):
        if messages:
            accident(draw, messages)
    for _ in range(draw(_UP_TO_TWO)):
        messages.insert(draw(st.integers(0, len(messages))), _any_message(draw, parts))
    return messages


def _without_pins_on_orphans(messages: list[Message]) -> list[Message]:
    for group in split_rounds(messages):
        # A view leaves the orphans out of a pinned message: it has a copy, and no test finds it.
        if group.orphaned and group.sound_messages:
            for at in group.positions:
                messages[at] = attrs.evolve(messages[at], pinned=False)
    return messages


def _said(draw: st.DrawFn, parts: _Parts, role: Any) -> Message:
    """Draw a message without calls and results."""
    fields = draw(_BESIDE)
    if role == "user" and draw(_SELDOM):
        fields["media"] = [draw(_MEDIA) for _ in range(draw(_UP_TO_TWO))]
    if role == "assistant" and draw(_SELDOM):
        fields["reasoning"] = draw(parts.texts)
    return Message(role, draw(parts.texts), **fields)


def _former_summary(draw: st.DrawFn, parts: _Parts) -> Message:
    """Draw the message that an earlier compaction left."""
    count, generation = draw(st.integers(1, 99)), draw(st.integers(1, 3))
    moment = draw(_A_MOMENT)
    summary = ContextSummary(
        draw(parts.texts), count, 0, count - 1, moment, token_count=12, generation=generation
    )
    return summary.to_message()


def _tool_round(draw: st.DrawFn, parts: _Parts, ids: "itertools.count[int]") -> list[Message]:
    """Draw calls and their results, in any order, each spread over any number of messages."""
    messages = [_calling(draw, parts, [f"call_{next(ids)}" for _ in range(draw(_ONE_TO_FOUR))])]
    if draw(_SELDOM):
        if draw(_SELDOM):
            messages.append(_said(draw, parts, "assistant"))
        messages.append(_calling(draw, parts, [f"call_{next(ids)}"]))
    answers: list[list[ToolResult]] = []
    for call in draw(st.permutations([call for caller in messages for call in caller.tool_calls])):
        result = _result(draw, parts, call.id, call.name)
        joins = draw(st.booleans())
        if answers and joins:
            answers[-1].append(result)
        else:
            answers.append([result])
    return [*messages, *(Message("tool", tool_results=each, **draw(_BESIDE)) for each in answers)]


def _calling(draw: st.DrawFn, parts: _Parts, ids: list[str]) -> Message:
    """Draw an assistant message that makes the calls with these ids."""
    calls = []
    for call_id in ids:
        name, arguments, extra = draw(parts.calls)
        calls.append(ToolCall(call_id, name, arguments, extra=extra))
    # Half of all calls come without a text, as models send them.
    text = "" if draw(st.booleans()) else draw(parts.texts)
    return Message("assistant", text, tool_calls=calls, **draw(_BESIDE))


def _result(draw: st.DrawFn, parts: _Parts, call_id: str, name: str) -> ToolResult:
    """Draw the answer to a call."""
    failure, notice, ref, media, extra = _choose(_RESULTS, draw(_A_RESULT))
    return ToolResult(
        call_id,
        name,
        draw(parts.texts),
        error=ToolError(draw(parts.texts), failure) if failure else None,
        notice=notice,
        ref=ref,
        media=[draw(_MEDIA) for _ in range(media)],
        extra=extra,
    )


def _any_message(draw: st.DrawFn, parts: _Parts) -> Message:
    """Draw a message of any kind, with one of the few repeating ids."""
    kind = draw(_KINDS)
    if kind != "tools":
        return _said(draw, parts, kind)
    ids = draw(st.lists(st.sampled_from(_FEW_IDS), max_size=3))
    if draw(st.booleans()):
        return _calling(draw, parts, ids)
    results = [_result(draw, parts, call_id, draw(_A_TOOL_NAME)) for call_id in ids]
    return Message("tool", tool_results=results, **draw(_BESIDE))


def _lose(draw: st.DrawFn, messages: list[Message]) -> None:
    """Remove one message: a call, its results, or a text."""
    del messages[draw(_place(messages))]


def _cut_off(draw: st.DrawFn, messages: list[Message]) -> None:
    """Remove everything from some position on, as when a process is killed."""
    del messages[draw(_place(messages)) :]


def _move(draw: st.DrawFn, messages: list[Message]) -> None:
    """Move one message to another position."""
    message = messages.pop(draw(_place(messages)))
    messages.insert(draw(st.integers(0, len(messages))), message)


def _repeat(draw: st.DrawFn, messages: list[Message]) -> None:
    """Insert one message a second time: the same object, or an equal one."""
    message = messages[draw(_place(messages))]
    # By identity and by value: code that finds messages by id() must not mix them up.
    again = message if draw(st.booleans()) else attrs.evolve(message)
    messages.insert(draw(st.integers(0, len(messages))), again)


def _lose_result(draw: st.DrawFn, messages: list[Message]) -> None:
    """Remove the first result of a message, which may be its only one."""
    at = draw(_place(messages))
    # Not replace(): a stale payload is part of the damage.
    messages[at] = attrs.evolve(messages[at], tool_results=messages[at].tool_results[1:])


def _confuse_ids(draw: st.DrawFn, messages: list[Message]) -> None:
    """Set one id for every call and every result of a message."""
    at = draw(_place(messages))
    # Also ids that sound rounds have, so that a result may answer a call far away.
    same = draw(st.sampled_from(["call_1", "call_2", *_FEW_IDS]))
    messages[at] = attrs.evolve(
        messages[at],
        tool_calls=[attrs.evolve(call, id=same) for call in messages[at].tool_calls],
        tool_results=[attrs.evolve(result, call_id=same) for result in messages[at].tool_results],
    )


def _place(messages: list[Message]) -> st.SearchStrategy[int]:
    return st.integers(0, len(messages) - 1)


_ACCIDENTS: list[Callable[[st.DrawFn, list[Message]], None]] = [
    _lose,
    _cut_off,
    _move,
    _repeat,
    _lose_result,
    _confuse_ids,
]
