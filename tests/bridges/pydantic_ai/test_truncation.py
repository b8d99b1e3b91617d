"""What tools return is cut to its limits before it enters the history."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, ToolReturn
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.test import TestModel

from agentic import events
from agentic.bridges.pydantic_ai import TruncateToolReturns
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.truncate import Mode, Options

_IMAGE = BinaryContent(b"\x89PNG", media_type="image/png")
_LINES = "\n".join(f"line {n}" for n in range(100))


def _returned(tool: Callable[[], Any], capability: Any = None) -> list[Any]:
    """Return the parts that a tool's return becomes in the history."""
    capability = capability or TruncateToolReturns(Options(max_lines=3))
    agent = Agent(TestModel(), capabilities=[capability])
    agent.tool_plain(tool)
    messages = asyncio.run(agent.run("Go.")).all_messages()
    return [part for message in messages[2:-1] for part in message.parts]


def test_long_text_is_cut() -> None:
    """The text ends with a notice of what is missing."""
    [part] = _returned(lambda: _LINES)
    assert part.content.startswith("line 97\nline 98\nline 99\n97 of 100 lines")


def test_short_return_stays_same() -> None:
    """What fits is not touched, whatever its type."""
    for value in ("one", {"n": 1}, 3, None, ["a", _IMAGE]):
        [part] = _returned(lambda value=value: value)
        assert part.content == value


def test_images_are_kept() -> None:
    """The text is cut, and the files beside it stay."""
    [part] = _returned(lambda: [_LINES, _IMAGE])
    text, image = part.content
    assert text.startswith("line 97\n")
    assert image is _IMAGE


def test_data_is_cut_as_json() -> None:
    """Data is cut as the text that the model would read."""
    limits = TruncateToolReturns(Options(mode=Mode.HEAD, max_bytes=10))
    [part] = _returned(lambda: {"rows": [*range(100)]}, limits)
    assert part.content.startswith('{"rows":[0')
    assert "bytes" in part.content


def test_tool_return_keeps_metadata() -> None:
    """Only the value is cut; the application's metadata and the words beside it stay."""
    part, words = _returned(lambda: ToolReturn(_LINES, content="See:", metadata={"took": 3}))
    assert isinstance(part, ToolReturnPart)
    assert part.content.startswith("line 97\n")
    assert part.metadata == {"took": 3}
    assert words.content == "See:"


def test_whole_text_is_stored() -> None:
    """The notice names where the whole text is."""
    store = MemoryStore()
    [part] = _returned(lambda: _LINES, TruncateToolReturns(Options(max_lines=3), store=store))
    ref = part.content.rpartition("\n")[2].split()[-1].strip(".,:;")
    assert asyncio.run(store.get(ref)) == _LINES


def test_failing_store_ends_no_run(caplog: pytest.LogCaptureFixture) -> None:
    """Without a place, the notice names none."""

    class _Full:
        async def put(self, output: str, /) -> str:
            raise OSError(28, "no space left on device")

        async def get(self, ref: str, /) -> str:
            raise NotImplementedError

    [part] = _returned(lambda: _LINES, TruncateToolReturns(Options(max_lines=3), store=_Full()))
    assert part.content.startswith("line 97\n")
    assert "could not be stored" in caplog.text


def test_cut_is_an_event() -> None:
    """A receiver learns which call was cut, and how much of it is missing."""
    seen: list[Any] = []

    def receive(_: object, event: events.ToolOutputTruncated) -> None:
        seen.append(event)

    with events.tool_output_truncated.connected_to(receive):
        _returned(lambda: _LINES)
    assert [(event.call.name, event.truncation.total_lines) for event in seen] == [
        ("<lambda>", 100)
    ]
    assert seen[0].run_id


def test_retry_passes_through() -> None:
    """A tool that asks for another attempt is not an output."""
    tries: list[int] = []

    def read() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ModelRetry(_LINES)
        return "one"

    parts = _returned(read)
    assert str(parts[0].content) == _LINES
    assert parts[-1].content == "one"


def test_wrong_parts_are_refused_at_once() -> None:
    """Not in the middle of a run, by the first tool that returns something."""
    for parts in ({"options": {"max_lines": 3}}, {"store": "outputs.db"}):
        with pytest.raises(ConfigError, match=next(iter(parts))):
            TruncateToolReturns(**parts)  # type: ignore[arg-type]
