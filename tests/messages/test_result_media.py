"""What a tool returns besides text: stored, counted, cleared, hidden and read again."""

import asyncio
import json

import attrs
import pytest
from hypothesis import given

from agentic.context.compactors import Model
from agentic.context.strategies import ClearToolOutputs, TruncateToolOutputs
from agentic.context.view._lineage import digest_of
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import truncate_result
from agentic.messages import Media, Message, ToolCall, ToolResult, from_plain, to_plain
from agentic.session import RecallTool
from agentic.testing import conversations
from agentic.tokens import count_message_tokens
from agentic.tools import Registry, tool
from agentic.truncate import Options

PICTURE = Media("image/png", b"\x89PNG\r\n")
CALL = Message("assistant", tool_calls=[ToolCall("c1", "look", "{}")])
SEEN = ToolResult("c1", "look", "a tree", media=[PICTURE])


def _answer(result: ToolResult = SEEN) -> Message:
    return Message("tool", tool_results=[result])


def test_media_survive_the_plain_form() -> None:
    """As base64, in the result that they belong to."""
    plain = json.loads(json.dumps(to_plain(_answer())))

    assert plain["tool_results"][0]["media"] == [{"media_type": "image/png", "data": "iVBORw0K"}]
    assert from_plain(plain) == _answer()


@given(messages=conversations())
def test_results_without_media_are_stored_unchanged(messages: list[Message]) -> None:
    """The same bytes as an older version wrote, which had no such field."""
    bare = [
        attrs.evolve(
            message, tool_results=[attrs.evolve(each, media=()) for each in message.tool_results]
        )
        for message in messages
    ]

    stored = [result for message in bare for result in to_plain(message).get("tool_results", [])]

    assert all("media" not in result for result in stored)


def test_media_of_another_type_are_refused() -> None:
    """A url alone is no Media."""
    with pytest.raises(ConfigError, match=r"ToolResult\.media must be a list of Media"):
        ToolResult("c1", media=["https://example.com/a.png"])  # type: ignore[list-item]


def test_media_of_results_are_counted_flat() -> None:
    """Like those of a message."""
    bare = _answer(attrs.evolve(SEEN, media=()))

    assert count_message_tokens(_answer()) == count_message_tokens(bare) + 600


def test_all_media_come_in_order() -> None:
    """The message's own first."""
    other = Media("image/gif", b"GIF89a")

    assert Message("tool", tool_results=[SEEN], media=[other]).all_media == (other, PICTURE)


def test_another_picture_is_another_view() -> None:
    """A View that hashes what a provider would see tells two results apart by their media."""
    other = _answer(attrs.evolve(SEEN, media=[Media("image/png", b"other")]))

    assert digest_of([_answer()]) != digest_of([other])


def test_clearing_an_output_clears_its_media() -> None:
    """They are most of its size; the notice names them."""
    talk = [Message("user", "Look."), CALL, _answer(attrs.evolve(SEEN, output=""))]

    (_, _, answer) = ClearToolOutputs(100, keep_rounds=0, min_tokens=1).compact(talk)

    assert answer.tool_results[0].media == ()
    assert answer.tool_results[0].notice == (
        "[Cleared: look gave 1 attachment (image/png). Call it again if you need them.]"
    )


def test_media_outlive_the_truncation_of_text() -> None:
    """By a strategy or by the Runner's options."""
    long = attrs.evolve(SEEN, output="x" * 2_000)

    by_strategy = TruncateToolOutputs(1_000).compact([CALL, _answer(long)])[1]

    assert by_strategy.all_media == (PICTURE,)
    assert truncate_result(long, Options(max_bytes=100)).media == (PICTURE,)


def test_summarizer_reads_which_media_existed() -> None:
    """Their type, not their bytes."""
    prompts = []

    async def ask(prompt: str) -> str:
        prompts.append(prompt)
        return "## Done"

    asyncio.run(Model(ask).compact([Message("user", "Look."), CALL, _answer()]))

    assert '{"results": ["a tree"], "attached": ["image/png"]}\n' in prompts[0]


def test_recall_returns_media_on_first_page() -> None:
    """So that what was cleared can be seen again."""

    async def recall(offset: int) -> object:
        store = MemoryStore()
        for message in (CALL, _answer()):
            await store.append(message)
        return await RecallTool(store).run({"ref": "c1", "offset": offset})

    first, later = asyncio.run(recall(0)), asyncio.run(recall(2))

    assert isinstance(first, ToolResult)
    assert first.media == (PICTURE,)
    assert isinstance(later, ToolResult)
    assert later.media == ()


@pytest.mark.parametrize(
    ("value", "output"), [(PICTURE, ""), (ToolResult(output="a tree", media=[PICTURE]), "a tree")]
)
def test_a_function_may_return_media(value: object, output: str) -> None:
    """Alone, or in a result."""

    @tool
    def look() -> object:
        """Look out of the window."""
        return value

    result = asyncio.run(Registry(look).execute(ToolCall("c1", "look")))

    assert result == ToolResult("c1", "look", output, media=[PICTURE])
