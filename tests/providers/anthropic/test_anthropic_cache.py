"""What is marked for the prompt cache, and what that is worth."""

import asyncio
import copy
import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings

from agentic import tools, usage
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input, Runner
from agentic.messages import ContextSummary, Message
from agentic.providers import anthropic
from agentic.testing import conversations
from agentic.usage import Usage

pytestmark = pytest.mark.slow

MODEL = "claude-sonnet-4-5"
MARK = {"type": "ephemeral"}
TOOL = tools.ToolDefinition("read", "Read a file.")


@attrs.define(eq=False)
class CachingApi:
    """A client of an API that caches as Anthropic's documentation says, but for time.

    https://platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-11). A token is four
    characters of text. Each reply calls the tool again, until there are no more.
    """

    replies: list[list[dict[str, Any]]]
    used: list[Usage] = attrs.field(factory=list)
    bodies: list[dict[str, Any]] = attrs.field(factory=list)
    _cached: set[str] = attrs.field(factory=set)

    @property
    def messages(self) -> "CachingApi":
        """Stand for the part of the client that has `create`."""
        return self

    async def create(self, **body: Any) -> dict[str, Any]:
        """Return the next reply, with what it used."""
        assert anthropic.validate(body) == []
        self.bodies.append(copy.deepcopy(body))
        content = self.replies[len(self.bodies) - 1]
        counts = self._count(body)
        counts["output_tokens"] = _tokens(content)
        self.used.append(anthropic.usage({"usage": counts}))
        word = "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
        return {"content": content, "stop_reason": word, "usage": counts}

    def _count(self, body: dict[str, Any]) -> dict[str, Any]:
        blocks = _blocks(body)
        sizes = [_tokens(blocks[: end + 1]) for end in range(len(blocks))]
        prefixes = [json.dumps(_unmarked(blocks[: end + 1])) for end in range(len(blocks))]
        marks = [end for end, block in enumerate(blocks) if "cache_control" in block]
        assert len(marks) <= 4
        looked = {end - back for end in marks for back in range(20) if end >= back}
        hits = [end for end in looked if prefixes[end] in self._cached]
        read = max((sizes[end] for end in hits), default=0)
        written = max((sizes[end] for end in marks if sizes[end] >= 1_024), default=read)
        self._cached |= {prefixes[end] for end in marks if sizes[end] >= 1_024}
        return {
            "input_tokens": sizes[-1] - max(read, written),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": max(written - read, 0),
        }


def _blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    contents = [body.get("system", []), *(each["content"] for each in body["messages"])]
    found = list(body.get("tools", ()))
    for content in contents:
        text = isinstance(content, str)
        found += [{"type": "text", "text": content}] if text else content
    return found


def _unmarked(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: each[key] for key in each if key != "cache_control"} for each in blocks]


def _tokens(data: Any) -> int:
    if isinstance(data, dict):
        kept = {key: data[key] for key in ("text", "content", "thinking") if key in data}
        return sum(map(_tokens, kept.values()))
    return sum(map(_tokens, data)) if isinstance(data, list) else len(str(data)) // 4


class Plain:
    """A decider without its stream, so that the loop asks for whole replies."""

    def __init__(self, decider: anthropic.Decider) -> None:
        self.decide = decider.decide


def _decider(api: CachingApi, **settings: Any) -> anthropic.Decider:
    client: Any = api
    return anthropic.Decider(client, MODEL, limits=ModelLimits(200_000, 4_096), **settings)


