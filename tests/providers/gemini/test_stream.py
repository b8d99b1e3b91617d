from typing import Any

import pytest

from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.providers import gemini
from agentic.usage import StopReason, Usage


def _event(*parts: Any, **fields: Any) -> dict[str, Any]:
    content = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    return {"candidates": [{**content, "index": 0, **fields}]}


def _call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def _piece(path: str, more: bool = False, **value: Any) -> dict[str, Any]:
    piece = {"jsonPath": path, **value, **({"willContinue": True} if more else {})}
    return _call(partialArgs=[piece], willContinue=True)


def _assemble(*events: Any) -> dict[str, Any]:
    streamed = gemini.StreamedResponse()
    deltas = [streamed.feed(event) for event in events]
    assert "".join(deltas) == streamed.text
    return streamed.response()


END = {"finishReason": "STOP"}


def test_texts_join_but_signed_stay_apart() -> None:
    """Thoughts are not text of the reply; the last event has the usage."""
    whole = _assemble(
        _event({"text": "Hm, ", "thought": True}) | {"usageMetadata": {"promptTokenCount": 9}},
        _event({"text": "yes.", "thought": True}),
        _event({"text": "Hel"}),
        _event({"text": "lo."}),
        _event({"text": "", "thoughtSignature": "AAE="}, **END)
        | {"usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 12}, "responseId": "r"},
    )

    assert whole["candidates"][0] == {
        "content": {
            "parts": [
                {"text": "Hm, yes.", "thought": True},
                {"text": "Hello."},
                {"text": "", "thoughtSignature": "AAE="},
            ],
            "role": "model",
        },
        "index": 0,
        "finishReason": "STOP",
    }
    decision = gemini.decode_response(whole)
    assert (decision.reply, decision.reasoning) == ("Hello.", "Hm, yes.")
    assert decision.usage == Usage(input=9, output=3, total=12)


def test_whole_calls_stay_as_they_come() -> None:
    """Also without arguments; an empty text after them is nothing."""
    first = {**_call(name="read", args={"path": "a"}), "thoughtSignature": "AAE="}
    whole = _assemble(_event(first), _event(_call(name="now")), _event({"text": ""}, **END))

    assert whole["candidates"][0]["content"]["parts"] == [first, _call(name="now")]


def test_streamed_arguments_are_put_together() -> None:
    """Texts in pieces, numbers, nulls, lists of objects; two calls one after the other."""
    whole = _assemble(
        _event({**_call(name="cook", willContinue=True), "thoughtSignature": "AAE="}),
        _event(_piece("$.recipe.steps[0]", more=True, stringValue="Boil ")),
        _event(_piece("$.recipe.steps[0]", more=True, stringValue="it")),
        _event(_piece("$.recipe.steps[0]", stringValue=".")),
        _event(_piece("$.recipe.steps[1]", stringValue="Eat.")),
        _event(_piece("$.recipe['how many']", numberValue=2)),
        _event(
            _piece("$.recipe.parts[0].name", stringValue="egg"), _piece("$.hot", boolValue=True)
        ),
        _event(_piece("$.wine", nullValue="NULL_VALUE"), _call()),
        _event(_call(id="c2", name="wait", willContinue=True)),
        _event(_call(), **END),
    )

    cook, wait = whole["candidates"][0]["content"]["parts"]
    assert cook["thoughtSignature"] == "AAE="
    assert cook["functionCall"]["args"] == {
        "recipe": {"steps": ["Boil it.", "Eat."], "how many": 2, "parts": [{"name": "egg"}]},
        "hot": True,
        "wine": None,
    }
    assert wait == _call(id="c2", name="wait", args={})


@pytest.mark.parametrize("path", ["", "$", "nonsense", "$[0]", "$.a.b", "$.a[5]"])
def test_an_odd_path_breaks_nothing(path: str) -> None:
    """What cannot be placed is left out."""
    begin = _event(_call(name="f", args={"a": "text"}, willContinue=True))

    assert _assemble(begin, _event(_piece(path, stringValue="x")), _event(_call(), **END))


def test_other_parts_and_fields_are_kept() -> None:
    """Grounding, code that ran, what nobody here knows; of a field the last word."""
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    whole = _assemble(
        _event(code, groundingMetadata={"n": 1}),
        _event({}, groundingMetadata={"n": 2}, **END) | {"modelVersion": "gemini-3"},
    )

    assert whole["modelVersion"] == "gemini-3"
    assert whole["candidates"][0]["groundingMetadata"] == {"n": 2}
    assert whole["candidates"][0]["content"]["parts"] == [code]


def test_only_first_candidate_is_watched() -> None:
    """The others are in the response all the same."""
    streamed = gemini.StreamedResponse()
    streamed.feed(_event({"text": "a"}))
    streamed.feed({"candidates": [{"index": 1, "content": {"parts": [{"text": "b"}]}}]})
    streamed.feed(_event(**END))

    assert streamed.text == "a"
    assert [each["index"] for each in streamed.response()["candidates"]] == [0, 1]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [_event({"text": "Hel"})],
        [_event({"text": "Hel"}), _event(_call(name="read", willContinue=True))],
        [{"usageMetadata": {"promptTokenCount": 3}}],
    ],
)
def test_stream_without_end_mark_is_incomplete(events: list[Any]) -> None:
    """The error holds what had come."""
    streamed = gemini.StreamedResponse()
    for event in events:
        streamed.feed(event)

    with pytest.raises(IncompleteReply) as broken:
        streamed.response()

    assert broken.value.received == streamed.text


