"""Every part of the framework's messages is counted, and comes back as it was."""

import itertools
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from pydantic_ai import PydanticAIDeprecationWarning
from pydantic_ai import messages as framework
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    RetryPromptPart,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolAvailabilityDeltaPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from agentic.bridges.pydantic_ai import to_messages, to_model_messages
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Media, Message, ToolCall, ToolError, ToolResult
from agentic.tokens import CharCounter, count_tokens
from agentic.usage import Usage

_IMAGE = BinaryContent(b"\x89PNG", media_type="image/png")


def _read_one(*parts: Any) -> Message:
    [message] = to_messages([ModelRequest(list(parts))])
    return message


def _read_reply(*parts: Any, **options: Any) -> Message:
    [message] = to_messages([ModelResponse(list(parts), **options)])
    return message


def test_request_splits_into_messages() -> None:
    """Results come first, and the user's words beside them are a message of their own."""
    request = ModelRequest(
        [
            UserPromptPart("And this?"),
            ToolReturnPart("read", "one", "c1"),
            ToolReturnPart("read", {"lines": 2}, "c2"),
            SystemPromptPart("Be brief."),
        ]
    )
    assert [(m.role, m.content) for m in to_messages([request])] == [
        ("tool", ""),
        ("user", "And this?"),
        ("system", "Be brief."),
    ]
    assert [result.output for result in to_messages([request])[0].tool_results] == [
        "one",
        '{"lines":2}',
    ]


def test_native_calls_count() -> None:
    """What a provider's own tool was asked, and what it found, is text of the reply."""
    reply = _read_reply(
        NativeToolCallPart("web_search", {"query": "weather"}, "s1", provider_name="openai"),
        NativeToolReturnPart("web_search", [{"title": "Sun"}], "s1", provider_name="openai"),
        TextPart("It is sunny."),
    )
    assert reply.content == (
        '[web_search: {"query":"weather"}]\n[web_search] [{"title":"Sun"}]\nIt is sunny.'
    )
    assert not reply.tool_calls


def test_files_count_as_media() -> None:
    """Files in any form are media; a cache point is neither text nor media."""
    uploaded = UploadedFile("file-1", provider_name="openai", media_type="application/pdf")
    message = _read_one(
        UserPromptPart(
            [
                "Look:",
                TextContent("closely"),
                _IMAGE,
                ImageUrl("https://example.com/a.png"),
                DocumentUrl("https://example.com/unknown"),
                uploaded,
                CachePoint(),
            ]
        )
    )
    assert message.content == "Look:\nclosely"
    assert [media.media_type for media in message.media] == [
        "image/png",
        "image/png",
        "application/octet-stream",
        "application/pdf",
    ]
    assert count_tokens([message], CharCounter()) > 4 * 600


def test_media_in_tool_return_count() -> None:
    """A tool may return text and files."""
    message = _read_one(ToolReturnPart("shoot", ["a picture", _IMAGE], "c1"))
    assert message.tool_results[0].output == "a picture"
    assert message.tool_results[0].media == (Media("image/png", b"\x89PNG"),)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ("failed", "raised"),
        ("denied", "not_allowed"),
        ("retried", "bad_arguments"),
        ("interrupted", "interrupted"),
    ],
)
def test_outcomes_are_errors(outcome: Any, kind: str) -> None:
    """What is no success is an error of the call."""
    message = _read_one(ToolReturnPart("read", "no such file", "c1", outcome=outcome))
    assert message.tool_results == (
        ToolResult("c1", "read", error=ToolError("no such file", kind)),
    )


def test_retry_feedback_is_no_request() -> None:
    """The framework's complaint never takes the place of what the user asked for."""
    message = _read_one(RetryFeedbackPart("Return a number.", retry=RetryInfo("model_retry")))
    assert message.role == "system"
    assert "Return a number." in message.content


def test_deprecated_retry_prompt_answers_call() -> None:
    """A retry prompt in memory of an old program is the result of its call."""
    with pytest.warns(PydanticAIDeprecationWarning, match="RetryPromptPart"):
        bound = RetryPromptPart("Wrong path.", tool_name="read", tool_call_id="c1")
    with pytest.warns(PydanticAIDeprecationWarning, match="RetryPromptPart"):
        free = RetryPromptPart("Say more.")
    assert _read_one(bound).tool_results[0].call_id == "c1"
    assert _read_one(free).role == "system"


