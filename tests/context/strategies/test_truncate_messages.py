"""The lean door of row D2, on dicts as OpenAI has them."""

import copy
from typing import Any

import pytest

from agentic.context.strategies import truncate_messages
from agentic.errors import ConfigError
from agentic.messages import Message

SYSTEM = {"role": "system", "content": "You are helpful."}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "text"}


def talk(length: int) -> list[dict[str, Any]]:
    """Make a conversation of users and assistants in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"message {n}"} for n in range(length)]


def test_the_prompt_and_ten_are_kept() -> None:
    """A new list of the caller's own objects."""
    messages = [SYSTEM, *talk(50)]

    kept = truncate_messages(messages)

    assert [id(message) for message in kept] == list(map(id, [SYSTEM, *messages[-10:]]))


def test_nothing_is_mutated() -> None:
    """Neither the list nor a message of it."""
    messages = [SYSTEM, *talk(20), CALL, RESULT]
    before = copy.deepcopy(messages)

    truncate_messages(messages, keep=3)

    assert messages == before


@pytest.mark.parametrize("keep", [3, 10, 1_000])
def test_a_short_conversation_is_copied(keep: int) -> None:
    """Never the caller's own list, and never the system prompt twice."""
    messages = [SYSTEM, *talk(3)]

    kept = truncate_messages(messages, keep)

    assert kept == messages
    assert kept is not messages


@pytest.mark.parametrize(
    ("keep", "preserve", "left"),
    [
        (0, True, [SYSTEM]),
        (0, False, []),
        (1, False, [talk(4)[-1]]),
        (9, False, [SYSTEM, *talk(4)]),
    ],
)
def test_nothing_kept_is_only_the_prompt(keep: int, preserve: bool, left: Any) -> None:
    """Zero is zero; a prompt that is not preserved is a message like any other."""
    assert truncate_messages([SYSTEM, *talk(4)], keep, preserve) == left


@pytest.mark.parametrize(
    ("keep", "left"),
    [(1, talk(4)[-1:]), (2, talk(4)[-1:]), (3, [CALL, RESULT, talk(4)[-1]])],
)
def test_round_across_cut_goes_whole(keep: int, left: list[Any]) -> None:
    """A result never comes without its call."""
    assert truncate_messages([*talk(3), CALL, RESULT, talk(4)[-1]], keep) == left


def test_an_orphan_is_left_out() -> None:
    """A result whose call is nowhere would have the request refused."""
    assert truncate_messages([RESULT, *talk(2)]) == talk(2)


def test_messages_are_taken_as_well() -> None:
    """The same door for both forms."""
    messages = [Message("system", "Count."), Message("user", "1"), Message("user", "2")]

    assert truncate_messages(messages, 1) == [messages[0], messages[2]]


@pytest.mark.parametrize("role", ["critic", None, ["user"]])
def test_an_unknown_role_is_a_round(role: Any) -> None:
    """It is left to the provider to refuse it."""
    odd = {"role": role, "content": "Hm."}

    assert truncate_messages([*talk(2), odd], 1, preserve_system=False) == [odd]


@pytest.mark.parametrize(("messages", "keep"), [(talk(2), -1), (talk(2), "3"), (["hi"], 3)])
def test_what_makes_no_sense_is_refused(messages: Any, keep: Any) -> None:
    """A sentence says what would do."""
    with pytest.raises(ConfigError):
        truncate_messages(messages, keep)


@pytest.mark.parametrize("calls", [[object()], ["c1"], {"id": "c1"}, 3])
def test_calls_other_than_dicts_are_refused(calls: Any) -> None:
    """An SDK's object among them is what its `tool_calls` would hold."""
    with pytest.raises(ConfigError, match=r"tool_calls must be a list of dicts, .*model_dump"):
        truncate_messages([{"role": "assistant", "tool_calls": calls}])
