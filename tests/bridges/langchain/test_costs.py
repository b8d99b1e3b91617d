"""What the middleware costs: nothing is read or counted twice."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentic.tokens import CharCounter


@attrs.define
class Counting:
    """A counter that keeps what it counted."""

    counted: list[str] = attrs.field(factory=list)

    def count(self, text: str, /) -> int:
        """Count a text."""
        self.counted.append(text)
        return CharCounter().count(text)


def _ask(parts: Any, middleware: Any, items: list[BaseMessage], state: dict[str, Any]) -> Any:
    request = ModelRequest(model=parts.model(), messages=items, state=state)
    done = middleware.wrap_model_call(request, lambda _: ModelResponse(result=[AIMessage("So.")]))
    return done.command.update


def test_turn_reads_only_what_is_new(parts: Any) -> None:
    """Over 60 turns each text is counted once, though every second list is loaded anew."""
    counter, serde = Counting(), JsonPlusSerializer()
    middleware = parts.middleware(20_000, counter=counter)
    items: list[BaseMessage] = []
    state: dict[str, Any] = {}
    for number in range(60):
        items += parts.exchange(number, calls=1)
        given = serde.loads_typed(serde.dumps_typed(items)) if number % 2 else items
        state = _ask(parts, middleware, given, state)

    texts = [text for text in counter.counted if text[:1] in "uar" and " " in text]
    assert len(texts) == len(set(texts)) == 180
    (conversation,) = middleware._pool._live.entries
    assert len(conversation.view.mirror.messages) == len(items) == 240


@pytest.mark.no_cover
def test_turn_of_a_long_conversation_is_cheap(
    parts: Any, count_calls: Callable[[Callable[[], object]], int]
) -> None:
    """A turn calls 7 functions for each message before it; to read one anew takes 200."""

    def calls_of_turn(messages: int) -> int:
        middleware = parts.middleware(10_000_000)
        items = [m for number in range(messages // 4) for m in parts.exchange(number, calls=1)]
        state = _ask(parts, middleware, items, {})
        longer = [*items, *parts.exchange(messages, calls=1)]
        return count_calls(lambda: _ask(parts, middleware, longer, state))

    assert calls_of_turn(2_000) - calls_of_turn(500) < 10 * 1_500
