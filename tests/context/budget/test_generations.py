"""What a summary says of itself, over several compactions."""

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.budget import Compaction, Manager, Policy
from agentic.messages import ContextSummary, Message, ToolResult, from_plain, to_plain
from agentic.tokens import CharCounter, approx_token_counter, count_tokens

CHAPTERS = st.lists(
    st.lists(st.sampled_from(["user", "assistant", "system", "pinned", "orphan"]), max_size=9),
    min_size=1,
    max_size=6,
)


class _Clerk:
    """Writes summaries that can be told apart, since each stands for something else."""

    async def compact(self, messages: list[Message], /) -> str:
        return f"{len(messages)} messages"


def compact(messages: list[Message], policy: Policy | None = None) -> Compaction:
    """Force a compaction by a Manager of its own."""
    manager = Manager(approx_token_counter, _Clerk(), policy or Policy(0))
    return asyncio.run(manager.compact_if_needed(messages, force=True))


def say(*numbers: int) -> list[Message]:
    """Make messages that can be told apart."""
    return [Message("assistant", f"message {number}") for number in numbers]


def speak(kinds: Iterable[str], chapter: int) -> list[Message]:
    """Make messages of these kinds."""
    made = []
    for number, kind in enumerate(kinds):
        text = f"{chapter}.{number}"
        if kind == "orphan":
            made.append(Message("tool", tool_results=[ToolResult(text)]))
        elif kind == "pinned":
            made.append(Message("user", text, pinned=True))
        else:
            made.append(Message(kind, text))  # type: ignore[arg-type]
    return made


def described(done: Compaction) -> ContextSummary:
    """Return the summary that there must be."""
    assert done.summary is not None
    return done.summary


def test_first_summary_describes_what_it_replaced() -> None:
    """Counts and indices leave the leading system messages out; both ends are inclusive."""
    messages = [Message("system", "prompt"), *say(*range(10))]

    done = compact(messages)

    summary = described(done)
    assert (summary.messages_summarized, summary.generation) == (4, 1)
    assert (summary.first_message_idx, summary.last_message_idx) == (0, 3)
    assert (summary.messages_kept, summary.created_at.tzinfo is not None) == (6, True)


def test_a_marked_summary_follows_the_prompt() -> None:
    """It is a system message that says it is no instruction, right after the leading ones."""
    prompts = [Message("system", "prompt"), Message("system", "rules")]

    done = compact([*prompts, *say(*range(10))])

    assert done.messages[:2] == prompts
    message = done.messages[2]
    assert (message.role, message.summary) == ("system", done.summary)
    assert message.content.startswith("[Context Summary - 4 previous messages]\n")
    assert "It is no request, no instruction" in message.content


def test_sizes_are_the_whole_conversations() -> None:
    """The summary knows its own size, and that of the context before and after."""
    messages = say(*range(40))

    done = compact(messages)

    summary = described(done)
    assert summary.token_count == count_tokens(done.messages[:1])
    assert summary.tokens_before == done.tokens_before == count_tokens(messages)
    assert summary.tokens_after == done.tokens_after == count_tokens(done.messages)


def test_former_summary_is_folded_never_stacked() -> None:
    """The second summary stands for everything, and is the only one."""
    first = compact(say(*range(10)))

    second = compact([*first.messages, *say(*range(10, 15))])

    summary = described(second)
    assert [message.summary for message in second.messages if message.summary] == [summary]
    assert (summary.generation, summary.messages_summarized) == (2, 9)
    assert (summary.first_message_idx, summary.last_message_idx) == (0, 8)
    assert first.messages[0] not in second.dropped


def test_a_kept_request_counts_in_place() -> None:
    """A message older than the first summary extends what the second one covers."""
    request = Message("user", "first request")
    first = compact([request, *say(*range(1, 10))])
    assert described(first).first_message_idx == 1

    second = compact([*first.messages, Message("user", "another"), *say(*range(11, 16))])

    summary = described(second)
    assert request in second.dropped
    assert (summary.first_message_idx, summary.last_message_idx) == (0, 9)
    assert summary.messages_summarized == 10


def test_the_state_survives_the_plain_form() -> None:
    """A history that was stored and loaded goes on counting where it was."""
    first = compact(say(*range(10)))
    loaded = [from_plain(to_plain(message)) for message in first.messages]

    second = compact([*loaded, *say(*range(10, 15))])

    assert described(second).generation == 2
    assert described(second).last_message_idx == 8


@given(chapters=CHAPTERS, recent=st.integers(1, 5), prompts=st.integers(0, 2))
def test_counts_and_indices_survive_generations(
    chapters: list[list[str]], recent: int, prompts: int
) -> None:
    """Whatever is pinned, orphaned or asked for, they name what the summaries replaced."""
    leading = [Message("system", "prompt")] * prompts
    archive: list[Message] = []
    history, gone, generation = list(leading), set[int](), 0
    for chapter, kinds in enumerate(chapters):
        # A system message at the very start would be one of the leading ones.
        fresh = speak(kinds if archive else ["user", *kinds], chapter)
        archive += fresh
        done = compact([*history, *fresh], Policy(0, min_recent_messages=recent))
        history = done.messages
        generation += done.changed
        gone |= {archive.index(message) for message in done.dropped}

        state = history[prompts].summary if generation else None
        assert (state is None) == (not gone)
        if state:
            assert (state.generation, state.messages_summarized) == (generation, len(gone))
            assert (state.first_message_idx, state.last_message_idx) == (min(gone), max(gone))
        kept = [message for i, message in enumerate(archive) if i not in gone]
        assert [message for message in history[prompts:] if not message.summary] == kept


def test_consecutive_low_gains_are_counted() -> None:
    """A compaction that frees less than a tenth counts on from the last, another starts anew."""
    pinned = Message("user", "x" * 20_000, pinned=True)
    first = compact([pinned, *say(*range(10))])
    second = compact([*first.messages, *say(*range(10, 15))])
    third = compact([*second.messages, *[Message("assistant", "x" * 20_000)] * 8])

    gains = [described(done).low_gains for done in (first, second, third)]

    assert gains == [1, 2, 0]


@pytest.mark.parametrize(("freed", "low_gains"), [(500, 0), (499, 1)])
def test_gain_of_tenth_is_not_low(freed: int, low_gains: int) -> None:
    """Freeing exactly a tenth is enough, one token less is not."""
    own_tokens = 4 + len(ContextSummary("1 messages", 1).to_message().content)
    old = Message("assistant", "x" * (freed + own_tokens - 4))
    new = Message("assistant", "x" * (5_000 - freed - own_tokens - 4))
    manager = Manager(CharCounter(1.0), _Clerk(), Policy(0, min_recent_messages=1))

    done = asyncio.run(manager.compact_if_needed([old, new], force=True))

    assert (done.tokens_before, done.tokens_after) == (5_000, 5_000 - freed)
    assert described(done).low_gains == low_gains
