"""Messages, both ways: examples from AWS's API reference and user guide."""

import copy
import json
from typing import Any

import attrs
import pytest

from agentic.messages import ContextSummary, Media, Message, ProviderPayload, ToolCall, ToolResult
from agentic.providers import bedrock
from agentic.providers.bedrock._decoding import for_boto3
from agentic.tools import ToolDefinition

CALL = {"toolUse": {"toolUseId": "t1", "name": "top_song", "input": {"sign": "WZPZ"}}}
RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"json": {"song": "Elemental Hotel"}}]}}
MARK = {"cachePoint": {"type": "default", "ttl": "1h"}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
IMAGE = {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}}
DOCUMENT = {"document": {"format": "pdf", "name": "Report 1", "source": {"bytes": "JVBERg=="}}}
ASKED = {"role": "user", "content": [{"text": "What is on WZPZ?"}]}

CONVERSATIONS: dict[str, list[Any]] = {
    "text": [ASKED],
    "several texts and a mark": [{"role": "user", "content": [{"text": "a"}, {"text": "b"}, MARK]}],
    "a tool round": [
        ASKED,
        {"role": "assistant", "content": [{"text": "I look."}, CALL]},
        {"role": "user", "content": [RESULT]},
        {"role": "assistant", "content": [{"text": "Elemental Hotel."}]},
    ],
    "results, a mark and a text": [
        ASKED,
        {"role": "assistant", "content": [THOUGHT, CALL]},
        {"role": "user", "content": [RESULT, MARK, {"text": "Be quick."}, IMAGE, MARK]},
    ],
    "a mark after results": [
        ASKED,
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [RESULT, MARK]},
    ],
    "a text before results": [
        ASKED,
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [{"text": "Here:"}, RESULT, {"text": "More?"}]},
    ],
    "media": [
        {"role": "user", "content": [{"text": "See."}, IMAGE, DOCUMENT]},
        {"role": "assistant", "content": [{"text": "I do."}]},
        {
            "content": [
                {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/a.mp4"}}}},
                {"audio": {"format": "wav", "source": {"bytes": "UklGRg=="}}},
                {"guardContent": {"text": {"text": "Check me.", "qualifiers": ["query"]}}},
                {"searchResult": {"source": "s", "title": "t", "content": [{"text": "found"}]}},
            ],
            "role": "user",
        },
    ],
    "what the provider ran itself": [
        ASKED,
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"redactedContent": "AP8="}},
                {"toolUse": {**CALL["toolUse"], "toolUseId": "s1", "type": "server_tool_use"}},
                {"toolResult": {"toolUseId": "s1", "content": [], "type": "nova_result"}},
                {"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "t"}]}},
            ],
        },
    ],
    "what nobody knows": [
        {
            "role": "user",
            "mood": 1,
            "content": [{"hologram": {"x": [None]}}, {"text": "a", "z": 2}],
        },
        {"role": "system", "content": [{"toolAddition": {"tool": {"name": "now"}}}]},
        {"role": "assistant", "content": [{"text": "é\u2028", "extra": None}]},
    ],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_wire_items_return_as_they_were(name: str) -> None:
    """Order of keys, unknown blocks and unknown fields included; nothing is changed in place."""
    wire = CONVERSATIONS[name]
    before = copy.deepcopy(wire)

    encoded = bedrock.encode(bedrock.decode(wire))

    assert json.dumps(encoded) == json.dumps(wire)
    assert wire == before


def test_whole_request_returns_unchanged() -> None:
    """The blocks of its system prompt too."""
    request = {"system": [{"text": "Be brief."}, MARK], "messages": CONVERSATIONS["a tool round"]}

    messages = bedrock.decode_request(request)
    again = bedrock.encode_request(messages, tools=[ToolDefinition("top_song")])

    assert messages[0].content == "Be brief."
    assert json.dumps({**again, "toolConfig": 0}) == json.dumps({**request, "toolConfig": 0})


