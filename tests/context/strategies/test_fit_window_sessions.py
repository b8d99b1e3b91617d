"""Real sessions in a window, turn by turn."""

from itertools import pairwise

import pytest

from agentic.context.strategies import Fit, FitContextWindow
from agentic.messages import Message, close_open_rounds
from agentic.tokens import count_tokens


def replay(messages: list[Message], strategy: FitContextWindow) -> list[Fit]:
    """Make a view whenever the model is about to decide, as a loop does."""
    ends = [place for place, message in enumerate(messages) if message.role == "assistant"]
    return [strategy.fit(messages[:end]) for end in ends]


@pytest.mark.corpus
def test_real_sessions_fold_turn_by_turn(
    sessions: dict[str, list[Message]],
) -> None:
    """Fold: the last view of a session is that of a strategy that sees it for the first time."""
    for messages in sessions.values():
        sound = close_open_rounds(messages)
        strategy = FitContextWindow(8_000)
        replay(sound, strategy)

        warm, cold = strategy.fit(sound), FitContextWindow(8_000).fit(sound)

        assert list(map(id, warm.messages)) == list(map(id, cold.messages))
        assert warm.tokens == cold.tokens == count_tokens(cold.messages)


@pytest.mark.corpus
def test_real_sessions_are_cut_rarely(sessions: dict[str, list[Message]]) -> None:
    """Nearly always what was sent is the start of what is sent next: the cache survives."""
    turns = kept = 0
    for messages in sessions.values():
        views = [fit.messages for fit in replay(messages, FitContextWindow(32_000))]
        for before, after in pairwise(views):
            turns += 1
            kept += list(map(id, after[: len(before)])) == list(map(id, before))

    assert turns > 2_000
    assert kept / turns > 0.98
