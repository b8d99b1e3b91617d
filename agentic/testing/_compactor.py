"""What every compactor promises, as one check that any test runner can call."""

import asyncio
import inspect
import reprlib
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import TypeAlias

from agentic.context.budget import Compactor
from agentic.errors import CompactionRefused, ConfigError
from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    SummaryText,
    ToolCall,
    ToolError,
    ToolResult,
)

__all__ = ["check_compactor"]

_Compact: TypeAlias = Callable[[list[Message]], Awaitable[str]]

_ASK = Message("user", "Why is the build red?")
_CALL = Message("assistant", "I look.", tool_calls=[ToolCall("c1", "run", '{"command": "make"}')])
_RESULT = Message("tool", tool_results=[ToolResult("c1", "run", "1 failed\nexit code: 2")])
_ANSWER = Message("assistant", "A test of the parser failed.")
_TALK = [_ASK, _CALL, _RESULT, _ANSWER]
_PARALLEL = [
    _ASK,
    Message(
        "assistant",
        tool_calls=[ToolCall("a", "read", '{"path": "a.py"}'), ToolCall("b", "read", "{oops")],
        native=ProviderPayload("anthropic", {"content": [{"type": "tool_use", "id": "a"}]}),
    ),
    Message("tool", tool_results=[ToolResult("b", "read", error=ToolError("no JSON"))]),
    Message("tool", tool_results=[ToolResult("a", "read", "print()")], extra={"seen": [1]}),
]
_SURROGATES = [
    Message("user", "a lone \ud83d, \x00 and \u2028"),
    Message(
        "assistant", "\udfff", tool_calls=[ToolCall("\udc00", "\ud800", '{"\\ud83d": "\udc00"}')]
    ),
    Message("tool", tool_results=[ToolResult("\udc00", "\ud800", "\udead\n\udbff")]),
]
_CONVERSATIONS: dict[str, list[Message]] = {
    "a plain conversation": _TALK,
    "parallel calls, answered out of order": _PARALLEL,
    "lone surrogates": _SURROGATES,
    "empty messages only": [Message("user"), Message("assistant"), Message("system")],
    "media only": [Message("user", media=[Media("image/png", b"\x89PNG")])],
    "a call without a result": [_ASK, _CALL],
    "a result without a call": [_RESULT],
    "a former summary": [
        ContextSummary("The build is red: a test failed.", 4).to_message(),
        *_TALK,
    ],
    "a former summary with another compactor's notes": [
        ContextSummary("Red.", 4, notes={"v": 1, "files": {"a.py": ["read", None]}}).to_message(),
        *_TALK,
    ],
    "2,000 messages": _TALK * 500,
    "no messages at all": [],
}


def check_compactor(factory: Callable[[], Compactor], *, timeout_seconds: float = 60.0) -> None:
    """Hold a compactor to its promises; those of `GuidedCompactor` too if it has `compact_with`.

    - Whatever the conversation, damaged ones included, the answer is a text, in time. Where there
      is nothing to say it may be empty, or a refusal: `CompactionRefused`.
    - The answer to a plain conversation says something.
    - The conversation is left as it was, notes of a former summary included.
    - Notes, if the answer is a `SummaryText`, are plain JSON data. Those of a former summary may be
      another compactor's, or missing.

    Call it from a plain function: it runs event loops of its own. A compactor that asks a model
    is given one that answers.

    >>> from agentic.context.compactors import Digest
    >>> check_compactor(Digest)

    Args:
        factory: gives a compactor, a new one at every call.
        timeout_seconds: the longest that one answer may take.

    Raises:
        AssertionError: a promise is broken; the text says which, and on what conversation.
    """
    for name, messages in _CONVERSATIONS.items():
        _check(name, factory().compact, messages, timeout_seconds)
        guided = getattr(factory(), "compact_with", None)
        if guided is not None:
            _check(f"{name}, with instructions", _guide(guided), messages, timeout_seconds)


def _guide(compact_with: Callable[[list[Message], str], Awaitable[str]]) -> _Compact:
    return lambda messages: compact_with(messages, "Keep the paths.")


def _check(name: str, compact: _Compact, messages: list[Message], seconds: float) -> None:
    given, before = list(messages), deepcopy(messages)
    try:
        answer = asyncio.run(_ask(compact, given, seconds))
    except CompactionRefused as problem:
        if messages is not _TALK:
            return
        raise _broken(name, f"the answer says something, but is a refusal: {problem}") from problem
    except Exception as problem:
        raise _broken(name, f"it answers within {seconds} s, but raised {problem!r}") from problem
    if not isinstance(answer, str):
        raise _broken(name, f"it answers with a text, but gave {reprlib.repr(answer)}")
    if isinstance(answer, SummaryText):
        _check_notes(name, answer)
    if messages is _TALK and not answer.strip():
        raise _broken(name, f"the answer says something, but is {answer!r}")
    if given != before:
        raise _broken(name, "the conversation is left as it was, but it was changed")


def _check_notes(name: str, answer: SummaryText) -> None:
    """Look at the notes once more: they may have been changed since they were made."""
    try:
        SummaryText(answer)
    except ConfigError as problem:
        raise _broken(name, f"its notes are plain JSON data, but {problem}") from problem


async def _ask(compact: _Compact, given: list[Message], seconds: float) -> object:
    answer: object = compact(given)
    if not inspect.isawaitable(answer):
        raise TypeError(f"{reprlib.repr(answer)} cannot be awaited")
    async with asyncio.timeout(seconds):
        return await answer


def _broken(name: str, promise: str) -> AssertionError:
    return AssertionError(f"a promise of Compactor is broken on {name}: {promise}")
