"""A model has its own context compacted: why, and what to keep."""

import asyncio
import json
from typing import Any

import attrs
import pytest

from agentic.context.budget import Policy
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Input
from agentic.messages import Message, ToolCall
from agentic.session import CompactionTool, Session
from agentic.tokens import CharCounter
from agentic.tools import Registry

_POLICY = Policy(100_000, min_recent_messages=2, keep_recent_tokens=0)
_CALL = {"reason": "the parser is done", "keep": "the names of its tests"}


@attrs.define(eq=False)
class _Guided:
    """Writes summaries, and keeps what each should focus on."""

    focus: list[str] = attrs.field(factory=list)

    async def compact(self, messages: list[Message], /) -> str:
        return await self.compact_with(messages, "")

    async def compact_with(self, _: list[Message], instructions: str, /) -> str:
        self.focus.append(instructions)
        return f"Summary {len(self.focus)}."


@attrs.define(eq=False)
class _Model:
    """Asks for a compaction in each of these turns, and keeps the requests."""

    turns: set[int]
    requests: list[Input] = attrs.field(factory=list)

    async def decide(self, request: Input, /) -> Decision:
        self.requests.append(request)
        if request.turn > max(self.turns):
            return Decision("Done.")
        calls = [ToolCall(f"c{request.turn}", "compact_context", json.dumps(_CALL))]
        return Decision("I think. " * 40, calls if request.turn in self.turns else [])


def _run(model: _Model, texts: list[str], most: int = 3) -> tuple[_Guided, list[str]]:
    """Return the compactor, and what the tool answered."""
    compactor, store = _Guided(), MemoryStore()
    session = Session("s", store, counter=CharCounter(), policy=_POLICY, compactor=compactor)

    async def talk() -> None:
        for number in range(8):
            await session.append(Message("user", f"Remark {number}. " * 20))
            await session.append(Message("assistant", "So it is. " * 20))
        runner = session.runner(model, Registry([session.compaction_tool(most=most)]))
        for text in texts:
            await runner.run(text)

    asyncio.run(talk())
    full = asyncio.run(store.full())
    return compactor, [result.output for each in full for result in each.tool_results]


def test_summary_is_made_at_the_end_of_the_round() -> None:
    """With the model's own words; its call and the answer stay."""
    model = _Model({1})

    compactor, answers = _run(model, ["Mend the parser."])

    assert compactor.focus == ["the names of its tests (asked because: the parser is done)"]
    assert answers == ["The older part will be summarized after this round. Go on as before."]
    first, second = model.requests
    assert len(first.history) == 17
    assert [each.role for each in second.history] == ["system", "user", "assistant", "tool"]
    assert "Summary 1." in second.history[0].content


def test_number_between_two_requests_is_bounded() -> None:
    """A model that asks in every turn is told to go on; the next request counts anew."""
    model = _Model({1, 2, 3, 4})

    _, answers = _run(model, ["Mend the parser.", "And the lexer."], most=2)

    assert [answer.startswith("Not again") for answer in answers] == [False, False, True, True] * 2


@pytest.mark.parametrize(
    "arguments", [{}, {"reason": "x"}, {"reason": "x", "keep": " "}, {"reason": 1, "keep": "y"}]
)
def test_missing_words_are_asked_for(arguments: dict[str, Any]) -> None:
    """A summary without a focus is what the triggers make anyway."""
    asked: list[str] = []
    tool = CompactionTool(lambda text, _: not asked.append(text))

    answer = asyncio.run(tool.run(arguments))

    assert "must be a text that is not blank" in str(answer)
    assert asked == []


def test_any_view_serves_the_tool() -> None:
    """Also without a session; nothing happens before the next request."""
    compactor = _Guided()
    view = View(_POLICY, counter=CharCounter(), compactor=compactor)
    talk = [Message("user", f"Remark {number}. " * 20) for number in range(8)]

    async def ask() -> list[bool]:
        tool = CompactionTool(view.compact_next)
        done = [(await view.prepare(talk)).compaction is not None]
        await tool.run(_CALL)
        done += [(await view.prepare(talk)).compaction is not None for _ in range(2)]
        return done

    assert asyncio.run(ask()) == [False, True, False]
    assert len(compactor.focus) == 1
    with pytest.raises(ConfigError, match="compact_next"):
        CompactionTool(view)  # type: ignore[arg-type]
