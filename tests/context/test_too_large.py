"""What happens where nothing that fits is left: each case, at each door, has one outcome.

The page `docs/how-to/when-it-does-not-fit.md` has the same table for its readers.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agentic import history, loop, truncate
from agentic.context import budget, compactors, estimate_tokens, truncate_messages
from agentic.context.strategies import ClearToolOutputs, FitContextWindow, TruncateToolOutputs
from agentic.errors import CompactionRefused, ContextOverflow
from agentic.messages import Media, Message, ToolCall, ToolResult, close_open_rounds, split_rounds
from agentic.testing import ScriptedExecutor
from agentic.tokens import CharCounter, count_tokens

pytestmark = pytest.mark.slow

COUNTER = CharCounter()
WINDOW = 2_000
POLICY = budget.Policy(WINDOW)
PROMPT, GO = Message("system", "Be brief."), Message("user", "Go.")
# Of 800 by 600 pixels, 640 tokens by the rule for counters without a model.
PICTURE = Media("image/gif", b"GIF89a\x20\x03\x58\x02")


def tool_round(number: int, tokens: int) -> list[Message]:
    """Make a call and a result of this size."""
    name = f"c{number}"
    return [
        Message("assistant", tool_calls=[ToolCall(name, "read", '{"path": "part.py"}')]),
        Message("tool", tool_results=[ToolResult(name, "read", "line\n" * (tokens * 4 // 5))]),
    ]


CASES = {
    "a turn": [PROMPT, GO, *(each for n in range(20) for each in tool_round(n, 300))],
    "one tool result": [PROMPT, GO, *tool_round(0, 5_000)],
    "the request": [PROMPT, Message("user", "word " * 4_000)],
    "the system prompt": [
        Message("system", "rule " * 4_000),
        GO,
        *(Message("assistant", f"Step {n} is done.") for n in range(30)),
    ],
    "10,000 tiny messages": [
        Message("user" if n % 2 == 0 else "assistant", "ok") for n in range(10_000)
    ],
    "only media": [Message("user", media=[PICTURE]) for _ in range(10)],
    "one message of media": [Message("user", media=[PICTURE] * 10)],
    "what is pinned": [*(Message("user", "rule " * 200, pinned=True) for _ in range(20)), GO],
}
EVERY = pytest.mark.parametrize("case", CASES)

TOO_LARGE_FOR_A_MANAGER = {
    "one tool result": "the newest round",
    "the request": "the latest request",
    "the system prompt": "the system prompt",
    "one message of media": "the latest request",
    "what is pinned": "pinned messages",
}
"""What does not fit after a compaction, and why. The others fit; so it is with FitContextWindow."""
TOO_LARGE_FOR_CLEARING = TOO_LARGE_FOR_A_MANAGER | {
    "10,000 tiny messages": "older messages",
    "only media": "older messages",
}
"""Clearing tool outputs leaves every message: it cannot help where there are none."""
NOTHING_TO_DROP = set(TOO_LARGE_FOR_A_MANAGER) - {"the system prompt"}


def compact(messages: list[Message]) -> budget.Compaction:
    """Compact by a digest of 250 tokens."""
    digest = compactors.Digest(max_tokens=250, counter=COUNTER)
    return asyncio.run(budget.Manager(COUNTER, digest, POLICY).compact_if_needed(messages))


def is_sound(messages: Sequence[Message]) -> bool:
    """Return whether a provider accepts the rounds."""
    return not any(found.orphaned or found.open_calls for found in split_rounds(messages))


@EVERY
def test_every_case_exceeds_the_window(case: str) -> None:
    """Otherwise there would be nothing to see here."""
    assert count_tokens(CASES[case], COUNTER) > 2 * WINDOW


@EVERY
def test_manager_fits_it_or_explains(case: str) -> None:
    """What can go does; what is left is within the budget, or named."""
    done = compact(CASES[case])

    assert done.reason == "window"
    assert done.too_large == TOO_LARGE_FOR_A_MANAGER.get(case, "")
    assert done.fits == (not done.too_large)
    size = count_tokens(done.messages, COUNTER, tokens_per_media=None)
    assert done.fits == (size <= POLICY.available_tokens)
    assert is_sound(done.messages)


@EVERY
def test_manager_leaves_the_hopeless_alone(case: str) -> None:
    """Where the policy keeps all of it, the same list comes back with an error that says so."""
    done = compact(CASES[case])

    assert done.changed == (case not in NOTHING_TO_DROP)
    if not done.changed:
        assert done.messages is CASES[case]
        assert isinstance(done.error, CompactionRefused)
        assert "the policy keeps all of it" in str(done.error)


@EVERY
def test_fit_context_window_fits_or_explains(case: str) -> None:
    """The minimum is kept though it is over: the prompt, the task, what is pinned, the newest."""
    fit = FitContextWindow(WINDOW, COUNTER).fit(CASES[case])

    assert fit.too_large == TOO_LARGE_FOR_A_MANAGER.get(case, "")
    assert fit.fits == (not fit.too_large) == (fit.tokens <= WINDOW)
    assert fit.tokens == count_tokens(fit.messages, COUNTER)
    assert is_sound(fit.messages)


@EVERY
def test_clear_tool_outputs_tells_what_remains(case: str) -> None:
    """Every message is still there."""
    fit = ClearToolOutputs(WINDOW, COUNTER).fit(CASES[case])

    assert fit.too_large == TOO_LARGE_FOR_CLEARING.get(case, "")
    assert fit.fits == (not fit.too_large) == (fit.tokens <= WINDOW)
    assert len(fit.messages) == len(CASES[case])


@EVERY
def test_truncate_messages_promises_no_size(case: str) -> None:
    """The prompt and at most ten; `estimate_tokens` says how large that is."""
    kept = truncate_messages(CASES[case])

    assert len(kept) <= 11
    assert is_sound(kept)
    assert (estimate_tokens(kept, "my-model") > WINDOW) == (
        case not in {"a turn", "10,000 tiny messages"}
    )


def test_single_truncated_result_says_so() -> None:
    """The strategy before the one that drops: then all of it fits."""
    view = TruncateToolOutputs(4_000).compact(CASES["one tool result"])
    fit = FitContextWindow(WINDOW, COUNTER).fit(view)

    assert fit.fits
    assert (
        fit.messages[-1].tool_results[0].notice
        == "[Characters 2,001-18,000 of 20,000 are left out.]"
    )


class Provider:
    """Refuses what is larger than its window, as a provider does."""

    def __init__(self, *first: loop.Decision) -> None:
        self.first = list(first)
        self.sizes: list[int] = []

    async def decide(self, request: loop.Input) -> loop.Decision:
        """Refuse, or answer."""
        assert is_sound(request.history)
        size = count_tokens(request.history, COUNTER) + COUNTER.count(request.system_prompt)
        self.sizes.append(size)
        if size > WINDOW:
            raise ContextOverflow("small", size, WINDOW)
        return self.first.pop(0) if self.first else loop.Decision("Done.")


def run(provider: Provider, request: loop.Request | str, **options: Any) -> loop.Result:
    """Serve a request within the window, with a tool whose output is far larger."""
    digest = compactors.Digest(max_tokens=250, counter=COUNTER)
    parts = {
        "executor": ScriptedExecutor({"read": "line\n" * 4_000}),
        "store": history.MemoryStore(),
        "budget": budget.Manager(COUNTER, digest, POLICY),
    }
    return loop.Runner(provider, **{**parts, **options}).run_sync(request)


@pytest.mark.parametrize("case", ["a turn", "10,000 tiny messages", "only media"])
def test_runner_serves_what_can_fit(case: str) -> None:
    """It compacts before the first request: none is refused."""
    provider = Provider()
    past = [message for message in CASES[case] if message.role != "system"]

    result = run(provider, loop.Request("Go on.", history=past))

    assert result.reply == "Done."
    assert len(provider.sizes) == 1
    assert result.summary is not None


@pytest.mark.parametrize(
    ("request_", "system_prompt"),
    [("word " * 4_000, "Be brief."), ("Go.", "rule " * 4_000)],
    ids=["the request", "the system prompt"],
)
def test_runner_tells_what_cannot_be_mended(request_: str, system_prompt: str) -> None:
    """The provider's refusal, with both sizes; the same request is not sent twice."""
    provider = Provider()

    with pytest.raises(ContextOverflow, match="'small' accepts 2000 tokens, the request has 50"):
        run(provider, request_, system_prompt=system_prompt)

    assert len(provider.sizes) == 1


CALL = loop.Decision("", [ToolCall("c1", "read")])


def test_runner_truncates_single_result_when_told() -> None:
    """Its notice says what is missing, and the request goes through."""
    result = run(Provider(CALL), "Go.", truncation=truncate.Options(max_bytes=4_000))

    assert result.reply == "Done."
    assert "lines are missing" in result.tool_results[0].notice


def test_runner_without_truncation_sends_a_part() -> None:
    """The history has the whole of it; what is sent says how much is missing."""
    provider, store = Provider(CALL), history.MemoryStore()

    result = run(provider, "Go.", store=store)

    assert result.reply == "Done."
    assert provider.sizes[1] <= WINDOW
    assert asyncio.run(store.full())[2].tool_results[0].notice == ""


def test_one_turns_results_share_a_limit() -> None:
    """F7: parallel outputs that each fit do not overflow together."""
    calls = [ToolCall(f"c{n}", "read") for n in range(12)]

    result = run(
        Provider(loop.Decision("", calls)), "Go.", truncation=truncate.Options(max_bytes=1_000)
    )

    assert result.reply == "Done."
    assert sum(len(each.output) for each in result.tool_results) <= 4_000
    assert close_open_rounds(list(result.history)) == list(result.history)
