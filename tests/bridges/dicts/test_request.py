"""Whole requests: what is sent beside the items counts, and the summary stands in its place."""

import asyncio
import copy
import itertools
import json
from types import ModuleType
from typing import Any

import pytest
from google.genai import types

from agentic.context.strategies import KeepLast
from agentic.errors import ConfigError
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

_PROMPT = "You are brief. " * 8


def _request(forms: Any, wire: ModuleType, rounds: int = 12) -> dict[str, Any]:
    """Build a request as its owner would."""
    messages = [m for n in range(rounds) for m in forms.exchange(n, calls=1)]
    return {**wire.encode_request(messages, system_prompt=_PROMPT), "temperature": 0.5}


def _holds(sent: dict[str, Any], item: dict[str, Any]) -> bool:
    """Return whether an item is sent, alone or behind a record."""
    content = sent.get("content", [])
    is_behind = "[Context Summary" in str(content[:1]) and content[1:] == item.get("content")
    return sent is item or is_behind


def test_a_request_is_sent_well(forms: Any, wire: ModuleType) -> None:
    """The one that was passed is as before; the other parameters go along."""
    request = _request(forms, wire)
    before = copy.deepcopy(request)

    sent = forms.make(wire).fit_request(request)

    assert request == before
    assert sent["temperature"] == 0.5
    assert json.dumps(sent).count("[Context Summary") == 1
    assert len(json.dumps(sent)) < len(json.dumps(request)) / 2
    items = sent[
        {"openai_responses": "input", "gemini": "contents"}.get(wire.ADAPTER.name, "messages")
    ]
    assert not forms.problems(wire, items)


def test_all_but_the_list_stays_as_it_is(forms: Any, wire: ModuleType) -> None:
    """The system prompt too: the record is the first message that is no system message."""
    key = {"openai_responses": "input", "gemini": "contents"}.get(wire.ADAPTER.name, "messages")
    request = _request(forms, wire)

    sent = forms.make(wire).fit_request(request)

    assert {**sent, key: None} == {**request, key: None}
    leading = itertools.takewhile(lambda item: item.get("role") == "system", request[key])
    record = sent[key][len(list(leading))]
    assert record["role"] == "user"
    assert "[Context Summary" in json.dumps(record)


@pytest.mark.parametrize("wire", [anthropic, gemini, bedrock], ids=lambda wire: wire.ADAPTER.name)
def test_positions_do_not_count_the_summary(forms: Any, wire: ModuleType) -> None:
    """Of an owner who sends on what was sent, they count the record, which is one of the items."""
    key = "contents" if wire is gemini else "messages"
    conversation, request = forms.make(wire), _request(forms, wire)
    for number in range(20):
        request = conversation.fit_request(request)
        more = forms.to_items(wire, forms.exchange(number, calls=1))
        request = {**request, key: [*request[key], *more]}
        sent = conversation.fit_request(request)[key]

        gone = [
            n for n, item in enumerate(request[key]) if not any(_holds(one, item) for one in sent)
        ]
        assert {at for each in conversation.explain() for at in each.positions} == set(gone)
        assert conversation.state()["covered"] == len(gone)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_request_may_be_sent_on(forms: Any, wire: ModuleType, *, is_restarted: bool) -> None:
    """`request = fit_request(request)` is legal: its summary is folded into the next one."""
    key = {"openai_responses": "input", "gemini": "contents"}.get(wire.ADAPTER.name, "messages")
    conversation, request, count = forms.make(wire), _request(forms, wire, 1), 0
    for number in range(30):
        items = forms.to_items(wire, forms.exchange(number, calls=1))
        request = {**request, key: [*request[key], *items]}
        if is_restarted:
            conversation = forms.make(wire, state=conversation.state())

        request = conversation.fit_request(request)

        text = json.dumps(request)
        assert text.count("[Context Summary") <= 1
        assert text.count("You are brief. " * 8) == 1
        found = text.partition("[Context Summary - ")[2].partition(" ")[0]
        assert not found or int(found) >= count
        count = int(found or count)
    assert count > 60


