"""Where a history begins."""

import pytest

from agentic.messages import ContextSummary, Message
from agentic.messages._landmarks import find_summary, prefix_length

PROMPT, QUESTION = Message("system", "Be brief."), Message("user", "Why?")
SUMMARY = ContextSummary("It was a typo.", 3)


@pytest.mark.parametrize("prompts", [[], [PROMPT], [PROMPT, PROMPT]])
@pytest.mark.parametrize("kept", [[], [QUESTION], [PROMPT, QUESTION]])
def test_history_begins_up_to_its_summary(prompts: list[Message], kept: list[Message]) -> None:
    """A system message that a compaction kept stands after the summary, and is none of them."""
    history = [*prompts, SUMMARY.to_message(), *kept]

    assert prefix_length(history) == len(prompts) + 1
    assert find_summary(history) == history[len(prompts)].summary


@pytest.mark.parametrize("prompts", [[], [PROMPT], [PROMPT, PROMPT]])
@pytest.mark.parametrize("rest", [[], [QUESTION], [QUESTION, SUMMARY.to_message()]])
def test_without_summary_system_messages_begin_it(
    prompts: list[Message], rest: list[Message]
) -> None:
    """A summary further on is no beginning."""
    assert prefix_length([*prompts, *rest]) == len(prompts)
    assert find_summary([*prompts, *rest]) is None