def test_results_with_text_are_two_messages() -> None:
    """The results are a tool's, the text is the user's."""
    _, called, results, user = bedrock.decode(CONVERSATIONS["results, a mark and a text"])

    assert called.tool_calls == (ToolCall("t1", "top_song", '{"sign": "WZPZ"}'),)
    assert called.reasoning == "Hm."
    assert results.tool_results[0].name == "top_song"
    assert results.tool_results[0].output == '{"song": "Elemental Hotel"}'
    assert (user.role, user.content, user.media[0].data) == ("user", "Be quick.", b"\x89PNG")


def test_mark_after_results_is_no_request() -> None:
    """The task stays the user's last words."""
    messages = bedrock.decode(CONVERSATIONS["a mark after results"])

    assert [message.role for message in messages] == ["user", "assistant", "tool"]


def test_failed_result_fails_both_ways() -> None:
    """Converse has a status for it."""
    failed = {"toolUseId": "t1", "content": [{"text": "Error: no"}], "status": "error"}
    wire = [{"role": "user", "content": [{"toolResult": failed}]}]

    (message,) = bedrock.decode(wire)

    assert message.tool_results[0].text == "Error: no"
    assert bedrock.encode([message.replace()]) == wire


@pytest.mark.parametrize("stale", [False, True])
def test_an_edited_message_goes_out_edited(stale: bool) -> None:
    """A payload that says something else is not sent, whether or not the edit dropped it."""
    (message,) = bedrock.decode([{"role": "assistant", "content": [THOUGHT, {"text": "old"}]}])

    edited = attrs.evolve(message, content="new") if stale else message.replace(content="new")

    assert bedrock.encode([edited]) == [{"role": "assistant", "content": [{"text": "new"}]}]


def test_other_providers_items_are_not_sent() -> None:
    """Nor is its reasoning."""
    message = Message(
        "assistant", "Hi", reasoning="Hm.", native=ProviderPayload("elsewhere", {"x": 1})
    )

    assert bedrock.encode([message]) == [{"role": "assistant", "content": [{"text": "Hi"}]}]


def test_junk_is_kept_and_never_raises() -> None:
    """Whatever stands where a message belongs."""
    junk: list[Any] = ["text", 3, {}, {"role": "user", "content": "plain"}, {"content": [None, 1]}]

    messages = bedrock.decode(junk)

    assert bedrock.encode(messages) == junk
    assert bedrock.decode_request({"messages": None, "system": 3}) == []
    for block in (
        {"toolUse": 1},
        {"toolResult": {"toolUseId": "t1", "content": 3}},
        {"image": {"source": None}},
    ):
        wire = [{"role": role, "content": [block]} for role in ("user", "assistant")]
        assert bedrock.encode(bedrock.decode(wire)) == wire


def test_a_string_is_sent_as_a_block() -> None:
    """Converse takes a list, and boto3 refuses anything else."""
    messages = bedrock.decode([{"role": "user", "content": "Hi"}])

    request = bedrock.encode_request(messages)

    assert request == {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    assert bedrock.validate(request) == []


def test_the_conversation_finds_its_places() -> None:
    """Leading system messages go to `system`, a summary and a later one to the user."""
    messages = [
        Message("system", "Rules."),
        ContextSummary("Done so far.", 3).to_message(),
        Message("assistant", "Hello."),
        Message("system", "Stop it."),
        Message("user", "Why?"),
        Message("user", " "),
    ]

    request = bedrock.encode_request(messages, system_prompt="Be brief.")

    assert [block["text"][:8] for block in request["system"]] == ["Be brief", "Rules."]
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]
    assert request["messages"][0]["content"] == [{"text": messages[1].content}]
    assert request["messages"][2]["content"] == [
        {"text": "<system>\nStop it.\n</system>"},
        {"text": "Why?"},
    ]


@pytest.mark.parametrize("messages", [[], [Message("system", "Rules.")], [Message("user")]])
def test_a_request_always_has_a_user(messages: list[Message]) -> None:
    """Also where a conversation has nothing to say."""
    request = bedrock.encode_request(messages)

    assert bedrock.validate(request) == []
    assert request["messages"][0]["role"] == "user"