def test_thinking_is_reasoning() -> None:
    """Thinking is counted as reasoning; usage is that of the reply."""
    reply = _read_reply(
        ThinkingPart("Let me see.", signature="abc", provider_name="anthropic"),
        ToolCallPart("read", '{"path": "a.py"}', "c1"),
        usage=RequestUsage(input_tokens=100, output_tokens=20, cache_read_tokens=80),
    )
    assert reply.reasoning == "Let me see."
    assert reply.tool_calls == (ToolCall("c1", "read", '{"path": "a.py"}'),)
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.cache_read) == (100, 80)


def test_context_size_of_summed_usage() -> None:
    """If the usage is the sum of several requests, the size of the context is what counts."""
    reply = _read_reply(
        TextPart("Found."),
        usage=RequestUsage(input_tokens=5_000, output_tokens=20),
        metadata={"__pydantic_ai__": {"context_input_tokens": 900}},
    )
    assert reply.usage == Usage(5_000, 20, 5_020)
    assert reply.request_usage == Usage(900, 20)


@pytest.mark.parametrize(
    ("parts", "metadata", "size"),
    [
        ([TextPart("Found.")], {"context_input_tokens": 5_000}, Usage(5_000, 20)),
        ([TextPart("Found.")], {"initial_input_tokens": 800}, Usage(800, 20)),
        ([TextPart("Found.")], {"context_input_tokens": 0}, None),
        ([NativeToolCallPart("web_search", "{}", "s1"), TextPart("Found.")], {}, None),
    ],
)
def test_size_of_the_last_request_survives(
    parts: list[Any], metadata: dict[str, int], size: Usage | None
) -> None:
    """It is what the framework measured, or unknown; also after a way there and back."""
    used = RequestUsage(input_tokens=5_000, output_tokens=20)
    read = _read_reply(*parts, usage=used, metadata={"__pydantic_ai__": metadata})

    (again,) = to_messages(to_model_messages([read]))

    for reply in (read, again):
        found = reply.request_usage
        assert (found and (found.input, found.output)) == (size and (size.input, size.output))
        assert reply.usage is not None
        assert reply.usage.input == 5_000


def test_provider_compaction_is_kept() -> None:
    """An encrypted summary of the provider's own is never left out."""
    reply = _read_reply(
        CompactionPart(
            None, id="cmp_1", provider_name="openai", provider_details={"encrypted_content": "x"}
        )
    )
    assert reply.pinned


@pytest.mark.skipif(
    not hasattr(framework, "CapabilityLoadDeltaPart"), reason="it came with pydantic-ai 2.63"
)
def test_loaded_capability_is_kept() -> None:
    """What a loaded capability says and offers depends on the trace of its loading."""
    assert _read_one(framework.CapabilityLoadDeltaPart(loaded=["files"])).pinned


def test_other_capabilitys_summary_is_one() -> None:
    """A summary that another capability wrote is merged into the next."""
    message = _read_one(CompactionPart("They fixed the parser.", metadata={"harness": True}))
    assert message.role == "system"
    assert message.summary is not None
    assert message.summary.content == "They fixed the parser."


def test_damaged_summary_is_still_one() -> None:
    """If its state cannot be read, the text of a summary still is."""
    message = _read_one(CompactionPart("They fixed it.", metadata={"agentic": {"v": 9}}))
    assert message.summary is not None
    assert message.summary.content == "They fixed it."


