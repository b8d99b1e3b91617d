import copy
import json
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
    _plain,
    from_plain,
    to_plain,
)
from agentic.messages._plain import to_json
from agentic.messages._usual import UnusualError
from agentic.testing import conversations
from agentic.usage import Usage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
FOREIGN_NAMES = st.sampled_from(["mood", "error", "usage", "native", "summary", "media", "extra"])
FULL = {
    "v": 1,
    "role": "tool",
    "content": "see below",
    "tool_results": [{"call_id": "c1", "output": "no", "error": {"message": "raised"}}],
    "media": [{"media_type": "image/png", "data": "iVBORw=="}],
    "summary": {
        "content": "done",
        "messages_summarized": 3,
        "created_at": "2024-01-15T10:30:00+00:00",
    },
    "usage": {"input": 7},
    "timestamp": "2024-01-15T10:30:00+05:45",
    "native": {"provider": "example", "payload": [{"type": "text"}]},
}


def _through_json(message: Message) -> Message:
    text = json.dumps(to_plain(message), ensure_ascii=False)
    return from_plain(json.loads(text))


@given(messages=conversations())
def test_messages_come_back_from_json(messages: list[Message]) -> None:
    """Lone surrogates, bytes, native payloads, aware times and unknown fields included."""
    assert [_through_json(message) for message in messages] == messages


@given(payload=JSON)
def test_every_native_payload_comes_back(payload: Any) -> None:
    """A payload may be any JSON, null included."""
    message = Message("assistant", native=ProviderPayload("example", payload))

    assert _through_json(message).native == ProviderPayload("example", payload)


_ODD = [None, True, 1, -1, 1.5, "", "x", [], [1], {}, {"message": "no"}, "2024-01-15"]
ODD = st.sampled_from(_ODD)


def _places(plain: Any) -> list[tuple[dict[str, Any], str]]:
    """Return every field of a JSON form, at any depth but in a payload."""
    if isinstance(plain, list):
        return [place for each in plain for place in _places(each)]
    if not isinstance(plain, dict):
        return []
    inner = [_places(value) for key, value in plain.items() if key != "payload"]
    return [(plain, key) for key in plain] + [place for each in inner for place in each]


def _outcome(plain: dict[str, Any]) -> object:
    try:
        message = from_plain(plain)
    except ConfigError as problem:
        return str(problem)
    return message, repr(message), to_plain(message)


@given(messages=conversations())
def test_text_is_that_of_the_json_form(messages: list[Message]) -> None:
    """Byte by byte, with and without what makes a message unusual."""
    for message in messages:
        bare = attrs.evolve(message, native=None, edited_native=None)
        text = json.dumps(to_plain(bare), ensure_ascii=False, separators=(",", ":"))
        assert to_json(bare) == text
        assert from_plain(json.loads(to_json(message))) == message


def _refuse(_: Any) -> Message:
    raise UnusualError


@given(messages=conversations(), data=st.data())
def test_every_form_is_read_as_by_the_records(messages: list[Message], data: st.DataObject) -> None:
    """What is read without validators, which is the usual form, is the same, or is not read so."""
    for message in messages:
        plain = json.loads(json.dumps(to_plain(message), ensure_ascii=False))
        parts = _places(plain)
        part, field = data.draw(st.sampled_from(parts))
        name = data.draw(st.sampled_from([field, "mood", "ref", "timestamp", "usage", "pinned"]))
        part[name] = data.draw(ODD)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_plain, "read_usual", _refuse)
            expected = _outcome(plain)

        assert _outcome(plain) == expected


_USAGE = Usage(input=9, output=2, cache_read=4)
_REPLY = Message(
    "assistant",
    "Let me look.",
    reasoning="Hm.",
    tool_calls=[ToolCall("c1", "read", '{"path": "a"}', is_async=True)],
    usage=attrs.evolve(_USAGE, summed=True),
    last_request=_USAGE,
    timestamp=datetime(2024, 1, 15, 10, 30, tzinfo=UTC),
    id="m1",
    native=ProviderPayload("example", {"text": "Let me look."}),
)
_RESULT = Message(
    "tool",
    tool_results=[ToolResult("c1", "read", notice="cut", ref="o1", error=ToolError("no", "gone"))],
    pinned=True,
)


