import asyncio
import time
from typing import Any

import pytest

from agentic.context.compactors import Digest, first_of
from agentic.errors import CompactionRefused
from agentic.messages import Message, SummaryText
from agentic.testing import check_compactor


def test_digest_keeps_a_compactors_promises() -> None:
    """It answers whatever the conversation."""
    check_compactor(Digest)


def test_chain_keeps_a_compactors_promises() -> None:
    """Where nobody has anything to say, it refuses, which is an answer too."""
    check_compactor(lambda: first_of(_Constant(""), Digest()))


class _Constant:
    """Always answers the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def compact(self, messages: list[Message], /) -> Any:
        return self.answer


class _Synchronous:
    """Forgets that a compactor is async."""

    def compact(self, messages: list[Message], /) -> Any:
        return "a summary"


class _Encodes:
    """Sends what it read as UTF-8."""

    async def compact(self, messages: list[Message], /) -> str:
        return f"{len(''.join(message.content for message in messages).encode())} bytes"


class _Reads:
    """Takes arguments for JSON."""

    async def compact(self, messages: list[Message], /) -> str:
        return repr([call.parse() for message in messages for call in message.tool_calls])


class _Takes:
    """Takes the messages off the list that it was given."""

    async def compact(self, messages: list[Message], /) -> str:
        return repr([messages.pop() for _ in range(len(messages))])


class _Writes:
    """Marks what it has seen."""

    async def compact(self, messages: list[Message], /) -> str:
        for message in messages:
            if message.extra:
                message.extra["seen"].append(2)
        return "a summary"


class _Slow:
    """Never ends thinking about a long conversation."""

    async def compact(self, messages: list[Message], /) -> str:
        if len(messages) >= 2_000:
            await asyncio.Event().wait()
        return "a summary"


class _Blocks:
    """Thinks about a long conversation without letting anybody else do anything."""

    async def compact(self, messages: list[Message], /) -> str:
        if len(messages) >= 2_000:
            time.sleep(0.6)  # noqa: ASYNC251  what it should not do
        return "a summary"


class _Refuses:
    """Empties the list that it was given, and then refuses to summarize it."""

    async def compact(self, messages: list[Message], /) -> str:
        if messages[-1].role != "assistant":
            messages.clear()
            raise CompactionRefused("the end is open")
        return "a summary"


class _Confides(_Constant):
    """Puts something into its notes that is no JSON."""

    async def compact(self, messages: list[Message], /) -> str:
        text = SummaryText("a summary", {"seen": []})
        text.notes["seen"].append({1, 2})
        return text


class _Trusts(_Constant):
    """Takes all notes for its own."""

    async def compact(self, messages: list[Message], /) -> str:
        for message in messages:
            if message.summary is not None and message.summary.notes:
                return str(message.summary.notes["own"])
        return "a summary"


class _Misguided(_Constant):
    """Knows only with instructions what it cannot do."""

    async def compact_with(self, messages: list[Message], instructions: str, /) -> str:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_Constant(None), "plain conversation: it answers with a text, but gave None"),
        (_Constant(" "), "plain conversation: the answer says something"),
        (_Synchronous(), "plain conversation: it answers .* cannot be awaited"),
        (_Encodes(), "lone surrogates: it answers .* UnicodeEncodeError"),
        (_Reads(), "parallel calls, .*: it answers .* JSONDecodeError"),
        (_Takes(), "plain conversation: the conversation is left as it was"),
        (_Writes(), "parallel calls, .*: the conversation is left as it was"),
        (_Refuses(), "parallel calls, .*: the conversation is left as it was"),
        (_Slow(), "2,000 messages: it answers within 0.5 s, .* TimeoutError"),
        (_Blocks(), "2,000 messages: it answers within 0.5 s, .* TimeoutError"),
        (_Confides(""), "plain conversation: its notes are plain JSON data, but SummaryText.notes"),
        (_Trusts(""), "another compactor's notes: it answers .* KeyError"),
        (_Misguided("a summary"), "plain conversation, with instructions: .* NotImplementedError"),
    ],
)
def test_suite_says_which_promise_broke(broken: Any, promise: str) -> None:
    """And on what conversation."""
    with pytest.raises(AssertionError, match=promise):
        # The others are told apart by what they do, so they have their time.
        check_compactor(lambda: broken, timeout_seconds=0.5 if "0.5 s" in promise else 60)
