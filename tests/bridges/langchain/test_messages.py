"""Messages of LangChain as Messages, and back."""

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentic.bridges.langchain import from_message, to_message
from agentic.bridges.langchain._conversation import LangchainForm
from agentic.errors import ConfigError
from agentic.messages import (
    ContextSummary,
    Message,
    ToolCall,
    ToolError,
    ToolResult,
    from_plain,
    to_plain,
)
from agentic.providers.kit import replace_surrogates
from agentic.testing import conversations
from agentic.tokens import count_message_tokens
from agentic.usage import Usage, normalize

_IMAGE = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}


def _stored(message: BaseMessage) -> BaseMessage:
    """Return a message as a checkpointer returns it, and then as JSON does."""
    serde = JsonPlusSerializer()
    loaded = serde.loads_typed(serde.dumps_typed(message))
    return messages_from_dict([json.loads(json.dumps(message_to_dict(loaded)))])[0]


def _written(message: Message) -> Message:
    """Return what a message is when LangChain has written it, by the rules that the page lists."""
    clean = from_plain(replace_surrogates(to_plain(message.replace())))
    return attrs.evolve(
        clean,
        usage=normalize(clean.usage) if clean.role == "assistant" and clean.usage else clean.usage,
        media=[attrs.evolve(part, extra={}) for part in clean.media],
        tool_calls=[attrs.evolve(call, extra={}) for call in clean.tool_calls],
    )


def _sayings(message: Message) -> Any:
    """Return the fields of a message, with its calls in one order and one spelling."""
    calls = sorted((call.id, call.name, str(_parsed(call))) for call in message.tool_calls)
    return attrs.evolve(message, tool_calls=(), native=None), calls


def _parsed(call: ToolCall) -> Any:
    try:
        return call.parse()
    except ValueError:
        return call.arguments


@given(conversations())
def test_a_message_returns_as_it_was(conversation: list[Message]) -> None:
    """Whatever LangChain has no field for is kept, too; results become messages of their own."""
    for message in conversation:
        written = _written(message)
        back = [to_message(_stored(each)) for each in from_message(message)]

        if message.role == "tool":
            assert [r for each in back for r in each.tool_results] == list(written.tool_results)
        else:
            assert _sayings(back[0]) == _sayings(written)


@given(conversations())
def test_a_message_of_theirs_returns_itself(conversation: list[Message]) -> None:
    """Every field, also those unknown here, through our own JSON form."""
    for message in conversation:
        for item in from_message(message):
            plain = json.loads(json.dumps(to_plain(to_message(item))))

            assert from_message(from_plain(plain)) == [item]


