"""What the proxy does to a request besides HTTP: read it, find its conversation, fit and write it.

It sends what `bridges.dicts` sends, as a test compares request by request: its figures are those.
"""

import asyncio
import json
import time
from typing import Any

from agentic.app.proxy._body import RequestBody
from agentic.app.proxy._pool import ProxyPool
from agentic.bridges.dicts import Conversation
from agentic.providers import openai_chat
from benchmarks.bridges._scenario import TURNS, WINDOW, Figures, turns
from benchmarks.bridges.dicts import _items

__all__ = ["overhead", "run"]

_LONG, _MORE = 500, 20
"""Turns of four messages each: 2,000 messages, and those that are timed."""


def run() -> dict[str, Figures]:
    """Return no figures: they are those of `dicts`."""
    return {}


def overhead() -> dict[str, float]:
    """Return what the proxy takes for a request of 2,000 messages and 3.5 MB."""
    ways = {"sent on as it came": 10_000_000, "cut": WINDOW, "json.loads of it": None}
    return {way: _time(window) for way, window in ways.items()}


def _time(window: int | None) -> float:
    """Return the least milliseconds of the processor; without a window, those of `json.loads`."""
    script = (turns() * (_LONG // TURNS + 1))[:_LONG]
    items = [item for turn in script for item in _items(turn)]
    pool = ProxyPool(lambda wire, state: Conversation(wire, window or 0, state=state), 9, 2**40)
    times = []
    for turn in turns()[:_MORE]:
        items += _items(turn)
        raw = json.dumps({"model": "gpt-4.1", "messages": items}).encode()
        started = time.process_time()
        if window is None:
            json.loads(raw)
        else:
            asyncio.run(_pass_on(pool, raw))
        times.append(time.process_time() - started)
    return min(times[1:]) * 1_000  # the first request reads all that came before


async def _pass_on(pool: ProxyPool, raw: bytes) -> Any:
    body = RequestBody.read(raw, pool.texts("ann", openai_chat.ADAPTER))
    pooled = await pool.take("ann", openai_chat.ADAPTER, body.data["messages"], len(raw))
    pooled.text = body.list_text("messages")
    fitted = await pooled.conversation.fit_request_async(body.data)
    sent = raw if body.is_same(fitted) else body.write(fitted)
    await pool.release(pooled)
    return sent
