"""Where the record of the past stands in a request: the same rule for every wire."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from jinja2.exceptions import TemplateError

from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Media, Message, ToolCall, ToolResult
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

RenderChat = Callable[[str, list[Any]], str]
PROMPT = "You mend code."
RECORD = ContextSummary("- the parser is done", 12).to_message()
ROUND = [
    Message("assistant", "I look.", tool_calls=[ToolCall("call00001", "read", '{"path": "a.py"}')]),
    Message("tool", tool_results=[ToolResult("call00001", "read", "x = 1")]),
]
TASK = Message("user", "Mend the lexer.")
WIRES = [anthropic, bedrock, cohere, gemini, ollama, openai_chat, openai_responses]
wires = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.ADAPTER.name)


def items_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the items of a request on any wire."""
    return next(request[key] for key in ("messages", "contents", "input") if key in request)


def text_of(item: dict[str, Any]) -> str:
    """Return the text of an item on any wire."""
    blocks = item.get("content", item.get("parts"))
    return blocks if isinstance(blocks, str) else "\n".join(each.get("text", "") for each in blocks)


def spoken(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the items that are not system messages."""
    return [item for item in items_of(request) if item.get("role") not in {"system", "developer"}]


@wires
def test_record_is_a_user_message_before_the_tail(wire: Any) -> None:
    """Not a part of the system prompt: a model wrote it."""
    request = wire.encode_request([RECORD, *ROUND], system_prompt=PROMPT)
    first = spoken(request)[0]
    assert first["role"] == "user"
    assert text_of(first) == RECORD.content


@wires
def test_system_prompt_is_the_same_before_and_after_a_compaction(wire: Any) -> None:
    """So the prompt cache and the provider's own compaction still know it."""

    def system(*past: Message) -> str:
        request = wire.encode_request([Message("system", "Be brief."), *past, TASK])
        kept = {
            key: request[key] for key in request if key not in {"messages", "contents", "input"}
        }
        return json.dumps([kept, [i for i in items_of(request) if i.get("role") == "system"]])

    assert system(RECORD) == system()


@wires
def test_record_follows_system_messages_that_follow_it(wire: Any) -> None:
    """Those stay in the system prompt."""
    rules = Message("system", "Never push.", pinned=True)
    request = wire.encode_request([RECORD, rules, TASK], system_prompt=PROMPT)
    assert "Never push." not in json.dumps(spoken(request))
    assert text_of(spoken(request)[0]).startswith(RECORD.content)


@wires
def test_pinned_rounds_and_the_task_come_between_record_and_tail(wire: Any) -> None:
    """In the order of the history."""
    pin = Message("user", "Keep the tests green.", pinned=True)
    request = wire.encode_request([RECORD, pin, TASK, *ROUND])
    text = json.dumps(items_of(request))
    places = [text.index(part) for part in ("the parser is done", "green", "lexer", "I look")]
    assert places == sorted(places)


@wires
def test_encode_alone_writes_a_record_of_the_user_role(wire: Any) -> None:
    """As a session of a framework sends it."""
    [item] = wire.encode([RECORD])
    assert item["role"] == "user"
    assert text_of(item) == RECORD.content


@wires
def test_request_never_begins_with_a_reply(wire: Any) -> None:
    """Templates that count roles refuse one that does."""
    request = wire.encode_request([*ROUND, TASK], system_prompt=PROMPT)
    if wire is not openai_responses:  # whose items have no turns
        assert spoken(request)[0]["role"] == "user"


@pytest.mark.parametrize("wire", [anthropic, gemini, openai_chat, openai_responses])
def test_record_is_a_message_of_its_own_before_a_users_text(wire: Any) -> None:
    """Where roles need not alternate."""
    record, task = spoken(wire.encode_request([RECORD, TASK]))
    assert (text_of(record), text_of(task)) == (RECORD.content, TASK.content)


def test_record_is_the_first_block_where_roles_must_alternate() -> None:
    """Older versions of Converse refuse two user messages in a row."""
    [item] = spoken(bedrock.encode_request([RECORD, TASK]))
    assert [block["text"] for block in item["content"]] == [RECORD.content, TASK.content]


@wires
def test_media_of_a_record_follow_its_text(wire: Any) -> None:
    """Elsewhere, images go before a question about them."""
    shown = RECORD.replace(media=[Media("image/png", b"\x89PNG")])
    text = json.dumps(wire.encode_request([shown, *ROUND]))
    assert text.index("the parser is done") < text.index("iVBORw")


@wires
def test_option_sends_the_record_as_a_system_message(wire: Any) -> None:
    """As every request did before there was the option."""
    request = wire.encode_request([RECORD, TASK], system_prompt=PROMPT, record_role="system")
    assert "the parser is done" not in json.dumps(spoken(request))
    assert "the parser is done" in json.dumps(request)


@wires
def test_unknown_role_of_a_record_is_refused(wire: Any) -> None:
    """The reply's role would be one that the model is expected to continue."""
    with pytest.raises(ConfigError, match="record_role"):
        wire.encode_request([RECORD, TASK], record_role="assistant")


REPLY = Message("assistant", "It is mended.")
HISTORIES = {
    "a task next": [RECORD, TASK, *ROUND],
    "a pinned message and a task next": [RECORD, Message("user", "Pin.", pinned=True), TASK, REPLY],
    "a call next": [RECORD, *ROUND, REPLY, TASK],
    "a reply next": [RECORD, REPLY, TASK],
    "no record, a reply first": [REPLY, TASK],
    "a second system message": [Message("system", "Be brief."), RECORD, TASK],
    "a system message in the middle": [TASK, REPLY, Message("system", "Be brief."), TASK],
    "two replies": [TASK, REPLY, REPLY, TASK],
}


@pytest.mark.parametrize(
    ("model", "template"),
    [("Qwen/Qwen3.5-35B-A3B", "qwen"), ("mistral-small-3.2-24b-instruct", "mistral")],
)
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("wire", [openai_chat, ollama], ids=lambda wire: wire.ADAPTER.name)
def test_chat_template_accepts_the_request(
    render_chat: RenderChat, wire: Any, model: str, template: str, history: list[Message]
) -> None:
    """And everything is in the rendered text."""
    request = wire.encode_request(history, system_prompt=PROMPT, model=model)
    text = render_chat(template, request["messages"])
    assert all(message.content in text for message in history if message.role != "tool")


def test_template_of_our_own_refuses_what_the_servers_refuse(render_chat: RenderChat) -> None:
    """Otherwise the test above could not fail."""
    second = [{"role": "user", "content": "Hi."}, {"role": "system", "content": "."}]
    twice = [{"role": "user", "content": "Hi."}, {"role": "user", "content": "Hi."}]
    with pytest.raises(TemplateError, match="beginning"):
        render_chat("qwen", second)
    with pytest.raises(TemplateError, match="alternate"):
        render_chat("mistral", twice)


def test_option_states_that_a_server_is_strict() -> None:
    """An alias does not name its model, and a host may have another template."""
    history = HISTORIES["a second system message"]
    strict = openai_chat.encode_request(history, system_prompt=PROMPT, strict_roles=True)
    assert [item["role"] for item in strict["messages"]] == ["system", "user"]
    loose = openai_chat.encode_request(
        history, system_prompt=PROMPT, model="mistral-small", strict_roles=False
    )
    assert [item["role"] for item in loose["messages"]] == ["system", "system", "user", "user"]
