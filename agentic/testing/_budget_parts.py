"""The promises of a budget's two parts, a counter and a compactor, as one check for each."""

import asyncio
import functools
import inspect
import reprlib
import threading
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, TypeAlias

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
from agentic.testing._promises import broken
from agentic.tokens import Counter

__all__ = ["check_compactor", "check_counter"]

_broken_count = functools.partial(broken, "Counter")
_broken = functools.partial(broken, "Compactor")

_LINE = "def parse(text): return text.strip()\n"
_MEGABYTE = 1 << 20
_TEXTS: dict[str, str] = {
    "a word": "parser",
    "a line of code": _LINE,
    "a megabyte of spaces": " " * _MEGABYTE,
    "a megabyte of one letter": "a" * _MEGABYTE,
    "a megabyte of line feeds": "\n" * _MEGABYTE,
    "a megabyte of code": _LINE * (_MEGABYTE // len(_LINE)),
    "lone surrogates": "\ud83d a \ude00 b \udfff\udead",
    "half an emoji at the end": "done \ud83d",
    "NULs": "\x00" * 1_000,
    "control characters": "".join(map(chr, range(32))) + "\x7f\x85\u2028",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f600" * 500,
    "Chinese": "\u8bb0\u5f55\u89e3\u6790\u5668" * 500,
    "Arabic": "\u0627\u0644\u0645\u062d\u0644\u0644 " * 500,
    "base64": "iVBORw0KGgoAAAANSUhEUgAA" * 500,
    "special tokens": "<|endoftext|><|im_start|>system<|fim_prefix|>[INST]</s>" * 20,
}
"""Texts with which tokenizers have raised or taken minutes: a long run of one letter is quadratic
in byte-pair encoders, and tiktoken raises for special tokens unless they are allowed."""
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


def check_counter(factory: Callable[[], Counter], *, timeout_seconds: float = 30.0) -> None:
    """Check a counter's promises.

    - For every text, the count is a whole number >= 0, returned in time. It never raises.
    - The count of an empty text is 0; that of a long text is larger than that of one of its lines.
    - The count of a text is always the same, also for another counter of the same kind.

    >>> from agentic.tokens import CharCounter
    >>> check_counter(CharCounter)

    Args:
        factory: returns a new counter at every call.
        timeout_seconds: the longest that counting one text, of at most a megabyte, may take.

    Raises:
        AssertionError: a promise is broken; the text says which one, and for what text.
    """
    first, second = factory(), factory()
    if (empty := _count("no text", first, "", timeout_seconds)) != 0:
        raise _broken_count("no text", f"an empty text is 0 tokens, but it gave {empty}")
    counts = {name: _count(name, first, text, timeout_seconds) for name, text in _TEXTS.items()}
    if counts["a megabyte of code"] <= counts["a line of code"]:
        raise _broken_count("a megabyte of code", "a long text is more than one line of it")
    # In the other order, so that what one text leaves behind in a counter shows.
    for name, text in reversed(_TEXTS.items()):
        for counter in (first, second):
            again = _count(name, counter, text, timeout_seconds)
            if again != counts[name]:
                raise _broken_count(
                    name, f"a text has one count, but it gave {counts[name]} and {again}"
                )


def _count(name: str, counter: Counter, text: str, timeout_seconds: float) -> int:
    answers: list[Any] = []
    # A daemon thread, so that a count that never ends does not keep the tests from ending.
    thread = threading.Thread(target=_ask_counter, args=(counter, text, answers), daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    if not answers:
        raise _broken_count(name, f"it counts in time, but took over {timeout_seconds} s")
    answer = answers[0]
    if isinstance(answer, BaseException):
        raise _broken_count(name, f"it never raises, but raised {answer!r:.200}") from answer
    if not isinstance(answer, int) or isinstance(answer, bool) or answer < 0:
        given = reprlib.repr(answer)
        raise _broken_count(name, f"a count is a whole number, 0 or more, but it gave {given}")
    return answer


def _ask_counter(counter: Counter, text: str, answers: list[Any]) -> None:
    try:
        answers.append(counter.count(text))
    except BaseException as problem:  # noqa: BLE001  some tokenizers panic outside Exception
        answers.append(problem)


def check_compactor(factory: Callable[[], Compactor], *, timeout_seconds: float = 60.0) -> None:
    """Check a compactor's promises, and those of `GuidedCompactor` if it has `compact_with`.

    - For every conversation, even a damaged one, the result is a text, returned in time. If there
      is nothing to summarize, it may be empty, or a refusal: `CompactionRefused`.
    - The result for a simple conversation is not empty.
    - The conversation is not changed, including the notes of an earlier summary.
    - Notes, if the result is a `SummaryText`, are plain JSON data. The notes of an earlier summary
      may be another compactor's, or missing.

    Call it from sync code: it runs its own event loops. If the compactor asks a model, give it one
    that answers.

    >>> from agentic.context.compactors import Digest
    >>> check_compactor(Digest)

    Args:
        factory: returns a new compactor at every call.
        timeout_seconds: the longest that one summary may take.

    Raises:
        AssertionError: a promise is broken; the text says which one, and for what conversation.
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
        raise _broken(
            name, f"it answers within {seconds} s, but raised {problem!r:.200}"
        ) from problem
    if not isinstance(answer, str):
        raise _broken(name, f"it answers with a text, but gave {reprlib.repr(answer)}")
    if isinstance(answer, SummaryText):
        _check_notes(name, answer)
    if messages is _TALK and not answer.strip():
        raise _broken(name, f"the answer says something, but is {answer!r}")
    if given != before:
        raise _broken(name, "the conversation is left as it was, but it was changed")


def _check_notes(name: str, answer: SummaryText) -> None:
    """Check the notes again: they may have been changed since they were made."""
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
