"""Input items to messages and back."""

import json
from typing import Any

import attrs
import pytest

from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentic.providers.openai_responses import (
    decode,
    decode_request,
    decode_response,
    encode,
    encode_request,
    encode_tools,
    validate,
)
from agentic.tools import ToolDefinition

CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a.py"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "print()"}
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Look first."}],
    "encrypted_content": "gAAAA",
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [
        {"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []},
        {"type": "refusal", "refusal": " No."},
    ],
}
TURN: list[dict[str, Any]] = [REASONING, SAID, {**CALL, "id": "fc_1", "status": "completed"}]
ITEMS: dict[str, list[dict[str, Any]]] = {
    "a short message": [{"role": "user", "content": "Hi."}],
    "a full message": [
        {
            "role": "user",
            "type": "message",
            "status": "completed",
            "id": "msg_u",
            "content": [
                {"type": "input_text", "text": "What is it?", "prompt_cache_breakpoint": {}},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "low"},
                {"type": "input_file", "file_id": "file-1"},
            ],
        }
    ],
    "system and developer": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "input_text", "text": "In English."}]},
    ],
    "two replies in a row": [
        {"role": "assistant", "content": "One."},
        {"role": "assistant", "content": "Two.", "phase": "final_answer"},
    ],
    "a turn with reasoning": [*TURN, OUTPUT],
    "parallel calls": [
        CALL,
        {**CALL, "call_id": "c2", "namespace": "files"},
        {**OUTPUT, "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
        {**OUTPUT, "id": "fco_1", "status": "completed"},
    ],
    "a custom tool": [
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sql", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "3 rows"},
    ],
    "tools of the provider": [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}},
        {"type": "file_search_call", "id": "fs_1", "queries": ["x"], "results": None},
        {"type": "code_interpreter_call", "id": "ci_1", "code": "1+1", "outputs": []},
        {"type": "image_generation_call", "id": "ig_1", "result": "aGk="},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "n", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        {"type": "mcp_call", "id": "mcp_1", "name": "n", "arguments": "{}", "output": "x"},
    ],
    "a shell on the server": [
        {
            "type": "shell_call",
            "call_id": "c1",
            "action": {"commands": ["ls"]},
            "environment": {"type": "container_reference", "container_id": "cntr_1"},
        },
        {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a.py"}]},
        SAID,
    ],
    "tools of the caller": [
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a", "stderr": "b"}]},
        {"type": "apply_patch_call", "call_id": "c2", "operation": {"type": "delete_file"}},
        {"type": "apply_patch_call_output", "call_id": "c2", "status": "failed", "output": "no"},
        {"type": "computer_call", "call_id": "c3", "action": {"type": "screenshot"}},
        {
            "type": "computer_call_output",
            "call_id": "c3",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGk="},
        },
        {"type": "local_shell_call", "call_id": "c4", "action": {"type": "exec"}},
        {"type": "local_shell_call_output", "id": "c4", "call_id": "c4", "output": "done"},
    ],
    "a search for tools": [
        {"type": "tool_search_call", "execution": "server", "call_id": None, "arguments": {}},
        {"type": "tool_search_output", "execution": "server", "call_id": None, "tools": []},
        {"type": "tool_search_call", "execution": "client", "call_id": "s1", "arguments": {}},
        {"type": "tool_search_output", "execution": "client", "call_id": "s1", "tools": []},
        {"type": "additional_tools", "role": "developer", "tools": []},
    ],
    "a compacted conversation": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"},
        {"role": "user", "content": "And now?"},
    ],
    "references": [{"type": "item_reference", "id": "fc_9"}, {"id": "rs_9"}, OUTPUT],
    "things unheard of": [
        {"type": "dream", "id": "dr_1", "images": [1.5, None]},
        {"role": "user", "content": "Go on."},
    ],
}


@pytest.mark.parametrize("name", ITEMS)
def test_items_round_trip(name: str) -> None:
    """Order of keys, unknown fields and unknown items included."""
    items = ITEMS[name]

    assert json.dumps(encode(decode(items))) == json.dumps(items)


