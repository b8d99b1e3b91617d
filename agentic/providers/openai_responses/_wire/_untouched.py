"""Conversations that go back as they came, item by item.

Nothing is looked up twice: what matters of a message's items is remembered with them. The rules are
those of the writer in `_encode`, which takes over where anything has to change.
"""

from collections.abc import Iterable
from typing import Any

import attrs

from agentic.messages import Message
from agentic.providers._native import payload_facts
from agentic.providers._plain import text_at
from agentic.providers._sendable import sendable
from agentic.providers.openai_responses._wire._calls import is_id
from agentic.providers.openai_responses._wire._items import (
    ANSWERS,
    OUTPUTS,
    own_id,
    runs_on_server,
    type_of,
)
from agentic.providers.openai_responses._wire._name import NAME

__all__ = ["items_as_they_came"]

_ANY_CALL = "function_call_output"
"""Accepted as the output of other calls, too."""


@attrs.frozen
class _Facts:
    """What other messages of a request may contradict."""

    own_ids: frozenset[str]
    calls: tuple[tuple[str, str], ...]
    """The ids of an assistant's calls, all different, and the type of their answers."""
    answers: tuple[tuple[str, str], ...]
    """The ids of the calls that a tool message answers, all different, and the type of each."""


def items_as_they_came(messages: Iterable[Message]) -> list[Any] | None:
    """Return the items of untouched messages; None if something in them may have to change."""
    items: list[Any] = []
    used: set[str] = set()
    waiting: dict[str, str] = {}
    role: str = ""
    for message in messages:
        facts = payload_facts(message, NAME, _facts)
        if facts is None or message.native is None:
            return None
        before, role = role, message.role
        if waiting and role == "assistant" and before != "assistant":
            waiting = {}
        if facts.own_ids:
            if not used.isdisjoint(facts.own_ids):
                return None
            used |= facts.own_ids
        if facts.calls and not (role == "assistant" and _ask(facts.calls, waiting)):
            return None
        if facts.answers and not (role == "tool" and _answer(facts.answers, waiting)):
            return None
        items += message.native.payload
    return items


def _ask(calls: tuple[tuple[str, str], ...], waiting: dict[str, str]) -> bool:
    """Note calls; return whether none of them has the id of one that waits."""
    for call_id, answer in calls:
        if call_id in waiting:
            return False
        waiting[call_id] = answer
    return True


def _answer(answers: tuple[tuple[str, str], ...], waiting: dict[str, str]) -> bool:
    """Note answers; return whether each has the form that its call asks for."""
    for call_id, kind in answers:
        asked_for = waiting.pop(call_id, kind)
        if kind not in (_ANY_CALL, asked_for):
            return False
    return True


def _facts(payload: Any) -> _Facts | None:
    """Read the items of a payload; None if they are not sent as they are wherever they stand."""
    if not isinstance(payload, list) or not payload or sendable(payload) is not payload:
        return None
    kinds = list(map(type_of, payload))
    own_ids = [own for item in payload if (own := own_id(item))]
    calls, answers = [], []
    for item, kind in zip(payload, kinds, strict=True):
        if kind in OUTPUTS:
            answers.append((text_at(item, "call_id"), kind))
        elif kind in ANSWERS and not runs_on_server(item):
            calls.append((text_at(item, "call_id"), ANSWERS[kind]))
    # What has no id there, a shell's call, may be named by its item. A reply that ends with
    # reasoning was cut off.
    ids = [call_id for call_id, _ in calls + answers]
    plain = all(map(is_id, ids)) and not (calls and answers) and kinds[-1] != "reasoning"
    unique = len({*own_ids}) == len(own_ids) and len({*ids}) == len(ids)
    return _Facts(frozenset(own_ids), tuple(calls), tuple(answers)) if plain and unique else None
