"""The figures of a bridge are counted in the text that arrived at a model."""

import pytest

from benchmarks.bridges import dicts
from benchmarks.bridges._scenario import Recorder, turns


def test_prefix_is_what_two_requests_share() -> None:
    """A prompt cache has seen a request as far as the former one says the same."""
    recorder = Recorder()
    for request in (["abc", "d"], ["abc", "e"], ["xbc"]):
        recorder.request(request)

    assert recorder.figures().prefix_reused == pytest.approx(4 / 13)


def test_messages_summarized_are_counted_per_summary() -> None:
    """A message that two summaries were made of has been paid for twice."""
    recorder = Recorder()
    first, second, *_ = turns()
    recorder.summarize(first.request + first.output)
    recorder.summarize(first.request + second.request)

    assert recorder.figures().summaries == 2
    assert recorder.figures().messages_summarized == 4


def test_evidence_is_what_last_request_names() -> None:
    """What an earlier request named does not help a model that answers the last one."""
    recorder = Recorder()
    recorder.request([turn.output for turn in turns()])
    everything = recorder.figures().evidence_kept
    recorder.request(["nothing"])

    assert (everything, recorder.figures().evidence_kept) == (1.0, 0.0)


@pytest.mark.slow
def test_bridge_sends_less_than_given() -> None:
    """The ways differ in what they send; none of them loses a turn."""
    figures = dicts.run()

    assert {each.requests for each in figures.values()} == {2 * len(turns())}
    assert figures["bridge"].tokens_sent < figures["framework"].tokens_sent
    assert figures["bridge"].summaries > 0
