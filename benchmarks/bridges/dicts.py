"""A loop that somebody wrote around a list of dicts, alone and with `agentic.bridges.dicts`.

`framework` is what such a loop does by itself: it drops the oldest turns when the list is too long.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from agentic.bridges.dicts import Conversation
from agentic.context.compactors import Model
from agentic.providers import openai_chat
from benchmarks.bridges._scenario import WINDOW, Figures, Recorder, ScenarioTurn, turns

_Fit = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
_CHARS = 4 * WINDOW
_LONG = 500
"""Turns of four messages each: 2,000 messages."""


def run() -> dict[str, Figures]:
    """Return the figures of each way to keep the list within the window."""
    summarized = Recorder()

    async def ask(prompt: str) -> str:
        await asyncio.sleep(0)
        return summarized.summarize(prompt)

    return {
        "none": _talk(list, Recorder()),
        "framework": _talk(_newest_turns, Recorder()),
        "bridge": _talk(_bridge(compactor=Model(ask)), summarized),
        "bridge, digest": _talk(_bridge(), Recorder()),
    }


def overhead() -> dict[str, float]:
    """Return the milliseconds of a turn in a conversation of 2,000 messages that fits."""
    fit = Conversation(openai_chat, 10_000_000).fit
    items = [item for turn in turns(_LONG) for item in _items(turn)]
    fit(items)
    started = time.perf_counter()
    for turn in turns(100):
        items.extend(_items(turn))
        fit(items)
    return {"bridge": (time.perf_counter() - started) * 1_000 / 100}


def _bridge(**options: Any) -> _Fit:
    return Conversation(openai_chat, WINDOW, **options).fit


def _talk(fit: _Fit, recorder: Recorder) -> Figures:
    items: list[dict[str, Any]] = []
    for turn in turns():
        user, call, output, reply = _items(turn)
        items.append(user)
        recorder.request(fit(items))
        items += [call, output]
        recorder.request(fit(items))
        items.append(reply)
    return recorder.figures()


def _newest_turns(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    starts = [at for at, item in enumerate(items) if item["role"] == "user"]
    fitting = (at for at in starts if len(str(items[at:])) <= _CHARS)
    return items[next(fitting, starts[-1]) :]


def _items(turn: ScenarioTurn) -> list[dict[str, Any]]:
    function = {"name": "read", "arguments": f'{{"path": "{turn.path}"}}'}
    call = {"id": turn.call_id, "type": "function", "function": function}
    return [
        {"role": "user", "content": turn.request},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": turn.call_id, "content": turn.output},
        {"role": "assistant", "content": turn.reply},
    ]
