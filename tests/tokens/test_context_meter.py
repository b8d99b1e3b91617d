import statistics
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import tokens as counting
from agentic.messages import ContextSummary, Message, from_plain, to_plain
from agentic.testing import conversations
from agentic.tokens import (
    CharCounter,
    ContextMeter,
    EstimateCounter,
    approx_token_counter,
)
from agentic.usage import Usage

CHARS = CharCounter(1)
count_tokens = partial(counting.count_tokens, tokens_per_media=None)
OVERHEAD = 4


def _sized(tokens: int, role: str = "user") -> Message:
    """Make a message that CHARS counts as so many tokens."""
    return Message(role, "x" * (tokens - OVERHEAD))  # type: ignore[arg-type]


def _dialogue(turns: int) -> list[Message]:
    return [_sized(300, role) for _ in range(turns) for role in ("user", "assistant")]


def _run(meter: ContextMeter, dialogue: list[Message], *, factor: float, hidden: int) -> None:
    """Report every call of a dialogue, as a provider does that counts `factor` for each of ours."""
    for end in range(1, len(dialogue), 2):
        counted = round(factor * count_tokens(dialogue[:end], CHARS)) + hidden
        meter.report(dialogue[:end], dialogue[end], Usage(counted, round(factor * 300)))


@given(messages=conversations(), overhead_tokens=st.integers(0, 9_999))
def test_before_first_report_view_is_counted(messages: list[Message], overhead_tokens: int) -> None:
    """With what is said to go beside it."""
    meter = ContextMeter(approx_token_counter)

    assert meter.measure(messages, overhead_tokens=overhead_tokens) == (
        count_tokens(messages) + overhead_tokens
    )


@given(sent=conversations(), tail=conversations(), tokens=st.integers(1, 10**6))
def test_report_is_taken_as_is(sent: list[Message], tail: list[Message], tokens: int) -> None:
    """The size is what was reported, input and output, and an estimate of what came after."""
    meter = ContextMeter(approx_token_counter)
    reply = Message("assistant", "Done.")
    tokens += count_tokens(sent)

    meter.report(sent, reply, Usage(tokens, 20))

    assert meter.measure([*sent, reply], overhead_tokens=999) == tokens + 20
    rebuilt = [from_plain(to_plain(message)) for message in [*sent, reply]]
    assert meter.measure(rebuilt) == tokens + 20
    grown = meter.measure([*sent, reply, *tail])
    assert grown == tokens + 20 + round(meter.factor * count_tokens(tail))


def test_too_small_report_is_disbelieved() -> None:
    """A server that reports only what was not in its cache does not switch the budget off."""
    meter = ContextMeter(approx_token_counter)
    sent, reply = [Message("user", "x" * 40_000)], Message("assistant", "Done.")

    meter.report(sent, reply, Usage(5, 1))

    assert meter.measure([*sent, reply]) == count_tokens([*sent, reply])
    assert meter.estimate_within(10_000) == 10_000


def _after_a_server_side_cut(meter: ContextMeter, calls: int, kept: int) -> list[float]:
    """Report `calls` calls that a server cut to `kept` tokens at once; give how far off each is."""
    dialogue, errors = _dialogue(40), []
    meter.report(dialogue[:79], dialogue[79], Usage(79 * 300, 300))
    for number in range(calls):
        dialogue.append(_sized(300))
        reported = kept + 600 * number
        errors.append(meter.measure(dialogue) / reported)
        reply = _sized(300, "assistant")
        meter.report(dialogue, reply, Usage(reported, 300))
        dialogue.append(reply)
    return errors


def test_server_side_cut_is_believed_soon() -> None:
    """Three reports that agree are enough, and later ones are taken at once."""
    errors = _after_a_server_side_cut(ContextMeter(CHARS), 20, kept=4_000)

    assert errors[0] > 6
    assert errors[3:] == pytest.approx([1.0] * 17, rel=0.01)