@pytest.mark.parametrize("is_restarted", [False, True])
def test_record_inside_a_users_content_is_known(
    forms: Any, wire: ModuleType, *, is_restarted: bool
) -> None:
    """As frameworks write it that join messages of one role: by its block, never by its heading."""
    if wire in (cohere, ollama):
        pytest.skip("their texts are no blocks")
    key = {"openai_responses": "input", "gemini": "contents"}.get(wire.ADAPTER.name, "messages")
    conversation, request, count = forms.make(wire), _request(forms, wire, 1), 0
    for number in range(30):
        items = forms.to_items(wire, forms.exchange(number, calls=1))
        request = {**request, key: _joined([*request[key], *items])}
        if is_restarted:
            conversation = forms.make(wire, state=conversation.state())

        request = conversation.fit_request(request)

        text = json.dumps(request)
        assert text.count("[Context Summary") <= 1
        found = text.partition("[Context Summary - ")[2].partition(" ")[0]
        assert not found or int(found) >= count
        count = int(found or count)
    assert count > 60


def _joined(items: list[Any]) -> list[Any]:
    """Join user messages that follow each other, as an owner might."""
    joined: list[Any] = []
    for item in items:
        key = "parts" if "parts" in item else "content"
        if joined and item.get("role") == joined[-1].get("role") == "user":
            blocks = [*_blocks(joined[-1][key]), *_blocks(item[key])]
            joined[-1] = {**joined[-1], key: blocks}
        else:
            joined.append(item)
    return joined


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def test_what_is_beside_the_items_counts(forms: Any, wire: ModuleType) -> None:
    """The system prompt and the tools take their part of the window."""
    request = _request(forms, wire, 2)
    small, large = forms.make(wire, 9_000), forms.make(wire, 9_000)
    tools = [{"name": "run", "description": "Run a command. " * 40}]
    with_tools = {**request, "tools": tools}
    if wire is bedrock:
        with_tools = {**request, "toolConfig": {"tools": [{"toolSpec": tools[0]}]}}

    small.fit_request(request)
    large.fit_request(with_tools)

    assert large.latest.tokens - small.latest.tokens > 100


def test_google_call_arguments_are_a_request(forms: Any) -> None:
    """With a config as a dict, as an object, or without one; tools may be functions."""

    def look(path: str) -> str:
        """Look at a file."""
        return path

    contents = _request(forms, gemini)["contents"]
    for config in (
        {"system_instruction": _PROMPT, "tools": [look]},
        types.GenerateContentConfig(system_instruction=_PROMPT, tools=[look]),
        types.GenerateContentConfig(system_instruction=types.Content(parts=[{"text": _PROMPT}])),
    ):
        request = {"model": "gemini-2.5-flash", "contents": contents, "config": config}
        conversation = forms.make(gemini)
        sent = conversation.fit_request(request)
        again = conversation.fit_request({**sent, "contents": [*sent["contents"], contents[0]]})

        assert sent["config"] is again["config"] is config
        assert "[Context" in sent["contents"][0]["parts"][0]["text"]
    bare = forms.make(gemini).fit_request({"model": "gemini-2.5-flash", "contents": contents})
    assert bare.keys() == {"model", "contents"}


def test_a_text_is_a_request(forms: Any) -> None:
    """Short forms stay as they are."""
    request = {"input": "Why?", "instructions": "Be brief."}

    assert forms.make(openai_responses).fit_request(request) == request
    assert forms.make(gemini).fit_request({"contents": "Why?"}) == {"contents": "Why?"}
    with pytest.raises(ConfigError, match="messages"):
        forms.make(openai_chat).fit_request({"input": "Why?"})


def test_a_request_may_be_awaited(forms: Any, wire: ModuleType) -> None:
    """With the same result."""
    request = _request(forms, wire)

    sent = asyncio.run(forms.make(wire).fit_request_async(request))

    assert sent == forms.make(wire).fit_request(request)


def _talk(turns: int) -> list[dict[str, Any]]:
    """Return a conversation in which roles alternate."""
    return [
        {"role": role, "content": f"{role} {n}: {'so it goes. ' * 6}"}
        for n in range(turns)
        for role in ("user", "assistant")
    ]


def _roles(items: list[dict[str, Any]]) -> list[str]:
    return [item["role"] for item in items if item["role"] != "system"]


