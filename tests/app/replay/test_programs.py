"""Policies whose summaries a model would write: what is kept, and what a summary costs."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from agentic.app.replay import ContextLimits, Report, Transcript, make_policy, replay
from agentic.app.replay._records import Replayed, cost_of, price_of
from agentic.context import budget
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter

Talk = Callable[..., list[Message]]
COUNTER = CharCounter()


def run(messages: list[Message], *specs: str, window: int = 4_000) -> list[Replayed]:
    """Replay a conversation, and keep what each request sent."""
    limits = ContextLimits(budget.Policy(window), COUNTER)
    policies = [make_policy(spec, limits) for spec in specs]
    transcript = Transcript("t", "made", tuple(messages))
    return asyncio.run(
        replay(transcript, policies, limits, providers=["anthropic"], keep_views=True)
    )


def made_by(replayed: Replayed) -> list[Message]:
    """Return what a policy made itself in the requests from its first cut to the next."""
    return [item for item in replayed.series[1].items if isinstance(item, Message)]


def work(rounds: int) -> list[Message]:
    """Return requests that are each followed by one file that is read, and a reply."""
    messages: list[Message] = []
    for number in range(rounds):
        call = ToolCall(f"c{number}", "read", f'{{"path": "src/part_{number}.py"}}')
        text = f"def part_{number}(): ...\n" * 20
        messages += [
            Message("user", f"Look at part {number}."),
            Message("assistant", tool_calls=[call]),
            Message("tool", tool_results=[ToolResult(call.id, "read", text)]),
            Message("assistant", f"Part {number} is empty."),
        ]
    return messages


def test_a_continuation_is_read_from_the_cache(talk: Talk) -> None:
    """Its request is the last one and what came since; only that is written anew."""
    [none, continued] = run(talk(120, words=20), "none", "continuation")

    first, asked = continued.cuts[0], continued.summaries[0]
    last = continued.requests[first.request - 2]
    assert asked.reused == last.tokens
    assert 0 < asked.tokens - last.tokens < last.tokens / 4
    assert len(continued.summaries) == len([cut for cut in continued.cuts if cut.summary])
    assert none.summary_cost == 0


def test_the_cost_has_that_of_summaries(talk: Talk) -> None:
    """What is read from the cache costs a tenth, what a model writes five times as much."""
    [continued] = run(talk(120, words=20), "continuation")

    requests = cost_of(continued.sent, sum(each.reused for each in continued.requests))
    summaries = sum(
        cost_of(each.tokens, each.reused) + 5 * each.output for each in continued.summaries
    )
    assert continued.summary_cost == pytest.approx(summaries)
    assert continued.cost == pytest.approx(requests + summaries)


def test_a_summary_without_the_cache_costs_several_times_as_much(talk: Talk) -> None:
    """Codex's request declares no tools: the cache has nothing of it."""
    extended, anew = run(talk(120, words=20), "claude-code", "codex")

    assert all(each.reused for each in extended.summaries)
    assert not any(each.reused for each in anew.summaries)
    read, written = extended.summaries[0], anew.summaries[0]
    assert cost_of(read.tokens, read.reused) < cost_of(written.tokens, 0) / 3


def test_native_compacts_at_its_threshold(talk: Talk) -> None:
    """The provider's threshold counts, unless the window is reached before."""
    early, late = run(talk(120, words=20), "native:trigger_tokens=2000", "native")

    assert early.peak < 2_000 < late.peak
    assert early.cuts[0].request < late.cuts[0].request
    assert early.summaries[0].reused == early.requests[early.cuts[0].request - 2].tokens


def test_claude_code_reads_the_last_files_again() -> None:
    """Nothing else stays beside the summary; a file is shown as it was last read."""
    [replayed] = run(work(40), "claude-code")

    summary, *files = made_by(replayed)
    assert summary.content.startswith("A summary of the conversation so far:")
    numbers = [int(file.content.split("part_")[1].split(".")[0]) for file in files]
    assert numbers == list(range(numbers[0], numbers[0] - 5, -1))
    assert replayed.invalid == 0


def test_codex_keeps_what_the_user_said() -> None:
    """The requests stay, in order, and the summary comes last."""
    messages = work(40)
    [replayed] = run(messages, "codex")

    series = replayed.series[1]
    at = next(at for at, item in enumerate(series.items) if isinstance(item, Message))
    kept = [messages[item] for item in series.items[:at] if isinstance(item, int)]
    assert kept == [message for message in messages if message.role == "user"][: len(kept)]
    assert len(kept) > 3
    assert replayed.invalid == 0


def test_gemini_cli_keeps_the_newest_and_checks_its_summary() -> None:
    """From a request on; each summary is asked for twice, the second time from the cache."""
    messages = work(40)
    [replayed] = run(messages, "gemini-cli")

    series = replayed.series[1]
    summary, reply, first = series.items[:3]
    assert isinstance(summary, Message)
    assert isinstance(reply, Message)
    assert reply.role == "assistant"
    assert isinstance(first, int)
    assert messages[first].role == "user"
    asked, checked = replayed.summaries[:2]
    assert (asked.reused, checked.reused) == (0, asked.tokens)
    assert replayed.invalid == 0


def test_gemini_cli_waits_for_a_request_to_cut_at() -> None:
    """In one long turn there is no place at which it compacts: it runs over its threshold."""
    task, *rest = work(30)
    turn = [task, *(each for each in rest if each.role == "tool" or each.tool_calls)]

    [replayed] = run(turn, "gemini-cli", window=3_000)

    assert (replayed.cuts, replayed.summaries) == ((), ())
    assert replayed.over > 0


def test_the_table_shows_what_summaries_cost(talk: Talk) -> None:
    """The column is there if a policy asks a model; with a price it is in dollars."""
    transcript = Transcript("t", "made", tuple(talk(120, words=20)))
    report = Report(
        replays=((transcript, tuple(run(talk(120, words=20), "digest", "continuation"))),),
        descriptions=("", ""),
        window=4_000,
        reserve=1_000,
        counter="characters",
        providers=(),
    )
    digest, continued = report.rows

    assert "of which" in report.to_text()
    assert digest.summary_cost is None
    assert continued.summary_cost is not None
    assert 0 < continued.summary_cost < continued.cost
    pytest.importorskip("genai_prices")
    price = price_of("claude-sonnet-4-5", datetime(2026, 11, 1, tzinfo=UTC))
    assert price is not None
    sent = run(talk(120, words=20), "continuation")[0].summaries[0]
    # 3 dollars a million for input, 0.3 from the cache, 3.75 into it, and 15 for what is written.
    expected = 0.3 * sent.reused + 3.75 * (sent.tokens - sent.reused) + 15 * sent.output
    assert price.of_summaries([sent]) == pytest.approx(expected / 1e6)


def test_gemini_cli_parts_no_call_from_its_result() -> None:
    """Also where a reply without calls stands between the two."""
    call = ToolCall("c", "read", "{}")
    parted = [
        Message("user", "Read it. " * 60),
        Message("assistant", tool_calls=[call]),
        Message("assistant", "I wait for it."),
        Message("tool", tool_results=[ToolResult("c", "read", "Nothing.")]),
        Message("user", "And now? " * 60),
        Message("assistant", "Done."),
    ]

    [replayed] = run(parted, "gemini-cli", window=320)

    assert {each.refused for each in replayed.requests} == {""}
