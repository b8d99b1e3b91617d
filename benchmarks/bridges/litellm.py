"""A Runner on LiteLLM, with and without a budget, beside LiteLLM's own `trim_messages`.

The model is a router that replies from the script: nothing is sent anywhere.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import asks the network

import litellm
from litellm.utils import trim_messages

from agentic.bridges.litellm import Decider
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest, Model
from agentic.history import MemoryStore
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolResult
from agentic.providers import openai_chat
from agentic.testing import ScriptedExecutor
from agentic.tokens import CharCounter
from benchmarks.bridges._scenario import TURNS, WINDOW, Figures, Recorder, ScenarioTurn, turns

__all__ = ["overhead", "run"]

_MODEL = "openai/gpt-4o"
_COUNTER = CharCounter()
_RUNS = 10
_LONG = 500
"""Turns of four messages each: 2,000 messages."""
_USED = {"prompt_tokens": 90_000, "completion_tokens": 9, "total_tokens": 90_009}


@attrs.define
class _Router:
    """Takes the place of LiteLLM's Router: records each request, and replies from the script."""

    recorder: Recorder
    replies: Iterator[dict[str, Any]]
    used: dict[str, int] = attrs.field(factory=dict)
    """The usage of each reply."""

    async def acompletion(self, *, messages: Sequence[Any], **_: Any) -> Any:
        """Return the next reply, as LiteLLM's own type."""
        self.recorder.request(messages)
        choice = {"index": 0, "message": next(self.replies), "finish_reason": "stop"}
        return litellm.ModelResponse(model=_MODEL, choices=[choice], usage=self.used)


@attrs.frozen
class _Whole:
    """Asks for whole replies: a Runner streams if it can."""

    decider: Decider

    async def decide(self, request: Input, /) -> Decision:
        """Return the bridge's decision."""
        return await self.decider.decide(request)


def run() -> dict[str, Figures]:
    """Return the figures of each way to keep the conversation within the window."""
    summarized = Recorder()

    async def ask(prompt: str) -> str:
        await asyncio.sleep(0)
        return summarized.summarize(prompt)

    digest = Digest(max_tokens=WINDOW // 8, counter=_COUNTER)
    return {
        "none": asyncio.run(_talk(None, Recorder())),
        "framework": _trimmed(Recorder()),
        "bridge": asyncio.run(_talk(_manager(Model(ask)), summarized)),
        "bridge, digest": asyncio.run(_talk(_manager(digest), Recorder())),
    }


def overhead() -> dict[str, float]:
    """Return the milliseconds that the bridge adds to a call in a turn, after 2,000 messages."""
    # In turn, so that a machine that slows down slows both of them down.
    times = [(asyncio.run(_timed(bare=False)), asyncio.run(_timed(bare=True))) for _ in range(5)]
    ours, bare = map(min, zip(*times, strict=True))
    return {"bridge": ours - bare}


async def _timed(*, bare: bool) -> float:
    """Return the milliseconds of the processor that a call takes, or the router's part of it."""
    repeated = turns() * (_LONG // TURNS + 2)
    script = [attrs.evolve(turn, call_id=f"call_{at}") for at, turn in enumerate(repeated)]
    history = [message for turn in script[:_LONG] for message in _messages(turn)]
    router = _Router(Recorder(), (_replies(turn)[1] for turn in script), _USED)
    decider = Decider(_MODEL, router=router, limits=ModelLimits(10_000_000, 0))
    milliseconds = 0.0
    for number, turn in enumerate(script[_LONG : _LONG + _RUNS + 1]):
        history.append(Message("user", turn.request))
        request = _request(tuple(history))
        plain = openai_chat.encode_request(history)["messages"] if bare else ()
        began = time.process_time()
        if bare:
            await router.acompletion(messages=plain)
        else:
            await decider.decide(request)
        if number:  # the first call reads all that came before
            milliseconds += (time.process_time() - began) * 1_000
        history += _messages(turn)[1:]
    return milliseconds / _RUNS


def _request(history: tuple[Message, ...]) -> Input:
    return Input(
        system_prompt="",
        user_message="m",
        history=history,
        tools=(),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def _messages(turn: ScenarioTurn) -> list[Message]:
    """Return the messages of a turn, as a Runner has them."""
    call, reply = openai_chat.decode_request({"messages": _replies(turn)})
    result = ToolResult(turn.call_id, "read", turn.output)
    return [Message("user", turn.request), call, Message("tool", tool_results=[result]), reply]


def _manager(compactor: Any) -> Manager:
    return Manager(_COUNTER, compactor, Policy(WINDOW))


async def _talk(manager: Manager | None, recorder: Recorder) -> Figures:
    replies = (reply for turn in turns() for reply in _replies(turn))
    decider = _Whole(Decider(_MODEL, router=_Router(recorder, replies)))
    store = MemoryStore()
    for turn in turns():
        tools = ScriptedExecutor({"read": turn.output})
        await Runner(decider, tools, store, manager).run(turn.request)
    return recorder.figures()


def _trimmed(recorder: Recorder) -> Figures:
    items: list[dict[str, Any]] = []
    for turn in turns():
        call, reply = _replies(turn)
        output = {"role": "tool", "tool_call_id": turn.call_id, "content": turn.output}
        items.append({"role": "user", "content": turn.request})
        recorder.request(trim_messages(list(items), max_tokens=WINDOW, trim_ratio=1.0))
        items += [call, output]
        recorder.request(trim_messages(list(items), max_tokens=WINDOW, trim_ratio=1.0))
        items.append(reply)
    return recorder.figures()


def _replies(turn: ScenarioTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    function = {"name": "read", "arguments": f'{{"path": "{turn.path}"}}'}
    call = {"id": turn.call_id, "type": "function", "function": function}
    return (
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": turn.reply},
    )