@pytest.mark.parametrize("name", ITEMS)
def test_requests_round_trip(name: str) -> None:
    """What a request holds of the conversation comes back."""
    said = {"instructions": "Be brief.", "input": ITEMS[name]}

    request = encode_request(decode_request({"model": "gpt-5", **said, "store": False}))

    assert json.dumps(request) == json.dumps(said)


@pytest.mark.parametrize("instructions", ["Be brief.", "", None])
@pytest.mark.parametrize("said", ["Hi.", [{"role": "user", "content": "Hi."}]])
def test_text_input_stays_a_text(instructions: str | None, said: object) -> None:
    """So do instructions that say nothing."""
    request = {"instructions": instructions, "input": said}

    assert encode_request(decode_request(request)) == request
    assert encode_request(decode_request({"input": said})) == {"input": said}


def test_a_turn_is_one_message() -> None:
    """Its text, its thinking and its calls are the typed fields."""
    turn, answered = decode([*TURN, OUTPUT])

    assert turn.content == "I look. No."
    assert turn.reasoning == "Look first."
    assert turn.tool_calls == (ToolCall("c1", "read", '{"path":"a.py"}'),)
    assert answered.tool_results == (ToolResult("c1", output="print()"),)


def test_non_summary_thinking_is_read_too() -> None:
    """DeepSeek, gpt-oss and llama.cpp give it as content."""
    item = {"type": "reasoning", "summary": [], "content": [{"text": "Hm."}]}

    assert decode([item])[0].reasoning == "Hm."


def test_only_callers_calls_have_results() -> None:
    """A shell in the provider's container is the provider's business."""
    ours = decode(ITEMS["tools of the caller"])
    theirs = decode(ITEMS["a shell on the server"])

    assert [call.name for said in ours for call in said.tool_calls] == [
        "shell",
        "apply_patch",
        "computer",
        "local_shell",
    ]
    assert [result.text for said in ours for result in said.tool_results] == [
        "a\nb",
        "Error: no",
        "",
        "done",
    ]
    assert [(said.role, said.tool_calls) for said in theirs] == [("assistant", ())]


def test_images_and_files_are_media() -> None:
    """A data URL is read, another address is kept, broken base64 is left as it is."""
    parts = [
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        {"type": "input_image", "image_url": "https://example.com/a.jpg?size=1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,?"},
    ]

    (message,) = decode([{"role": "user", "content": parts}])

    assert message.media == (
        Media("image/png", b"hi"),
        Media("image/jpeg", url="https://example.com/a.jpg?size=1"),
        Media("application/pdf", url="data:application/pdf;base64,?"),
    )


@pytest.mark.parametrize("kept", [True, False], ids=["stale payload", "replace"])
def test_an_edited_message_goes_out_edited(*, kept: bool) -> None:
    """Without its reasoning, and without the ids that tie it to it."""
    turn, answered = decode([*TURN, OUTPUT])
    edited = attrs.evolve(turn, content="I looked.") if kept else turn.replace(content="I looked.")

    items = encode([edited, answered])

    assert items == [{"type": "message", "role": "assistant", "content": "I looked."}, CALL, OUTPUT]


def test_an_edited_result_goes_out_edited() -> None:
    """Beside it the call stays as the model wrote it."""
    turn, answered = decode(ITEMS["a custom tool"])
    shorter = answered.replace(tool_results=[ToolResult("c1", "sql", "3 ro", notice="[cut]")])

    items = encode([turn, shorter])

    assert items[0] == ITEMS["a custom tool"][0]
    assert items[1] == {
        "type": "custom_tool_call_output",
        "call_id": "c1",
        "output": "3 ro\n[cut]",
    }


