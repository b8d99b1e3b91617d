"""A decorated function: called by Python, and run for a model."""

import asyncio
import contextvars
import enum
import functools
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic import tools
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.tools._function import FunctionTool


def _run(tool: tools.Tool, arguments: str = "{}") -> ToolResult:
    return asyncio.run(
        tools.Registry(tool).execute(ToolCall("c1", tool.definition.name, arguments))
    )


@tools.tool
def repeat(text: str, times: int = 2) -> str:
    """Say it again."""
    return text * times


def test_decorated_function_is_still_itself() -> None:
    """Name, docstring and signature stay, and calling it calls it."""
    assert repeat("ab", times=1) == "ab"
    assert (repeat.__name__, repeat.__doc__) == ("repeat", "Say it again.")
    assert inspect.signature(repeat) == inspect.signature(repeat.__wrapped__)


def test_options_replace_what_the_function_says() -> None:
    """Name, description and callers can be given at the decorator."""

    @tools.tool(name="echo", description="Echo.", allowed_callers=["programmatic"])
    def repeat(text: str) -> str:
        """Say it again."""
        return text

    assert attrs.asdict(repeat.definition) | {"parameters": None} == {
        "name": "echo",
        "description": "Echo.",
        "parameters": None,
        "allowed_callers": ("programmatic",),
        "annotations": {},
        "retry": "always",
    }


def test_a_function_tool_is_a_tool() -> None:
    """It fits the protocol that a registry asks for."""
    assert isinstance(repeat, tools.Tool)
    assert isinstance(repeat, FunctionTool)


def test_absent_arguments_take_the_defaults() -> None:
    """What the model does not send, the function's default says."""
    assert _run(repeat, '{"text": "ab"}').output == "abab"


def test_arguments_arrive_as_signature_types() -> None:
    """A nested record, an enum, a path and a number from a key are made from their JSON."""

    class Color(enum.Enum):
        RED = "red"

    @attrs.frozen
    class Pen:
        color: Color
        width: float

    @tools.tool
    def draw(pen: Pen, target: Path, marks: dict[int, str]) -> bool:
        return pen == Pen(Color.RED, 2.0) and target == Path("a.png") and marks == {1: "one"}

    sent = '{"pen": {"color": "red", "width": 2}, "target": "a.png", "marks": {"1": "one"}}'
    assert _run(draw, sent).output == "true"


def test_async_function_is_awaited_on_loop() -> None:
    """It runs in the loop's own thread."""

    @tools.tool
    async def where() -> bool:
        await asyncio.sleep(0)
        return threading.current_thread() is threading.main_thread()

    assert _run(where).output == "true"


def test_sync_function_does_not_block_loop() -> None:
    """It waits in a thread for an event that only the running loop can set."""
    event = threading.Event()

    @tools.tool
    def wait() -> bool:
        return event.wait(timeout=60)

    async def main() -> ToolResult:
        waiting = asyncio.create_task(tools.Registry(wait).execute(ToolCall("c1", "wait")))
        await asyncio.sleep(0)
        event.set()
        return await waiting

    assert asyncio.run(main()).output == "true"


def test_sync_function_sees_callers_context() -> None:
    """Context variables reach the thread."""
    user = contextvars.ContextVar("user", default="nobody")

    @tools.tool
    def who() -> str:
        return user.get()

    user.set("ada")
    assert _run(who).output == "ada"


def test_wrapper_of_async_function_is_awaited() -> None:
    """Its coroutine is no result."""

    async def inner(text: str) -> str:
        return f"<{text}>"

    @tools.tool
    @functools.wraps(inner)
    def outer(text: str) -> Any:
        return inner(text)

    assert _run(outer, '{"text": "ab"}').output == "<ab>"


@pytest.mark.parametrize("error", [StopIteration, SystemExit, ValueError])
def test_a_sync_function_that_raises_answers(error: type[BaseException]) -> None:
    """Also what a thread cannot hand over, and what would end the process."""

    @tools.tool
    def fail() -> str:
        raise error

    failure = _run(fail).error
    assert failure is not None
    assert failure.kind == "raised"
    assert error.__name__ in failure.message


@attrs.frozen
class Hit:
    """A place in a file."""

    line: int
    path: Path


class Answer(enum.StrEnum):
    """A word."""

    YES = "yes"


RESULTS: list[tuple[Callable[[], object], str]] = [
    (lambda: "text\ud800", "text\ud800"),
    (lambda: None, ""),
    (lambda: Answer.YES, "yes"),
    (lambda: 3, "3"),
    (lambda: ["é", True, None], '["é", true, null]'),
    (lambda: [Hit(3, Path("a.py"))], '[{"line": 3, "path": "a.py"}]'),
    (lambda: {1: {2}}, '{"1": [2]}'),
]


@pytest.mark.parametrize(("function", "output"), RESULTS)
def test_results_become_text_or_json(function: Callable[[], object], output: str) -> None:
    """A str is itself, None is nothing, and anything else is its JSON."""
    result = _run(tools.tool(function, name="get"))

    assert result == ToolResult("c1", "get", output)
    assert type(result.output) is str


@pytest.mark.parametrize("value", [b"bytes", [b"nested"], object(), {(1, 2): 3}, iter("ab")])
def test_non_json_result_is_a_failure(value: object) -> None:
    """The model learns that the tool may have taken effect, and its author what to mend."""
    failure = _run(tools.tool(lambda: value, name="get")).error

    assert failure is not None
    assert failure.kind == "raised"
    assert failure.message.startswith("the tool ran, but its result cannot be shown: TypeError")


def test_function_may_add_notice_and_reference() -> None:
    """Its call id and name are those of the call, whatever it says."""
    given = ToolResult("", "other", "tail", notice="[Cut.]", ref="/spill/1")

    result = _run(tools.tool(lambda: given, name="get"))

    assert result == attrs.evolve(given, call_id="c1", name="get")


def test_function_may_give_its_own_failure() -> None:
    """A tool that knows what the model should do says it without raising."""
    result = _run(tools.tool(lambda: ToolError("try later", "timeout"), name="get"))

    assert result == ToolResult("c1", "get", error=ToolError("try later", "timeout"))
