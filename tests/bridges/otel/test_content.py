"""Contents are recorded only on request, and in the conventions' form."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentic.bridges import otel
from agentic.loop import Decision, Input, Request, Runner
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.testing import ScriptedDecider, ScriptedExecutor, conversations

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_SECRET = "hunter2"  # noqa: S105  what must not leak
_CALL = Decision(
    f"I look for {_SECRET}.",
    [ToolCall("c1", "t", f'{{"word": "{_SECRET}"}}')],
    reasoning=f"They want {_SECRET}.",
)


def _run(recorded: Any, *steps: Any, answer: Any = f"{_SECRET} it is", **options: Any) -> None:
    runner = Runner(
        ScriptedDecider(*(steps or (_CALL, f"It is {_SECRET}."))),
        ScriptedExecutor({"t": answer}),
        system_prompt=f"Guard {_SECRET}.",
    )
    with recorded.instrument(runner, **options):
        runner.run_sync(f"Is it {_SECRET}?")


def _everything(recorded: Any) -> str:
    """Return all that was recorded of all spans."""
    return "".join(span.to_json() for span in recorded.spans)


@pytest.mark.parametrize("value", [None, "", "false", "NO_CONTENT", "EVENT_ONLY", "whatever"])
def test_nobody_s_words_are_recorded_unasked(
    recorded: Any, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """Neither prompts nor replies, arguments, results, thinking, nor the texts of errors."""
    if value is not None:
        monkeypatch.setenv(_CAPTURE, value)

    _run(recorded)
    _run(recorded, _CALL, "Done.", answer=OSError(_SECRET))
    with pytest.raises(ValueError, match=_SECRET):
        _run(recorded, ValueError(_SECRET))

    assert _SECRET not in _everything(recorded)


@pytest.mark.parametrize("value", ["true", "True", "1", "SPAN_ONLY", "span_and_event"])
def test_the_environment_can_ask_for_contents(
    recorded: Any, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """By its old value and by its new ones."""
    monkeypatch.setenv(_CAPTURE, value)

    _run(recorded)

    assert "gen_ai.input.messages" in recorded.named("chat")[0].attributes


def test_the_argument_has_the_last_word(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says."""
    monkeypatch.setenv(_CAPTURE, "true")

    _run(recorded, capture_content=False)

    assert _SECRET not in _everything(recorded)


def test_contents_follow_the_conventions(recorded: Any) -> None:
    """Messages of parts, each with its type, as JSON texts."""
    _run(recorded, capture_content=True)

    first, second = (span.attributes for span in recorded.named("chat"))
    asked = {"role": "user", "parts": [{"type": "text", "content": "Is it hunter2?"}]}
    thought = {"type": "reasoning", "content": "They want hunter2."}
    said = {"type": "text", "content": "I look for hunter2."}
    call = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {"word": "hunter2"}}
    replied = {"role": "assistant", "parts": [thought, said, call]}
    told = {"type": "tool_call_response", "id": "c1", "response": "hunter2 it is"}
    assert json.loads(first["gen_ai.system_instructions"]) == [
        {"type": "text", "content": "Guard hunter2."}
    ]
    assert json.loads(first["gen_ai.tool.definitions"]) == [{"type": "function", "name": "t"}]
    assert json.loads(first["gen_ai.input.messages"]) == [asked]
    # A reply that was just received says why it ended; one that is sent again does not.
    ended = {**replied, "finish_reason": "tool_call"}
    assert json.loads(first["gen_ai.output.messages"]) == [ended]
    assert json.loads(second["gen_ai.input.messages"]) == [
        asked,
        replied,
        {"role": "tool", "parts": [told]},
    ]


def test_tools_arguments_and_result_are_recorded(recorded: Any) -> None:
    """The arguments as the model wrote them, the result as the model reads it."""
    _run(recorded, capture_content=True)

    (tool,) = recorded.named("execute_tool")
    assert tool.attributes["gen_ai.tool.call.arguments"] == '{"word": "hunter2"}'
    assert tool.attributes["gen_ai.tool.call.result"] == "hunter2 it is"


def test_errors_text_is_a_content(recorded: Any) -> None:
    """It may quote what was sent."""
    with pytest.raises(ValueError, match=_SECRET):
        _run(recorded, ValueError(_SECRET), capture_content=True)

    assert {span.status.description for span in recorded.spans} == {_SECRET}


