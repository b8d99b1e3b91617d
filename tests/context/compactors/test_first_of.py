import asyncio
from typing import Any

import pytest

from agentic.context.compactors import first_of
from agentic.errors import CompactionRefused, ConfigError
from agentic.messages import Message

ASK = [Message("user", "Why is the build red?")]


class _Answers:
    """Answers with what it was made with, or raises it, and counts how often it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0

    async def compact(self, messages: list[Message], /) -> str:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        answer: str = self.answer
        return answer


class _Guided(_Answers):
    """Says what it was told to look at."""

    async def compact_with(self, messages: list[Message], instructions: str, /) -> str:
        return f"{await self.compact(messages)} ({instructions})"


def test_only_the_first_answer_counts() -> None:
    """A fallback costs nothing while it is not needed."""
    fallback = _Answers("from the fallback")

    got = asyncio.run(first_of(_Answers("from the model"), fallback).compact(ASK))

    assert got == "from the model"
    assert fallback.asked == 0


@pytest.mark.parametrize("failure", [ConnectionError("no route"), "", " \n", None])
def test_next_one_is_asked_after_failure(failure: object) -> None:
    """To raise, and to say nothing, is to fail."""
    chain = first_of(_Answers(failure), _Answers("from the fallback"))

    assert asyncio.run(chain.compact(ASK)) == "from the fallback"


def test_the_error_names_each_failure() -> None:
    """The group behind it holds their own errors."""
    chain = first_of(_Answers(ConnectionError("no route")), _Guided(""))

    with pytest.raises(
        CompactionRefused, match=r"_Answers: .*no route.*_Guided: .*empty"
    ) as caught:
        asyncio.run(chain.compact(ASK))

    group = caught.value.__cause__
    assert isinstance(group, ExceptionGroup)
    assert [type(error) for error in group.exceptions] == [ConnectionError, CompactionRefused]


def test_a_cancellation_passes() -> None:
    """Who cancels a compaction does not want the next one to start."""
    fallback = _Answers("from the fallback")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(first_of(_Answers(asyncio.CancelledError()), fallback).compact(ASK))

    assert fallback.asked == 0


def test_instructions_go_to_those_taking_them() -> None:
    """The others are asked without."""
    guided = first_of(_Answers(""), _Guided("summary")).compact_with(ASK, "keep paths")
    plain = first_of(_Answers("summary"), _Guided("unused")).compact_with(ASK, "keep paths")

    assert asyncio.run(guided) == "summary (keep paths)"
    assert asyncio.run(plain) == "summary"


@pytest.mark.parametrize("compactors", [(), (len,), ("model",)])
def test_an_odd_chain_is_refused(compactors: Any) -> None:
    """At least one, and each with a compact method."""
    with pytest.raises(ConfigError, match="compactors"):
        first_of(*compactors)
