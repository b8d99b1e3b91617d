"""Real sessions, compacted as they grow."""

import asyncio

import pytest

from agentic.context.budget import Compaction, Manager, Policy
from agentic.messages import Message, split_rounds
from agentic.tokens import approx_token_counter


class _Clerk:
    async def compact(self, messages: list[Message], /) -> str:
        return f"{len(messages)} messages"


async def replay(messages: list[Message], policy: Policy) -> list[Compaction]:
    """Check a session whenever the model is about to decide, as a loop does."""
    manager = Manager(approx_token_counter, _Clerk(), policy)
    history: list[Message] = []
    checks = []
    for message in messages:
        if message.role == "assistant":
            checks.append(await manager.compact_if_needed(history))
            history = list(checks[-1].messages)
        history.append(message)
    return checks


@pytest.mark.corpus
@pytest.mark.parametrize("window", [16_000, 64_000])
def test_real_sessions_stay_within_the_window(
    sessions: dict[str, list[Message]], window: int
) -> None:
    """Every check ends within the window: no message of theirs is too large for these."""
    checks = [asyncio.run(replay(messages, Policy(window))) for messages in sessions.values()]

    assert sum(check.changed for found in checks for check in found) >= 10
    assert not any(check.error for found in checks for check in found)
    assert all(check.fits for found in checks for check in found)


@pytest.mark.corpus
def test_real_sessions_keep_results_and_counts(sessions: dict[str, list[Message]]) -> None:
    """After each compaction every round is one of the session, and the summary counts right."""
    for messages in sessions.values():
        whole = {tuple(map(id, found.messages)) for found in split_rounds(messages)}
        gone = 0
        for check in asyncio.run(replay(messages, Policy(8_000))):
            if check.summary:
                gone += len(check.dropped)
                rest = [m for m in check.messages if not m.summary]
                assert check.summary.messages_summarized == gone
                assert {tuple(map(id, f.messages)) for f in split_rounds(rest)} <= whole