def test_other_providers_items_are_not_sent() -> None:
    """Nor is what the model thought elsewhere."""
    said = Message("assistant", "Hello.", reasoning="Hm.", native=ProviderPayload("gemini", [SAID]))

    assert encode([said]) == [{"type": "message", "role": "assistant", "content": "Hello."}]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            ITEMS["tools of the caller"][0],
            {
                "type": "shell_call_output",
                "call_id": "c1",
                "output": [
                    {
                        "stdout": "Error: no",
                        "stderr": "",
                        "outcome": {"type": "exit", "exit_code": 1},
                    }
                ],
            },
        ),
        (
            {**ITEMS["tools of the caller"][2], "call_id": "c1"},
            {
                "type": "apply_patch_call_output",
                "call_id": "c1",
                "status": "failed",
                "output": "Error: no",
            },
        ),
        (
            {**ITEMS["tools of the caller"][6], "call_id": "c1"},
            {
                "type": "local_shell_call_output",
                "call_id": "c1",
                "id": "c1",
                "output": "Error: no",
            },
        ),
        (
            {**ITEMS["a search for tools"][2], "call_id": "c1"},
            {"type": "function_call_output", "call_id": "c1", "output": "Error: no"},
        ),
    ],
    ids=["shell", "patch", "local shell", "tool search"],
)
def test_result_takes_its_calls_form(call: dict[str, Any], expected: dict[str, Any]) -> None:
    """A failure is told in the form's own way, or in its text."""
    (turn,) = decode([call])
    failed = Message("tool", tool_results=[ToolResult("c1", error=ToolError("no"))])

    assert encode([turn, failed]) == [call, expected]


def test_computer_call_without_screenshot_becomes_function() -> None:
    """Its form has no room for words."""
    (turn,) = decode(ITEMS["tools of the caller"][4:5])
    told = Message("tool", tool_results=[ToolResult("c3", error=ToolError("no screen"))])
    shown = Message("tool", tool_results=[ToolResult("c3")], media=[Media("image/png", b"hi")])

    assert [item["type"] for item in encode([turn, told])] == [
        "function_call",
        "function_call_output",
    ]
    assert encode([turn, shown])[1]["output"]["image_url"] == "data:image/png;base64,aGk="


def test_words_beside_a_screenshot_are_told() -> None:
    """An edit is not lost for the form of a screenshot, and a stale payload is not sent."""
    turn, answered = decode(ITEMS["tools of the caller"][4:6])
    edited = attrs.evolve(answered, tool_results=[ToolResult("c3", output="Seen: a.py")], media=[])

    for said in (edited, attrs.evolve(edited, media=answered.media)):
        _, output = encode([turn, said])
        assert output["type"] == "function_call_output"
        assert "Seen: a.py" in json.dumps(output)


@pytest.mark.parametrize("answer", ["function_call_output", "tool_search_output"])
@pytest.mark.parametrize("kept", [True, False], ids=["stale payload", "replace"])
def test_edited_search_result_keeps_its_text(answer: str, *, kept: bool) -> None:
    """The form of a search has no room for words; that of a function has, and is accepted."""
    call = ITEMS["a search for tools"][2]
    turn, answered = decode([call, {"type": answer, "call_id": "s1", "output": "One."}])
    results = [ToolResult("s1", output="Two.")]
    edit = attrs.evolve if kept else Message.replace

    items = encode([turn, edit(answered, tool_results=results)])

    assert items == [call, {"type": "function_call_output", "call_id": "s1", "output": "Two."}]


@pytest.mark.parametrize("named", ["c", "lsh_1"])
def test_local_shell_output_needs_only_id(named: str) -> None:
    """The SDK's type has no `call_id`: its `id` is that of the call, or the call's `call_id`."""
    call = {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "action": {"type": "exec"}}
    output = {"type": "local_shell_call_output", "id": named, "output": "REAL", "status": None}
    request = {"input": [call, output]}

    turn, answered = messages = decode_request(request)

    assert answered.tool_results == (ToolResult("c", output="REAL"),)
    assert encode_request(messages) == request
    assert validate(request) == []
    edited = answered.replace(tool_results=[ToolResult("c", output="Cut.")])
    assert encode_request([turn, edited])["input"][1]["output"] == "Cut."
    assert validate(encode_request([turn, edited])) == []


@pytest.mark.parametrize("call_id", [None, "", "x" * 65])
def test_call_with_refused_id_is_rewritten(call_id: str | None) -> None:
    """And its output with it."""
    messages = decode([{**CALL, "call_id": call_id}, {**OUTPUT, "call_id": call_id}])

    request = encode_request(messages)

    assert validate({"model": "gpt-5", **request}) == []
    assert request["input"][1]["output"] == "print()"


