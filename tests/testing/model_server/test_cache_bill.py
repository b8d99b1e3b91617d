"""What the prompt cache charges, by literal requests and a clock that the test sets."""

from typing import Any

import pytest

from agentic.testing import AgentScript, ModelServer
from agentic.testing._model_server import TokenPrices

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
PRICES = TokenPrices(uncached=10, read=1, written=12.5, written_for_an_hour=20, output=50)


def _text(tokens: int, letter: str = "x", **mark: Any) -> dict[str, Any]:
    """Return a block of that many tokens, of which its JSON form has seven."""
    return {"type": "text", "text": letter * (4 * (tokens - 7)), **mark}


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _server(clock: Any = None, **options: Any) -> ModelServer:
    script = AgentScript(turns=1, rounds=0, thinking_tokens=0)
    return ModelServer(script=script, clock=clock or _Clock(), prices=PRICES, **options)


def _bill(server: ModelServer, *blocks: Any, **fields: Any) -> tuple[int, int, int]:
    """Return what was read, written and uncached."""
    body = {"model": "claude-fable-5-2", "messages": [{"role": "user", "content": list(blocks)}]}
    assert server.post("/v1/messages", {**body, **fields}).status == 200
    served = server.served[-1]
    return served.read, served.written, served.uncached


def test_prefix_is_written_and_then_read() -> None:
    """Up to the mark; what is behind it is uncached."""
    server = _server()

    assert _bill(server, _text(2_000, **MARK), _text(10)) == (0, 2_000, 10)
    assert _bill(server, _text(2_000, **MARK), _text(20)) == (2_000, 0, 20)
    assert _bill(server, _text(2_000), _text(500, **MARK)) == (2_000, 500, 0)
    assert _bill(server, _text(2_000, "y"), _text(500, **MARK)) == (0, 2_500, 0)


def test_nothing_is_cached_without_a_mark() -> None:
    """Nor below the minimal size."""
    server = _server()

    assert _bill(server, _text(2_000)) == (0, 0, 2_000)
    assert _bill(server, _text(1_023, **MARK)) == (0, 0, 1_023)
    assert _bill(server, _text(1_024, **MARK)) == (0, 1_024, 0)


def test_mark_of_the_request_is_put_on_the_last_block() -> None:
    """The automatic form of the same."""
    server = _server()

    assert _bill(server, _text(2_000), **MARK) == (0, 2_000, 0)
    assert _bill(server, _text(2_000), _text(10), **MARK) == (2_000, 10, 0)


@pytest.mark.parametrize(("blocks", "read"), [(19, 2_000), (20, 0)])
def test_mark_looks_back_twenty_blocks(blocks: int, read: int) -> None:
    """The marked block is the first of them."""
    server = _server()
    _bill(server, _text(2_000, **MARK))

    more = [_text(10) for _ in range(blocks - 1)]

    assert _bill(server, _text(2_000), *more, _text(10, **MARK))[0] == read


def test_fifth_mark_is_refused() -> None:
    """In the words of the API."""
    server = _server()
    body = {"model": "claude-fable-5-2"}
    content = [_text(10, **MARK) for _ in range(5)]

    reply = server.post(
        "/v1/messages", {**body, "messages": [{"role": "user", "content": content}]}
    )

    message = "A maximum of 4 blocks with cache_control may be provided. Found 5."
    assert reply.body["error"]["message"] == message
    assert server.report.refused == {"cache": 1}


def test_lifetime_begins_again_with_each_read() -> None:
    """Five minutes after the last read it is gone."""
    clock = _Clock()
    server = _server(clock)
    _bill(server, _text(2_000, **MARK))

    clock.now = 299
    assert _bill(server, _text(2_000, **MARK))[0] == 2_000
    clock.now = 299 + 299
    assert _bill(server, _text(2_000, **MARK))[0] == 2_000
    clock.now = 299 + 299 + 300
    assert _bill(server, _text(2_000, **MARK)) == (0, 2_000, 0)


def test_hour_is_dearer_and_lasts() -> None:
    """At its own price, only for what is in front of its mark."""
    clock = _Clock()
    server = _server(clock)

    assert _bill(server, _text(2_000, **HOUR), _text(1_000, **MARK)) == (0, 3_000, 0)
    cost = server.report.dollars - server.report.output * 50 / 1e6
    assert cost == pytest.approx((2_000 * 20 + 1_000 * 12.5) / 1e6)

    clock.now = 3_599
    assert _bill(server, _text(2_000, **HOUR), _text(1_000, **MARK)) == (2_000, 1_000, 0)


def test_settings_miss_the_messages_only() -> None:
    """Another thinking configuration still reads tools and the system prompt."""
    server = _server()
    system = [_text(2_000, **MARK)]
    _bill(server, _text(3_000, **MARK), system=system)

    thinking = {"type": "adaptive", "display": "omitted"}

    assert _bill(server, _text(3_000, **MARK), system=system, thinking=thinking)[0] == 2_000


def test_dollars_are_those_of_the_prices() -> None:
    """Input by its kind, and the output."""
    server = _server()
    _bill(server, _text(2_000, **MARK), _text(100))
    _bill(server, _text(2_000, **MARK), _text(100))

    report = server.report
    spent = 200 * 10 + 2_000 * 12.5 + 2_000 * 1 + report.output * 50
    assert report.dollars == pytest.approx(spent / 1e6)
    assert report.cache_share == pytest.approx(2_000 / 4_200)


def test_openai_caches_every_prefix() -> None:
    """Without marks, by whole items."""
    server = _server()

    def send(*texts: str) -> tuple[int, int, int]:
        items = [{"role": "user", "content": text} for text in texts]
        server.post("/v1/responses", {"model": "gpt-6.2-sol", "input": items})
        return server.served[-1].read, server.served[-1].written, server.served[-1].uncached

    first, second = "x" * (4 * 1_993), "y" * (4 * 493)
    assert send(first) == (0, 2_000, 0)
    assert send(first, second) == (2_000, 500, 0)
    assert send(second, first) == (0, 2_500, 0)
    assert send("short") == (0, 0, 8)
