"""A replay: what each policy sends, what it costs, what it keeps."""

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings

from agentic.app.replay import ContextLimits, Transcript, make_policy, replay
from agentic.app.replay._policies import POLICIES, ReplayPolicy
from agentic.app.replay._records import Replayed, cost_of
from agentic.context import budget
from agentic.context.strategies import FitContextWindow
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolResult
from agentic.messages._message import Role
from agentic.testing import conversations
from agentic.tokens import CharCounter, count_tokens

Talk = Callable[..., list[Message]]
COUNTER = CharCounter()
TALK: list[tuple[Role, str]] = [("user", "Go on"), ("assistant", "Yes")]


def run(
    messages: Sequence[Message], *specs: str, window: int = 4_000, providers: Sequence[str] = ()
) -> list[Replayed]:
    """Replay a conversation."""
    context_limits = ContextLimits(budget.Policy(window), COUNTER)
    policies = [make_policy(spec, context_limits) for spec in specs]
    transcript = Transcript("t", "made", tuple(messages)).mended()
    return asyncio.run(replay(transcript, policies, context_limits, providers=providers))


def test_without_policy_everything_is_always_sent(talk: Talk) -> None:
    """One request before each reply, as large as everything said; only what is new is paid."""
    messages = talk(10)

    [none] = run(messages, "none")

    starts = [at for at, message in enumerate(messages) if message.role == "assistant"]
    sizes = [count_tokens(messages[:at], COUNTER) for at in starts]
    assert [request.tokens for request in none.requests] == sizes
    assert [request.said for request in none.requests] == sizes
    assert [request.reused for request in none.requests] == [0, *sizes[:-1]]
    assert none.cost == cost_of(sum(sizes), sum(sizes[:-1]))
    assert (none.cuts, none.recall) == ((), 1.0)
    assert none.over == sum(size > 4_000 for size in sizes) > 0


def test_a_strategy_sends_its_views(talk: Talk) -> None:
    """What is sent is what the strategy gives for the history so far."""
    messages = talk(12)

    [fit] = run(messages, "fit_window")

    strategy = FitContextWindow(3_000, COUNTER)
    views = [
        strategy.compact(messages[:at])
        for at, message in enumerate(messages)
        if message.role == "assistant"
    ]
    assert [each.tokens for each in fit.requests] == [count_tokens(view, COUNTER) for view in views]
    assert fit.peak <= 3_000
    assert fit.over == 0


def test_a_cut_tells_what_is_gone(talk: Talk) -> None:
    """Before and after are the sizes at that turn; dropped messages are named by kind."""
    [fit] = run(talk(12), "fit_window")

    first = fit.cuts[0]
    request = fit.requests[first.request - 1]
    assert first.after == request.tokens < first.before == request.said
    replies = first.dropped // 2
    assert first.what == (f"{replies} replies", f"{replies} read outputs")
    assert (first.cleared, first.summary) == (0, "")


def test_clearing_is_no_dropping(talk: Talk) -> None:
    """A tool output that became a line is told as cleared."""
    [cleared] = run(talk(12), "clear_tool_outputs:low_watermark=0.5")

    first = cleared.cuts[0]
    assert first.dropped == 0
    assert first.cleared == 1
    assert first.what == ("1 read output cleared",)


def test_a_digest_says_what_it_kept(talk: Talk) -> None:
    """The summary is that of the compaction; later cuts start from the compacted history."""
    [digest] = run(talk(40), "digest")

    assert len(digest.cuts) >= 2
    assert all(cut.summary.startswith("# Digest of the conversation") for cut in digest.cuts)
    assert digest.peak <= 4_000
    assert digest.recall is not None
    assert digest.recall > 0.9


class Broken:
    """A compactor that does not work."""

    async def compact(self, messages: list[Message], /) -> str:
        """Fail."""
        raise OSError("the model is away")


def test_a_failed_compaction_still_fits(talk: Talk) -> None:
    """As in a Runner, what does not fit is left out; why there is no summary is not hidden."""
    limits = budget.Policy(4_000)
    policy = ReplayPolicy("broken", manager=budget.Manager(COUNTER, Broken(), limits))
    transcript = Transcript("t", "made", tuple(talk(20)))

    [broken] = asyncio.run(replay(transcript, [policy], ContextLimits(limits, COUNTER)))

    [problem] = broken.problems
    assert problem.endswith("compactions failed: OSError: the model is away")
    assert broken.over == 0
    assert broken.cuts
    assert not any(cut.summary for cut in broken.cuts)


def test_tiers_clear_before_they_compact(talk: Talk) -> None:
    """The first cut clears; a summary comes when clearing is not enough."""
    [tiers] = run(talk(60), "tiers:clear_at=0.5")

    assert tiers.cuts[0].cleared
    assert not tiers.cuts[0].summary
    assert any(cut.summary for cut in tiers.cuts)


