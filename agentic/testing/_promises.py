"""What several checks share: a conversation, comparisons, the form of a failure."""

import json
import reprlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from agentic.history import Store
from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolResult,
    to_plain,
)
from agentic.tools import ToolDefinition
from agentic.usage import Usage

Promise: TypeAlias = Callable[[Any], Awaitable[None]]

ASK = Message("user", "Why is the build red?")
CALL = Message("assistant", tool_calls=[ToolCall("c1", "run", '{"command": "make"}')])
RESULT = Message("tool", tool_results=[ToolResult("c1", "run", "1 failed")])
ANSWER = Message("assistant", "A test failed.")
MORE = Message("user", "Mend it.")
READ = ToolDefinition(
    "read_file",
    "Read one file of the project.",
    {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where the file is."}},
        "required": ["path"],
    },
)
# One complete round, so that a summary of all of it leaves no call open.
TALK = [ASK, CALL, RESULT, ANSWER]
# They cannot be encoded as UTF-8: sent as they are, a client raises.
SURROGATES = [
    Message("user", "cut in two: \ud83d, \x00 and \u2028"),
    Message(
        "assistant", "\udfff", tool_calls=[ToolCall("\udc00", "read_file", '{"\\ud83d": "\udc00"}')]
    ),
    Message("tool", tool_results=[ToolResult("\udc00", "\ud800", "\udead\x00\n\udbff")]),
]
SUMMARY = ContextSummary("The build is red: a test failed.", 4).to_message()
OTHER_SUMMARY = ContextSummary("The test failed on a typo.", 5).to_message()
# What a format easily loses: escaped as JSON, for example, a lone pair becomes one character.
EVERYTHING = Message(
    "assistant",
    "a lone \ud83d, a pair of lone ones \ud83d\ude00, \x00 \x85 \u2028 \r\n and \U0001f600",
    reasoning="Look first.",
    media=[Media("image/png", b"\x89PNG\r\n\x00", extra={"detail": "high"})],
    pinned=True,
    summary=ContextSummary(
        "so far", 2, 0, 1, generation=3, notes={"odd": ["\ud83d\ude00", "\x00", 1.5, None, {}]}
    ),
    usage=Usage(input=10, output=2, total=12),
    timestamp=datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
    id="m1",
    native=ProviderPayload("acme", {"content": [{"signature": "Eq=="}, float("nan"), 1e400, None]}),
    extra={"mood": "curious", "type": "odd", "nested": {"list": [1, 2.5, "\udfff"]}},
)


async def append_all(store: Store, messages: Sequence[Message]) -> None:
    """Append messages one after the other."""
    for message in messages:
        await store.append(message)


def expect(found: Sequence[Message], want: Sequence[Message], where: str = "") -> None:
    """Fail unless the messages are equal."""
    # As text, because NaN equals nothing.
    got, want_text = _as_text(found), _as_text(want)
    if got != want_text:
        raise AssertionError(f"{where} Expected {_brief(want_text)}; got {_brief(got)}.".lstrip())


def _as_text(messages: Sequence[Message]) -> list[str]:
    plain = map(to_plain, messages)
    # Sorted, since the order of keys in `extra` and `notes` says nothing.
    return [json.dumps(message, sort_keys=True, ensure_ascii=False) for message in plain]


def _brief(texts: list[str]) -> str:
    return f"{len(texts)} messages {reprlib.repr(texts)}"


async def expect_refusal(error: type[Exception], step: Awaitable[object], what: str) -> None:
    """Fail unless the step raises this error."""
    try:
        await step
    except error:
        return
    raise AssertionError(f"{what} raised no {error.__name__}.")


def broken(role: str, where: str, promise: str) -> AssertionError:
    """Return an error that says which promise of a role is broken, and on what input."""
    return AssertionError(f"A promise of {role} is broken on {where}: {promise}.")


def broken_check(
    part: object, role: type[Any], check: Callable[..., Any], problem: Exception
) -> AssertionError:
    """Return an error that quotes the promise of a check, which is its docstring."""
    sentence = problem if isinstance(problem, AssertionError) else f"It raised {problem!r}."
    name = f"{type(part).__name__} breaks a promise of {role.__name__}"
    return AssertionError(f"{name}: {check.__doc__} {sentence}")


def expect_equal(got: object, want: object, where: str = "") -> None:
    """Fail unless two texts or numbers are equal."""
    if got != want:
        sentence = f"Expected {reprlib.repr(want)}; got {reprlib.repr(got)}."
        raise AssertionError(f"{where} {sentence}".lstrip())
