"""What a provider compacted is in an opaque item, which outlives whatever is cut."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from agentic.bridges import dicts
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow, Importance, KeepLast, TrimRounds
from agentic.context.view import View
from agentic.messages import Message
from agentic.providers import anthropic, openai_responses
from agentic.tokens import CharCounter

ITEM = {"type": "compaction", "id": "cmp_2", "encrypted_content": "gAAAA2"}
BLOCK = {"type": "compaction", "content": "The parser was mended.", "encrypted_content": "EqQB2"}
POLICY = Policy(4_000, reserve_tokens=200, keep_recent_tokens=500, min_recent_messages=2)


def _words(who: str, turn: int) -> dict[str, Any]:
    text = f"{who} {turn}. " * 20
    return {"role": who, "content": text}


def _responses(turns: int) -> list[dict[str, Any]]:
    """Return a list of items with an older compaction, and one a third from its end."""
    items = [_words(who, turn) for turn in range(turns) for who in ("user", "assistant")]
    items.insert(len(items) * 2 // 3 // 2 * 2, ITEM)
    items.insert(4, {**ITEM, "id": "cmp_1", "encrypted_content": "gAAAA1"})
    return items


def _anthropic(turns: int) -> list[dict[str, Any]]:
    items = [_words(who, turn) for turn in range(turns) for who in ("user", "assistant")]
    at = len(items) * 2 // 3 // 2 * 2 + 1
    items[at] = {"role": "assistant", "content": [BLOCK, {"type": "text", "text": "So."}]}
    items[5] = {"role": "assistant", "content": [{**BLOCK, "encrypted_content": "EqQB1"}]}
    return items


def _compactions(sent: list[dict[str, Any]]) -> list[str]:
    """Return the data of the compactions in what is sent, in order."""
    parts = [
        part for each in sent for part in (each.get("content") or []) if isinstance(part, dict)
    ]
    return [
        each["encrypted_content"] for each in (*sent, *parts) if each.get("type") == "compaction"
    ]


def _assert_in_order(sent: list[dict[str, Any]]) -> None:
    """Check that our own record follows the compaction: Anthropic reads nothing before that."""
    texts = list(map(str, sent))
    compacted = next(at for at, text in enumerate(texts) if "'compaction'" in text)
    record = next(at for at, text in enumerate(texts) if "[Context Summary" in text)
    assert compacted < record < len(sent) - 1


CASES = [
    pytest.param(openai_responses, _responses, "gAAAA2", id="responses"),
    pytest.param(anthropic, _anthropic, "EqQB2", id="anthropic"),
]


@pytest.mark.parametrize(("wire", "make", "latest"), CASES)
def test_latest_compaction_outlives_a_summary(
    wire: ModuleType, make: Callable[[int], list[dict[str, Any]]], latest: str
) -> None:
    """Byte for byte, before what is kept of the messages that followed it."""
    view = View(POLICY, counter=CharCounter(), compactor=Digest(max_tokens=300))

    prepared = view.prepare_sync(wire.decode(make(60)))

    assert prepared.compaction is not None
    assert prepared.compaction.changed
    request = wire.encode_request(prepared.messages)
    sent = request.get("input") or request.get("messages")
    assert _compactions(sent) == [latest]
    _assert_in_order(sent)


@pytest.mark.parametrize(("wire", "make", "latest"), CASES)
def test_latest_compaction_stays_in_somebody_elses_list(
    wire: ModuleType, make: Callable[[int], list[dict[str, Any]]], latest: str
) -> None:
    """The objects of the caller, through the bridge for lists of dicts."""
    items = make(60)

    sent = dicts.Conversation(wire, POLICY).fit(items)

    assert len(sent) < len(items)
    assert _compactions(sent) == [latest]
    _assert_in_order(sent)


@pytest.mark.parametrize(
    "strategy",
    [
        KeepLast(4),
        TrimRounds(1),
        FitContextWindow(1_000),
        Importance(keep_recent=2, min_score_threshold=1.0, user_message_score=0.1),
    ],
)
@pytest.mark.parametrize(("wire", "make", "latest"), CASES)
def test_latest_compaction_outlives_a_strategy(
    strategy: Any, wire: ModuleType, make: Callable[[int], list[dict[str, Any]]], latest: str
) -> None:
    """A cut does not write down what it leaves out, and nobody else can."""
    messages = wire.decode(make(60))

    view = strategy.compact(messages)

    assert _compactions(wire.encode(view))[-1] == latest
    assert strategy.compact(view) == view


@pytest.mark.parametrize(("wire", "make", "latest"), CASES)
def test_record_that_was_compacted_stays_before_the_compaction(
    wire: ModuleType, make: Callable[[int], list[dict[str, Any]]], latest: str
) -> None:
    """What the provider compacted later covers our record."""
    view = View(POLICY, counter=CharCounter(), compactor=Digest(max_tokens=300))
    plain = [_words(who, turn) for turn in range(60) for who in ("user", "assistant")]
    before = view.prepare_sync(wire.decode(plain)).messages
    later = wire.decode(make(60)[-45:])

    request = wire.encode_request([*before, *later])

    texts = list(map(str, request.get("input") or request.get("messages")))
    record = next(at for at, text in enumerate(texts) if "[Context Summary" in text)
    assert record == 0
    assert any(latest in text for text in texts)


def test_failed_compaction_stands_for_nothing() -> None:
    """Anthropic's block is then empty, and goes with its round."""
    failed = {"type": "compaction", "content": None, "encrypted_content": None}
    items = [_words(who, turn) for turn in range(60) for who in ("user", "assistant")]
    items[41] = {"role": "assistant", "content": [failed, {"type": "text", "text": "So."}]}
    view = View(POLICY, counter=CharCounter(), compactor=Digest(max_tokens=300))

    prepared = view.prepare_sync(anthropic.decode(items))

    assert "compaction" not in str(anthropic.encode(prepared.messages))


def test_readable_compaction_is_in_the_digest() -> None:
    """An older one, which is no longer sent, as a former summary is."""
    messages = anthropic.decode(_anthropic(20)[:8])

    text = Digest().write(messages)

    assert "The parser was mended." in text


def test_compaction_is_found_in_a_part_of_a_message() -> None:
    """A reply that came first keeps its place in the payload."""
    messages = anthropic.decode(_anthropic(20)[5:])
    stored = [Message("user", "Go on."), *messages]

    assert _compactions(anthropic.encode(KeepLast(3).compact(stored)))[-1] == "EqQB2"
