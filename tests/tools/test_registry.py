"""The reference executor: what it lists, what it runs, and what it answers."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import tools
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolError, ToolResult


@attrs.frozen
class Fixed:
    """A tool written by hand: it gives one value, or raises it."""

    definition: tools.ToolDefinition
    value: Any = "done"

    async def run(self, arguments: Mapping[str, Any], /) -> object:
        """Return the value."""
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


def _fixed(name: str, value: object = "done", **options: Any) -> Fixed:
    return Fixed(tools.ToolDefinition(name, **options), value)


def _execute(registry: tools.Registry, name: str, **options: Any) -> ToolResult:
    return asyncio.run(registry.execute(ToolCall("c1", name), **options))


def _failure(registry: tools.Registry, name: str, **options: Any) -> ToolError:
    failure = _execute(registry, name, **options).error
    assert failure is not None
    return failure


def _listed(registry: tools.Registry, **options: Any) -> list[str]:
    return [found.name for found in asyncio.run(registry.list_tools(**options))]


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), unique=True), st.integers(0, 5))
def test_tools_are_listed_as_registered(names: list[str], cut: int) -> None:
    """Given one by one, as a collection or later: the order is the same."""
    made = [_fixed(name) for name in names]

    registry = tools.Registry(made[:cut], *made[cut:-1])
    for late in made[max(cut, len(made) - 1) :]:
        registry.register(late)

    assert _listed(registry) == list(registry) == names


def test_a_name_is_registered_once() -> None:
    """Two tools of one name cannot be told apart by a model."""
    with pytest.raises(ConfigError, match="a name that is not registered yet, got 'read'"):
        tools.Registry(_fixed("read"), _fixed("read"))


@pytest.mark.parametrize("thing", [len, Fixed, None, 1, "read"])
def test_what_is_no_tool_is_refused(thing: Any) -> None:
    """The message says how a function becomes one."""
    with pytest.raises(ConfigError, match=r"a Tool, got .*@tools\.tool"):
        tools.Registry().register(thing)


def test_tool_is_looked_up_by_name() -> None:
    """The registry gives back the very object that it was given."""
    read = _fixed("read")
    registry = tools.Registry(read)

    assert registry["read"] is read
    assert ("read" in registry, "open" in registry) == (True, False)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["read", "run"], "no tool named 'raed'; did you mean 'read'"),
        ([], "no tool named 'raed'; registered tools: none"),
    ],
)
def test_unknown_name_is_an_error(names: list[str], message: str) -> None:
    """It lists what there is and suggests the nearest."""
    registry = tools.Registry(_fixed(name) for name in names)

    with pytest.raises(ConfigError, match=message):
        registry["raed"]
    with pytest.raises(ConfigError, match="no tool named 7"):
        registry[7]  # type: ignore[index]


def test_unknown_tool_is_answered_with_names() -> None:
    """The model learns which tool it may have meant."""
    failure = _failure(tools.Registry(_fixed("read"), _fixed("run")), "raed")

    assert failure == ToolError(
        "there is no tool 'raed'. Did you mean read? The tools you may call: read, run.",
        "not_found",
    )


def test_a_registry_without_tools_says_so() -> None:
    """There is nothing to suggest."""
    assert _failure(tools.Registry(), "read").message.endswith("There are no tools you may call.")


@pytest.mark.parametrize("policy", [["read"], tools.AllowlistPolicy(["read"])])
def test_refused_tool_is_neither_listed_nor_run(policy: Any) -> None:
    """It stays registered; the model is told what it may call instead."""
    registry = tools.Registry(_fixed("read"), _fixed("run"), policy=policy)

    assert _listed(registry) == ["read"]
    assert _execute(registry, "read").output == "done"
    assert _failure(registry, "run") == ToolError(
        "'run' may not be called here; calling it again will not help. "
        "The tools you may call: read.",
        "not_allowed",
    )


def test_tool_answers_its_allowed_callers() -> None:
    """Another caller neither sees it nor may run it."""
    registry = tools.Registry(
        _fixed("read"),
        _fixed("query", allowed_callers=["programmatic"]),
        _fixed("find", allowed_callers=["direct", "programmatic"]),
    )

    assert _listed(registry) == ["read", "find"]
    assert _listed(registry, caller="programmatic") == ["query", "find"]
    assert _listed(registry, caller=None) == ["read", "query", "find"]
    assert _execute(registry, "query", caller="programmatic").output == "done"
    assert _failure(registry, "query").kind == "not_allowed"


def test_call_by_present_schema_runs() -> None:
    """The hash that was listed is the hash that is asked for."""
    read = _fixed("read")

    result = _execute(tools.Registry(read), "read", schema_hash=read.definition.schema_hash)

    assert result.output == "done"


def test_call_by_another_schema_is_refused() -> None:
    """The model reads the present one, so that it can call again."""
    failure = _failure(tools.Registry(_fixed("read")), "read", schema_hash="0" * 64)

    assert failure.kind == "schema_changed"
    assert "read has changed since the tools were listed, and was not run" in failure.message
    assert '{"type": "object", "properties": {}}' in failure.message


class _UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def _noted() -> Exception:
    error = OSError(28, "No space left on device")
    error.add_note("The disk is full.")
    return error


ERRORS = [
    (ValueError("no such line"), "ValueError: no such line"),
    (KeyError("path"), "KeyError: 'path'"),
    (_noted(), "OSError: [Errno 28] No space left on device\nThe disk is full."),
    (SystemExit(2), "SystemExit: 2"),
    (
        ExceptionGroup("two", [ValueError("a"), ExceptionGroup("", [TypeError("b")])]),
        "ValueError: a\nTypeError: b",
    ),
]


@pytest.mark.parametrize(("error", "message"), ERRORS)
def test_raised_error_is_the_answer(error: Exception, message: str) -> None:
    """Type, message and notes of every error in it; no traceback."""
    assert _failure(tools.Registry(_fixed("read", error)), "read") == ToolError(message, "raised")


def test_unprintable_error_is_still_answered() -> None:
    """Even its type is of use."""
    failure = _failure(tools.Registry(_fixed("read", _UnreadableError())), "read")

    assert "_UnreadableError" in failure.message


def test_huge_error_message_is_cut() -> None:
    """What is long about an error is seldom what the model needs."""
    failure = _failure(tools.Registry(_fixed("read", ValueError("x" * 1_000_000))), "read")

    assert failure.message == (
        f"ValueError: {'x' * 1_988}\n[The first 2,000 of 1,000,012 characters.]"
    )


def test_raised_error_is_logged_with_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """The author needs what the model does not."""
    with caplog.at_level(logging.INFO, "agentic.tools"):
        _execute(tools.Registry(_fixed("read", ValueError("no such line"))), "read")

    (record,) = caplog.records
    assert record.getMessage() == "tool read raised, call c1"
    assert record.exc_info is not None


def test_a_cancelled_call_stays_cancelled() -> None:
    """A cancellation is the caller's, and is no result."""
    waiting = tools.tool(_forever, name="wait")

    async def main() -> None:
        task = asyncio.create_task(tools.Registry(waiting).execute(ToolCall("c1", "wait")))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


