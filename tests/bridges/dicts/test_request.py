"""Whole requests: what is sent beside the items counts, and the summary stands in its place."""

import asyncio
import copy
import json
from types import ModuleType
from typing import Any

import pytest
from google.genai import types

from agentic.errors import ConfigError
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses

_PROMPT = "You are brief. " * 8


def _request(forms: Any, wire: ModuleType, rounds: int = 12) -> dict[str, Any]:
    """Build a request as its owner would."""
    messages = [m for n in range(rounds) for m in forms.exchange(n, calls=1)]
    return {**wire.encode_request(messages, system_prompt=_PROMPT), "temperature": 0.5}


def _system(request: dict[str, Any]) -> str:
    keys = ("system", "systemInstruction", "config")
    return json.dumps([request.get(key) for key in keys], default=str)


def test_a_request_is_sent_well(forms: Any, wire: ModuleType) -> None:
    """The one that was passed is as before; the other parameters go along."""
    request = _request(forms, wire)
    before = copy.deepcopy(request)

    sent = forms.make(wire).fit_request(request)

    assert request == before
    assert sent["temperature"] == 0.5
    assert json.dumps(sent).count("[Context Summary") == 1
    assert len(json.dumps(sent)) < len(json.dumps(request)) / 2
    items = sent[{"openai_responses": "input", "gemini": "contents"}.get(wire.NAME, "messages")]
    assert not forms.problems(wire, items)


@pytest.mark.parametrize("wire", [anthropic, gemini, bedrock], ids=lambda wire: wire.NAME)
def test_a_summary_joins_the_system_prompt(forms: Any, wire: ModuleType) -> None:
    """Where the wire has no system role among its items."""
    sent = forms.make(wire).fit_request(_request(forms, wire))

    assert "[Context Summary" in _system(sent)
    assert "You are brief." in _system(sent)


@pytest.mark.parametrize("wire", [anthropic, gemini, bedrock], ids=lambda wire: wire.NAME)
def test_positions_do_not_count_the_summary(forms: Any, wire: ModuleType) -> None:
    """One in the system prompt is no item, also if the owner sends on what was sent."""
    key = "contents" if wire is gemini else "messages"
    conversation, request = forms.make(wire), _request(forms, wire)
    for number in range(20):
        request = conversation.fit_request(request)
        more = forms.to_items(wire, forms.exchange(number, calls=1))
        request = {**request, key: [*request[key], *more]}
        sent = conversation.fit_request(request)[key]

        gone = [n for n, item in enumerate(request[key]) if not any(item is one for one in sent)]
        assert {at for each in conversation.explain() for at in each.positions} == set(gone)
        assert conversation.state()["covered"] == len(gone)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_request_may_be_sent_on(forms: Any, wire: ModuleType, *, is_restarted: bool) -> None:
    """`request = fit_request(request)` is legal: its summary is folded into the next one."""
    key = {"openai_responses": "input", "gemini": "contents"}.get(wire.NAME, "messages")
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


@pytest.mark.parametrize(
    ("wire", "block"),
    [
        (bedrock, {"cachePoint": {"type": "default"}}),
        (anthropic, {"type": "text", "text": "Today is Monday."}),
        (gemini, {"text": "Today is Monday."}),
    ],
    ids=lambda each: getattr(each, "NAME", ""),
)
def test_blocks_behind_a_summary_stay(forms: Any, wire: ModuleType, block: Any) -> None:
    """An owner who puts one at the end of what was returned has one summary, and the block."""
    key = "contents" if wire is gemini else "messages"
    conversation, request = forms.make(wire), _request(forms, wire, 1)
    for number in range(30):
        items = forms.to_items(wire, forms.exchange(number, calls=1))
        request = conversation.fit_request({**request, key: [*request[key], *items]})
        place = request["systemInstruction"] if wire is gemini else request
        blocks = place["parts" if wire is gemini else "system"]
        if isinstance(blocks, list):
            blocks[:] = [*(each for each in blocks if each != block), block]

        text = json.dumps(request)
        assert text.count("[Context Summary") <= 1
        assert text.count("You are brief. " * 8) == 1
        assert text.count(json.dumps(block)) == isinstance(blocks, list)
    assert "[Context Summary" in _system(request)


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

        assert type(sent["config"]) is type(config)
        for each in (sent, again):
            valid = types.GenerateContentConfig.model_validate(dict(each["config"]))
            assert isinstance(valid.system_instruction, types.Content)
            texts = [part.text or "" for part in valid.system_instruction.parts or ()]
            assert [text[:8] for text in texts] == ["You are ", "[Context"]
    bare = forms.make(gemini).fit_request({"model": "gemini-2.5-flash", "contents": contents})
    assert "[Context" in bare["config"]["system_instruction"]["parts"][0]["text"]


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
