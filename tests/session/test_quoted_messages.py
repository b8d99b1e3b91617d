"""A digest quotes a long message in part: the recall tool reads the whole of it."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.budget import Policy
from agentic.context.compactors import Digest, first_of, message_ref, with_digest
from agentic.context.strategies import FitContextWindow
from agentic.history import MemoryStore
from agentic.loop import Decision
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.session import RecallTool, Session
from agentic.testing import ScriptedDecider
from agentic.tokens import CharCounter
from agentic.tools import Registry

LONG = "Mend the parser.\n" + "Details follow here. " * 900 + "\nDo not touch the tests."


class _Prose:
    async def compact(self, messages: list[Message], /) -> str:
        return "They spoke."


class _Failing:
    async def compact(self, messages: list[Message], /) -> str:
        raise ConnectionError("the model is away")


def _session(compactor: Any = None, **options: Any) -> Session:
    policy = Policy(32_000, max_messages=10, min_recent_messages=4)
    options = {
        "counter": CharCounter(),
        "compactor": compactor or Digest(max_tokens=800),
        **options,
    }
    return Session("s", MemoryStore(), policy=policy, **options)


async def _summarized(session: Session, asked: Message) -> str:
    """Return the view after a long request and some chat have been summarized."""
    await session.append(asked)
    for number in range(10):
        await session.append(Message("user" if number % 2 else "assistant", f"Step {number}."))
    done = await session.summarize()
    assert done.changed
    return (await session.build_messages_for_llm())[0].content


async def _read_whole(tool: RecallTool, ref: str) -> str:
    text, page = "", None
    while page is None or "go on with" in page.notice:
        page = await tool.run({"ref": ref, "offset": len(text)})
        assert isinstance(page, ToolResult), page
        text += page.output
    return text


def _ask(messages: Sequence[Message], **arguments: Any) -> Any:
    async def ask() -> Any:
        store = MemoryStore()
        for message in messages:
            await store.append(message)
        await store.replace([])
        return await RecallTool(store).run(arguments)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "compactor",
    [
        Digest(max_tokens=800),
        first_of(with_digest(_Prose(), Digest(max_tokens=800)), Digest()),
        first_of(with_digest(_Failing()), Digest(max_tokens=800)),
    ],
    ids=["a digest", "below prose", "as a fallback"],
)
def test_digest_reference_gives_whole_request(compactor: Any) -> None:
    """From the view of a model to the very text, page by page."""
    session = _session(compactor, recall=True)

    async def ask() -> tuple[str, str]:
        tool = session.recall_tool()
        shown = await _summarized(session, Message("user", LONG))
        (ref,) = re.findall(r'characters left out: recall\(ref="(.*?)"\) \.\.\.\]', shown)
        return shown, await _read_whole(tool, ref)

    shown, whole = asyncio.run(ask())

    assert LONG not in shown
    assert whole == LONG


def test_digest_without_tool_names_no_place() -> None:
    """And what was given to a session is never changed."""
    given = first_of(with_digest(_Prose(), Digest(max_tokens=800)))
    named, unnamed = _session(given, recall=True), _session(given)

    named.recall_tool()
    unnamed.recall_tool()
    shown = asyncio.run(_summarized(unnamed, Message("user", LONG)))

    assert " ..." in shown
    assert "ref=" not in shown


def test_digest_with_own_tool_keeps_name() -> None:
    """Somebody may serve the archive under another name."""
    session = _session(Digest(max_tokens=800, recall="look_up"), recall=True)

    shown = asyncio.run(_summarized(session, Message("user", LONG)))

    assert 'look_up(ref="text-' in shown


def test_asking_for_tool_changes_nothing() -> None:
    """The order of calls does not matter, and the parts are those that were given."""
    given = first_of(with_digest(_Prose()))
    session = _session(given, recall=True)

    session.recall_tool()
    session.recall_tool()

    assert session.compactor is given


def test_session_runner_names_and_serves_recall() -> None:
    """A trigger of the Runner's summarizes, and the model reads on."""
    session = _session(recall=True)
    ref = message_ref(Message("user", LONG))
    call = ToolCall("c1", "recall", f'{{"ref": "{ref}", "limit": 16}}')
    model = ScriptedDecider(*["Yes."] * 6, Decision(tool_calls=[call]), "Now I know.")
    runner = session.runner(model, Registry(session.recall_tool()))

    async def talk() -> Any:
        for request in (LONG, *(f"Step {number}." for number in range(5))):
            await runner.run(request)
        return await runner.run("What was it about?")

    done = asyncio.run(talk())

    assert f'recall(ref="{ref}")' in model.requests[-1].history[0].content
    assert done.tool_results[0].output == "Mend the parser."


def test_named_message_reads_like_any_other() -> None:
    """It says who said it, and where; with a query, only it is searched."""
    image = Media("image/png", b"\x89PNG")
    talk = [Message("user", "Mend it."), Message("user", "The port is 8417.", media=[image])]
    ref = message_ref(talk[1])

    read = _ask(talk, ref=ref, limit=8)
    found = _ask(talk, ref=ref, query="port")

    assert read.output == "The port"
    assert read.notice == (
        f'[{ref} (user, m2), characters 0-8 of 17: go on with recall(ref="{ref}", offset=8)]'
    )
    assert found.output == f"[{ref}] user, m2, line 1 of 1\n> The port is 8417."


def test_reference_like_call_id_is_readable() -> None:
    """Unless a message has that very name."""
    call = Message("assistant", tool_calls=[ToolCall("text-0123456789ab", "ls", "{}")])
    answer = Message("tool", tool_results=[ToolResult("text-0123456789ab", "ls", "a.py")])

    assert _ask([call, answer], ref="text-0123456789ab").output == "a.py"


@given(st.text(st.characters(codec=None), min_size=1), st.sampled_from(["user", "system"]))
@settings(max_examples=50, deadline=None)
def test_reference_finds_any_message(text: str, role: Any) -> None:
    """Lone surrogates and white space included."""
    asked = Message(role, text)

    read = _ask(
        [Message("user", "before"), asked, Message("user", "after")], ref=message_ref(asked)
    )

    assert read.output == text


def test_strategy_digest_names_the_tool_too() -> None:
    """A window that says what it left out is asked for the whole of it in the same way."""
    digest = Digest(max_tokens=300)
    window = FitContextWindow(3_000, low_watermark=0.4, digest=digest)
    session = _session(strategies=[window], recall=True)

    async def ask() -> list[Message]:
        await session.append(Message("user", LONG))
        for number in range(40):
            role: Any = "user" if number % 2 else "assistant"
            await session.append(Message(role, f"Step {number}. " + "so " * 200))
        return await session.build_messages_for_llm()

    shown = asyncio.run(ask())

    assert any("recall(ref=" in message.content for message in shown if message.summary)
    assert digest.recall is None