def test_damaged_state_is_not_used(framework: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A state of another version is reported, and the messages are sent without it."""
    request = ModelRequest([UserPromptPart("Go.")], metadata={"agentic": {"v": 99}})
    budget = framework.budget()
    assert framework.fit(budget, [request]) == [request]
    assert framework.fit(budget, [request]) == [request]
    assert caplog.text.count("is not used") == 1


def test_forged_state_hides_no_prompt(framework: Any) -> None:
    """A state that leaves out the system prompt was not written by a View."""
    prompt = ModelRequest([SystemPromptPart("Never say why."), UserPromptPart("Why?")])
    talk = to_model_messages([m for n in range(20) for m in framework.exchange(n)])
    history = [prompt, *talk, ModelRequest([UserPromptPart("Go on.")])]
    framework.fit(framework.budget(), history)
    state = history[-1].metadata["agentic"]  # type: ignore[index]
    assert state["compaction"]["kept"] == [0]
    for forged in ([], [[0]], None):
        state["compaction"] |= {"kept": forged}
        sent = framework.fit(framework.budget(), framework.through_json(history))
        assert sent[0].parts[0].content == "Never say why."


def test_speech_is_text() -> None:
    """A transcript is what was said."""
    assert _read_one(SpeechPart(speaker="user", transcript="Hello.")).content == "Hello."
    heard = _read_reply(SpeechPart(speaker="assistant", transcript="Yes?", audio=_IMAGE))
    assert (heard.content, len(heard.media)) == ("Yes?", 1)


def test_parts_beside_go_with_message(framework: Any) -> None:
    """What is never sent as it is goes with the message beside it."""
    request = ModelRequest(
        [UserPromptPart("Go."), ToolAvailabilityDeltaPart(tools_added=["write"])]
    )
    assert [message.content for message in to_messages([request])] == ["Go."]
    assert framework.fit(framework.budget(), [request])[0] is request


def test_foreign_message_is_refused() -> None:
    """The error says what a list of the framework's messages is."""
    with pytest.raises(ConfigError, match="all_messages"):
        to_messages([{"role": "user", "content": "Why?"}])  # type: ignore[list-item]


_MESSAGES = [
    Message("system", "Be brief."),
    ContextSummary("They fixed the parser.", 12, notes={"v": 1}).to_message(),
    Message(
        "user", "Look.", media=[Media("image/png", b"1"), Media("audio/wav", url="https://a/b")]
    ),
    Message(
        "assistant",
        "I will.",
        reasoning="Hm.",
        tool_calls=[ToolCall("c1", "read", '{"n": 1}'), ToolCall("c2", "read", "{oops")],
    ),
    Message(
        "tool",
        tool_results=[
            ToolResult(
                "c1", "read", "one", media=[Media("application/pdf", url="https://a/b.pdf")]
            ),
            ToolResult("c2", "read", error=ToolError("no such file")),
        ],
    ),
    Message("assistant", "Done.", media=[Media("image/png", b"2")]),
]


def test_messages_survive_framework(framework: Any) -> None:
    """Our messages come back from the framework's types, and from its JSON."""
    written = to_model_messages(_MESSAGES)
    assert to_messages(written) == _MESSAGES
    assert to_messages(framework.through_json(written)) == _MESSAGES


def test_words_beside_results_are_kept() -> None:
    """The framework has no place for them but the last result."""
    results = [ToolResult("c1", "run", "stop"), ToolResult("c2", "run", "train")]

    [written] = to_model_messages([Message("tool", "Mind the gap.", tool_results=results)])

    assert [part.content for part in written.parts] == ["stop", "train\nMind the gap."]


def test_uploaded_file_survives() -> None:
    """The id of a file at its provider is kept."""
    uploaded = UploadedFile("file-1", provider_name="openai", media_type="application/pdf")
    history: list[ModelMessage] = [ModelRequest([UserPromptPart(["See:", uploaded])])]
    [request] = to_model_messages(to_messages(history))
    assert request.parts[0].content == ["See:", uploaded]


_GO_ON = ModelRequest([UserPromptPart("Go on.")])


def _edit(framework: Any, given: ModelMessage, **changes: Any) -> Any:
    """Return what is sent of a message when a strategy edits it."""

    def strategy(messages: list[Message]) -> list[Message]:
        return [messages[0].replace(**changes), *messages[1:]]

    return framework.fit(framework.budget(100_000, strategies=[strategy]), [given, _GO_ON])[0]


def test_edited_reply_keeps_what_holds(framework: Any) -> None:
    """Of an edited reply, signed thinking and files that are left stay the same objects."""
    parts = [
        ThinkingPart("Hm.", signature="abc", provider_name="anthropic"),
        TextPart("One.", id="msg_1", provider_name="openai"),
        FilePart(_IMAGE),
    ]
    edited = _edit(framework, ModelResponse(parts), content="Two.")
    assert edited.parts == [TextPart("Two."), parts[0], parts[2]]
    assert edited.parts[1] is parts[0]
    assert _edit(framework, ModelResponse(parts), reasoning="").parts == parts[1:]


def test_dropped_call_leaves_others(framework: Any) -> None:
    """Of the calls that a strategy keeps, each is the same object."""
    parts = [ToolCallPart("read", {"n": n}, f"c{n}") for n in range(3)]
    calls = to_messages([ModelResponse(parts)])[0].tool_calls
    replay = ToolCall("c9", "read", "{}")
    edited = _edit(framework, ModelResponse(parts), tool_calls=[calls[2], replay])
    assert edited.parts[0] is parts[2]
    assert edited.parts[1].tool_call_id == "c9"
    assert len(edited.parts) == 2


def test_edited_result_keeps_files_and_metadata(framework: Any) -> None:
    """A shortened return has its files, and what the application noted in it."""
    returned = ToolReturnPart(
        "shoot",
        ["long " * 50, _IMAGE],
        "c1",
        metadata={"took": 3},
        timestamp=datetime(2026, 11, 1, tzinfo=UTC),
    )
    other = ToolReturnPart("read", "one", "c2")
    calls = ModelResponse([ToolCallPart("shoot", {}, "c1"), ToolCallPart("read", {}, "c2")])
    request = ModelRequest([returned, other], metadata={"page": 4})

    def edit(**changes: Any) -> Any:
        def strategy(messages: list[Message]) -> list[Message]:
            first, second = messages[1].tool_results
            results = [attrs.evolve(first, **changes), second]
            return [messages[0], messages[1].replace(tool_results=results), *messages[2:]]

        budget = framework.budget(100_000, strategies=[strategy])
        return framework.fit(budget, [calls, request, _GO_ON])[1]

    edited = edit(output="long", notice="[Cut.]")
    assert edited.metadata == {"page": 4}
    assert edited.parts[1] is other
    assert edited.parts[0].content == ["long\n[Cut.]", _IMAGE]
    assert edited.parts[0].metadata == {"took": 3}
    assert edited.parts[0].timestamp == returned.timestamp
    assert edit(output="long", media=()).parts[0].content == "long"


def test_edited_words_keep_cache_point(framework: Any) -> None:
    """Files and cache points stay in an edited request; a system prompt is replaced."""
    prompt = UserPromptPart(["Look.", _IMAGE, CachePoint(ttl="1h")])
    edited = _edit(framework, ModelRequest([prompt]), content="Look again.")
    assert edited.parts[0].content == ["Look again.", _IMAGE, CachePoint(ttl="1h")]
    without = _edit(framework, ModelRequest([prompt]), content="Look again.", media=())
    assert without.parts[0].content == "Look again."
    system = _edit(framework, ModelRequest([SystemPromptPart("Be brief.")]), content="Be long.")
    assert system.parts[0].content == "Be long."


def test_part_of_request_is_kept(framework: Any) -> None:
    """A system prompt stays when the request beside it is left out."""
    prompt = SystemPromptPart("Be brief.")
    request = ModelRequest([prompt, UserPromptPart("Why?")], instructions="Think.")
    budget = framework.budget(strategies=[lambda messages: [messages[0], messages[-1]]])
    kept = framework.fit(budget, [request, ModelResponse([TextPart("So.")]), _GO_ON])[0]
    assert kept.parts == [prompt]
    assert kept.parts[0] is prompt
    assert kept.instructions == "Think."


def test_only_new_messages_are_read(framework: Any) -> None:
    """A list that grows costs what is new, also when it comes back from JSON unchanged."""
    seen: list[list[Message]] = []

    def strategy(messages: list[Message]) -> list[Message]:
        seen.append(messages.copy())
        return messages

    given = to_model_messages([m for n in range(50) for m in framework.exchange(n, calls=1)])
    budget = framework.budget(100_000, strategies=[strategy])
    for end in range(5, 201, 4):
        framework.fit(budget, given[:end])
    framework.fit(budget, framework.through_json(given[:197]))
    for before, after in itertools.pairwise(seen):
        assert len(before) > 1
        assert [*map(id, after[: len(before)])] == [*map(id, before)]


def test_changes_in_place_are_seen(framework: Any) -> None:
    """A part that was added to the latest request, or edited in place, is read again."""
    budget = framework.budget()
    request = ModelRequest([UserPromptPart("Go.")])
    framework.fit(budget, [request])
    request.parts = [*request.parts, UserPromptPart("Now.")]
    framework.fit(budget, [request])
    assert budget.latest("c").messages[0].content == "Go.\nNow."
    request.parts[0].content = "Stop."  # type: ignore[misc,union-attr]
    framework.fit(budget, [request])
    assert budget.latest("c").messages[0].content == "Stop.\nNow."
