import json
from typing import Any

import attrs
import pytest
from google.genai import types

from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.providers import gemini

CALL = {"functionCall": {"name": "read", "args": {"path": "a.py"}}}
RESULT = {"functionResponse": {"name": "read", "response": {"output": "text"}}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iQ=="}}
# Shapes from https://ai.google.dev/gemini-api/docs/function-calling, /thought-signatures,
# /code-execution and /google-search, each as a client replays it.
CONTENTS: dict[str, list[Any]] = {
    "texts": [
        {"role": "user", "parts": [{"text": "What is this?"}, IMAGE, {"text": "Look."}]},
        {"parts": [{"text": "It is red.", "thoughtSignature": "+/8="}], "role": "model"},
    ],
    "parallel calls without ids": [
        {"role": "user", "parts": [{"text": "Read both."}]},
        {"role": "model", "parts": [{**CALL, "thoughtSignature": "AAE="}, CALL]},
        {"role": "function", "parts": [RESULT, RESULT]},
    ],
    "results beside text": [
        {"role": "user", "parts": [{"text": "Read."}]},
        {"role": "model", "parts": [CALL]},
        {"role": "user", "parts": [RESULT, {"text": "And now?"}, IMAGE], "new": 1},
    ],
    "ids in snake case": [
        {"role": "user", "parts": [{"text": "Read."}]},
        {
            "role": "model",
            "parts": [
                {"thought": True, "text": "Hm."},
                {"function_call": {"id": "c1", "name": "read", "args": {}}, "new_field": None},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "function_response": {
                        "id": "c1",
                        "name": "read",
                        "parts": [{"inline_data": {"mime_type": "image/png", "data": "iQ=="}}],
                        "response": {"error": "gone"},
                    }
                }
            ],
        },
    ],
    "a server's own tools": [
        {"parts": [{"text": "Search."}]},
        {
            "role": "model",
            "parts": [
                {"toolCall": {"id": "x", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}},
                {"toolResponse": {"id": "x", "response": {}}},
                {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
                {"somethingNew": [1]},
                {"text": "2"},
            ],
        },
    ],
    "two contents of the model": [
        {"role": "model", "parts": [{"text": "Hello."}]},
        {"role": "model", "parts": [CALL]},
        {"role": "user", "parts": [RESULT]},
    ],
    "junk": [{}, {"role": "model"}, {"role": "user", "parts": []}, {"role": "x"}],
}


@pytest.mark.parametrize("contents", CONTENTS.values(), ids=CONTENTS)
def test_contents_come_back_byte_for_byte(contents: list[Any]) -> None:
    """Unknown fields, unknown parts and the order of keys included."""
    messages = gemini.decode(contents)

    assert json.dumps(gemini.encode(messages)) == json.dumps(contents)
    assert json.dumps(gemini.encode_request(messages)["contents"]) == json.dumps(contents)


@pytest.mark.parametrize("key", ["systemInstruction", "system_instruction"])
def test_system_instruction_returns_under_its_key(key: str) -> None:
    """It is the system message that leads the others."""
    request = {key: {"parts": [{"text": "Be"}, {"text": "brief."}], "role": "user"}, "contents": []}
    messages = gemini.decode_request(request)

    assert messages[0].content == "Be\nbrief."
    assert gemini.encode_request(messages)[key] == request[key]


def test_sdk_arguments_read_like_a_body() -> None:
    """The instruction is in the config there, and a lone text is the contents."""
    request = {"contents": "Hello.", "config": {"system_instruction": "Be brief."}}

    messages = gemini.decode_request(request)

    assert [(each.role, each.content) for each in messages] == [
        ("system", "Be brief."),
        ("user", "Hello."),
    ]


def test_parts_become_typed_fields() -> None:
    """Results and what stands beside them are two messages."""
    messages = gemini.decode(CONTENTS["results beside text"])

    assert [message.role for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[1].tool_calls[0].parse() == {"path": "a.py"}
    assert messages[2].tool_results[0].output == "text"
    assert messages[3].content == "And now?"
    assert messages[3].media == (Media("image/png", b"\x89"),)


def test_thoughts_are_reasoning_errors_are_failures() -> None:
    """A result's images are its media."""
    messages = gemini.decode(CONTENTS["ids in snake case"])

    assert messages[1].reasoning == "Hm."
    assert messages[1].tool_calls == (ToolCall("c1", "read"),)
    assert messages[2].tool_results[0].error == ToolError("gone")
    assert messages[2].tool_results[0].media == (Media("image/png", b"\x89"),)


@pytest.mark.parametrize(
    ("response", "output"),
    [({"output": {"n": 1}}, '{"n": 1}'), ({"result": "é"}, '{"result": "é"}'), ({}, "")],
)
def test_response_without_keys_is_the_output(response: Any, output: str) -> None:
    """As the reference has it."""
    part = {"functionResponse": {"name": "read", "response": response}}

    assert gemini.decode([{"parts": [part]}])[0].tool_results[0].output == output


def test_idless_calls_get_stable_ids() -> None:
    """Results find them by name and order, and no two calls share one."""
    turn = CONTENTS["parallel calls without ids"]
    messages = gemini.decode([*turn, *turn])
    ids = [call.id for message in messages for call in message.tool_calls]
    answered = [result.call_id for message in messages for result in message.tool_results]

    assert (
        ids == answered == [call.id for m in gemini.decode([*turn, *turn]) for call in m.tool_calls]
    )
    assert len(set(ids)) == 4


def test_results_match_names_before_order() -> None:
    """Two tools may be answered the other way round."""
    calls = [{"functionCall": {"name": name}} for name in ("a", "b")]
    answers = [{"functionResponse": {"name": name}} for name in ("b", "a")]
    model, tool = gemini.decode([{"role": "model", "parts": calls}, {"parts": answers}])

    ids = [call.id for call in model.tool_calls]
    assert [result.call_id for result in tool.tool_results] == ids[::-1]


def test_an_edited_message_goes_out_edited() -> None:
    """Also one that kept its payload; its neighbours go out as they came."""
    contents = CONTENTS["results beside text"]
    messages = gemini.decode(contents)
    messages[0] = attrs.evolve(messages[0], content="Read it again.")
    messages[3] = messages[3].replace(content="Then?")
    again = gemini.encode(messages)

    assert again[0] == {"role": "user", "parts": [{"text": "Read it again."}]}
    assert again[1] == contents[1]
    assert again[2] == {"role": "user", "parts": [RESULT], "new": 1}
    assert again[3]["parts"] == [{"text": "Then?"}, IMAGE]


def test_edited_result_rewrites_its_turns_results() -> None:
    """All results of a turn are one content, in the order of the calls."""
    turn = CONTENTS["parallel calls without ids"]
    separate = [{"role": "user", "parts": [RESULT]}] * 2
    messages = gemini.decode([*turn[:2], *separate])
    assert gemini.encode(messages)[2:] == separate

    result = attrs.evolve(messages[3].tool_results[0], output="cleared")
    messages[3] = messages[3].replace(tool_results=[result])
    answers = gemini.encode(messages)[2]["parts"]

    cleared = {"functionResponse": {"name": "read", "response": {"output": "cleared"}}}
    assert answers == [RESULT, cleared]


def test_edited_call_omits_its_invented_id() -> None:
    """What came without an id goes without one, its signature replaced."""
    messages = gemini.decode(CONTENTS["parallel calls without ids"])
    messages[1] = messages[1].replace(content="I read.")
    text, first, second = gemini.encode(messages)[1]["parts"]

    assert text == {"text": "I read."}
    assert set(first) == {"functionCall", "thoughtSignature"}
    assert second == CALL


def test_unreadable_payload_is_not_sent() -> None:
    """The typed fields are the truth."""
    message = Message("user", "Hi.", native=ProviderPayload(gemini.ADAPTER.name, ["?"]))

    assert gemini.encode([message]) == [{"role": "user", "parts": [{"text": "Hi."}]}]


def test_sdk_objects_are_contents_too() -> None:
    """Their bytes are spelled as Google spells them."""
    part = types.Part(text="Hi.", thought_signature=b"\xfb\xff\x00")
    messages = gemini.decode([types.Content(role="model", parts=[part])])

    assert messages[0].content == "Hi."
    assert gemini.encode(messages)[0]["parts"][0]["thoughtSignature"] == "+/8A"


def test_results_without_call_are_still_written() -> None:
    """`encode` leaves nothing out; `encode_request` leaves out what would be refused."""
    orphan = Message("tool", tool_results=[ToolResult("c1", "read", "text")])

    (content,) = gemini.encode([orphan])
    assert content["parts"][0]["functionResponse"]["id"] == "c1"
    assert gemini.encode_request([orphan])["contents"] == gemini.encode_request([])["contents"]


def test_instruction_no_longer_first_is_rewritten() -> None:
    """Its payload is a system instruction and no content."""
    request = {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": "Hi."}
    instruction, hello = gemini.decode_request(request)

    parts = [content["parts"] for content in gemini.encode([hello, instruction])]
    assert parts == [[{"text": "Hi."}], [{"text": "<system>\nBe brief.\n</system>"}]]
    edited = gemini.encode_request([attrs.evolve(instruction, content="Be long."), hello])
    assert edited["systemInstruction"] == {"parts": [{"text": "Be long."}]}


def test_non_base64_bytes_are_no_bytes() -> None:
    """Recordings hold such; the payload keeps what was there."""
    contents = [{"role": "user", "parts": [{"inlineData": {"mimeType": "a/b", "data": "<gone>"}}]}]
    messages = gemini.decode(contents)

    assert messages[0].media == (Media("a/b"),)
    assert gemini.encode(messages) == contents