def test_a_blocked_prompt_ends_a_stream() -> None:
    """No candidate ever comes."""
    whole = _assemble({"promptFeedback": {"blockReason": "SAFETY"}})

    assert gemini.stop_reason(whole) is StopReason.CONTENT_FILTER


def test_withheld_reply_has_no_content() -> None:
    """As it would have without streaming."""
    assert _assemble(_event(finishReason="SAFETY")) == _event(finishReason="SAFETY")


def test_stream_error_is_raised() -> None:
    """Clients that read the wire themselves get it as an event."""
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}

    with pytest.raises(RequestFailed, match=r"HTTP 503.*overloaded"):
        gemini.StreamedResponse().feed(error)


def test_early_overflow_names_the_asked_model() -> None:
    """Nothing else tells which it was."""
    said = "The input token count (120) exceeds the maximum number of tokens allowed (100)."

    with pytest.raises(ContextOverflow) as overflow:
        gemini.StreamedResponse(model="gemini-x").feed({"error": {"code": 400, "message": said}})

    assert overflow.value.model == "gemini-x"


class _Piece(str):
    """A text that counts the characters that are copied when it is put behind another."""

    __slots__ = ()
    copied = 0

    def __radd__(self, before: str) -> str:
        type(self).copied += len(before) + len(self)
        return str.__add__(before, self)

    def __format__(self, spec: str) -> str:
        type(self).copied += len(self)
        return str.__format__(self, spec)


@pytest.mark.parametrize("thought", [False, True])
def test_long_reply_keeps_pieces_cheap(thought: bool) -> None:
    """What has come is not copied again with every event."""
    _Piece.copied = 0
    marked = {"thought": True} if thought else {}

    whole = _assemble(
        *(_event({"text": _Piece("tick"), **marked}) for _ in range(500)), _event(**END)
    )

    assert whole["candidates"][0]["content"]["parts"] == [{"text": "tick" * 500, **marked}]
    assert _Piece.copied <= 4 * 500


def test_long_argument_keeps_pieces_cheap() -> None:
    """Nor is what has come of it."""
    _Piece.copied = 0
    pieces = [_event(_piece("$.text", more=True, stringValue=_Piece("tick"))) for _ in range(500)]
    begin = _event(_call(name="write", willContinue=True))

    whole = _assemble(begin, *pieces, _event(_call(), **END))

    (part,) = whole["candidates"][0]["content"]["parts"]
    assert part["functionCall"]["args"] == {"text": "tick" * 500}
    assert _Piece.copied == 0


def test_texts_join_around_other_parts() -> None:
    """A response may be asked for in between; it is the same every time."""
    streamed = gemini.StreamedResponse()
    for part in ({"text": "a"}, {"text": "b"}, _call(name="now"), {"text": "c"}, {"text": 4}):
        streamed.feed(_event(part))
    streamed.feed(_event({"text": "d"}, **END))
    parts = [{"text": "ab"}, _call(name="now"), {"text": "c"}, {"text": 4}, {"text": "d"}]

    assert streamed.response()["candidates"][0]["content"]["parts"] == parts
    assert streamed.response() == streamed.response()
    assert streamed.text == "abcd"


def test_alternating_arguments_are_kept_apart() -> None:
    """Each piece continues the one right before it, or begins anew."""
    whole = _assemble(
        _event(_call(name="write", willContinue=True)),
        _event(_piece("$.a", more=True, stringValue="1"), _piece("$.a", stringValue="2")),
        _event(_piece("$.b[5]", more=True, stringValue="3"), _piece("$.b[5]", stringValue="4")),
        _event(_call(), **END),
    )

    (part,) = whole["candidates"][0]["content"]["parts"]
    assert part["functionCall"]["args"] == {"a": "12", "b": ["34"]}


@pytest.mark.parametrize("args", [3, "x", [1], [[1, 2]], None, True])
def test_arguments_of_another_type_begin_anew(args: Any) -> None:
    """A call whose pieces follow has an object of arguments."""
    begin = _event(_call(name="f", args=args, willContinue=True))

    whole = _assemble(begin, _event(_piece("$.a", stringValue="x")), _event(_call(), **END))

    assert whole["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == {"a": "x"}


def test_events_stay_as_they_came() -> None:
    """The arguments that a call begins with are the caller's, and pieces go into a copy."""
    begin = _event(_call(name="f", args={"a": {}}, willContinue=True))

    whole = _assemble(begin, _event(_piece("$.a.b", stringValue="x")), _event(_call(), **END))

    (part,) = whole["candidates"][0]["content"]["parts"]
    assert part["functionCall"]["args"] == {"a": {"b": "x"}}
    assert begin == _event(_call(name="f", args={"a": {}}, willContinue=True))