def test_run_contains_its_request_and_reply(recorded: Any) -> None:
    """Not the whole history once more."""
    _run(recorded, capture_content=True)

    (agent,) = recorded.named("invoke_agent")
    said = json.loads(agent.attributes["gen_ai.output.messages"])
    reply = {"role": "assistant", "parts": [{"type": "text", "content": "It is hunter2."}]}
    assert said == [{**reply, "finish_reason": "stop"}]
    assert "Is it hunter2?" in agent.attributes["gen_ai.input.messages"]


def test_media_are_named_and_not_recorded(recorded: Any) -> None:
    """A location as it is, bytes by their number."""
    media = [Media("image/png", b"12345"), Media("audio/wav", url="https://example.com/a.wav")]
    runner = Runner(ScriptedDecider("Nice."))
    recorded.instrument(runner, capture_content=True)
    runner.run_sync(Request("hi", history=[Message("user", "Look.", media=media)]))

    (chat,) = recorded.named("chat")
    parts = json.loads(chat.attributes["gen_ai.input.messages"])[0]["parts"]
    assert parts == [
        {"type": "text", "content": "Look."},
        {"type": "media", "mime_type": "image/png", "size": 5},
        {"type": "uri", "mime_type": "audio/wav", "uri": "https://example.com/a.wav"},
    ]


def _texts(messages: list[Message]) -> list[str]:
    """Return every text of a history, in order, with the halves of each emoji joined."""
    texts = [
        text
        for message in messages
        for text in (
            *(part for part in (message.reasoning, message.content) if part),
            *(call.name for call in message.tool_calls),
            *(result.text for result in message.tool_results),
        )
    ]
    joined: list[str] = json.loads(json.dumps(texts))
    return joined


def _record(messages: list[Message], system_prompt: str = "") -> tuple[Input, Mapping[str, Any]]:
    """Let an agent answer a history; return the request, and the attributes of its span."""
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    decider = ScriptedDecider("So it is.")
    runner = Runner(decider, system_prompt=system_prompt)
    with otel.instrument(runner, tracer_provider=tracers, capture_content=True):
        runner.run_sync(Request("Is it?", history=messages))
    return decider.requests[0], exporter.get_finished_spans()[0].attributes or {}


def _check_texts(messages: list[Message]) -> None:
    """Assert that the span of a request has every text of it, in order."""
    request, attributes = _record(messages)
    found = json.loads(attributes["gen_ai.input.messages"])
    assert [each["role"] for each in found] == [message.role for message in request.history]
    assert [
        part.get("content", part.get("name", part.get("response")))
        for each in found
        for part in each["parts"]
        if part["type"] in ("reasoning", "text", "tool_call", "tool_call_response")
    ] == _texts(list(request.history))


@given(conversations())
def test_every_history_text_is_recorded(messages: list[Message]) -> None:
    """In order, whatever its calls, damaged ids and lone surrogates; as text that can be sent."""
    _check_texts(messages)


@given(st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010)))
def test_half_emoji_in_a_history_is_exported(text: str) -> None:
    """An attribute is sent as UTF-8."""
    call = ToolCall("c1", "t", text)
    messages = [
        Message("assistant", text, tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "t", text)]),
    ]
    _, attributes = _record(messages, system_prompt=text)

    assert not text or "gen_ai.system_instructions" in attributes
    for value in attributes.values():
        str(value).encode()


def test_half_emoji_in_a_call_is_exported(recorded: Any) -> None:
    """In its id, its arguments, its result and its error."""
    half = "cut \ud83d"
    calls = [ToolCall(half, "t", f'{{"word": "{half}"}}'), ToolCall("c2", "t")]
    results = iter([half, ToolResult("c2", error=half)])
    _run(
        recorded, Decision(half, calls), half, answer=lambda _: next(results), capture_content=True
    )

    assert recorded.named("execute_tool")[1].status.description == "cut \ufffd"
    for span in recorded.spans:
        for value in (span.name, span.status.description or "", *span.attributes.values()):
            str(value).encode()


@pytest.mark.corpus
def test_every_transcript_has_its_contents(transcripts: dict[str, list[Message]]) -> None:
    """Of real agents, all that was said."""
    for messages in transcripts.values():
        _check_texts(messages)
