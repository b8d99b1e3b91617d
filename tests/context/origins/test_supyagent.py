"""Rows B6, B12 and B13: when supyagent summarizes, and what happens if that fails."""

import asyncio
import itertools
from pathlib import Path

import attrs
import pytest

from agentic import history, loop
from agentic.compat.open_agent_sdk import SummarizationStrategy
from agentic.context import budget, compactors
from agentic.context.strategies import FitContextWindow, Importance
from agentic.messages import Message
from agentic.testing import EventRecorder, ScriptedDecider
from agentic.tokens import CharCounter, count_tokens

LETTERS = CharCounter(1.0)
N_OR_K = budget.Policy(0, max_messages=30, max_tokens=128_000)
DESIGN = Path(__file__).parents[3] / "design"


class Clerk:
    """Summarizes everything in a sentence."""

    async def compact(self, messages: list[Message], /) -> str:
        """Return the sentence."""
        return "They talked."


class Away:
    """Cannot be reached."""

    async def compact(self, messages: list[Message], /) -> str:
        """Fail."""
        raise ConnectionError("the model is away")


def say(count: int, size: int = 100) -> list[Message]:
    """Make replies of this size in tokens, by `LETTERS`."""
    return [Message("assistant", f"{n:04}".ljust(size - 4, "x")) for n in range(count)]


def check(messages: list[Message], policy: budget.Policy = N_OR_K) -> budget.Compaction:
    """Check a conversation."""
    return asyncio.run(budget.Manager(LETTERS, Clerk(), policy).compact_if_needed(messages))


def test_six_recent_messages_by_default() -> None:
    """`min_recent_messages`=6; N and K are off until they are set."""
    assert budget.Policy(0).min_recent_messages == 6
    assert (budget.Policy(0).max_messages, budget.Policy(0).max_tokens) == (None, None)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (say(29), None),
        (say(30), "messages"),
        (say(10, 12_799), None),
        (say(10, 12_800), "tokens"),
        (say(30, 12_800), "tokens"),
    ],
)
def test_n_or_k_whichever_first(messages: list[Message], reason: str | None) -> None:
    """Thirty messages since the last summary, or 128,000 tokens in the view."""
    assert check(messages).reason == reason


def test_n_counts_from_last_summary() -> None:
    """After a summary thirty more are needed, what it kept not counted."""
    history_now = check(say(30)).messages
    kept = len(history_now) - 1

    assert kept == 6
    assert check([*history_now, *say(29)]).reason is None
    assert check([*history_now, *say(30)]).reason == "messages"


@pytest.mark.parametrize(("count", "reason"), [(9, None), (10, "tokens")])
def test_nothing_below_recent_plus_four(count: int, reason: str | None) -> None:
    """However large those few are: the prompt and a summary are none of them."""
    messages = [Message("system", "Be brief."), *say(count, 100_000)]

    assert check(messages).reason == reason


def test_k_does_not_fire_forever() -> None:
    """K is measured on the view: after a compaction that is small again."""
    policy = budget.Policy(0, max_tokens=3_000)
    messages, reasons = say(29), []

    for turn in say(60):
        done = check([*messages, turn], policy)
        messages, reasons = done.messages, [*reasons, done.reason]

    assert reasons.count("tokens") == 3
    assert all(one is None or other is None for one, other in itertools.pairwise(reasons))


def test_small_view_triggers_nothing() -> None:
    """The archive may be as long as it likes: what counts is what the model sees."""
    manager = budget.Manager(LETTERS, Clerk(), budget.Policy(0, max_tokens=3_000))
    messages = [Message("user", "Go."), *say(100)]
    view = FitContextWindow(2_000, LETTERS).compact(messages)

    done = asyncio.run(manager.compact_if_needed(messages, size=count_tokens(view, LETTERS)))

    assert (done.reason, done.messages is messages) == (None, True)


def test_failing_summarizer_fails_no_conversation() -> None:
    """It loses nothing, is reported, and the request is served."""
    manager = budget.Manager(LETTERS, Away(), budget.Policy(0, max_messages=10))
    store = history.MemoryStore()
    decider = ScriptedDecider(*[f"answer {n}" for n in range(8)])

    async def talk() -> list[Message]:
        runner = loop.Runner(decider, store=store, budget=manager)
        for number in range(8):
            await runner.run(f"question {number}")
        return await store.full()

    with EventRecorder() as recorder:
        kept = asyncio.run(talk())

    ends = [each for each in recorder.events if hasattr(each, "tokens_after")]
    assert [message.content for message in kept if message.role == "assistant"] == [
        f"answer {n}" for n in range(8)
    ]
    assert decider.requests[-1].history == tuple(kept[:-1])
    assert ends
    assert all(isinstance(each.error, ConnectionError) for each in ends)  # type: ignore[attr-defined]


def test_importance_scoring_is_built() -> None:
    """Small talk goes, and what names something stays."""
    messages = [
        Message("user", "Mend src/parser.py."),
        Message("assistant", "Sure."),
        Message("assistant", "src/parser.py reads one token too far."),
        Message("user", "And now?"),
    ]

    assert Importance(keep_recent=1).compact(messages) == [messages[0], *messages[2:]]


def test_cheaper_model_may_write_summaries() -> None:
    """It is any callable: the agent's own model is not asked."""
    asked: list[str] = []

    async def cheap(prompt: str) -> str:
        asked.append(prompt)
        return "## Done\nThey counted."

    compactor = compactors.with_digest(compactors.Model(cheap))
    agent = ScriptedDecider("Thirteen.")
    manager = budget.Manager(LETTERS, compactor, budget.Policy(0, max_messages=10))
    runner = loop.Runner(agent, budget=manager)

    result = asyncio.run(runner.run(loop.Request("How many?", history=say(12, 400))))

    assert (len(asked), len(agent.requests)) == (1, 1)
    assert result.summary is not None
    assert result.summary.content.startswith("## Done\nThey counted.")
    assert attrs.fields(SummarizationStrategy).summarize_with.default is None


@pytest.mark.parametrize(
    "word", ["background summaries", "summary levels", "semantic chunking", "caching of summaries"]
)
def test_design_has_all_the_rest(word: str) -> None:
    """Each is named on a page of `design/`, with where it would go."""
    pages = [page.read_text().casefold() for page in DESIGN.glob("*.md")]

    assert any(word in page for page in pages)
