"""What stays and what goes. Every character is a token, a message four more."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic.context.budget import Compaction, Manager, Policy
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.tokens import CharCounter

LETTERS = CharCounter(1.0)


@attrs.define
class _Clerk:
    """Writes summaries of one letter, and keeps what it was given."""

    given: list[Message] = attrs.field(factory=list)

    async def compact(self, messages: list[Message], /) -> str:
        self.given = messages
        return "S"


_SUMMARY_TOKENS = 4 + len(ContextSummary("S", 99).to_message().content)


def say(*sizes: int) -> list[Message]:
    """Make replies of these sizes, in tokens."""
    return [Message("assistant", "x" * (size - 4)) for size in sizes]


def call(name: str, size: int) -> list[Message]:
    """Make a tool round of this size, in tokens: a call and its result."""
    return [
        Message("assistant", tool_calls=[ToolCall(name, "r", "{}")]),
        Message("tool", tool_results=[ToolResult(name, "r", "x" * (size - 11))]),
    ]


def compact(messages: list[Message], policy: Policy, **options: Any) -> Compaction:
    """Compact a conversation for once."""
    return asyncio.run(Manager(LETTERS, _Clerk(), policy).compact_if_needed(messages, **options))


def kept(messages: list[Message], policy: Policy, **options: Any) -> list[int]:
    """Compact, and give where the messages stood that are still there."""
    done = compact(messages, policy, **options)
    where = {id(message): position for position, message in enumerate(messages)}
    return [where[id(message)] for message in done.messages if id(message) in where]


@pytest.mark.parametrize(
    ("keep_recent", "positions"),
    [(0, [3]), (500, [3]), (501, [2, 3]), (700, [2, 3]), (701, [1, 2, 3])],
)
def test_round_crossing_recent_tokens_stays(keep_recent: int, positions: list[int]) -> None:
    """Newest rounds stay until together they are worth `keep_recent_tokens`."""
    policy = Policy(1_800, 0, keep_recent, min_recent_messages=1)

    assert kept(say(800, 400, 200, 500), policy) == positions


@pytest.mark.parametrize(("keep_last", "positions"), [(1, [2]), (2, [1, 2])])
def test_keep_last_counts_messages_instead(keep_last: int, positions: list[int]) -> None:
    """With `keep_last` the window trigger keeps that many, however small they are."""
    policy = Policy(500, reserve_tokens=0, keep_last=keep_last, min_recent_messages=1)

    assert kept(say(600, 20, 20), policy) == positions


def test_recent_tokens_win_over_keep_last() -> None:
    """`keep_last` is the simpler fallback; the default of `keep_recent_tokens` gives way to it."""
    numbers: dict[str, Any] = {"reserve_tokens": 0, "keep_last": 1, "min_recent_messages": 1}

    assert kept(say(600, 20, 20), Policy(500, keep_recent_tokens=40, **numbers)) == [1, 2]
    assert kept(say(600, 20, 20), attrs.evolve(Policy(500, **numbers), timeout_seconds=60)) == [2]


@pytest.mark.parametrize("numbers", [{"keep_recent_tokens": 5}, {"keep_last": 1}, {}])
def test_the_window_keeps_the_recent_messages(numbers: dict[str, int]) -> None:
    """`min_recent_messages` is the least that every trigger keeps."""
    policy = Policy(500, reserve_tokens=0, min_recent_messages=4, **numbers)

    assert kept(say(600, 20, 20, 20, 20, 20), policy)[-4:] == [2, 3, 4, 5]


def test_recent_rounds_go_while_triggered() -> None:
    """Whatever is the reason, the window and K are both looked at, a summary allowed for."""
    window = Policy(1_000, 0, max_tokens=999, min_recent_messages=6)
    forced = compact(say(*[200] * 12), window, force=True)
    assert forced.messages[1:] == say(200, 200, 200)

    # Seven results in one round are enough for K to count after it.
    many = [
        Message("assistant", tool_calls=[ToolCall(x, "r") for x in "abcdefg"]),
        *(Message("tool", tool_results=[ToolResult(x, "r", "x" * 50)]) for x in "abcdefg"),
    ]
    policy = Policy(0, max_tokens=500, min_recent_messages=4)
    assert kept([*say(100, 100), *many, *say(60, 60, 60)], policy) == [10, 11, 12]


def test_pins_reaching_k_spare_recent_messages() -> None:
    """If removing more would not end the trigger, `min_recent_messages` stay."""
    pinned = [attrs.evolve(message, pinned=True) for message in say(*[100] * 12)]

    positions = kept([*pinned, *say(*[50] * 8)], Policy(0, max_tokens=500, min_recent_messages=3))

    assert positions == [*range(12), 17, 18, 19]


def test_keep_last_keeps_whole_rounds() -> None:
    """A result is not kept without its call, even if that makes one message more."""
    messages = [*say(200), *call("a", 30), *say(20)]

    assert kept(messages, Policy(200, reserve_tokens=0, keep_last=2)) == [1, 2, 3]


@pytest.mark.parametrize(
    "options",
    [
        {"policy": Policy(0, max_tokens=100)},
        {"policy": Policy(0, max_messages=10)},
        {"policy": Policy(0, keep_last=2), "force": True},
    ],
)
def test_other_triggers_keep_recent_messages(options: dict[str, Any]) -> None:
    """K, N and force keep `min_recent_messages`, in whole rounds."""
    messages = [*say(*[50] * 6), *call("a", 30), *say(*[50] * 5)]

    assert kept(messages, **options) == list(range(6, 13))


def test_prompt_pins_and_request_always_stay() -> None:
    """They stand where they stood among what is kept, the summary before them."""
    messages = [
        Message("system", "prompt"),
        Message("system", "rules"),
        Message("user", "first"),
        Message("assistant", "noted", pinned=True),
        Message("user", "latest"),
        *say(300, 10),
    ]

    done = compact(messages, Policy(300, reserve_tokens=0, keep_recent_tokens=5))

    summary = next(message for message in done.messages if message.summary)
    assert done.messages == [*messages[:2], summary, *messages[3:5], messages[6]]
    assert done.dropped == (messages[2], messages[5])


def test_a_pinned_message_keeps_its_round() -> None:
    """A pinned result stays with its call, and with the other results."""
    round_ = [
        Message("assistant", tool_calls=[ToolCall("a", "r"), ToolCall("b", "r")]),
        Message("tool", tool_results=[ToolResult("b", "r")], pinned=True),
        Message("tool", tool_results=[ToolResult("a", "r")]),
    ]

    assert kept([*say(150), *round_, *say(150, 10)], Policy(200, keep_recent_tokens=5)) == [
        *(1, 2, 3),
        5,
    ]


def test_even_pinned_or_new_orphans_go() -> None:
    """Pairing wins: no provider accepts a result without its call, whoever pinned it."""
    orphans = [Message("tool", tool_results=[ToolResult(x, "r")], pinned=True) for x in "ab"]
    messages = [orphans[0], *say(*[20] * 8), orphans[1]]

    done = compact(messages, Policy(0), force=True)

    assert set(map(id, orphans)) <= set(map(id, done.dropped))
    assert done.messages[1:] == messages[3:9]


def test_a_large_turn_is_split_between_rounds() -> None:
    """One request with many tool rounds keeps the request and its newest rounds."""
    rounds = [message for name in "abcdefgh" for message in call(name, 100)]
    messages = [Message("user", "Go."), *rounds]

    positions = kept(messages, Policy(800, 0, 150, min_recent_messages=1))

    assert positions == [0, 13, 14, 15, 16]


def test_newest_round_stays_even_unfitting() -> None:
    """A round larger than the window is kept, and the result says that it does not fit."""
    done = compact([*say(500), *call("a", 500)], Policy(400, keep_recent_tokens=5))

    assert [len(done.dropped), len(done.messages)] == [1, 3]
    assert not done.fits


@pytest.mark.parametrize("overhead", [0, 300, 500])
def test_recent_part_leaves_summary_room(overhead: int) -> None:
    """Recent rounds beyond three quarters of what is available go, the overhead counted in."""
    policy = Policy(1_000, reserve_tokens=0, keep_last=50)

    done = compact(say(*[50] * 30), policy, overhead_tokens=overhead)

    assert done.fits
    assert (len(done.messages) - 1) * 50 == 750 - overhead
    assert done.tokens_after == 750 + _SUMMARY_TOKENS


def test_a_large_round_leaves_room() -> None:
    """The round that crosses `keep_recent_tokens` goes if no summary would fit beside it."""
    policy = Policy(1_000, reserve_tokens=0, keep_recent_tokens=100)

    assert kept(say(50, 900, 60), policy) == [2]


def test_counter_counting_low_keeps_less() -> None:
    """Where the provider counts twice as much, half as many rounds are worth the same."""
    policy = Policy(1_000, 0, 200, min_recent_messages=1)
    messages = say(*[50] * 12)

    assert kept(messages, policy, size=1_200) == [10, 11]
    assert kept(messages * 2, policy) == kept(messages * 2, policy, size=1_200)


def test_the_result_has_the_measured_scale() -> None:
    """`tokens_after` is the share that the counter sees left, of what was measured."""
    policy = Policy(2_000, 0, 200, min_recent_messages=1)

    done = compact(say(*[100] * 15), policy, size=3_000)

    own = done.messages[0].summary
    assert own is not None
    assert (done.tokens_before, done.tokens_after) == (3_000, 2 * (own.token_count + 100))
    assert done.fits


def test_a_low_measure_keeps_no_more() -> None:
    """A view that strategies made small says nothing about the rounds that stay."""
    policy = Policy(500, 0, 200, min_recent_messages=1)

    assert kept(say(*[50] * 100), policy, size=501) == [96, 97, 98, 99]


def test_former_summaries_fold_wherever_they_stand() -> None:
    """Two sessions in one history leave one summary, and the compactor gets both."""
    earlier, later = ContextSummary("A", 3).to_message(), ContextSummary("B", 4).to_message()
    messages = [earlier, *say(*[20] * 5), later, *say(*[20] * 5)]
    clerk = _Clerk()

    done = asyncio.run(Manager(LETTERS, clerk).compact_if_needed(messages, force=True))

    assert clerk.given[:2] == [earlier, later]
    assert [bool(message.summary) for message in done.messages] == [True] + [False] * 6


def test_the_compactor_gets_former_and_dropped() -> None:
    """In the order of the conversation, and nothing that stays."""
    former = ContextSummary("A", 3).to_message()
    talk = say(*[20] * 9)
    clerk = _Clerk()

    asyncio.run(Manager(LETTERS, clerk).compact_if_needed([former, *talk], force=True))

    assert clerk.given == [former, *talk[:3]]


def test_note_behind_summary_can_be_summarized() -> None:
    """A system message that once was recent is not taken for the system prompt."""
    prompt, note = Message("system", "prompt"), Message("system", "note")
    messages = [prompt, ContextSummary("A", 3).to_message(), note, *say(*[20] * 8)]

    done = compact(messages, Policy(0), force=True)

    assert note in done.dropped
    assert done.messages[0] is prompt


def test_a_summary_is_never_the_request() -> None:
    """A summary that was stored as a user message does not stand in for the latest request."""
    request = Message("user", "Go.")
    summary = Message("user", "old record", summary=ContextSummary("A", 3))
    messages = [request, *say(*[50] * 6), summary, *say(*[50] * 6)]

    done = compact(messages, Policy(0), force=True)

    assert done.messages[1] is request
    assert summary not in done.messages


def test_many_pinned_messages_cost_nothing_extra() -> None:
    """What is pinned is found by position, not by comparing every round with every other."""
    compared = 0

    class Watched(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    messages = [Message("user", Watched(f"{i}"), pinned=i % 2 == 0) for i in range(400)]
    policy = Policy(1_000_000, min_recent_messages=300)

    assert len(compact(messages, policy, force=True).dropped) == 50
    assert compared < 1_000


def ask(*sizes: int) -> list[Message]:
    """Make requests of these sizes, in tokens, each with a reply of 100."""
    return [message for size in sizes for message in (Message("user", "r" * (size - 4)), *say(100))]


@pytest.mark.parametrize(
    ("most", "positions"),
    [
        (None, [8, 9]),
        (0, [8, 9]),
        (60, [8, 9]),
        (80, [6, 8, 9]),
        (100, [4, 6, 8, 9]),
        (119, [4, 6, 8, 9]),
        (120, [0, 4, 6, 8, 9]),
        (420, [0, 2, 4, 6, 8, 9]),
    ],
)
def test_requests_stay_in_their_own_words(most: int | None, positions: list[int]) -> None:
    """Newest first; one that is too large for what is left goes, and older ones stay."""
    policy = Policy(
        900,
        reserve_tokens=0,
        keep_recent_tokens=0,
        min_recent_messages=1,
        keep_requests_tokens=most,
    )

    assert kept(ask(20, 300, 20, 20, 60), policy) == positions


def test_requests_stay_through_every_compaction() -> None:
    """In their order, before the newest messages, and each of them once."""
    policy = Policy(
        900, reserve_tokens=0, keep_recent_tokens=0, min_recent_messages=1, keep_requests_tokens=400
    )
    talk: list[Message] = []
    requests = []
    for _ in range(6):
        talk += [*ask(50), *say(200, 200, 200, 200)]
        requests.append(talk[-6])
        talk = compact(talk, policy).messages

    assert [each for each in talk if each.role == "user"] == requests
    assert sum(each.summary is not None for each in talk) == 1


def test_requests_are_kept_by_every_trigger() -> None:
    """Also by the number of messages, which keeps the newest ones only."""
    policy = Policy(0, max_messages=12, min_recent_messages=2, keep_requests_tokens=500)

    done = compact(ask(*[20] * 7), policy)

    assert [message.role for message in done.messages[1:]] == ["user"] * 7 + ["assistant"]


@pytest.mark.parametrize(
    "numbers", [{"context_window": 1_000}, {"context_window": 0, "max_tokens": 750}]
)
def test_requests_that_leave_no_room_are_refused(numbers: dict[str, int]) -> None:
    """Before they fill the window, and nothing could be summarized any more."""
    with pytest.raises(ConfigError, match="keep_requests_tokens"):
        Policy(**numbers, keep_requests_tokens=376)

    assert Policy(**numbers, keep_requests_tokens=375).keep_requests_tokens == 375
