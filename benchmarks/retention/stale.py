"""Overturned values that a note still has beside the new ones, in a public conformance kit.

The semantic sessions of `compaction-conformance-kit` (MIT) state eight values, later each of them
again in other words with another value, and between them pairs of similar facts. A note gets 30 %
of the characters of the session, which the kit counts with the role before each text.
"""

import asyncio
import importlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from agentic.context.compactors import Digest
from agentic.messages import Message
from benchmarks.retention.shown import CharSize, size_of

__all__ = ["markdown_stale"]

INSTALL = "pip install compaction-conformance-kit==0.8.0"
SEEDS = (1, 2, 3, 4)
SHARE = 0.3


def markdown_stale() -> Iterator[str]:
    """Yield a row for each value that is changed, and the sums."""
    try:
        sessions = importlib.import_module("compaction_kit.semantic_corpus")
    except ImportError:
        yield f"compaction-conformance-kit is not installed: {INSTALL}"
        return
    counts: Counter[tuple[str, str]] = Counter()
    for build in (sessions.build_semantic_session, sessions.build_semantic_heldout_session):
        for seed in SEEDS:
            counts.update(_judged(*build(seed)))
    yield "| value | changed | stale ones kept | newest ones kept |"
    yield "| --- | --- | --- | --- |"
    names = dict.fromkeys(name for name, _ in counts if name != "pairs")
    for name in names:
        yield f"| {name} | {_row(counts, [name])} |"
    yield f"| all | {_row(counts, names)} |"
    yield f"\nPairs of similar facts: {counts['pairs', 'newest']} of {counts['pairs', 'all']} kept"


def _row(counts: Counter[tuple[str, str]], names: Any) -> str:
    kinds = ("all", "stale", "newest")
    return " | ".join(str(sum(counts[name, kind] for name in names)) for kind in kinds)


def _judged(session: Any, canaries: Any, meta: Any) -> Iterator[tuple[str, str]]:
    """Yield what counts of one session: the name of a value, and how."""
    messages = [Message(turn.role, turn.text) for turn in session.transcript()]
    whole = "\n".join(f"[{message.role}] {message.content}" for message in messages)
    size = int(SHARE * size_of(whole))
    note = asyncio.run(Digest(max_tokens=size, counter=CharSize()).compact(messages)).lower()
    newest = {
        each.id: all(token.lower() in note for token in each.required_tokens) for each in canaries
    }
    for each in canaries:
        if each.superseded_tokens:
            yield each.id, "all"
            if any(token.lower() in note for token in each.superseded_tokens):
                yield each.id, "stale"
            if newest[each.id]:
                yield each.id, "newest"
    for pair in meta["distinct_pairs"]:
        yield "pairs", "all"
        if all(newest[name] for name in pair):
            yield "pairs", "newest"
