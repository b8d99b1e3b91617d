"""What the provider is sent of a conversation, by the real clients through the real proxy."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic.bridges.dicts import Conversation
from agentic.providers import anthropic, openai_chat

pytestmark = pytest.mark.slow
Serve = Callable[..., Any]
Grow = Callable[..., list[dict[str, Any]]]


def test_openai_requests_equal_those_of_dicts(serve: Serve, grow: Grow) -> None:
    """Turn by turn, with a report of each reply: the proxy decides nothing itself."""
    served, history = serve(2_000), grow(12)
    conversation = Conversation(openai_chat, 2_000)
    client = served.openai()
    for end in range(1, len(history) + 1, 2):
        request = {"model": "gpt-4.1", "messages": history[:end]}

        reply = client.chat.completions.create(**request)

        assert served.provider.sent[-1].body == conversation.fit_request(request)
        conversation.report(reply)
    assert len(served.provider.sent[-1].body["messages"]) < len(history)


def test_anthropic_requests_equal_those_of_dicts(serve: Serve, grow: Grow) -> None:
    """The client's own system prompt stays, and the summary is a message of its own."""
    served, history = serve(2_000), grow(12)
    conversation = Conversation(anthropic, 2_000)
    client = served.anthropic()
    for end in range(1, len(history) + 1, 2):
        request = {
            "model": "claude",
            "max_tokens": 100,
            "system": "Be brief.",
            "messages": history[:end],
        }

        reply = client.messages.create(**request)

        assert served.provider.sent[-1].body == conversation.fit_request(request)
        conversation.report(reply)
    body = served.provider.sent[-1].body
    assert body["system"] == "Be brief."
    assert body["messages"][0]["role"] == "user"
    assert body["messages"][0]["content"].startswith("[Context ")


def test_unchanged_request_keeps_its_bytes(serve: Serve) -> None:
    """White space, the form of numbers, escapes and unknown fields are the client's."""
    served = serve(2_000)
    messages = b'[{"role":"user", "content":"\\u00fc", "x": 1.0} ,{"role" :"user","content":"b"} ]'
    raw = b'{ "model":"m", "messages": ' + messages + b',"y":1e2}\n'

    httpx.post(f"{served.address}/v1/chat/completions", content=raw)

    assert served.provider.sent[0].raw == raw


def test_cut_request_keeps_what_is_left(serve: Serve, grow: Grow) -> None:
    """The items that stay, and all fields beside them, are sent as the client wrote them."""
    served = serve(2_000)
    last = b'{"role": "user",  "content": "\\u00fc", "weight": 1.50}'
    items = [*(json.dumps(item).encode() for item in grow(12)[:-1]), last]
    raw = b'{"top_p" : 1.0, "messages": [' + b", ".join(items) + b'], "new_field": {"a":1e2} }'

    httpx.post(f"{served.address}/v1/chat/completions", content=raw)

    sent = served.provider.sent[0].raw
    assert len(sent) < len(raw)
    assert sent.startswith(b'{"top_p" : 1.0, "messages": [')
    assert sent.endswith(last + b'], "new_field": {"a":1e2} }')


def test_diverging_chats_get_their_own_views(serve: Serve, grow: Grow) -> None:
    """Two chats with an equal beginning: neither sees a word of the other's."""
    served, start = serve(2_000), grow(6)
    client = served.openai()
    client.chat.completions.create(model="gpt-4.1", messages=start)
    chats = {topic: [*start, *grow(8, topic)] for topic in ("engine", "garden")}
    for end in range(len(start) + 1, len(start) + 18, 2):
        for topic, messages in chats.items():
            client.chat.completions.create(model="gpt-4.1", messages=messages[:end])
            other = "garden" if topic == "engine" else "engine"

            assert other not in served.provider.sent[-1].raw.decode()

    assert len(served.proxy._pool) == 2