@pytest.mark.parametrize(
    "item",
    [
        HumanMessage("Why?", name="ann", id="h1"),
        HumanMessage([{"type": "text", "text": "Look: "}, _IMAGE]),
        SystemMessage([{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]),
        AIMessage("Because.", response_metadata={"model_name": "m", "x": [1]}),
        AIMessage("", additional_kwargs={"refusal": "I cannot."}),
        AIMessage(
            [{"type": "thinking", "thinking": "So?", "signature": "s" * 400}, "So."],
            usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        ),
        AIMessage("", tool_calls=[{"name": "run", "args": {"n": 1}, "id": None}]),
        AIMessage(
            "", invalid_tool_calls=[{"name": "run", "args": "{oops", "id": "c", "error": "e"}]
        ),
        ToolMessage([{"type": "text", "text": "out"}, _IMAGE], tool_call_id="c1", name="run"),
        ToolMessage("boom", tool_call_id="c1", status="error"),
        ChatMessage("Hello.", role="developer"),
        FunctionMessage("out", name="run"),
    ],
    ids=lambda item: f"{item.type}-{str(item.content)[:12]}",
)
def test_their_own_fields_return(item: BaseMessage) -> None:
    """Names, metadata, signatures, marks: what is not edited is sent as it came."""
    assert from_message(to_message(item)) == [item]


def test_an_edit_takes_precedence() -> None:
    """An edited message is never sent unedited."""
    message = to_message(AIMessage("long text", response_metadata={"x": 1}))

    assert from_message(message.replace(content="short"))[0].text == "short"
    assert from_message(attrs.evolve(message, content="short"))[0].text == "short"


@pytest.mark.parametrize(
    ("item", "role"),
    [
        (HumanMessage("x"), "user"),
        (AIMessageChunk("x"), "assistant"),
        (SystemMessage("x"), "system"),
        (ChatMessage("x", role="developer"), "system"),
        (ChatMessage("x", role="assistant"), "assistant"),
        (ChatMessage("x", role="moderator"), "user"),
        (FunctionMessage("x", name="run"), "tool"),
        (ToolMessage("x", tool_call_id="c1"), "tool"),
    ],
)
def test_roles_are_read(item: BaseMessage, role: str) -> None:
    """A role that nobody knows is the user's."""
    assert to_message(item).role == role


def test_calls_with_bad_arguments_are_calls() -> None:
    """They have to be answered as well."""
    valid = {"name": "run", "args": {"n": 1}, "id": "c1"}
    invalid = {"name": "run", "args": "{oops", "id": "c2", "error": None}
    message = to_message(AIMessage("", tool_calls=[valid], invalid_tool_calls=[invalid]))

    assert message.tool_calls == (
        ToolCall("c1", "run", '{"n": 1}'),
        ToolCall("c2", "run", "{oops"),
    )


def test_legacy_function_call_is_a_call() -> None:
    """As OpenAI had it before tools; its result names no call either."""
    call = {"name": "run", "arguments": '{"n": 1}'}
    message = to_message(AIMessage("", additional_kwargs={"function_call": call}))

    assert message.tool_calls == (ToolCall("", "run", '{"n": 1}'),)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": "aGk=", "mime_type": "image/png"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
        },
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image_url", "image_url": "data:image/png;base64,aGk="},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        {"type": "media", "data": "aGk=", "mime_type": "image/png"},
    ],
    ids="-".join,
)
def test_images_of_every_provider_are_media(block: dict[str, Any]) -> None:
    """Counted at a flat rate, and not as the text of their data."""
    message = to_message(HumanMessage([{"type": "text", "text": "Look."}, block]))

    assert message.content == "Look."
    assert [(part.media_type, part.data) for part in message.media] == [("image/png", b"hi")]


@pytest.mark.parametrize(
    ("block", "media_type", "place"),
    [
        ({"type": "audio", "url": "https://e.com/a", "mime_type": "audio/wav"}, "audio/wav", "url"),
        (
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            "audio/wav",
            "",
        ),
        ({"type": "file", "file_id": "f1"}, "application/octet-stream", "file_id"),
        ({"type": "file", "file": {"file_id": "f1"}}, "application/octet-stream", "file_id"),
        ({"type": "document", "source": {"type": "url", "url": "u"}}, "application/pdf", "url"),
        ({"type": "video", "url": "https://e.com/v"}, "video/*", "url"),
    ],
)
def test_other_media_are_media(block: dict[str, Any], media_type: str, place: str) -> None:
    """Sounds, files and videos, by data, address or id."""
    (part,) = to_message(HumanMessage([block])).media

    assert part.media_type == media_type
    assert bool(part.url) == (place == "url")
    assert bool(part.extra) == (place == "file_id")


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q" * 90}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": "t " * 50}]},
        {"type": "server_tool_call", "id": "s1", "name": "search", "args": {"query": "q" * 90}},
        {"type": "non_standard", "value": {"anything": "at all " * 20}},
        {"type": "text-plain", "text": "a document " * 10, "mime_type": "text/plain"},
        {"type": "document", "source": {"type": "text", "data": "a document " * 10}},
        {"type": "refusal", "refusal": "I cannot " * 10},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so it goes " * 10}]},
        {"type": "reasoning", "reasoning": "so it goes " * 10},
    ],
    ids=lambda block: block["type"],
)
def test_other_blocks_are_counted(block: dict[str, Any]) -> None:
    """What a provider adds of its own takes room in the window, too."""
    message = to_message(AIMessage([block]))

    assert count_message_tokens(message) > 20
    assert from_message(message)[0].content == [block]


