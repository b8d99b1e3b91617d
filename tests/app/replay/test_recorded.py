"""What the record of a session says: what its agent really sent, and how large that was."""

import asyncio
import json
from io import BytesIO
from pathlib import Path

import pytest

from agentic.app.replay import (
    ContextLimits,
    Report,
    Transcript,
    make_policy,
    read_transcripts,
    replay,
)
from agentic.app.replay._policies import AS_RECORDED
from agentic.app.replay._reading import RecordedCompaction
from agentic.app.replay._records import Replayed
from agentic.app.replay._replay import CountedTranscript
from agentic.context import budget
from agentic.history import JsonlStore
from agentic.messages import Message
from agentic.tokens import CharCounter
from agentic.usage import Usage

LIMITS = ContextLimits(budget.Policy(40_000), CharCounter())


def talk(turns: int, hidden: int, factor: float) -> list[Message]:
    """Make a session whose requests are recorded as a provider with other tokens counts them."""
    counter, messages = CharCounter(), []
    counted = 0
    for number in range(turns):
        messages.append(Message("user", f"Request {number}: " + "look at src/a.py " * 40))
        counted += CountedTranscript.of(Transcript("t", "chat", ()), counter).size(messages[-1])
        usage = Usage(input=round(hidden + factor * counted), output=9, cache_read=100)
        messages.append(Message("assistant", f"Reply {number}. " + "So it is. " * 30, usage=usage))
        counted += CountedTranscript.of(Transcript("t", "chat", ()), counter).size(messages[-1])
    return messages


def run(transcript: Transcript, *specs: str, calibrated: bool = False) -> list[Replayed]:
    """Replay a transcript."""
    measured = CountedTranscript.of(transcript, LIMITS.counter)
    if calibrated:
        measured = measured.calibrated(LIMITS.limits.context_window)
    limits = LIMITS.before(measured.calibration)
    policies = [make_policy(spec, limits) for spec in specs]
    return asyncio.run(replay(transcript, policies, LIMITS, measured=measured))


@pytest.mark.parametrize(("hidden", "factor"), [(0, 1.0), (5_000, 1.3), (1_200, 0.8)])
def test_sizes_are_fitted_to_the_record(hidden: int, factor: float) -> None:
    """The hidden part and the factor; the requests that were not fitted say how good that is."""
    messages = talk(24, hidden, factor)

    calibration = (
        CountedTranscript.of(Transcript("t", "chat", tuple(messages)), CharCounter())
        .calibrated(40_000)
        .calibration
    )

    assert abs(calibration.hidden - hidden) <= 3
    assert abs(calibration.factor - factor) < 0.01
    assert calibration.requests == 24
    assert calibration.error < 0.001
    assert calibration.uncalibrated_error >= calibration.error


def test_a_short_record_fits_nothing() -> None:
    """Nor does one that no tokenizer could have made."""
    short = Transcript("t", "chat", tuple(talk(7, 900, 1.2)))
    odd = Transcript("t", "chat", tuple(talk(24, 0, 9.0)))

    for transcript in (short, odd):
        counted = CountedTranscript.of(transcript, CharCounter()).calibrated(40_000)
        assert counted.calibration.requests == 0


def test_calibrated_requests_have_the_recorded_sizes() -> None:
    """And a policy fills what the hidden part leaves of the window, in the provider's tokens."""
    transcript = Transcript("t", "chat", tuple(talk(80, 5_000, 1.3)))

    none, fit = run(transcript, "none", "fit_window", calibrated=True)

    recorded = [each.usage.input for each in transcript.messages[3::2] if each.usage]
    assert all(
        abs(request.tokens - size) < 9
        for request, size in zip(none.requests[1:], recorded, strict=False)
    )
    assert none.peak > 30_000 >= fit.peak > 22_000
    assert fit.over == 0


def test_none_costs_what_was_recorded() -> None:
    """An agent that does not compact sent everything: what that cost is known."""
    transcript = Transcript("t", "chat", tuple(talk(24, 0, 1.0)))

    none, fit = run(transcript, "none", "fit_window")
    [row, _] = Report(
        replays=((transcript, (none, fit)),),
        descriptions=("", ""),
        window=40_000,
        reserve=0,
        counter="",
        providers=(),
    ).rows

    assert (none.has_record, fit.has_record) == (True, False)
    assert row.recorded
    read = 100 * len(none.recorded)
    assert row.cost == none.recorded_cost == sum(u.input for u in none.recorded) - 0.9 * read


def test_what_was_sent_is_a_policy() -> None:
    """Each request after a compaction begins with what the agent put there."""
    messages = tuple(
        Message("assistant" if n % 2 else "user", f"text {n} " * 50) for n in range(12)
    )
    summary = Message("user", "So far: six texts.")
    compaction = RecordedCompaction(position=6, view=(summary,), resumes=5)
    transcript = Transcript("t", "chat", messages, compactions=(compaction,))

    none, recorded = run(transcript, "none", AS_RECORDED)

    assert [cut.request for cut in recorded.cuts] == [4]
    assert recorded.cuts[0].summary == "So far: six texts."
    assert recorded.cuts[0].dropped == 5
    assert [each.tokens for each in recorded.requests[:3]] == [r.tokens for r in none.requests[:3]]
    assert recorded.requests[3].tokens < none.requests[3].tokens / 2
    assert (
        (none.follows_record, recorded.follows_record) == (False, True)
        if hasattr(none, "follows_record")
        else True
    )


def test_our_own_views_are_what_was_sent(tmp_path: Path) -> None:
    """A store keeps each view that replaced the history, and what followed it."""
    said = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    short = Message("user", "So far: a and b.")

    async def keep() -> None:
        async with JsonlStore(tmp_path / "s.jsonl") as store:
            for message in said:
                await store.append(message)
            await store.replace([short, said[2]])
            await store.append(Message("assistant", "d"))

    asyncio.run(keep())
    [transcript] = read_transcripts(tmp_path / "s.jsonl")

    [recorded] = run(transcript, AS_RECORDED)

    [compaction] = transcript.compactions
    assert (compaction.position, compaction.view) == (3, (short, said[2]))
    assert len(recorded.cuts) == 1


def test_a_repair_moves_recorded_compactions() -> None:
    """A result that a repair adds shifts what comes after it."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    lines = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "tool_calls": [call]},
        {"role": "user", "content": "c"},
    ]
    content = "".join(f"{json.dumps(each)}\n" for each in lines).encode()
    [read] = read_transcripts("t", file=BytesIO(content))
    compaction = RecordedCompaction(position=2, view=(), resumes=2)
    transcript = Transcript("t", "chat", read.messages, compactions=(compaction,))

    mended = transcript.mended()

    assert len(mended.messages) == 4
    assert mended.compactions[0].position == 3