def test_ids_become_acceptable_to_bedrock() -> None:
    """Unique, of its characters, and alike for a call and its result."""
    calls = [ToolCall("a b", "x"), ToolCall("c", "x"), ToolCall("c", "x"), ToolCall("", "x")]
    results = [ToolResult(call.id, "x", f"{number}") for number, call in enumerate(calls)]
    messages = [Message("user", "Hi")]
    for _ in range(2):
        messages += [
            Message("assistant", tool_calls=calls),
            Message("tool", tool_results=[results[0], results[3], results[1], results[2]]),
        ]

    request = bedrock.encode_request(messages)

    assert bedrock.validate(request) == []
    blocks = [block for message in request["messages"] for block in message["content"]]
    called = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
    assert called[:3] == ["a_b_c8687a08", "c", "c_2"]
    assert len(set(called)) == 8


def test_payload_ids_stay_and_others_yield() -> None:
    """What Bedrock gave goes back, and its result with it, whatever stands beside."""
    given = [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]
    own = [Message("user", "Hi"), Message("assistant", tool_calls=[ToolCall("t1", "x")])]
    own.append(Message("tool", tool_results=[ToolResult("t1", "x", "1")]))

    request = bedrock.encode_request([*own, *bedrock.decode(given)])

    assert bedrock.validate(request) == []
    assert request["messages"][-2:] == given
    assert request["messages"][1]["content"][0]["toolUse"]["toolUseId"] == "t1_2"