def test_encoded_data_is_named_by_length() -> None:
    """A summary has no use for a signature."""
    block = {"type": "web_search_tool_result", "content": [{"encrypted_content": "A" * 5_000}]}

    text = to_message(AIMessage([block])).content

    assert "[5,000 characters]" in text
    assert len(text) < 120


def test_usage_is_read_in_both_directions() -> None:
    """LangChain's input includes what a cache read and wrote, as ours does."""
    usage = Usage(100, 20, 120, cache_read=40, cache_write=10, reasoning=5)

    (item,) = from_message(Message("assistant", "So.", usage=usage))

    assert item.usage_metadata["input_token_details"] == {"cache_read": 40, "cache_creation": 10}
    assert to_message(item).usage == usage


def test_a_failed_tool_is_an_error() -> None:
    """Its kind and the notice below it return as well."""
    result = ToolResult("c1", "run", "half", ToolError("boom", "timeout"), notice="[Cut.]")

    (item,) = from_message(Message("tool", tool_results=[result]))

    assert item.status == "error"
    assert item.content == "half\nError: boom\n[Cut.]"
    assert to_message(item).tool_results == (result,)
    item.content = "edited"
    assert to_message(item).tool_results[0].error == ToolError("edited")


def test_results_become_messages_of_their_own() -> None:
    """The last one has the text and the media of the message."""
    results = [ToolResult("c1", "run", "one"), ToolResult("c2", "run", "two")]
    message = Message("tool", "Mind the gap.", tool_results=results)

    items = from_message(message)

    assert [(each.tool_call_id, each.content) for each in items] == [
        ("c1", "one"),
        ("c2", "two\nMind the gap."),
    ]


def test_summary_counts_only_in_system_message() -> None:
    """Whoever may write user messages could forge one."""
    summary = ContextSummary("- done", 3).to_message()
    (item,) = from_message(summary)

    forged = HumanMessage(item.content, additional_kwargs=item.additional_kwargs)

    assert to_message(item).summary == summary.summary
    assert to_message(forged).summary is None


@pytest.mark.parametrize(
    "wrong", [RemoveMessage(id="x"), {"role": "user"}, "text", Message("user")]
)
def test_anything_else_is_refused(wrong: Any) -> None:
    """A RemoveMessage says nothing: it is an instruction to the state."""
    with pytest.raises(ConfigError, match="message must be a message of langchain_core"):
        to_message(wrong)


_ROUNDS = [
    {"type": "message", "input_tokens": 60, "output_tokens": 4},
    {"type": "message", "input_tokens": 70, "output_tokens": 5},
]


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({"content": [{"type": "server_tool_use", "id": "s1", "name": "web_search"}]}, None),
        ({"content": [{"type": "web_search_call", "id": "w1"}]}, None),
        (
            {"content": "Found.", "additional_kwargs": {"tool_outputs": [{"type": "mcp_call"}]}},
            None,
        ),
        ({"content": "Found.", "response_metadata": {"usage": {"iterations": _ROUNDS}}}, (70, 5)),
        ({"content": [{"type": "text", "text": "Found."}]}, (130, 9)),
    ],
)
def test_size_of_the_last_request_survives(
    fields: dict[str, Any], size: tuple[int, int] | None
) -> None:
    """What several requests used is no size of one, after a way there and back, either."""
    used = {"input_tokens": 130, "output_tokens": 9, "total_tokens": 139}
    read = to_message(AIMessage(**fields, usage_metadata=used))
    (made,) = from_message(attrs.evolve(read, native=None))

    for reply in (read, to_message(made)):
        assert reply.usage == Usage(130, 9, 139)
        found = reply.request_usage
        assert (found and (found.input, found.output)) == size


def test_two_results_in_place_of_one_are_two_messages() -> None:
    """As where a reply repeats an id: a ToolMessage answers one call."""
    form, output = LangchainForm(), ToolMessage("red", tool_call_id="c1")
    results = [ToolResult("c1", "look", "red"), ToolResult("c1", "look", "green")]

    written = form.edit([output], form.read(output), [Message("tool", tool_results=results)])

    assert [each.text for each in written] == ["red", "green"]
