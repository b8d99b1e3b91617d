"""The promises of what a Runner is made with, one check each: a counter, a compactor, a decider."""

import asyncio
import functools
import inspect
import json
import reprlib
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeAlias

from agentic.context.budget import Compactor
from agentic.errors import CompactionRefused, ConfigError
from agentic.loop import Decider, Decision, Input
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
from agentic.testing._promises import ASK, CALL, READ, RESULT, SUMMARY, SURROGATES, TALK, broken
from agentic.tokens import Counter
from agentic.tools import ToolDefinition

_broken_count = functools.partial(broken, "Counter")
_broken_summary = functools.partial(broken, "Compactor")
_broken_decision = functools.partial(broken, "Decider")

_LINE = "def parse(text): return text.strip()\n"
_MEGABYTE = 1 << 20
# Texts with which tokenizers have raised or taken minutes: a long run of one letter is
# quadratic in byte-pair encoders, and tiktoken raises for special tokens unless allowed.
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
# Mutable values deep inside, which a careless compactor edits in place.
_PARALLEL = [
    ASK,
    Message(
        "assistant",
        tool_calls=[ToolCall("a", "read", '{"path": "a.py"}'), ToolCall("b", "read", "{oops")],
        native=ProviderPayload("acme", {"content": [{"type": "tool_use", "id": "a"}]}),
    ),
    Message("tool", tool_results=[ToolResult("b", "read", error=ToolError("no JSON"))]),
    Message("tool", tool_results=[ToolResult("a", "read", "print()")], extra={"seen": [1]}),
]
_CONVERSATIONS: dict[str, list[Message]] = {
    "a plain conversation": TALK,
    "parallel calls, answered out of order": _PARALLEL,
    "lone surrogates": SURROGATES,
    "empty messages only": [Message("user"), Message("assistant"), Message("system")],
    "media only": [Message("user", media=[Media("image/png", b"\x89PNG")])],
    "a call without a result": [ASK, CALL],
    "a result without a call": [RESULT],
    "a former summary": [SUMMARY, *TALK],
    "a former summary with another compactor's notes": [
        ContextSummary("Red.", 4, notes={"v": 1, "files": {"a.py": ["read", None]}}).to_message(),
        *TALK,
    ],
    # Long enough for quadratic cost to show within the time.
    "2,000 messages": TALK * 500,
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
    # A constant, or the count of a prefix, keeps all the other promises.
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
    # A float would spoil every sum, and a bool is an int in Python.
    if not isinstance(answer, int) or isinstance(answer, bool) or answer < 0:
        given = reprlib.repr(answer)
        raise _broken_count(name, f"a count is a whole number, 0 or more, but it gave {given}")
    return answer


def _ask_counter(counter: Counter, text: str, answers: list[Any]) -> None:
    try:
        answers.append(counter.count(text))
    except BaseException as problem:  # noqa: BLE001  some tokenizers panic outside Exception
        answers.append(problem)


_Compact: TypeAlias = Callable[[list[Message]], Awaitable[str]]


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
        # A new one each, so that what it remembers of one conversation does not help with the next.
        _check_summary(name, factory().compact, messages, timeout_seconds)
        method = getattr(factory(), "compact_with", None)
        if method is not None:
            _check_summary(f"{name}, with instructions", _guide(method), messages, timeout_seconds)


def _guide(compact_with: Callable[[list[Message], str], Awaitable[str]]) -> _Compact:
    return lambda messages: compact_with(messages, "Keep the paths.")


def _check_summary(name: str, compact: _Compact, messages: list[Message], seconds: float) -> None:
    # A copy, so that what one compactor writes into it is not there for the next.
    copy = deepcopy(messages)
    refusal: CompactionRefused | None = None
    try:
        answer = asyncio.run(_ask_compactor(compact, copy, seconds))
    except CompactionRefused as problem:
        answer, refusal = "", problem
    except Exception as problem:
        promise = f"it answers within {seconds} s, but raised {problem!r:.200}"
        raise _broken_summary(name, promise) from problem
    if not isinstance(answer, str):
        raise _broken_summary(name, f"it answers with a text, but gave {reprlib.repr(answer)}")
    if isinstance(answer, SummaryText):
        _check_notes(name, answer)
    if messages is TALK and not answer.strip():
        sentence = f"a refusal: {refusal}" if refusal else repr(answer)
        raise _broken_summary(name, f"the answer says something, but is {sentence}") from refusal
    if copy != messages:
        raise _broken_summary(name, "the conversation is left as it was, but it was changed")


def _check_notes(name: str, answer: SummaryText) -> None:
    """Check the notes again: they may have been changed since they were made."""
    try:
        SummaryText(answer)
    except ConfigError as problem:
        raise _broken_summary(name, f"its notes are plain JSON data, but {problem}") from problem


async def _ask_compactor(compact: _Compact, messages: list[Message], seconds: float) -> object:
    answer: object = compact(messages)
    # What await itself would raise does not say what was returned.
    if not inspect.isawaitable(answer):
        raise TypeError(f"{reprlib.repr(answer)} cannot be awaited")
    async with asyncio.timeout(seconds) as limit:
        answer = await answer
    if _is_late(limit):
        raise TimeoutError
    return answer


def _is_late(limit: asyncio.Timeout) -> bool:
    # A timeout cannot end what blocks the loop, and does not notice it afterwards.
    when = limit.when()
    return limit.expired() or (when is not None and asyncio.get_running_loop().time() > when)


_CALLS = (ToolCall("c1", "read_file", '{"path": "a.py"}'), ToolCall("c2", "read_file", "{oops"))
_RESULTS = (
    ToolResult("c1", "read_file", "print()", notice="2 of 3 lines are missing."),
    ToolResult("c2", "read_file", error=ToolError("no JSON", "bad_arguments")),
)
_ROUND = [
    Message("assistant", "I look.", reasoning="Look first.", tool_calls=_CALLS),
    Message("tool", tool_results=_RESULTS),
]


def _request(*history: Message, tools: Sequence[ToolDefinition] = ()) -> Input:
    last = history[-1]
    return Input(
        system_prompt="You mend builds.",
        user_message=ASK.content,
        history=history,
        tools=tuple(tools),
        tool_calls=_CALLS if last.role == "tool" else (),
        tool_results=last.tool_results,
        turn=2 if last.role == "tool" else 1,
    )


_REMEDIES: dict[type[Exception], str] = {
    json.JSONDecodeError: "a model may write broken JSON, so send `call.arguments` as the text it "
    "is, or what `call.parse()` returns where that does not raise",
    UnicodeEncodeError: "a text may hold half of a surrogate pair, so encode it with "
    "errors='replace'",
}
"""What mends the errors that real conversations cause in a decider."""
_REQUESTS: dict[str, Input] = {
    "a plain request": _request(ASK),
    "a request with a tool": _request(ASK, tools=[READ]),
    "a tool round": _request(ASK, *_ROUND, tools=[READ]),
    # After a restart with other tools: some providers refuse calls when no tool is declared.
    "a tool round whose tool is gone": _request(ASK, *_ROUND),
    "a summary and a second request": _request(
        ContextSummary("The build is red.", 4).to_message(),
        Message("user", "Hello."),
        Message("assistant", "Hello."),
        ASK,
    ),
    "two users' messages in a row": _request(Message("user", "Hello."), ASK),
    "an empty reply": _request(Message("user", "Hello."), Message("assistant"), ASK),
    "items of another provider": _request(
        Message("user", "Hello."),
        Message(
            "assistant", "Hello.", native=ProviderPayload("elsewhere", {"parts": [{"id": "x"}]})
        ),
        ASK,
    ),
    "lone surrogates": _request(Message("user", "cut in two: \ud83d"), tools=[READ]),
}


def check_decider(factory: Callable[[], Decider], *, timeout_seconds: float = 60.0) -> None:
    """Check a decider's promises, and those of `StreamingDecider` if it has `stream`.

    - For every history, including tool rounds and another provider's items, the result is a
      Decision, returned in time.
    - The request is not changed.
    - It can be cancelled while it waits, and the cancellation is raised.
    - A stream yields pieces of text, and then the Decision as its last item.

    Call it from sync code: it runs its own event loops. If the decider asks a provider, give it one
    that answers, for example with a recorded reply.

    >>> from agentic.testing import ScriptedDecider
    >>> check_decider(lambda: ScriptedDecider("Hello."))

    Args:
        factory: returns a new decider at every call.
        timeout_seconds: the longest that one decision may take.

    Raises:
        AssertionError: a promise is broken; the text says which one, and for what request.
    """
    streams = hasattr(factory(), "stream")
    for name, request in _REQUESTS.items():
        answer = asyncio.run(_ask_decider(name, factory().decide, request, timeout_seconds))
        if not isinstance(answer, Decision):
            text = reprlib.repr(answer)
            raise _broken_decision(name, f"it answers with a Decision, but gave {text}")
        # A stream is a second way to the same decision, with errors of its own.
        if streams:
            label, drain = f"{name}, streamed", functools.partial(_drain, factory())
            items = asyncio.run(_ask_decider(label, drain, request, timeout_seconds))
            _check_items(label, items)
    asyncio.run(_check_cancelling(factory(), timeout_seconds))


async def _ask_decider(
    name: str, decide: Callable[[Input], Awaitable[Any]], request: Input, timeout_seconds: float
) -> Any:
    copy = deepcopy(request)
    limit = asyncio.timeout(timeout_seconds)
    late = f"it answers in time, but took over {timeout_seconds} s"
    try:
        async with limit:
            answer = await decide(copy)
    except Exception as problem:
        # A client's own TimeoutError is an error like any other.
        promise = late if limit.expired() else f"it answers, but {_describe_raised(problem)}"
        raise _broken_decision(name, promise) from problem
    if _is_late(limit):
        raise _broken_decision(name, late)
    if copy != request:
        raise _broken_decision(name, "the request is left as it was, but it was changed")
    return answer


def _describe_raised(problem: Exception) -> str:
    """Return what a decider raised, where, and what mends it if that is known."""
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    remedies = [text for kind, text in _REMEDIES.items() if isinstance(problem, kind)]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return ": ".join([f"raised {problem!r:.200} at {place}", *remedies])


async def _drain(decider: Any, request: Input) -> list[Any]:
    return [item async for item in decider.stream(request)]


def _check_items(name: str, items: list[Any]) -> None:
    for item in items[:-1]:
        if not isinstance(item, str):
            promise = f"all items but the last are text, but one was {reprlib.repr(item)}"
            raise _broken_decision(name, promise)
    if not items or not isinstance(items[-1], Decision):
        promise = "the last item of a stream is the Decision, but there was none"
        raise _broken_decision(name, promise)


async def _check_cancelling(decider: Decider, timeout_seconds: float) -> None:
    request = _REQUESTS["a plain request"]
    task = asyncio.ensure_future(decider.decide(request))
    # One step: a decider that asks somebody is waiting now, any other is done.
    await asyncio.sleep(0)
    if not task.done():
        task.cancel()
        # Not wait_for(), which would wait for a task that ignores its cancellation.
        await asyncio.wait({task}, timeout=timeout_seconds)
        if not task.cancelled():
            problem = task.exception() if task.done() else None
            promise = "the cancellation passes, and in time"
            raise _broken_decision("a cancelled request", promise) from problem