def test_concurrent_requests_are_kept_apart(serve: Serve, grow: Grow) -> None:
    """Many chats at once, which begin alike: each request is what it would be alone."""
    served = serve(2_000)
    client = served.openai()
    chats = [[*grow(6), *grow(6, f"part-{number}-")] for number in range(8)]

    def talk(messages: list[dict[str, Any]]) -> None:
        for end in (13, 17, 21, 25):
            client.chat.completions.create(model="gpt-4.1", messages=messages[:end])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, chats))

    for sent in served.provider.sent:
        text = sent.raw.decode()
        assert sum(f"part-{number}-" in text for number in range(8)) <= 1
        assert len(sent.raw) < 2_000 * 4


def test_credentials_separate_equal_conversations(serve: Serve, grow: Grow) -> None:
    """The same list under two keys is two conversations."""
    served, history = serve(2_000), grow(3)

    for key in ("sk-ann", "sk-bob", "sk-ann"):
        served.openai(key).chat.completions.create(model="gpt-4.1", messages=history)

    owners = {one.owner for one in served.proxy._pool._pooled.entries}
    assert len(owners) == len(served.proxy._pool) == 2
    assert not any("sk-" in owner for owner in owners)


def test_moving_cache_mark_continues_the_conversation(serve: Serve) -> None:
    """Clients mark the latest message only, and write a marked text as a block."""
    served = serve(2_000)
    client = served.anthropic()
    mark = {"cache_control": {"type": "ephemeral"}}
    history: list[Any] = []
    for number in range(4):
        marked = [{"type": "text", "text": f"Question {number}.", **mark}]
        asked = [*history, {"role": "user", "content": marked}]
        client.messages.create(model="claude", max_tokens=9, messages=asked)
        history += [{"role": "user", "content": f"Question {number}."}]
        history += [{"role": "assistant", "content": "It is green."}]

    assert len(served.proxy._pool) == 1


def test_usage_teaches_the_real_size(serve: Serve, grow: Grow) -> None:
    """A provider that counts more than the estimate leads to an earlier summary."""
    served, history = serve(10_000), grow(8)
    served.provider.answering = _counts_double(served.provider)
    client = served.openai()

    for end in range(1, len(history) + 1, 2):
        client.chat.completions.create(model="gpt-4.1", messages=history[:end])

    conversation = served.proxy._pool._pooled.entries[0].conversation
    assert conversation.latest.tokens > 1.8 * Conversation(openai_chat, 10_000).counter.count(
        json.dumps(history)
    )


def _counts_double(provider: Any) -> Callable[..., Any]:
    from aiohttp import web  # noqa: PLC0415  not every test environment has it

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        size = 2 * Conversation(openai_chat, 10_000).counter.count(json.dumps(body["messages"]))
        # Compressed, as most providers send it.
        response = web.json_response(provider.words(request.path, size))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    return answer


def test_restart_with_store_repeats_no_summary(serve: Serve, grow: Grow, tmp_path: Path) -> None:
    """The next process sends what the former one would have sent, and no key is in the file."""
    history, folder = grow(14), tmp_path / "summaries"

    def last_request(ends: range, **options: Any) -> Any:
        served = serve(2_000, **options)
        for end in [*ends, len(history)]:
            served.openai().chat.completions.create(model="gpt-4.1", messages=history[:end])
        return served.provider.sent[-1].body

    turns = range(1, len(history) - 2, 2)
    expected = last_request(turns)
    last_request(turns[:-1], store=folder)

    assert last_request(range(0), store=folder) == expected
    [file] = folder.iterdir()
    assert "sk-ann" not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_damaged_store_file_is_passed_over(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A proxy that does not start helps nobody."""
    (tmp_path / "x.json").write_text('{"v": 1, "owner"')

    served = serve(2_000, store=tmp_path)

    served.openai().chat.completions.create(model="m", messages=[{"role": "user", "content": "a"}])
    assert "x.json is skipped" in caplog.text