@pytest.mark.parametrize("message", [_REPLY, _RESULT], ids=["reply", "result"])
def test_each_field_is_read_as_by_the_records(message: Message) -> None:
    """Whatever is in it: read without validators, it is the same, or is not read so."""
    whole = json.dumps(to_plain(message))
    for at in range(len(_places(json.loads(whole)))):
        for odd in _ODD:
            plain = json.loads(whole)
            part, field = _places(plain)[at]
            part[field] = odd
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_plain, "read_usual", _refuse)
                expected = _outcome(plain)

            assert _outcome(plain) == expected


def test_lone_surrogate_survives_escaped_json() -> None:
    """The escapes of plain `json.dumps` are read back as the same character."""
    message = Message("user", "a lone \ud83d", extra={"\udfff": "\udc00"})

    assert from_plain(json.loads(json.dumps(to_plain(message)))) == message


def test_the_json_form_is_short() -> None:
    """A field at its default is left out, everything else is plain JSON."""
    moment = datetime(2024, 1, 15, 10, 30, tzinfo=UTC)
    message = Message("user", media=[Media("image/png", b"\x89PNG")], timestamp=moment)

    assert to_plain(message) == {
        "v": 1,
        "role": "user",
        "media": [{"media_type": "image/png", "data": "iVBORw=="}],
        "timestamp": "2024-01-15T10:30:00+00:00",
    }


@given(
    at=st.sampled_from(
        [
            (),
            ("tool_results", 0),
            ("tool_results", 0, "error"),
            ("media", 0),
            ("summary",),
            ("usage",),
            ("native",),
        ]
    ),
    unknown=st.dictionaries(FOREIGN_NAMES, JSON, min_size=1),
)
def test_unknown_fields_keep_their_place(at: tuple[Any, ...], unknown: dict[str, Any]) -> None:
    """At every level, and under names that mean something elsewhere in the form."""
    plain = copy.deepcopy(FULL)
    place: Any = plain
    for step in at:
        place = place[step]
    foreign = {name: value for name, value in unknown.items() if name not in _field_names(at)}
    place |= foreign

    assert to_plain(from_plain(json.loads(json.dumps(plain)))) == plain


def _field_names(at: tuple[Any, ...]) -> set[str]:
    fields_there = {
        (): {"usage", "native", "summary", "media"},
        ("tool_results", 0): {"error", "media"},
    }
    return fields_there.get(at, set())


def test_replaced_part_loses_its_unknown_fields() -> None:
    """They said something about the part that is no longer there."""
    message = from_plain({"v": 1, "role": "user", "usage": {"input": 7, "cost": 0.5}, "mood": "?"})

    assert to_plain(message.replace(usage=None)) == {"v": 1, "role": "user", "mood": "?"}


def test_unknown_field_replaces_no_known_one() -> None:
    """An `extra` that says what a field says already does not contradict it."""
    message = Message("user", "hello", extra={"content": "goodbye", "pinned": True})

    assert to_plain(message) == {"v": 1, "role": "user", "content": "hello"}


