"""The contract suite for adapters, on recorded exchanges and on shapes from issue threads."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentic import testing, usage
from agentic.providers import ollama
from agentic.usage import StopReason, Usage

# https://github.com/ollama/ollama-python/issues/667, and before 0.12.10
# https://github.com/ollama/ollama/issues/6462
CALLING = {
    "role": "assistant",
    "content": "I look.",
    "tool_calls": [
        {"id": "call_p7o2gz50", "function": {"index": 0, "name": "weather", "arguments": {"n": 1}}},
        {"id": "call_0scw2dos", "function": {"index": 1, "name": "time", "arguments": {}}},
    ],
}
OLDER = {
    "role": "assistant",
    "content": "",
    "thinking": "Both cities.",
    "tool_calls": [
        {"function": {"name": "weather", "arguments": {"city": "Paris"}}},
        {"function": {"name": "weather", "arguments": {"city": "London"}}},
    ],
}
PNG = "iVBORw0KGgo="
REQUEST = {
    "model": "qwen3",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the weather here?", "images": [PNG]},
        OLDER,
        {"role": "tool", "tool_name": "weather", "content": "rain"},
        {"role": "tool", "tool_name": "weather", "content": "sun"},
        {"role": "assistant", "content": "Rain and sun."},
        {"role": "user", "content": "And the time?"},
        CALLING,
        {"role": "tool", "tool_call_id": "call_0scw2dos", "tool_name": "time", "content": "9"},
        {"role": "tool", "tool_call_id": "call_p7o2gz50", "tool_name": "weather", "content": "fog"},
    ],
    "stream": False,
}


def reply(message: Any, word: str = "stop", **more: Any) -> dict[str, Any]:
    """Return a whole response."""
    return {
        "model": "qwen3",
        "created_at": "2026-05-18T10:00:00.1Z",
        "message": message,
        "done": True,
        "done_reason": word,
        "total_duration": 174560334,
        "prompt_eval_count": 21,
        "eval_count": 9,
        **more,
    }


def piece(**message: Any) -> dict[str, Any]:
    """Return a line of a stream before the last."""
    said = {"role": "assistant", "content": "", **message}
    return {"model": "qwen3", "created_at": "2026-05-18T10:00:00Z", "message": said, "done": False}


CALLED = (reply(CALLING, prompt_eval_cached_count=16), Usage(21, 9, cache_read=16), StopReason.TOOL)
SPOKE = (reply({"role": "assistant", "content": "It is green."}), Usage(21, 9), StopReason.STOP)
CUT = (reply({"role": "assistant", "content": "It"}, "length"), Usage(21, 9), StopReason.MAX_TOKENS)
LOADED = (
    {"model": "m", "message": {"role": "assistant", "content": ""}, "done_reason": "load"},
    Usage(),
    StopReason.STOP,
)
UNLOADED = ({**LOADED[0], "done_reason": "unload"}, Usage(), StopReason.STOP)
OLDER_CALLED = (reply(OLDER), Usage(21, 9), StopReason.TOOL)
LAST = {"role": "assistant", "content": ""}
STREAMS = [
    ([piece(content="It is "), piece(content="green."), reply(LAST)], SPOKE),
    (
        [
            piece(thinking="Both "),
            piece(thinking="cities."),
            piece(tool_calls=OLDER["tool_calls"][:1]),
            piece(tool_calls=OLDER["tool_calls"][1:]),
            reply(LAST),
        ],
        OLDER_CALLED,
    ),
]
# What `truncate: false` and `shift: false` answer, and older wordings of the server:
# https://github.com/ollama/ollama/pull/17944, https://github.com/dyad-sh/dyad/issues/3498
OVERFLOWS = [
    {
        "error": '{"error":{"code":400,"message":"request (8889 tokens) exceeds the available '
        'context size (4096 tokens), try increasing it","type":"exceed_context_size_error",'
        '"n_prompt_tokens":8889,"n_ctx":4096}}'
    },
    {"error": "the prompt is longer than the context length currently available to the model"},
    {"error": "prompt too long; exceeded max context length by 540451 tokens (ref: 00ad71bb)"},
    {"error": "the input length exceeds the context length"},
]
OTHERS = [
    {"error": "model 'nope' not found"},
    {"error": "registry.ollama.ai/library/gemma:2b does not support tools"},
    {"error": "requested context size too large for model"},
    {"error": "context deadline exceeded"},
]


@pytest.mark.slow
def test_the_adapter_keeps_every_promise() -> None:
    """Ids or none, thinking, images, streams, every stop word."""
    with usage.unknown_words_raise():
        for word in ollama.ADAPTER.stop_words.reasons:
            ollama.stop_reason(reply(LAST, word))
    testing.check_adapter(
        ollama,
        requests=[REQUEST],
        responses=[CALLED, SPOKE, CUT, LOADED, UNLOADED, OLDER_CALLED],
        streams=STREAMS,
        overflows=OVERFLOWS,
        other_errors=OTHERS,
    )


@pytest.mark.corpus
def test_recorded_exchanges_keep_every_promise() -> None:
    """Of real servers, streamed and whole; each comes back as it was."""
    root = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
    data = root.parent / "shared" / "data" / "provider_responses" / "ollama.jsonl"
    if not data.is_file():
        pytest.skip(f"no recorded exchanges: {data}")
    rows = [json.loads(line) for line in data.read_text().split("\n") if line]
    chats = [row for row in rows if row["endpoint"].endswith("/api/chat")]
    streams = [
        ([json.loads(line) for line in row["ndjson"].split("\n") if line], None)
        for row in chats
        if row["kind"] == "ndjson"
    ]

    testing.check_adapter(
        ollama,
        requests=[row["request"] for row in chats],
        responses=[row["response_json"] for row in chats if row["kind"] == "json"],
        streams=streams,
    )
    assert len(chats) >= 3
    for row in chats:
        wire = row["request"]["messages"]
        assert ollama.encode(ollama.decode(wire)) == wire