async def _forever() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("text", ToolResult("c1", "read", "text")),
        (None, ToolResult("c1", "read")),
        ({"ok": [1, "é"]}, ToolResult("c1", "read", '{"ok": [1, "é"]}')),
        (
            ToolError("later", "timeout"),
            ToolResult("c1", "read", error=ToolError("later", "timeout")),
        ),
        (
            ToolResult("x", "y", "cut", notice="[1 of 9]", ref="r"),
            ToolResult("c1", "read", "cut", notice="[1 of 9]", ref="r"),
        ),
    ],
)
def test_returned_value_becomes_the_result(value: object, result: ToolResult) -> None:
    """Id and name are the call's, whatever the tool says."""
    assert _execute(tools.Registry(_fixed("read", value)), "read") == result


def test_value_outside_json_is_a_failure() -> None:
    """A tool that is written by hand must give what JSON can say."""
    failure = _failure(tools.Registry(_fixed("read", {1, 2})), "read")

    assert failure.message == (
        "the tool ran, but its result cannot be shown: "
        "TypeError: Object of type set is not JSON serializable"
    )


def test_self_containing_value_is_a_failure() -> None:
    """Neither a loop nor a depth without end escapes."""
    endless: list[object] = []
    endless.append(endless)

    assert "ValueError" in _failure(tools.Registry(_fixed("read", endless)), "read").message


def test_calls_run_at_the_same_time() -> None:
    """One waits for what the other one does."""
    event = asyncio.Event()

    async def wait() -> str:
        await event.wait()
        return "waited"

    async def go() -> str:
        event.set()
        return "went"

    registry = tools.Registry(tools.tool(wait), tools.tool(go))

    async def main() -> list[ToolResult]:
        calls = [ToolCall("c1", "wait"), ToolCall("c2", "go")]
        return await asyncio.gather(*map(registry.execute, calls))

    assert [(found.call_id, found.output) for found in asyncio.run(main())] == [
        ("c1", "waited"),
        ("c2", "went"),
    ]