def test_a_cut_calls_tools_by_their_names() -> None:
    """Only the plural of a reply is irregular, not that of a tool that is called so."""
    calls = [ToolCall(f"c{number}", "get_replys") for number in range(2)]
    results = [ToolResult(call.id, call.name, "none") for call in calls]
    fetch = Message("assistant", tool_calls=calls), Message("tool", tool_results=results)
    messages = [Message("user", "Fetch them."), *fetch, *[Message("assistant", "Well.")] * 30]

    [last] = run(messages, "keep_last:keep_recent=1")

    gone = {line for cut in last.cuts for line in cut.what}
    assert {"1 reply", "2 get_replys outputs"} <= {part for part in gone if part[0] in "12"}


@pytest.mark.parametrize(
    "spec", ["keep_last:keep_recent=4", "trim_rounds:max_rounds=2", "importance:keep_recent=4"]
)
def test_strategy_without_a_budget_stays_within_the_window(spec: str, talk: Talk) -> None:
    """It may show more than it would alone until an epoch begins, but never more than fits."""
    [replayed] = run(talk(60), spec)

    assert replayed.cuts
    assert replayed.peak <= budget.Policy(4_000).available_tokens
    assert replayed.over == 0


def test_keeping_newest_loses_earlier_names() -> None:
    """A path that only a dropped output named is neither evident nor known."""
    look = Message("assistant", tool_calls=[ToolCall("c1", "run", '{"command": "ls"}')])
    listing = Message("tool", tool_results=[ToolResult("c1", "run", "total: src/deep_end.py")])
    chat = [Message(role, f"{said} {number}.") for number in range(8) for role, said in TALK]
    edit = Message("assistant", tool_calls=[ToolCall("c2", "edit", '{"path": "src/deep_end.py"}')])
    messages = [Message("user", "Look."), look, listing, *chat, edit]

    none, last = run(messages, "none", "keep_last:keep_recent=2")

    assert none.recall == 1.0
    assert last.recall is not None
    assert last.recall < 0.5
    assert last.cuts


def test_session_without_reply_has_no_turn() -> None:
    """There was nothing to send."""
    [none] = run([Message("user", "Hello?")], "none")

    assert (len(none.requests), none.peak, none.cost, none.reused, none.recall) == (
        0,
        0,
        0,
        None,
        None,
    )


@given(messages=conversations(max_rounds=8))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_policy_makes_refused_requests(messages: list[Message]) -> None:
    """Whatever the conversation, what every policy sends is sound, and accepted for its shape."""
    for replayed in run(messages, *POLICIES, window=400, providers=["anthropic", "openai_chat"]):
        assert replayed.invalid == 0, [each.refused for each in replayed.requests]
        assert all(0 <= each.reused <= each.tokens for each in replayed.requests)


def test_policies_together_equal_policies_alone(talk: Talk) -> None:
    """One pass for all gives what a pass for each gives."""
    messages = talk(25)
    specs = ["none", "fit_window", "clear_tool_outputs", "digest", "tiers"]

    together = run(messages, *specs)

    assert together == [run(messages, spec)[0] for spec in specs]


@pytest.mark.long
def test_turn_costs_what_is_new(talk: Talk) -> None:
    """Ten times the turns take about ten times the time."""
    specs = ["none", "fit_window", "digest", "tiers"]

    def seconds(turns: int) -> float:
        messages = talk(turns, words=20)
        start = time.process_time()
        run(messages, *specs, window=8_000, providers=["anthropic"])
        return time.process_time() - start

    seconds(50)
    assert seconds(2_000) < 25 * seconds(200)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("forget", "policy must be one of none, keep_last"),
        ("keep_last:keep=3", "keep_last has no option 'keep'; its options: keep_recent"),
        ("none:x=1", "none has no option 'x'; its options: none"),
        ("fit_window:low_watermark=much", "fit_window:low_watermark must be a number"),
        ("fit_window:low_watermark=2", "low_watermark must be above 0"),
        ("keep_last:keep_recent=1.5", "must be a whole number"),
        ("digest:max_tokens=0", "max_tokens must be a whole number >= 1, got 0"),
        ("tiers:clear_at=nan", "tiers:clear_at must be a share of the window"),
        ("tiers:clear_at=0", "tiers:clear_at must be a share of the window"),
        ("absent.yaml", "absent.yaml"),
    ],
)
def test_a_misspelt_policy_lists_the_known(spec: str, told: str) -> None:
    """The name, the option or the value is named, and what would do."""
    with pytest.raises((ConfigError, ValueError), match=r"(must be|no option|no such)") as refused:
        make_policy(spec, ContextLimits(budget.Policy(4_000), COUNTER))

    assert told in str(refused.value)


def test_options_reach_the_parts() -> None:
    """What is written after the colon is what the part has."""
    context_limits = ContextLimits(budget.Policy(4_000), COUNTER)

    digest = make_policy("digest:max_tokens=300,keep_recent_tokens=500", context_limits).manager
    tiers = make_policy("tiers:keep_rounds=7,clear_at=0.5", context_limits).strategies[0]

    assert digest is not None
    assert digest.compactor.max_tokens == 300  # type: ignore[union-attr]
    assert digest.policy.keep_recent_tokens == 500
    assert (tiers.keep_rounds, tiers.max_tokens) == (7, 1_500)  # type: ignore[attr-defined]