def _run(calls_of_each_turn: list[int], **settings: Any) -> CachingApi:
    """Work through turns of 2,000 tokens, of which 300 are the reply's."""
    said = {"type": "text", "text": "word" * 300}
    replies: list[Any] = [
        [
            said,
            *(
                {"type": "tool_use", "id": f"c{n}_{k}", "name": "read", "input": {}}
                for k in range(calls)
            ),
        ]
        for n, calls in enumerate(calls_of_each_turn)
    ]
    api = CachingApi([*replies, [said]])

    @tools.tool
    def read() -> str:
        return "data" * (1_700 // calls_of_each_turn[len(api.used) - 1])

    runner = Runner(Plain(_decider(api, **settings)), tools.Registry(read), system_prompt="Work.")
    assert runner.run_sync("task" * 2_000).reply == said["text"]
    return api


def _cost(api: CachingApi) -> float:
    costs = [usage.cost(each, MODEL, provider="anthropic") for each in api.used]
    return float(sum(each.total for each in costs if each))


def test_forty_turns_cost_a_fifth() -> None:
    """Of 2,000 tokens each: what was sent before is read from the cache, for a tenth."""
    without, cached = _run([1] * 39, prompt_cache=False), _run([1] * 39)

    assert len(cached.used) == 40
    assert (round(_cost(without), 2), round(_cost(cached), 2)) == (5.1, 0.95)
    assert sum(each.input for each in cached.used) == sum(each.input for each in without.used)


def test_turn_with_many_calls_hits_cache() -> None:
    """Though its blocks are more than the 20 that are searched before a mark."""
    api = _run([1, 1, 15, 15, 1])

    read = [each.cache_read for each in api.used]
    before = [each.input for each in api.used]
    assert read[1:] == before[:-1]


def _asked(*history: Message, system_prompt: str = "Be brief.", offered: bool = True) -> Input:
    return Input(
        system_prompt=system_prompt,
        user_message="",
        history=history,
        tools=(TOOL,) if offered else (),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def _body(request: Input, **settings: Any) -> dict[str, Any]:
    api = CachingApi([[{"type": "text", "text": "Yes."}]])
    decision = asyncio.run(_decider(api, **settings).decide(request))
    assert isinstance(decision, Decision)
    return api.bodies[0]


HISTORY = [
    Message("user", "One?"),
    Message("assistant", "Yes."),
    Message("user", "Two?"),
    Message("assistant", "Yes."),
    Message("user", "Three?"),
]


def test_tools_system_and_newest_are_marked() -> None:
    """Four marks, the last two on messages of the user's."""
    body = _body(_asked(*HISTORY))

    assert body["tools"][-1]["cache_control"] == MARK
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    marked = [index for index, each in enumerate(body["messages"]) if "cache" in json.dumps(each)]
    assert marked == [2, 4]


def test_one_argument_turns_the_marks_off() -> None:
    """The request is what it was without them."""
    assert "cache_control" not in json.dumps(_body(_asked(*HISTORY), prompt_cache=False))


def test_system_prompt_is_marked_as_a_whole_beside_a_summary() -> None:
    """It is still in the cache after the next compaction."""
    summary = Message("system", "Done so far.", summary=ContextSummary("Done so far.", 9))

    body = _body(_asked(summary, *HISTORY))

    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]


@pytest.mark.parametrize(
    "options",
    [
        {"cache_control": MARK},
        {"system": [{"type": "text", "text": "x", "cache_control": {**MARK, "ttl": "1h"}}]},
        {"tools": [{"name": "web", "type": "web_search_20250305", "cache_control": MARK}]},
    ],
)
def test_callers_marks_are_the_only_ones(options: dict[str, Any]) -> None:
    """Who sets one decides on all of them."""
    body = _body(_asked(*HISTORY), options=options)

    assert json.dumps(body).count("cache_control") == 1


def test_decoded_mark_is_the_only_one() -> None:
    """It goes back byte for byte, as does everything around it."""
    said = [{"type": "text", "text": "One?", "cache_control": MARK}]
    wire = [{"role": "user", "content": said}]

    assert _body(_asked(*anthropic.decode(wire)))["messages"] == wire


@pytest.mark.parametrize("content", ["Go on.", [{"type": "text", "text": "Go on."}]])
def test_marks_leave_the_history_unchanged(content: Any) -> None:
    """They are in the request's copy only."""
    wire = [{"role": "user", "content": content}]
    history = anthropic.decode(wire)

    _body(_asked(*history))

    assert anthropic.encode(history) == wire
    assert "cache" not in json.dumps(history[0].native.payload if history[0].native else wire)


def test_what_takes_no_mark_gets_none() -> None:
    """The block before it does."""
    said = [{"type": "text", "text": "Why?"}, {"type": "container_upload", "file_id": "f"}]
    body = _body(_asked(*anthropic.decode([{"role": "user", "content": said}])))

    assert body["messages"][0]["content"] == [{**said[0], "cache_control": MARK}, said[1]]


@given(messages=conversations())
@settings(max_examples=50, deadline=None)
def test_marks_change_nothing_but_add_themselves(messages: list[Message]) -> None:
    """At most four, whatever the conversation."""
    request = _asked(*messages)
    marked, plain = _body(request), _body(request, prompt_cache=False)

    assert json.dumps(marked).count('"cache_control"') <= 4
    assert _unmarked(_blocks(marked)) == _blocks(plain)