def test_programs_calls_are_answered_to_it() -> None:
    """Programmatic tool calling: the output names the caller that the call names."""
    caller = {"type": "program", "caller_id": "call_9"}
    (turn,) = decode([{**CALL, "caller": caller}])

    _, output = encode([turn, Message("tool", tool_results=[ToolResult("c1", output="3")])])

    assert output == {**OUTPUT, "output": "3", "caller": caller}


def test_media_go_with_the_text() -> None:
    """On a user's message and on a tool's; a sound is named, since the API hears none."""
    image, sound = Media("image/png", b"hi"), Media("audio/wav", b"hi")
    pdf, page = Media("application/pdf", b"hi"), Media("text/html", url="https://example.com/")
    asked = Message("user", "See.", media=[image, sound, pdf, page])
    turn = Message("assistant", tool_calls=[ToolCall("c1", "look")])
    seen = Message("tool", tool_results=[ToolResult("c1", output="Seen.")], media=[image])

    first, _, last = encode([asked, turn, seen])

    picture = {
        "type": "input_image",
        "image_url": "data:image/png;base64,aGk=",
        "detail": "auto",
    }
    assert first["content"] == [
        {"type": "input_text", "text": "See."},
        picture,
        {"type": "input_text", "text": "[audio/wav was left out]"},
        {
            "type": "input_file",
            "filename": "file.pdf",
            "file_data": "data:application/pdf;base64,aGk=",
        },
        {"type": "input_file", "file_url": "https://example.com/"},
    ]
    assert last["output"] == [{"type": "input_text", "text": "Seen."}, picture]


def test_leading_system_messages_are_instructions() -> None:
    """One further down stays in its place; a summary is a user message before all others."""
    summary = ContextSummary("It is red.", 4).to_message()
    messages = [Message("system", "In English."), summary, Message("user", "Why?")]

    request = encode_request([*messages, Message("system", "Hurry.")], system_prompt="Be brief.")

    assert request["instructions"] == "Be brief.\n\nIn English."
    assert request["input"] == [
        {"role": "user", "content": summary.content},
        {"role": "user", "content": "Why?"},
        {"role": "system", "content": "Hurry."},
    ]


def test_wordless_conversation_asks_to_go_on() -> None:
    """An empty input is refused."""
    assert encode_request([Message("system", "Be brief."), Message("user")]) == {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "Continue."}],
    }


def test_what_the_wire_refuses_is_rewritten() -> None:
    """An id that is empty, long or used, a name with a dot, arguments that are no object."""
    calls = [ToolCall("x" * 70, "files.read", "[1]"), ToolCall("", "read"), ToolCall("c", "read")]
    results = [ToolResult(call.id, output=call.name) for call in calls]
    turn = [Message("assistant", tool_calls=calls), Message("tool", tool_results=results)]

    request = encode_request([*turn, *turn])

    assert validate({"model": "gpt-5", **request}) == []
    asked = [item for item in request["input"] if item["type"] == "function_call"]
    told = [item for item in request["input"] if item["type"] == "function_call_output"]
    assert [item["call_id"] for item in asked] == [item["call_id"] for item in told]
    assert asked[0]["arguments"] == '{"unparsed_arguments": "[1]"}'
    assert request == encode_request([*turn, *turn])


def test_repeated_message_is_rewritten_second_time() -> None:
    """The provider refuses an item id that it has seen."""
    turn = decode([*TURN, OUTPUT])

    items = encode_request([*turn, *turn])["input"]

    assert validate({"model": "gpt-5", "input": items}) == []
    assert items[:4] == [*TURN, OUTPUT]


def test_half_a_character_becomes_a_mark() -> None:
    """In what is written anew and in a provider's own items; a whole one stays."""
    native = decode([{"role": "user", "content": "cut \ud83d", "id": "\udc00"}])

    items = encode([*native, Message("user", "\U0001f600 \ud83d\ude00 \ud83d")])

    assert [item["content"] for item in items] == ["cut \ufffd", "\U0001f600 \U0001f600 \ufffd"]
    json.dumps(items, ensure_ascii=False).encode()


