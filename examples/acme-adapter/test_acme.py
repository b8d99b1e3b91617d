"""Tests of the adapter: examples of the wire, and the contract suites for every adapter.

Run `python -m pytest examples/acme-adapter`.
"""
# ruff: noqa: S101  an assert is how pytest states an expectation

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import acme
import pytest

from agentic import loop, testing, tokens
from agentic.context import budget, compactors
from agentic.errors import RequestFailed
from agentic.messages import Message
from agentic.usage import StopReason, Usage

CALLING = {
    "parts": [
        {"thought": "The log first.", "seal": "kPq7/0=="},
        {"text": "Let me look."},
        {"use": "read_file", "ref": "use_1", "with": {"path": "build.log", "lines": 20}},
        {"use": "read_file", "ref": "use_2", "with": {"path": "a.py"}},
    ],
    "ended": "needs_tools",
    "spent": {"fresh": 12, "cached": 90, "stored": 8, "said": 31, "thought": 6},
}
SPEAKING = {
    "parts": [{"text": "It is green."}],
    "ended": "finished",
    "spent": {"fresh": 140, "cached": None, "said": 5},
}
CUT_OFF = {"parts": [{"text": "It is"}], "ended": "out_of_room", "spent": {"fresh": 9, "said": 2}}
WITHHELD = {"parts": [], "ended": "withheld", "spent": {}}

# Each response with the usage and the stop reason that Acme's documentation states for it.
CALLED = (
    CALLING,
    Usage(input=110, output=37, cache_read=90, cache_write=8, reasoning=6),
    StopReason.TOOL,
)
SPOKE = (SPEAKING, Usage(input=140, output=5), StopReason.STOP)
HELD_BACK = (WITHHELD, Usage(), StopReason.CONTENT_FILTER)

REQUEST = {
    "rules": "You mend builds.",
    "talk": [
        {"by": "human", "parts": [{"text": "Why is the build red?"}], "mood": "hurried"},
        {"by": "acme", "parts": CALLING["parts"]},
        {
            "by": "human",
            "parts": [
                {"result": "use_1", "text": "NameError: oops"},
                {"result": "use_2", "text": "no such file", "failed": True},
                {"text": "The file is b.py now."},
            ],
        },
    ],
}

STREAM: list[dict[str, Any]] = [
    {"tick": 1},
    {"open": 0, "part": {"thought": "", "seal": ""}},
    {"add": 0, "thought": "The log"},
    {"add": 0, "thought": " first."},
    {"add": 0, "seal": "kPq7"},
    {"add": 0, "seal": "/0=="},
    {"open": 1, "part": {"text": ""}},
    {"add": 1, "text": "Let me "},
    {"add": 1, "text": "look."},
    {"open": 2, "part": {"use": "read_file", "ref": "use_1"}},
    {"open": 3, "part": {"use": "read_file", "ref": "use_2"}},
    {"add": 2, "with": '{"path": "bui'},
    {"add": 3, "with": '{"path": "a.py"}'},
    {"add": 2, "with": 'ld.log", "lines": 20}'},
    {"tick": 2},
    {"end": "needs_tools", "spent": CALLING["spent"]},
]
SPOKEN: list[dict[str, Any]] = [
    {"open": 0, "part": {"text": ""}},
    {"add": 0, "text": "It is "},
    {"add": 0, "text": "green."},
    {"end": "finished", "spent": SPEAKING["spent"]},
]

TOO_LONG = {"error": {"code": "talk_too_long", "problem": "40112 pieces; acme-1 reads 32000."}}
SLOW_DOWN = {"error": {"code": "slow_down", "problem": "Too many pieces a minute."}}


def test_acme_keeps_every_promise() -> None:
    """Requests, replies, streams and errors of Acme pass the suite for adapters."""
    testing.check_adapter(
        acme,
        requests=[REQUEST],
        responses=[CALLED, SPOKE, (CUT_OFF, Usage(9, 2), StopReason.MAX_TOKENS), HELD_BACK],
        streams=[(STREAM, CALLED), (SPOKEN, SPOKE)],
        overflows=[TOO_LONG],
        other_errors=[SLOW_DOWN],
    )


def test_usage_is_in_our_buckets() -> None:
    """Acme counts cache and thinking separately; our input and output include them."""
    expected = Usage(input=110, output=37, total=147, cache_read=90, cache_write=8, reasoning=6)

    assert acme.usage(CALLING) == expected
    assert acme.usage(SPEAKING) == Usage(input=140, output=5, total=145)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (CALLING, StopReason.TOOL),
        (SPEAKING, StopReason.STOP),
        (CUT_OFF, StopReason.MAX_TOKENS),
        (WITHHELD, StopReason.CONTENT_FILTER),
    ],
)
def test_stop_words_are_ours(response: Any, reason: StopReason) -> None:
    """Each word means what Acme's documentation says."""
    assert acme.stop_reason(response) is reason


class Recorded:
    """A client that plays replies, whole or as a stream, and records what it was sent."""

    def __init__(self, *replies: tuple[Any, list[Any]]) -> None:
        self.replies = list(replies)
        self.bodies: list[dict[str, Any]] = []

    async def post(self, body: dict[str, Any], /) -> tuple[int, Any]:
        """Return the next reply whole."""
        await asyncio.sleep(0)
        answer, _ = self._next(body)
        return (400 if "error" in answer else 200), answer

    async def events(self, body: dict[str, Any], /) -> AsyncIterator[Any]:
        """Yield the next reply as a stream."""
        await asyncio.sleep(0)
        for event in self._next(body)[1]:
            yield event

    def _next(self, body: dict[str, Any]) -> tuple[Any, list[Any]]:
        self.bodies.append(body)
        return self.replies.pop(0)


def test_the_decider_keeps_its_promises() -> None:
    """It answers every history, streamed or not, and can be cancelled."""
    testing.check_decider(lambda: acme.Decider(Recorded((CALLING, STREAM)), "acme-1"))


def test_a_run_outlives_an_overflow() -> None:
    """The tools are called, the overflow is reported, and the next request is smaller."""
    client = Recorded((CALLING, STREAM), (TOO_LONG, [TOO_LONG]), (SPEAKING, SPOKEN))
    model = acme.Decider(client, "acme-1")
    executor = testing.ScriptedExecutor({"read_file": "NameError: oops"})
    policy = budget.Policy(model.limits().context_window)
    manager = budget.Manager(tokens.CharCounter(), compactors.Digest(), policy)
    before = [Message("user", f"Log {n} is fine. " * 60) for n in range(20)]

    runner = loop.Runner(model, executor, budget=manager)
    result = runner.run_sync(loop.Request("Is it green?", history=before))

    assert result.reply == "It is green."
    first, second, third = (len(json.dumps(body)) for body in client.bodies)
    assert third < first < second


def test_a_rate_limit_ends_the_run() -> None:
    """It is not an overflow: nothing is compacted, and the caller may wait and retry."""
    model = acme.Decider(Recorded((SLOW_DOWN, [SLOW_DOWN])), "acme-1")

    with pytest.raises(RequestFailed, match="Too many pieces a minute"):
        loop.Runner(model).run_sync("Is it green?")