@pytest.mark.parametrize(("model", "is_strict"), [("devstral-2-small", True), ("gpt-6", False)])
def test_roles_alternate_for_a_strict_template(forms: Any, model: str, *, is_strict: bool) -> None:
    """The record is the first block of a user's message that would follow it."""
    items = [{"role": "system", "content": "Be brief."}, *_talk(20)]
    merged, followed = 0, 0
    for end in range(2, len(items) + 1):
        request = {"model": model, "messages": items[:end]}
        sent = forms.make(openai_chat).fit_request(request)["messages"]
        roles = _roles(sent)
        followed += roles[:2] == ["user", "user"]
        if isinstance(sent[1]["content"], list):
            record, task = sent[1]["content"]
            merged += "[Context Summary" in record["text"] and task["text"].startswith("user")
        if is_strict:
            assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    assert (merged > 3, followed > 3) == (is_strict, not is_strict)


def test_strictness_is_an_option(forms: Any) -> None:
    """For a server whose alias does not name the model, and for a list without a request."""
    items = _talk(12)[:-1]

    strict = forms.make(openai_chat, strict_roles=True).fit(items)
    loose = forms.make(openai_chat).fit(items)

    assert _roles(strict)[:2] == ["user", "assistant"]
    assert _roles(loose)[0] == "user"


def test_view_without_a_record_begins_with_the_user(forms: Any, wire: ModuleType) -> None:
    """A list that is cut by a strategy, where the wire has turns."""
    messages = [m for n in range(6) for m in forms.exchange(n, calls=1)]
    for length in range(1, 12):
        conversation = forms.make(wire, 9_000, strategies=[KeepLast(length)])
        sent = conversation.fit(forms.to_items(wire, messages))
        if wire is not openai_responses:
            assert sent[0]["role"] == "user"


def test_record_role_is_an_option(forms: Any, wire: ModuleType) -> None:
    """Where a list may hold system messages."""
    request = _request(forms, wire)
    if wire in (anthropic, bedrock, gemini):
        with pytest.raises(ConfigError, match="record_role"):
            forms.make(wire, record_role="system")
        return

    sent = forms.make(wire, record_role="system").fit_request(request)

    key = "input" if wire is openai_responses else "messages"
    roles = {item["role"] for item in sent[key] if "[Context Summary" in json.dumps(item)}
    assert roles == {"system"}


@pytest.mark.parametrize(
    "wire", [openai_chat, openai_responses], ids=lambda wire: wire.ADAPTER.name
)
def test_list_kept_from_an_earlier_version_is_mended(forms: Any, wire: ModuleType) -> None:
    """Its summary is a second system message, which is replaced by a record of the user role."""
    key = "input" if wire is openai_responses else "messages"
    former = forms.make(wire, record_role="system")
    kept = former.fit_request(_request(forms, wire))
    more = forms.to_items(wire, forms.exchange(20, calls=1))
    request = {**kept, key: [*kept[key], *more]}

    sent = forms.make(wire, state=former.state()).fit_request(request)[key]

    [record] = [item for item in sent if "[Context Summary" in json.dumps(item)]
    assert record["role"] == "user"


@pytest.mark.parametrize(
    ("model", "template"), [("Qwen3.6-27B", "qwen"), ("Devstral-Small-2", "mistral")]
)
def test_chat_template_accepts_a_growing_conversation(
    forms: Any, render_chat: Any, model: str, template: str
) -> None:
    """With calls, over several compactions; before, every request after the first was refused."""
    conversation, compactions = forms.make(openai_chat, model=model), 0
    items: list[Any] = [{"role": "system", "content": "Be brief."}]
    for number in range(40):
        items += forms.to_items(openai_chat, forms.exchange(number, calls=1))
        text = render_chat(template, conversation.fit(items))
        compactions += conversation.latest.compaction is not None
    assert compactions > 3
    assert "[Context Summary" in text


@pytest.mark.parametrize("is_async", [False, True])
def test_refused_request_is_measured_as_it_is_now(forms: Any, *, is_async: bool) -> None:
    """With its own system prompt and tools, which may be others than those that were refused."""
    tool = {"name": "run", "input_schema": {"type": "object"}}
    request = _request(forms, anthropic)
    changed = {**request, "system": _PROMPT * 2, "tools": [tool]}
    conversation = forms.make(anthropic, 30_000)
    conversation.fit_request(request)

    if is_async:
        asyncio.run(conversation.fit_request_async(changed, refused=True))
    else:
        conversation.fit_request(changed, refused=True)
    after = conversation.latest.changes
    conversation.fit_request(changed)

    assert {"system_changed", "tools_changed"} <= set(after)
    assert conversation.latest.extends
