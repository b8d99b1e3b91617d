"""The recorded sessions that lie beside the checkout, all of them."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from agentic.app.replay import (
    ContextLimits,
    Report,
    Transcript,
    TranscriptUnreadable,
    make_policy,
    read_transcripts,
    replay,
)
from agentic.app.replay._judge import text_of
from agentic.app.replay._page import render_page
from agentic.app.replay._policies import POLICIES
from agentic.app.replay._records import Replayed
from agentic.context import budget
from agentic.tokens import CharCounter

pytestmark = pytest.mark.corpus
SPECS = ["none", "fit_window", "tiers", "digest"]


def read(corpus: Path) -> list[Transcript]:
    """Read every session."""
    paths = [path for path in sorted(corpus.glob("*.jsonl")) if path.name != "index.jsonl"]
    return [each.mended() for path in paths for each in read_transcripts(path)]


def run(transcript: Transcript, specs: list[str], window: int) -> list[Replayed]:
    """Replay one."""
    context_limits = ContextLimits(budget.Policy(window), CharCounter())
    policies = [make_policy(spec, context_limits) for spec in specs]
    providers = ["anthropic", "openai_chat"]
    return asyncio.run(replay(transcript, policies, context_limits, providers=providers))


def test_long_session_takes_only_seconds(corpus: Path) -> None:
    """914 messages, four policies, two validators, twelve places of judgement."""
    [transcript] = read_transcripts(corpus / "pi_large-session.jsonl")
    start = time.process_time()

    none, fit, tiers, digest = run(transcript.mended(), SPECS, 32_000)

    assert time.process_time() - start < 60
    assert [len(each.requests) for each in (none, fit, tiers, digest)] == [453] * 4
    assert none.over > 400
    assert (fit.over, tiers.over, digest.over) == (0, 0, 0)
    assert min(fit.cost, tiers.cost, digest.cost) < none.cost / 2
    assert none.recall == 1.0
    assert all(0.5 < (each.recall or 0) < 1 for each in (fit, tiers, digest))


@pytest.mark.long
def test_every_policys_requests_are_accepted(corpus: Path) -> None:
    """No request is refused, none that claims to fit is over the window, and all of it is drawn."""
    replays = [(each, tuple(run(each, list(POLICIES), 8_000))) for each in read(corpus)]

    context_limits = ContextLimits(budget.Policy(8_000), CharCounter())
    descriptions = tuple(make_policy(name, context_limits).description for name in POLICIES)
    page = render_page(
        Report(
            replays=tuple(replays),
            descriptions=descriptions,
            window=8_000,
            reserve=2_000,
            counter="four characters a token",
            providers=("anthropic", "openai_chat"),
        )
    )

    everything = [each for _, replayed in replays for each in replayed]
    assert [(each.policy, each.invalid) for each in everything if each.invalid] == []
    assert len(replays) >= 30
    assert page.count('class="panel"') == len(everything)


def test_every_recorded_session_is_understood(corpus: Path) -> None:
    """Nothing in them is left out because it is not known, and no line is damaged."""
    transcripts = read(corpus)

    told = [note for each in transcripts for note in each.notes if "not understood" in note]
    assert len(transcripts) >= 30
    assert told == []
    assert [each.name for each in transcripts if each.unknown_share] == []


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts in JSON data, each with the key that holds it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, name)
    elif isinstance(value, str):
        yield name, value


def requests(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the recorded requests of a provider that hold messages, and the key that does."""
    for line in path.read_text(encoding="utf-8").split("\n"):
        body = json.loads(line).get("request") if line else None
        body = body.get("body", body) if isinstance(body, dict) else None
        keys = ("messages", "contents", "input")
        key = next((each for each in keys if isinstance((body or {}).get(each), list)), "")
        if body and key:
            yield body, key


def test_no_recorded_request_loses_a_text(recorded_path: Callable[[str], Path]) -> None:
    """What clients sent to 27 providers is read whole, or a note counts what is not understood."""
    lost, count = [], 0
    for path in sorted(recorded_path("provider_responses").glob("*.jsonl")):
        for body, key in requests(path):
            try:
                content = BytesIO(json.dumps(body).encode() + b"\n")
                [transcript] = read_transcripts("request.json", file=content)
            except TranscriptUnreadable:
                continue
            count += 1
            said = text_of(transcript.messages)
            said += "".join(message.reasoning for message in transcript.messages)
            expected = [text for name, text in leaves(body[key]) if name in {"text", "content"}]
            missing = [text for text in expected if text.strip() not in said]
            if missing and not transcript.unknown_share:
                lost.append((path.name, missing))
    assert lost == []
    assert count > 400
