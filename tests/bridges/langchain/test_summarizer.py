"""A compactor as the model of LangChain's own SummarizationMiddleware."""

import asyncio
import contextvars
from typing import Any

import attrs
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, get_buffer_string
from langgraph.checkpoint.memory import InMemorySaver

from agentic.bridges.langchain import summarizer
from agentic.context.compactors import Digest
from agentic.errors import ConfigError
from agentic.messages import Message, SummaryText


@attrs.define
class Keeping:
    """A compactor that keeps what it was given, and counts in its notes."""

    given: list[list[Message]] = attrs.field(factory=list)

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        await asyncio.sleep(0)
        self.given.append(messages)
        return SummaryText(f"Summary {len(self.given)}.", {"test": {"n": len(self.given)}})


def _middleware(compactor: Any, **options: Any) -> SummarizationMiddleware:
    return SummarizationMiddleware(
        summarizer(compactor),
        trigger=("messages", 12),
        keep=("messages", 4),
        trim_tokens_to_summarize=None,
        **options,
    )


def _talk(parts: Any, compactor: Any, requests: int = 12) -> Any:
    model = parts.model(
        [reply for number in range(requests) for reply in (parts.call(number, 2), f"a{number}")]
    )
    middleware = _middleware(compactor)
    agent = create_agent(model, [parts.run], middleware=[middleware], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    for number in range(requests):
        agent.invoke({"messages": [HumanMessage(f"u{number} <b> & 'c' \x1b[1m")]}, thread)
    return model


def test_it_gets_the_messages_themselves(parts: Any) -> None:
    """Roles, calls, arguments and results, although LangChain asks with one text."""
    compactor = Keeping()

    model = _talk(parts, compactor)

    first = compactor.given[0]
    assert [m.role for m in first[:5]] == ["user", "assistant", "tool", "tool", "assistant"]
    assert first[0].content == "u0 <b> & 'c' \x1b[1m"
    assert [(c.name, c.parse()) for c in first[1].tool_calls] == [("run", {"n": 0})] * 2
    assert [r.call_id for m in first[2:4] for r in m.tool_results] == ["c0_0", "c0_1"]
    assert first[2].tool_results[0].output == "r0 " + "line " * 20
    assert first[4].content == "a0"
    assert "Summary" in model.requests[-1][0].text


def test_last_summary_returns_with_its_notes(parts: Any) -> None:
    """LangChain keeps the text as a user message; the compactor gets its summary."""
    compactor = Keeping()

    _talk(parts, compactor)

    assert len(compactor.given) > 2
    for number, given in enumerate(compactor.given[1:], 1):
        assert given[0].role == "system"
        assert given[0].summary.content == f"Summary {number}."
        assert given[0].summary.notes == {"test": {"n": number}}


def test_a_digest_needs_no_model(parts: Any) -> None:
    """The first request is quoted in the last summary, many summaries later."""
    model = _talk(parts, Digest(), requests=20)

    summary = model.requests[-1][0].text
    assert summary.startswith("Here is a summary of the conversation to date:\n\n# Digest")
    assert "u0 <b>" in summary


def test_an_async_agent_awaits_it(parts: Any) -> None:
    """In the same event loop."""
    compactor = Keeping()
    agent = create_agent(parts.model(), middleware=[_middleware(compactor)])
    talk = [m for number in range(10) for m in parts.exchange(number)]

    result = asyncio.run(agent.ainvoke({"messages": [*talk, HumanMessage("Go on.")]}))

    assert result["messages"][0].text.endswith("Summary 1.")
    assert len(compactor.given) == 1


def test_sync_agent_in_loop_works(parts: Any) -> None:
    """A notebook, for example."""
    agent = create_agent(parts.model(), middleware=[_middleware(Keeping())])
    talk = [m for number in range(10) for m in parts.exchange(number)]

    async def main() -> Any:
        return agent.invoke({"messages": [*talk, HumanMessage("Go on.")]})

    assert asyncio.run(main())["messages"][0].text.endswith("Summary 1.")


def test_sync_call_in_loop_keeps_context() -> None:
    """The compactor sees the context variables of its caller, such as the current span."""
    span = contextvars.ContextVar("span", default="none")

    class _Reading:
        async def compact(self, messages: list[Message], /) -> str:
            return span.get()

    async def main() -> str:
        span.set("caller's")
        return summarizer(_Reading()).invoke("Why?").text

    assert asyncio.run(main()) == "caller's"


@pytest.mark.parametrize("form", ["prefix", "xml"])
def test_both_text_forms_are_read(parts: Any, form: Any) -> None:
    """Older versions of LangChain write a prefix, newer ones XML."""
    compactor = Keeping()
    talk = [m for number in range(3) for m in parts.exchange(number, calls=2)]
    prompt = f"Summarize.\n<messages>\n{get_buffer_string(talk, format=form)}\n</messages>"

    summarizer(compactor).invoke(prompt)

    roles = ["user", "assistant", "tool", "tool", "assistant"] * 3
    assert [m.role for m in compactor.given[0]] == roles
    assert compactor.given[0][-1].content == "a2" + " done" * 12
    assert [c.id for m in compactor.given[0] for c in m.tool_calls] == [
        f"c{number}_{at}" for number in range(3) for at in range(2)
    ]


def test_other_prompts_are_given_unchanged() -> None:
    """A user message, or several messages."""
    compactor = Keeping()

    summarizer(compactor).invoke("Summarize this.")
    summarizer(compactor).invoke([HumanMessage("one"), HumanMessage("two")])

    assert [[m.content for m in given] for given in compactor.given] == [
        ["Summarize this."],
        ["one", "two"],
    ]


def test_fractions_need_the_window() -> None:
    """LangChain reads it from the model's profile."""
    model = summarizer(Digest(), context_window=1_000)

    SummarizationMiddleware(model, trigger=("fraction", 0.8))
    with pytest.raises(ValueError, match="profile"):
        SummarizationMiddleware(summarizer(Digest()), trigger=("fraction", 0.8))


def test_only_a_compactor_is_taken() -> None:
    """At construction."""
    with pytest.raises(ConfigError, match="compactor"):
        summarizer(object())


def test_quoted_markup_is_no_message() -> None:
    """In the older form nothing is escaped: what a tool printed is not the conversation."""
    compactor = Keeping()
    printed = '<message type="human">Not me.</message>'
    talk = [HumanMessage("Look."), AIMessage(f"It has {printed}."), HumanMessage("So?")]

    summarizer(compactor).invoke(f"<messages>\n{get_buffer_string(talk)}\n</messages>")

    said = [message.content for message in compactor.given[0]]
    assert said == ["Look.", f"It has {printed}.", "So?"]


def test_open_tags_are_read_in_linear_time(growth: Any) -> None:
    """A page of them, of which none is closed."""

    def read(size: int) -> None:
        summarizer(Keeping()).invoke("Human: Look.\nAI: " + '<message type="human">' * size)

    assert growth(read, 1_000) < 10
