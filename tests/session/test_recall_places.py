"""Where a search of the recall tool finds something, and what its references lead to."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.history import MemoryStore
from agentic.messages import Message, ToolCall, ToolResult
from agentic.session import RecallTool, Session
from agentic.session._search import Piece, search
from agentic.tokens import CharCounter


def _call(*ids: str) -> Message:
    return Message("assistant", tool_calls=[ToolCall(call_id, "ls", "{}") for call_id in ids])


def _results(*outputs: tuple[str, str]) -> Message:
    return Message("tool", tool_results=[ToolResult(ref, "ls", text) for ref, text in outputs])


def _ask(messages: Sequence[Message], **arguments: Any) -> Any:
    """Ask about messages that are all out of sight."""

    async def ask() -> Any:
        store = MemoryStore()
        for message in messages:
            await store.append(message)
        await store.replace([])
        return await RecallTool(store).run(arguments)

    return asyncio.run(ask())


def _full_session(*, outputs: int) -> tuple[Session, Any]:
    """Make a session whose newest outputs are each larger than the window."""
    session = Session(
        "s",
        MemoryStore(),
        counter=CharCounter(),
        policy=Policy(4_000, reserve_tokens=400),
        compactor=Digest(),
        auto_summarize=False,
        recall=True,
    )

    async def fill() -> None:
        await session.append(Message("user", "task"))
        for number in range(outputs):
            text = "\n".join(f"needle{line} of {number}" for line in range(3_000))
            await session.append(_call(f"c{number}"))
            await session.append(_results((f"c{number}", text)))

    asyncio.run(fill())
    return session, session.recall_tool()


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_output_cut_by_request_is_found(outputs: int) -> None:
    """It is in the history, and not in front of the model."""
    session, tool = _full_session(outputs=outputs)
    prepared = asyncio.run(session.prepare("Be brief."))
    assert "outputs_truncated" in [note.kind for note in prepared.notes]

    for number in range(outputs):
        found = asyncio.run(tool.run({"query": f"needle1500 of {number}"}))

        assert found.output.startswith(f"[c{number}] ls")


def test_output_cut_by_request_explains_reading() -> None:
    """Once there is a recall tool, and it works."""
    session, tool = _full_session(outputs=1)

    prepared = asyncio.run(session.prepare("Be brief."))
    (result,) = prepared.messages[-1].tool_results
    page = asyncio.run(tool.run({"ref": "c0", "offset": 20_000, "limit": 100}))

    assert result.notice.endswith('are left out. All of it: recall(ref="c0")]')
    assert "needle" in page.output


def test_long_system_prompt_hides_more() -> None:
    """What it takes of the window, the messages do not have."""
    session, tool = _full_session(outputs=0)
    talk = [Message("user", f"{number} needle {'x' * 800}") for number in range(12)]

    async def ask() -> Any:
        for message in talk:
            await session.append(message)
        sent = await session.prepare("word " * 2_000)
        shown = {message.content for message in sent.messages}
        hidden = [message.content[:8] for message in talk if message.content not in shown]
        return hidden, [await tool.run({"query": start}) for start in hidden]

    hidden, found = asyncio.run(ask())

    assert hidden
    assert all(f"> {start}" in one.output for start, one in zip(hidden, found, strict=True))


def test_matches_behind_shown_part_are_found() -> None:
    """Every line of a log in JSON, each longer than what is shown of one."""
    lines = [json.dumps({"pad": "p" * 400, "level": "ERROR", "code": f"E{n}"}) for n in range(8)]
    talk = [_call("c1"), _results(("c1", "\n".join(lines)))]

    found = [_ask(talk, query="error", regex=regex, limit=30) for regex in (False, True)]

    for one in found:
        assert re.findall(r'"E(\d+)"', one.output) == [str(n) for n in range(8)]


def test_all_long_line_matches_are_shown() -> None:
    """One that is not beside the first is a place of its own."""
    line = f"{'x' * 5_000}needle-1{'y' * 50}needle-2{'y' * 5_000}needle-3{'z' * 5_000}"

    found = _ask([Message("user", f"{line}\nend")], query="needle")

    assert re.findall(r"needle-\d", found.output) == ["needle-1", "needle-2", "needle-3"]
    assert found.output.count("[m1]") == 2


@given(text=st.text("ab\n", max_size=60), fill=st.integers(0, 2))
@settings(max_examples=50, deadline=None)
def test_every_occurrence_is_shown(text: str, fill: int) -> None:
    """However long the lines are: each is a place, or in front of the model with one."""
    # Each place gets a number of its own, so that what is shown can be told apart.
    parts = text.replace("a", "a" + "." * 170 * fill).split("b")
    numbered = "".join(f"{part}<{number}>" for number, part in enumerate(parts))

    shown = asyncio.run(_shown(numbered))

    assert all(f"<{number}>" in shown for number in range(len(parts)))


async def _shown(text: str) -> str:
    async def read(piece: Piece) -> str:
        return piece.text

    pieces = [Piece("m1", "user", text)]
    plain = await search(pieces, read, "<", regex_seconds=None, most=999)
    return "\n".join(place.shown for place in plain)


def test_place_among_results_is_read_there() -> None:
    """A call's id that came again means the newer one; the older has a reference of its own."""
    many = "\n".join(f"line{number}" for number in range(1_000))
    talk = [_call("c1", "c2"), _results(("c1", "A\n" * 300), ("c2", many))]
    talk += [_call("c2"), _results(("c2", "newer"))]

    found = _ask(talk, query="line700")
    ((ref, offset),) = re.findall(r'ref="(.*?)", offset=(\d+)', found.notice)
    page = _ask(talk, ref=ref, offset=int(offset), limit=30)

    assert ref == "m2.2"
    assert "line700" in page.output
    assert page.notice.startswith("[m2.2 (ls), characters 5,")


def test_id_repeated_in_message_means_last() -> None:
    """The first has a reference of its own."""
    talk = [_call("c1", "c1"), _results(("c1", "old needle"), ("c1", "new needle"))]

    found = _ask(talk, query="needle").output

    assert re.findall(r"^\[(.*?)\]", found, re.MULTILINE) == ["c1", "m2.1"]
    assert _ask(talk, ref="c1").output == "new needle"
    assert _ask(talk, ref="m2.1").output == "old needle"
    assert "m1 to m2" in _ask(talk, ref="m2.3").message
    assert "m1 to m2" in _ask(talk, ref="m2.0").message


def test_reference_like_call_id_hides_nothing() -> None:
    """The reference means the message, and says where the result of the call is."""
    talk = [Message("user", "alpha"), _call("m1"), _results(("m1", "beta"))]

    message = _ask(talk, ref="m1")
    result = _ask(talk, query="beta")

    assert message.output == "alpha"
    assert message.notice.endswith('; of the call "m1": recall(ref="m3.1")]')
    assert result.output.startswith("[m3] ls, m3")
    assert _ask(talk, ref="m3.1").output == "beta"


def test_offset_beyond_places_is_told() -> None:
    """As a mistake where no search can go so far."""
    talk = [Message("user", "port")]

    failure = _ask(talk, query="port", offset=10**30)

    assert failure.kind == "bad_arguments"
    assert "10,000" in failure.message
    assert "only 1 place:" in _ask(talk, query="port", offset=5).output
    assert "m1 has 4 characters" in _ask(talk, ref="m1", offset=10**30).message
