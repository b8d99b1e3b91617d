"""An item that is not sent comes or goes: the owner's other items stand at other positions."""

import asyncio
import copy
from types import ModuleType
from typing import Any

import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.strategies import ClearToolOutputs, ContextStrategy, TruncateToolOutputs
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from agentic.tokens import CharCounter

_STRATEGIES: dict[str, ContextStrategy] = {
    "truncate": TruncateToolOutputs(60),
    "clear": ClearToolOutputs(150, CharCounter(), keep_rounds=1, min_tokens=1),
}


def _talk(forms: Any, wire: ModuleType, first: int = 0, rounds: int = 3) -> list[Any]:
    return [
        item
        for number in range(first, first + rounds)
        for item in forms.to_items(wire, forms.exchange(number, calls=2))
    ]


def _orphan(forms: Any, wire: ModuleType) -> list[Any]:
    """Return a result whose call the owner has lost."""
    call = Message("assistant", tool_calls=[ToolCall("lost", "run", '{"n": 1}')])
    answer = Message("tool", tool_results=[ToolResult("lost", "run", "late")])
    items: list[Any] = forms.to_items(wire, [Message("user", "Look."), call, answer])
    return items[2:]


def _make(wire: ModuleType, strategy: str, *, epochs: bool) -> Conversation:
    policy = Policy(9_000, epochs=epochs)
    return Conversation(wire, policy, counter=CharCounter(), strategies=[_STRATEGIES[strategy]])


@pytest.mark.parametrize("epochs", [True, False])
@pytest.mark.parametrize("strategy", sorted(_STRATEGIES))
@pytest.mark.parametrize("change", ["comes", "goes", "trimmed", "prepended", "moved"])
def test_items_follow_the_shifted_list(
    forms: Any, wire: ModuleType, change: str, strategy: str, epochs: bool
) -> None:
    """What is sent is what a conversation would send that never saw the former list."""
    talk, orphan = _talk(forms, wire), _orphan(forms, wire)
    later = len(forms.to_items(wire, forms.exchange(0, calls=2)))
    former, now = {
        "comes": (talk, [talk[0], *orphan, *talk[1:]]),
        "goes": ([talk[0], *orphan, *talk[1:]], talk),
        "trimmed": (talk, talk[later:]),
        "prepended": (talk, [*_talk(forms, wire, -1, 1), *talk]),
        "moved": ([talk[0], *orphan, *talk[1:]], [talk[0], *talk[1:later], *orphan, *talk[later:]]),
    }[change]
    conversation = _make(wire, strategy, epochs=epochs)
    conversation.fit(former)

    sent = conversation.fit(now)

    cold = _make(wire, strategy, epochs=epochs).fit(now)
    assert not forms.problems(wire, sent)
    assert [item for item in sent if any(item is own for own in now)] == [
        item for item in now if any(item is other for other in sent)
    ]
    if strategy == "truncate" or not epochs:  # a clearing is kept for as long as an epoch
        assert sent == cold
        assert [any(item is own for own in now) for item in sent] == [
            any(item is own for own in now) for item in cold
        ]


@pytest.mark.parametrize("strategy", sorted(_STRATEGIES))
def test_kept_items_are_the_owners_after_a_shift(forms: Any, strategy: str) -> None:
    """Those that a strategy leaves alone come back as objects, with what only the owner knows."""
    talk = [item | {"name": f"n{at}"} for at, item in enumerate(_talk(forms, openai_chat))]
    conversation = _make(openai_chat, strategy, epochs=False)
    conversation.fit(talk)
    shifted = [*_orphan(forms, openai_chat), *copy.deepcopy(talk)]

    sent = conversation.fit(shifted)

    assert len(sent) == len(talk)
    others = [item for item in sent if not any(item is own for own in shifted)]
    assert others
    assert {item["role"] for item in others} == {"tool"}


def test_result_beside_an_orphan_is_the_owners(forms: Any) -> None:
    """Read as one message, and one of the two is not sent: the other is no copy."""
    talk = _talk(forms, openai_responses)
    at = next(at for at, item in enumerate(talk) if item.get("type") == "function_call_output")

    sent = Conversation(openai_responses, 9_000).fit(
        [*talk[:at], *_orphan(forms, openai_responses), *talk[at:]]
    )

    assert [id(item) for item in sent] == [id(item) for item in talk]


@pytest.mark.parametrize("wire", [anthropic, bedrock, gemini], ids=lambda wire: wire.ADAPTER.name)
def test_what_parts_two_items_stays(forms: Any, wire: ModuleType) -> None:
    """An orphan in front comes or goes: what was sent before is sent again, with no word between.

    Whatever stands before a model's reasoning must not change.
    """
    talk = _talk(forms, wire)[3:]
    with_orphan = [*_orphan(forms, wire), *talk]
    more = [*talk, *_talk(forms, wire, 4, 1)]
    with_both = [*_orphan(forms, wire), *more]
    for former, now in ((talk, with_both), (with_orphan, more)):
        conversation = Conversation(wire, 9_000)
        before = conversation.fit(former)

        sent = conversation.fit(now)

        assert conversation.latest is not None
        assert conversation.latest.extends
        assert sent[: len(before)] == before


def test_refused_request_explains_all_that_is_missing(forms: Any) -> None:
    """Also what the owner appended since the epoch began."""
    conversation = forms.make(openai_chat, 60_000, strategies=[TruncateToolOutputs(60)])
    talk = _talk(forms, openai_chat, rounds=6)
    conversation.fit(talk)
    conversation.fit(grown := [*talk, *_talk(forms, openai_chat, 6, 6)])

    sent = conversation.fit(grown, refused=True)
    sent = conversation.fit(grown, refused=True)

    gone = {at for at, item in enumerate(grown) if not any(item is one for one in sent)}
    assert gone <= {at for each in conversation.explain() for at in each.positions}


@pytest.mark.parametrize(
    "wire", [openai_chat, anthropic, bedrock], ids=lambda wire: wire.ADAPTER.name
)
def test_refused_list_is_read_as_it_is_now(forms: Any, wire: ModuleType) -> None:
    """`refused=True` sends the newest message, and nothing that was taken back meanwhile."""
    talk, more = _talk(forms, wire, rounds=8), _talk(forms, wire, 8, 1)

    async def refused(now: list[Any]) -> list[Any]:
        conversation = forms.make(wire, 60_000)
        await conversation.fit_async(talk)
        sent: list[Any] = await conversation.fit_async(now, refused=True)
        return sent

    def refused_sync(now: list[Any]) -> list[Any]:
        conversation = forms.make(wire, 60_000)
        conversation.fit(talk)
        sent: list[Any] = conversation.fit(now, refused=True)
        return sent

    grown, rewound = [*talk, *more], talk[: -len(more)]

    assert asyncio.run(refused(grown))[-1] is more[-1]
    assert asyncio.run(refused(grown)) == refused_sync(grown)
    assert "u7" not in str(asyncio.run(refused(rewound)))
    assert asyncio.run(refused(rewound)) == refused_sync(rewound)