def test_a_second_cut_is_believed_too() -> None:
    """In between, the whole is estimated: rather too much than too little."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(40)
    reports = [4_000, 4_600, 5_200, 5_800, 2_000, 2_600, 3_200, 3_800]
    measured = []

    for reported in reports:
        meter.report(dialogue, _sized(300, "assistant"), Usage(reported, 300))
        dialogue += [_sized(300, "assistant"), _sized(300)]
        measured.append(meter.measure(dialogue) - reported)

    assert [error == 600 for error in measured] == [*[False] * 2, *[True] * 2] * 2
    assert min(measured) == 600


@given(st.lists(st.integers(4, 3_000), min_size=8, max_size=20))
def test_uncached_part_is_never_the_whole(tails: list[int]) -> None:
    """A server that reports only what was not cached: its reports do not add up."""
    meter = ContextMeter(CHARS)
    sent = [_sized(100_000)]

    for tail in tails:
        sent = [*sent, _sized(tail)]
        meter.report(sent, _sized(50, "assistant"), Usage(tail + 50, 50))
        sent = [*sent, _sized(50, "assistant")]

    grew = all(later > 5 * earlier for earlier, later in pairwise(tails[-3:]))
    assert grew or meter.measure(sent) >= 100_000


def test_cut_by_half_is_no_calibration() -> None:
    """A request reported smaller than one that it holds says nothing of what texts are worth."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(20)
    _run(meter, dialogue, factor=1, hidden=0)
    more = [*dialogue, _sized(300)]

    meter.report(more, _sized(300, "assistant"), Usage(6_000, 300))
    more += [_sized(300, "assistant"), _sized(300)]
    meter.report(more, _sized(300, "assistant"), Usage(6_600, 300))

    assert meter.measure([*more, _sized(300, "assistant")]) == 6_900
    assert meter.factor == pytest.approx(1)
    assert meter.estimate_within(9_000) == pytest.approx(9_000, rel=0.01)


def test_report_counts_while_its_view_leads() -> None:
    """After a compaction the size is an estimate again, with what is hidden from the messages."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(2)
    meter.report(dialogue[:3], dialogue[3], Usage(1_500, 300))
    compacted = [ContextSummary("short", 3).to_message(), dialogue[3]]

    assert meter.measure(dialogue) == 1_800
    assert meter.measure(compacted) == 600 + count_tokens(compacted, CHARS)


def test_report_counts_again_with_its_view() -> None:
    """A measure of another view in between changes nothing."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(1)
    meter.report(dialogue[:1], dialogue[1], Usage(1_000, 300))

    meter.measure([Message("user", "something else")])

    assert meter.measure([*dialogue, _sized(10)]) == 1_310


def test_misestimated_script_is_learned() -> None:
    """A provider that counts three times as much: after two reports the tail is scaled."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(2)

    _run(meter, dialogue, factor=3, hidden=500)

    assert meter.factor == pytest.approx(3)
    assert meter.measure([*dialogue, _sized(1_000)]) == 500 + 3 * 1_200 + 3_000
    assert meter.measure([_sized(1_000)]) == 500 + 3_000


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.3, 6.0])
def test_long_conversation_measures_as_provider_counts(factor: float) -> None:
    """Whatever the factor and whatever is hidden, grown or cut anew."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(10)

    _run(meter, dialogue, factor=factor, hidden=2_000)

    for view in ([*dialogue, _sized(2_000)], dialogue[10:]):
        counted = factor * count_tokens(view, CHARS) + 2_000
        assert meter.measure(view) == pytest.approx(counted, rel=0.01)


@pytest.mark.parametrize("reported", [0, 10**9])
def test_unbelievable_report_moves_factor_within_bounds(reported: int) -> None:
    """No tokenizer is four times less or eight times more than the estimate."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(2)
    meter.report(dialogue[:1], dialogue[1], Usage(10_000, 300))

    meter.report(dialogue[:3], dialogue[3], Usage(10_300 + reported, 300))

    assert meter.factor in {0.25, 8.0}
    assert meter.measure(dialogue) == 10_600 + reported


def test_little_growth_says_nothing_of_factor() -> None:
    """A ratio of two small numbers is that of their overheads."""
    meter = ContextMeter(CHARS)
    dialogue = [_sized(20, role) for _ in range(2) for role in ("user", "assistant")]

    _run(meter, dialogue, factor=3, hidden=100)

    assert meter.factor == 1.0


def test_a_usage_without_input_is_ignored() -> None:
    """A stream that ended early, or a server that does not count, teaches nothing."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(1)

    meter.report(dialogue[:1], dialogue[1], Usage(output=300))

    assert meter.measure(dialogue, overhead_tokens=50) == 650