def test_overlong_ids_shrink_on_both_sides() -> None:
    """Some models give such."""
    long = "call_" + "x" * 80
    wire = [
        ASKED,
        {"role": "assistant", "content": [{"toolUse": {**CALL["toolUse"], "toolUseId": long}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": long, "content": []}}]},
    ]

    assert bedrock.validate(bedrock.encode_request(bedrock.decode(wire))) == []


@pytest.mark.parametrize("arguments", ["{oops", "[1]", "NaN", '{"x": NaN}', '{"x": 1e999}', "3"])
def test_arguments_are_an_object(arguments: str) -> None:
    """What is none is kept as text."""
    message = Message("assistant", tool_calls=[ToolCall("c1", "x", arguments)])

    (sent,) = bedrock.encode([message])

    assert sent["content"][0]["toolUse"]["input"] == {"unparsed_arguments": arguments}


def test_models_slips_beside_reasoning_are_mended() -> None:
    """The signed thought goes back; the empty text, the name and the input are made to fit."""
    call = {"toolUse": {"toolUseId": "t1", "name": "$READ", "input": "{oops"}}
    said = {"output": {"message": {"role": "assistant", "content": [THOUGHT, {"text": ""}, call]}}}
    decision = bedrock.decode_response(said)
    message = Message(
        "assistant", reasoning="Hm.", tool_calls=decision.tool_calls, native=decision.native
    )

    request = bedrock.encode_request([Message("user", "Hi"), message])

    assert bedrock.validate(request) == []
    assert request["messages"][1]["content"][0] == THOUGHT
    assert request["messages"][1]["content"][1]["toolUse"]["input"] == {
        "unparsed_arguments": "{oops"
    }


def test_media_are_blocks_where_possible() -> None:
    """Others are named; a document has a name of its own and a text beside it."""
    media = [
        Media("image/jpg", b"1"),
        Media("application/pdf", b"2"),
        Media("application/pdf", b"3"),
        Media("video/mp4", url="s3://bucket/a.mp4"),
    ]
    (sent,) = bedrock.encode([Message("user", media=media)])
    (named,) = bedrock.encode([Message("user", media=[Media("application/zip", b"123")])])

    assert [next(iter(block)) for block in sent["content"]] == [
        "text",
        "image",
        "document",
        "document",
        "video",
    ]
    assert bedrock.validate({"messages": [sent]}) == []
    assert named["content"] == [{"text": "[application/zip: 3 bytes]"}]
    again = bedrock.decode([sent])[0].media
    assert [part.data for part in again] == [b"1", b"2", b"3", b""]


def test_calls_without_tools_get_stand_ins() -> None:
    """Bedrock refuses calls and results in a request that offers no tool at all."""
    request = bedrock.encode_request(bedrock.decode(CONVERSATIONS["a tool round"][:3]))

    (tool,) = request["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "top_song"
    assert bedrock.validate({**request, "toolConfig": None}) != []


def test_tools_are_shown_as_they_are() -> None:
    """An empty description is left out, since it would be refused."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}

    told, untold = bedrock.encode_tools(
        [ToolDefinition("read", "Read a file.", schema), ToolDefinition("now")]
    )

    assert told["toolSpec"] == {
        "name": "read",
        "description": "Read a file.",
        "inputSchema": {"json": schema},
    }
    assert "description" not in untold["toolSpec"]


@pytest.mark.parametrize("data", [b"ab", bytearray(b"ab")])
def test_boto3_bytes_are_base64_in_payloads(data: bytes | bytearray) -> None:
    """A payload is JSON data, and boto3 gets its bytes again."""
    image = {"image": {"format": "png", "source": {"bytes": data}}}
    given = [{"role": "user", "content": [image]}]

    messages = bedrock.decode(given)

    assert json.dumps(messages[0].native and messages[0].native.payload)
    assert messages[0].media[0].data == b"ab"
    assert for_boto3({"messages": bedrock.encode(messages)})["messages"] == given


def test_bytes_like_argument_stays_text() -> None:
    """Only blocks hold bytes; what a model says in a call is its own."""
    call = {"toolUse": {"toolUseId": "t1", "name": "x", "input": {"source": {"bytes": "YWJj"}}}}
    request = {"messages": [{"role": "assistant", "content": [call]}]}

    assert for_boto3(request) == request


def test_id_repeated_in_turn_is_changed() -> None:
    """Some models count from the start in every reply: only within a turn is that refused."""
    turn = [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]
    wire = [ASKED, *turn, *turn, {"role": "assistant", "content": [CALL, CALL]}]
    wire.append({"role": "user", "content": [RESULT, RESULT]})

    request = bedrock.encode_request(bedrock.decode(wire))

    assert bedrock.validate(request) == []
    assert request["messages"][:3] == wire[:3]
    blocks = [block for message in request["messages"] for block in message["content"]]
    called = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
    told = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
    assert called == told == ["t1", "t1", "t1", "t1_2"]


TALK = {"role": "assistant", "content": [{"text": "I look."}, CALL]}
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"


def test_mixed_turn_is_parted_where_refused() -> None:
    """Words and calls, results and words: with a short turn of the other side between them."""
    messages = bedrock.decode([ASKED, TALK, {"role": "user", "content": [RESULT, {"text": "So?"}]}])

    parted = bedrock.encode_request(messages, model=LLAMA)
    whole = bedrock.encode_request(messages, model="us.anthropic.claude-sonnet-4-5-v1:0")

    assert bedrock.validate({**parted, "modelId": LLAMA}) == []
    kinds = [[next(iter(block)) for block in m["content"]] for m in parted["messages"]]
    assert [kind for (kind,) in kinds] == [
        *("text", "text", "text", "toolUse"),
        *("toolResult", "text", "text"),
    ]
    assert [parted["messages"][at]["content"][0] for at in (1, 6)] == [
        {"text": "I look."},
        {"text": "So?"},
    ]
    assert len(whole["messages"]) == 3
    assert whole == bedrock.encode_request(messages)


@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_blank_text_is_left_out(role: str) -> None:
    """A model may give one, and Bedrock does not take it back."""
    wire = [ASKED, {"role": role, "content": [{"text": "\n\n"}]}]

    request = bedrock.encode_request(bedrock.decode(wire))

    assert bedrock.validate(request) == []
    assert "\\n" not in json.dumps(request)


@pytest.mark.parametrize("depth", [150, 400, 900, 2_000])
def test_overly_deep_arguments_are_text(depth: int) -> None:
    """In whatever way they came."""
    arguments = '{"a":' * depth + "1" + "}" * depth
    rebuilt = Message("assistant", tool_calls=[ToolCall("t1", "x", arguments)])

    request = bedrock.encode_request([Message("user", "Hi"), rebuilt])

    assert bedrock.validate(request) == []
    (block,) = for_boto3(request)["messages"][1]["content"]
    assert block["toolUse"]["input"] == {"unparsed_arguments": arguments}
