"""What the generated conversations of `agentic.testing` hold, and what they do not."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import Phase, find, given, settings

from agentic.messages import Message, split_rounds
from agentic.testing import conversations

LOOK = settings(phases=[Phase.generate], max_examples=2_000, derandomize=True, database=None)


def _call_ids(messages: Iterable[Message]) -> list[str]:
    return [call.id for message in messages for call in message.tool_calls]


def _repeats(ids: list[str]) -> bool:
    return len(set(ids)) < len(ids)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _is_empty(message: Message) -> bool:
    return not (message.content or message.tool_calls or message.tool_results or message.media)


def _is_parted(positions: tuple[int, ...]) -> bool:
    return positions[-1] - positions[0] >= len(positions)


EITHER = {
    "nothing": lambda said: not said,
    "leading system messages": lambda said: len(said) > 1 and said[1].role == "system",
    "a former summary": lambda said: any(one.summary for one in said),
    "pinned messages": lambda said: any(one.pinned for one in said),
    "media": lambda said: any(one.media for one in said),
    "native payloads": lambda said: any(one.native for one in said),
    "unknown fields": lambda said: any(one.extra for one in said),
    "parallel calls": lambda said: any(len(one.tool_calls) > 1 for one in said),
    "several results in one message": lambda said: any(len(one.tool_results) > 1 for one in said),
    "results out of order": lambda said: (
        _call_ids(said)[:2]
        == [result.call_id for one in said for result in one.tool_results][1::-1]
        and not _repeats(_call_ids(said)[:2])
        and len(_call_ids(said)) > 1
    ),
}
DAMAGES = {
    "missing results": lambda said: any(found.open_calls for found in split_rounds(said)),
    "orphans": lambda said: any(found.orphaned for found in split_rounds(said)),
    "parted results": lambda said: any(_is_parted(found.positions) for found in split_rounds(said)),
    "ids repeated within": lambda said: any(_repeats(_call_ids([one])) for one in said),
    "ids repeated across": lambda said: (
        _repeats(_call_ids(said)) and not any(_repeats(_call_ids([one])) for one in said)
    ),
    "empty messages": lambda said: any(_is_empty(one) for one in said),
    "tool messages without results": lambda said: any(
        one.role == "tool" and not one.tool_results for one in said
    ),
    "lone surrogates": lambda said: any(_has_surrogate(one.content) for one in said),
    "the same message twice": lambda said: _repeats([str(id(one)) for one in said]),
}


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [True, False])
@pytest.mark.parametrize("wanted", EITHER.values(), ids=EITHER)
def test_both_kinds_hold_what_conversations_hold(
    wanted: Callable[[list[Message]], bool],
    damaged: bool,
) -> None:
    """Each can be found among them."""
    assert wanted(find(conversations(damaged=damaged), wanted, settings=LOOK))


@pytest.mark.slow
@pytest.mark.parametrize("wanted", DAMAGES.values(), ids=DAMAGES)
def test_every_damage_is_among_the_damaged(wanted: Callable[[list[Message]], bool]) -> None:
    """Each can be found, alone or with others."""
    assert wanted(find(conversations(), wanted, settings=LOOK))


@given(messages=conversations(damaged=False))
def test_a_sound_conversation_has_no_damage(messages: list[Message]) -> None:
    """None of those that the damaged ones have."""
    assert [name for name, has in DAMAGES.items() if has(messages)] == []


@given(messages=conversations(max_rounds=2))
def test_conversation_has_the_requested_length(messages: list[Message]) -> None:
    """Two rounds of five messages, three leading ones, and what the accidents added."""
    assert len(messages) <= 2 * 5 + 3 + 4 + 2


def test_missing_hypothesis_says_what_to_install(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """A missing extra is named with its `pip install` line."""
    program = """
import sys; sys.modules["hypothesis"] = None
try:
    import agentic.testing._conversations
except ImportError as error:
    print(error)
"""

    assert run_python(program) == (f"conversations() needs Hypothesis: {remedy('testing')}")
