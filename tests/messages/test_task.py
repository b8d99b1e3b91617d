"""Which requests are the task: the latest, and the one that the present work began with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.messages._landmarks import find_task
from agentic.providers import openai_chat
from agentic.testing import conversations


def talk(*said: str) -> list[Message]:
    """Make a conversation: `u` asks, `w` is a tool round, anything else is a reply."""
    messages = []
    for name in said:
        if name == "u":
            messages.append(Message("user", "Go on."))
        elif name == "w":
            messages.append(Message("assistant", "Done.", tool_calls=[ToolCall("c", "run")]))
            messages.append(Message("tool", tool_results=[ToolResult("c", "run", "ok")]))
        else:
            messages.append(Message("assistant", name.strip("'")))
    return messages


@pytest.mark.parametrize(
    ("said", "task"),
    [
        ([], ()),
        (["Hello."], ()),
        (["u"], (0,)),
        (["u", "w", "w", "w"], (0,)),  # a recorded run of one request
        (["u", "w", "Done."], (0,)),  # still the latest
        (["u", "w", "Done.", "u"], (4,)),  # answered
        (["u", "Done.", "u", "w", "Done.", "u", "w"], (6,)),
        (["u", "w", "u", "w"], (0, 3)),  # said while the work goes on
        (["u", "u", "w"], (0, 1)),
        (["u", "w", "''", "u", "w"], (0, 4)),  # an empty reply answers nothing
        (["u", "w", "Shall I push it?", "u", "w"], (0, 4)),
        (["u", "w", "**Which one?**", "u", "w"], (0, 4)),
        (["u", "Done.", "w", "u"], (0, 4)),  # the reply was not the end
        (["u", "w", "See:\n```\nls\n```", "u"], (4,)),  # code, where calls are made by calls
    ],
)
def test_request_is_task_until_answered(said: list[str], task: tuple[int, ...]) -> None:
    """By a reply that calls nothing, says something, and asks nothing back."""
    assert find_task(talk(*said)) == task


def test_offers_keep_no_request_for_ever() -> None:
    """A reply that always ends in a question answers at the fourth time."""
    messages = talk("u", *["More?", "u"] * 3)

    assert find_task(messages) == (0, 6)
    assert find_task([*messages, *talk("More?", "u")]) == (8,)


@pytest.mark.parametrize(
    "action",
    ["Look.\n```bash\nls\n```", "<command>ls</command>\n", "Action: run\nAction Input: ls"],
)
def test_action_in_reply_answers_nothing(action: str) -> None:
    """Agents that call tools in text get the outputs as user messages."""
    assert find_task(talk("u", *[action, "u"] * 9)) == (0, 18)


def test_a_summary_is_never_the_task() -> None:
    """Not even one that another system stored as a user message."""
    summary = ContextSummary("They asked for a fix.", 4)
    posing = Message("user", summary.content, summary=summary)
    task = Message("user", "Fix it.")

    assert find_task([posing, task, posing]) == (1,)
    assert find_task([posing]) == ()


@given(messages=conversations())
def test_latest_request_is_always_the_task(messages: list[Message]) -> None:
    """And one request before it at most, in order."""
    asked = [at for at, message in enumerate(messages) if message.role == "user"]

    task = find_task(messages)

    assert task[-1:] == tuple(asked[-1:])
    assert len(task) <= 2
    assert list(task) == sorted({*task} & {*asked})


@given(messages=conversations())
def test_a_view_has_the_same_task(messages: list[Message]) -> None:
    """What is left out between the two requests makes neither of them answered."""
    task = find_task(messages)
    view = [messages[at] for at in task]

    assert [view[at] for at in find_task(view)] == view


@pytest.mark.corpus
def test_one_request_runs_keep_their_task(
    recorded_path: Callable[[str], Path], read_lines: Callable[[Path], list[Any]]
) -> None:
    """Agents with tool calls, and agents whose actions are text."""
    paths = [
        path
        for kind in ("msa_*", "sweagent_*")
        for path in recorded_path("transcripts").glob(f"{kind}.jsonl")
    ]
    assert len(paths) > 15
    for path in paths:
        messages = openai_chat.decode(read_lines(path))
        first = next(at for at, message in enumerate(messages) if message.role == "user")
        for end in range(first + 1, len(messages) + 1):
            assert find_task(messages[:end])[0] == first, (path.name, end)