@pytest.mark.parametrize("version", [3, 99, 0, -1, "1", None, 1.0, True, [1]])
def test_form_of_another_version_is_refused(version: Any) -> None:
    """What a newer version wrote is not read by halves."""
    with pytest.raises(ConfigError, match=r"v must be .* 1.*, got .*; upgrade agentic"):
        from_plain({"v": version, "role": "user", "content": "hello"})


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        "hello",
        7,
        ["role", "user"],
        {},
        {"v": 1},
        {"content": "hello"},
        {"role": "developer"},
        {"role": {"user": 1}},
        {"role": "user", "content": 7},
        {"role": "user", "content": ["part"]},
        {"role": "user", "timestamp": 7},
        {"role": "user", "timestamp": "noon"},
        {"role": "user", "media": [{"media_type": "image/png", "data": "not base64!"}]},
        {"role": "user", "media": [{"media_type": "image/png", "data": 7}]},
        {"role": "user", "media": ["image/png"]},
        {"role": "user", "usage": 7},
        {"role": "user", "usage": [["input", 7]]},
        {"role": "user", "native": {"provider": "example"}},
        {"role": "user", "summary": {"content": "done"}},
        {"role": "user", "summary": {"content": "", "messages_summarized": 1, "created_at": 7}},
        {"role": "user", "tool_results": [{"call_id": "c1"}]},
        {"role": "assistant", "tool_calls": {"id": "c1", "name": "read"}},
        {"role": "assistant", "tool_calls": [{"id": "c1"}]},
        {"role": "assistant", "tool_calls": [{"id": [], "name": "read"}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "r", "arguments": {}}]},
        {"role": "assistant", "tool_calls": 7},
        {"role": "tool", "tool_results": [{"call_id": "c1", "error": "boom"}]},
        {"role": "tool", "tool_results": [None]},
    ],
)
def test_what_is_no_message_is_refused(garbage: Any) -> None:
    """Whatever is wrong with an entry, the error is one that a store can catch."""
    with pytest.raises(ConfigError, match=r"must be .*, got "):
        from_plain(garbage)


@given(plain=st.dictionaries(st.sampled_from([*FULL, "tool_calls", "pinned"]), JSON))
def test_any_json_loads_or_raises_configerror(plain: dict[str, Any]) -> None:
    """No other exception leaves the door, and what came in goes out as JSON again."""
    try:
        message = from_plain(plain)
    except ConfigError:
        return

    assert from_plain(json.loads(json.dumps(to_plain(message)))) == message


def test_null_means_a_fields_default() -> None:
    """Writers that spell out every field are read like those that do not."""
    plain = {"role": "user", "content": None, "usage": None, "media": None, "timestamp": None}

    assert from_plain(plain) == Message("user")


def test_reading_changes_nothing_passed_in() -> None:
    """Reading changes nothing in the object that was read."""
    before = copy.deepcopy(FULL)

    from_plain(FULL)

    assert before == FULL


def test_parts_are_read_as_records() -> None:
    """The typed fields are the records, not dicts."""
    message = from_plain(FULL)

    assert message.tool_results == (ToolResult("c1", "", "no", error="raised"),)  # type: ignore[arg-type]
    assert message.usage == Usage(input=7)
    assert message.media[0].data == b"\x89PNG"
    assert isinstance(message.summary, ContextSummary)
    assert from_plain({"role": "assistant", "tool_calls": [{"id": "c1", "name": "ls"}]}) == Message(
        "assistant", tool_calls=[ToolCall("c1", "ls")]
    )


@pytest.mark.parametrize("needed", [["mood"], ["content", "mood"], [[]], "mood", None])
def test_required_unknown_field_is_refused(needed: object) -> None:
    """A message that says that an unknown field changes its meaning is not read without it."""
    plain = {"v": 1, "role": "user", "mood": "ironic", "must_understand": needed}

    with pytest.raises(ConfigError, match=r"must_understand .*upgrade agentic-weave"):
        from_plain(plain)


@pytest.mark.parametrize(
    ("field", "value"),
    [("usage", [1]), ("tool_calls", {"id": "c1"}), ("tool_calls", ["read"]), ("media", [None])],
)
def test_record_that_is_no_object_is_named(field: str, value: Any) -> None:
    """In the terms of JSON, and not in those of Python."""
    with pytest.raises(ConfigError, match="is not a JSON object, as a "):
        from_plain({"v": 1, "role": "assistant", field: value})