def test_outputs_for_server_calls_are_kept() -> None:
    """With a previous response, a request may hold outputs alone."""
    request = {"previous_response_id": "resp_1", "input": [OUTPUT]}

    messages = decode_request(request)

    assert messages[0].role == "tool"
    assert encode_request(messages) == {"input": [OUTPUT]}
    assert encode_request(decode_request({"input": [OUTPUT]}))["input"][0]["role"] == "user"


def test_a_dropped_result_is_answered() -> None:
    """A history that was cut off is closed before it is sent."""
    request = encode_request(decode([{"role": "user", "content": "Go."}, CALL]))

    assert request["input"][-1]["call_id"] == "c1"
    assert "Error: there is no result" in request["input"][-1]["output"]


def test_tools_are_functions() -> None:
    """Not strict ones: a schema need not be what strict mode asks for."""
    tool = ToolDefinition("read", "Read a file.", {"type": "object", "properties": {}})

    request = encode_request([Message("user", "Hi.")], tools=[tool])

    assert request["tools"] == encode_tools([tool])
    assert request["tools"] == [
        {
            "type": "function",
            "name": "read",
            "description": "Read a file.",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


def test_tool_without_parameters_has_properties() -> None:
    """OpenAI refuses an object without them, and servers of MCP tools often leave them out."""
    tool = ToolDefinition("now", parameters={"type": "object"})

    (sent,) = encode_tools([tool])

    assert sent["parameters"] == {"type": "object", "properties": {}}


def test_tool_names_come_back_with_items() -> None:
    """A tool that the wire spells otherwise keeps the model's own items."""
    name = encode_tools([ToolDefinition("files.read")])[0]["name"]
    items = [REASONING, {**CALL, "name": name}]
    decision = decode_response({"output": items})
    named = [attrs.evolve(call, name="files.read") for call in decision.tool_calls]
    turn = Message("assistant", reasoning="Look first.", tool_calls=named, native=decision.native)

    assert encode([turn]) == items


@pytest.mark.parametrize(
    ("model", "role"),
    [
        ("gpt-6.2-sol", "developer"),
        ("openai/gpt-6.2", "developer"),
        ("gpt-6.10-mini", "developer"),
        ("gpt-7-unheard-of", "developer"),
        ("gpt-6.1", None),
        ("gpt-6", None),
        ("gpt-5.2-2026-01-01", None),
        ("gpt-4o", None),
        ("gpt-35-turbo", None),
        ("gpt-oss-120b", None),
        ("o4-mini", None),
        ("", None),
    ],
)
def test_system_prompt_is_where_the_model_caches_it(model: str, role: str | None) -> None:
    """Newer models put `instructions` behind the input, and never cache them."""
    messages = [Message("system", "In English."), Message("user", "Why?")]

    request = encode_request(messages, system_prompt="Be brief.", model=model)

    assert ("instructions" in request) is (role is None)
    if role is not None:
        assert request["input"][0] == {"role": role, "content": "Be brief.\n\nIn English."}
    assert request["input"][-1] == {"role": "user", "content": "Why?"}
    assert validate(request) == []


def test_instructions_of_a_decoded_request_are_its_owners() -> None:
    """They go back as they came, whatever the model does with them."""
    wire = {"instructions": "Be brief.", "input": [{"role": "user", "content": "Why?"}]}

    assert encode_request(decode_request(wire), model="gpt-6.2") == wire


def test_developer_item_of_a_decoded_request_stays_one() -> None:
    """Also before a summary, and beside a text as the whole input."""
    wire = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    summary = ContextSummary("It is red.", 4).to_message()
    rules, request = decode(wire)

    assert encode_request([rules, summary, request], model="gpt-6.2")["input"] == [
        wire[0],
        {"role": "user", "content": summary.content},
        wire[1],
    ]
    whole = decode_request({"input": "Why?"})
    assert encode_request(whole, system_prompt="Be brief.", model="gpt-6.2")["input"] == wire