def test_low_counting_provider_hides_nothing() -> None:
    """There is no negative overhead: the factor takes it up."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(1)

    meter.report(dialogue[:1], dialogue[1], Usage(150, 10))

    assert meter.measure([_sized(600)]) == 300


@given(
    tokens=st.integers(0, 50_000),
    factor=st.floats(0.3, 7),
    hidden=st.integers(0, 5_000),
    turns=st.integers(0, 4),
)
def test_estimate_within_inverts_a_measure(
    tokens: int, factor: float, hidden: int, turns: int
) -> None:
    """A new view of that size measures no more than was allowed; one token more, no less."""
    meter = ContextMeter(CHARS)
    _run(meter, _dialogue(turns), factor=factor, hidden=hidden)

    allowed = meter.estimate_within(tokens, overhead_tokens=40)

    if allowed >= OVERHEAD:
        assert meter.measure([_sized(allowed, "system")], overhead_tokens=40) <= tokens
    if allowed + 1 >= OVERHEAD:
        assert meter.measure([_sized(allowed + 1, "system")], overhead_tokens=40) >= tokens


def test_nothing_fits_beside_large_hidden_part() -> None:
    """Not even a view of no tokens: the answer is below zero."""
    meter = ContextMeter(CHARS)
    _run(meter, _dialogue(3), factor=6, hidden=1_000)

    assert meter.estimate_within(999) < 0 <= meter.estimate_within(1_000)


def test_unreturned_reasoning_is_learned() -> None:
    """Some providers count the thinking of a reply once, as output, and never again."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(6)

    for end in range(1, len(dialogue), 2):
        counted = count_tokens(dialogue[:end], CHARS) + 500
        meter.report(dialogue[:end], dialogue[end], Usage(counted, 300 + 2_000, reasoning=2_000))

    assert meter.factor == pytest.approx(1)
    assert meter.measure([*dialogue, _sized(300)]) == 500 + 13 * 300
    assert meter.measure([_sized(300)]) == 800


def test_returned_reasoning_is_counted() -> None:
    """Other providers take the thinking back, and count it in every later call."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(6)

    for turn, end in enumerate(range(1, len(dialogue), 2)):
        counted = count_tokens(dialogue[:end], CHARS) + 500 + turn * 2_000
        meter.report(dialogue[:end], dialogue[end], Usage(counted, 300 + 2_000, reasoning=2_000))

    assert meter.factor == pytest.approx(1)
    assert meter.measure([*dialogue, _sized(300)]) == 500 + 13 * 300 + 6 * 2_000


def test_few_tokens_near_estimate_say_little() -> None:
    """A tool output that came out a fifth larger says more of itself than of the tokenizer."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(2)
    meter.report(dialogue[:1], dialogue[1], Usage(1_000, 300))

    meter.report(dialogue[:3], dialogue[3], Usage(1_660, 300))

    assert 1.0 < meter.factor < 1.1


@given(factor=st.floats(1.02, 3), hidden=st.integers(0, 5_000))
def test_smallest_request_tells_what_is_hidden(factor: float, hidden: int) -> None:
    """A factor that is a little off does not grow into thousands of hidden tokens."""
    meter = ContextMeter(CHARS)
    dialogue = _dialogue(60)

    _run(meter, dialogue, factor=factor, hidden=hidden)

    counted = factor * count_tokens(dialogue[:3], CHARS) + hidden
    assert meter.measure([*dialogue[:2], _sized(300)]) == pytest.approx(counted, rel=0.05)


@pytest.mark.corpus
def test_real_sessions_estimate_within_a_percent(
    deepseek_sessions: list[tuple[list[Message], list[tuple[int, Usage]]]],
) -> None:
    """Row F5, at the 95th percentile, from the second call on."""
    errors = []
    for messages, calls in deepseek_sessions:
        meter = ContextMeter(EstimateCounter())
        for number, (sent, usage) in enumerate(calls):
            if number:
                errors.append(abs(meter.measure(messages[:sent]) - usage.input) / usage.input)
            meter.report(messages[:sent], messages[sent], usage)

    assert statistics.median(errors) < 0.001
    assert statistics.quantiles(errors, n=20)[-1] < 0.01


@pytest.mark.corpus
def test_real_sessions_measure_within_a_percent(
    deepseek_sessions: list[tuple[list[Message], list[tuple[int, Usage]]]],
) -> None:
    """Row F5: from the second call on, against what DeepSeek reported for 16 sessions."""
    errors = []
    for messages, calls in deepseek_sessions:
        meter = ContextMeter(approx_token_counter)
        for number, (sent, usage) in enumerate(calls):
            if number:
                errors.append(abs(meter.measure(messages[:sent]) - usage.input) / usage.input)
            meter.report(messages[:sent], messages[sent], usage)

    median, p95 = statistics.median(errors), statistics.quantiles(errors, n=20)[-1]
    print(f"{len(errors)} calls: median {median:.3%}, p95 {p95:.3%}, most {max(errors):.3%}")  # noqa: T201
    assert median < 0.001
    assert p95 < 0.02


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.5, "1e999"])
@pytest.mark.parametrize("field", ["factor", "whole_factor", "hidden_tokens", "reported_tokens"])
def test_impossible_calibration_is_refused(field: str, number: object) -> None:
    """When it is read: JSON may hold such numbers, and a later measure could not be computed."""
    plain = ContextMeter(approx_token_counter).to_plain(str)

    with pytest.raises(ValueError, match="that a calibration can have"):
        ContextMeter(approx_token_counter).read_plain({**plain, field: number}, [], str)
