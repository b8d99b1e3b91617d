"""What a successor learns from a note, beside what simpler ways tell in equally many tokens.

The probes of `probes` are put at several cuts of each session. A figure is the mean over the kinds
of a class at a cut, then over the cuts of a session, then over the sessions of a family, then over
the families, so that neither a kind that occurs often, nor a family with many sessions, hides the
others. The recorded sessions of most families have no error flags: a few of them are judged a
second time in the form in which Claude Code hands failures over, as a family of their own, which
the mean over families leaves out because these sessions are in it already.
"""

import asyncio
import statistics
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs

from agentic.context.compactors import Digest
from agentic.messages import Message
from benchmarks.retention.cuts import Cut as Way
from benchmarks.retention.index import line_index
from benchmarks.retention.peers import peer_cuts
from benchmarks.retention.probes import KINDS, Cut, probes_at, score
from benchmarks.retention.probes.score import Purpose
from benchmarks.retention.sessions import Session, read_session
from benchmarks.retention.shown import CharSize, newest, size_of, text_of

__all__ = ["Answer", "answers_of", "flagged_twins", "markdown_probes", "sample_of"]

SIZES = (2_000, 8_000, 20_000)
PLACES = 3
"""A session is cut after each quarter of its messages but the last."""
LOOKED_AT = 2_000
"""The size at which whole and idle lines are counted."""
PER_FAMILY = 4
"""So many sessions of a family are judged: those with the lowest CRC-32 of the file's name."""
CLASSES = ("recall", "artifact", "continuation", "decision")
REQUESTS_SHARE = 0.5
"""The most that the requests get of the budget in "requests and newest"; the newest go first."""
UNMASKED = 3
"""The newest outputs that observation masking leaves as they are. The paper that named it keeps ten
turns (https://arxiv.org/abs/2508.21433, 2025-08), which at 2,000 tokens is all there is."""
MASK = "[output left out]"
TWINS = 2
TWIN = "msa, flags"


def digest(past: list[Message], size: int) -> str:
    """Write the note."""
    return asyncio.run(Digest(max_tokens=size, counter=CharSize()).compact(past))


def requests_and_newest(past: list[Message], size: int) -> str:
    """Keep what the user wrote, in half of the budget at most, and the newest messages."""
    asked = [message for message in past if message.role == "user"]
    kept = newest(asked, size * REQUESTS_SHARE)[0] if asked else ""
    return f"{kept}\n{newest(past, size - size_of(kept) - 1)[0]}".strip("\n")


def masked(past: list[Message], size: int) -> str:
    """Keep what was said and called, with the outputs masked, and the newest of that."""
    outputs = [at for at, message in enumerate(past) if message.tool_results]
    hidden = set(outputs[: -UNMASKED or None])
    view = [_masked(message) if at in hidden else message for at, message in enumerate(past)]
    return newest(view, size)[0]


def _masked(message: Message) -> Message:
    results = (attrs.evolve(each, output=MASK, error=None) for each in message.tool_results)
    return message.replace(tool_results=tuple(results))


def _newest(past: list[Message], size: int) -> str:
    return newest(past, size)[0]


WAYS: dict[str, Way] = {
    "Digest": digest,
    "newest": _newest,
    "requests, newest": requests_and_newest,
    "observation masking": masked,
    "crude index": partial(line_index, percent=90),
}


@attrs.frozen
class Answer:
    """One text at one cut: a share for each kind of probe that there is, and for each fact."""

    session: str
    family: str
    way: str
    size: int
    place: int
    shares: dict[str, float]
    whole: float | None
    """The share of the answers that stand in whole lines; None if there are none."""
    idle: float | None


def sample_of(sessions: Iterable[Session]) -> list[Session]:
    """Return a few sessions of each family, chosen by the checksums of their names."""
    families: defaultdict[str, list[Session]] = defaultdict(list)
    for session in sorted(sessions, key=_checksum):
        families[session.family].append(session)
    return [session for each in families.values() for session in each[:PER_FAMILY]]


def _checksum(session: Session) -> int:
    return zlib.crc32(f"{session.name}.jsonl".encode())


def flagged_twins(sessions: Iterable[Session]) -> Iterator[Session]:
    """Yield a few sessions with the exit code as a flag and a caption, as Claude Code stores it.

    They are those with the lowest CRC-32 of the file's name among those that state exit codes.
    """
    plain = [each for each in sessions if each.family == "msa" and each.is_long]
    plain.sort(key=_checksum)
    for session in plain[:TWINS]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{session.name}.jsonl"
            session.write_flagged(path)
            twin = read_session(path)
        yield attrs.evolve(twin, name=f"{TWIN}_{session.name}")


def answers_of(session: Session) -> list[Answer]:
    """Judge every way at every cut and size. A cut counts if the past is larger than the size."""
    return list(_answers(session, {**WAYS, **peer_cuts()}))


def _answers(session: Session, ways: Mapping[str, Way]) -> Iterator[Answer]:
    for place in range(1, PLACES + 1):
        at = place * len(session.raw) // (PLACES + 1)
        while at < len(session.raw) and session.raw[at].get("role") == "tool":
            at += 1
        past, cut = session.messages[:at], Cut(session.raw, at)
        probes, purpose = probes_at(cut), Purpose(cut)
        for size in SIZES:
            for way, write in ways.items() if size_of(text_of(past)) > size and probes else ():
                view = write(past, size)
                if size_of(view) > size:
                    raise AssertionError(f"{way}: {size_of(view):.0f} of {size} tokens")
                result = score(view, probes, purpose if size == LOOKED_AT else None)
                shares = {kind: hits / every for kind, (hits, every) in result.answers.items()}
                whole, idle = (
                    hits / every if every else None for hits, every in (result.whole, result.idle)
                )
                yield Answer(session.name, session.family, way, size, place, shares, whole, idle)


def markdown_probes(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield the tables: the means over families, each family, and each kind."""
    counted = [each for each in answers if each.family != TWIN]
    families = sorted({each.family for each in answers})
    for size in SIZES:
        yield from _table(f"All families, {size:,} tokens", counted, size)
    for family in families:
        of_family = [each for each in answers if each.family == family]
        for size in SIZES:
            yield from _table(f"`{family}`, {size:,} tokens", of_family, size)
    yield from _kinds(counted)


def _table(title: str, answers: Sequence[Answer], size: int) -> Iterator[str]:
    chosen = [each for each in answers if each.size == size]
    if not chosen:
        return
    sessions = len({each.session for each in chosen})
    cuts = len({(each.session, each.place) for each in chosen})
    yield f"\n{title}: {sessions} session{'s' * (sessions > 1)}, {cuts} cuts\n"
    yield _row("", "mean", *CLASSES, "whole", "idle")
    yield _row("---", *("---" for _ in range(len(CLASSES) + 3)))
    for way in dict.fromkeys(each.way for each in chosen):
        of_way = [each for each in chosen if each.way == way]
        classes = [_mean(of_way, partial(_of_class, kind=kind)) for kind in CLASSES]
        values = [each for each in classes if each is not None]
        mean = statistics.fmean(values) if values else None
        whole, idle = (
            _mean(of_way, lambda each: each.whole),
            _mean(of_way, lambda each: each.idle),
        )
        yield _row(way, *map(_percent, (mean, *classes, whole, idle)))


def _kinds(answers: Sequence[Answer]) -> Iterator[str]:
    ways = [*dict.fromkeys(each.way for each in answers)]
    for size in SIZES:
        yield f"\nEach kind, all families, {size:,} tokens\n"
        yield _row("", "", *ways)
        yield _row("---", "---", *("---" for _ in ways))
        for kind, (of, words) in KINDS.items():
            shares = [
                _mean(
                    [each for each in answers if (each.way, each.size) == (way, size)],
                    lambda each: each.shares.get(kind),  # noqa: B023  called in this turn
                )
                for way in ways
            ]
            if any(share is not None for share in shares):
                yield _row(of, f"{kind}: {words}", *map(_percent, shares))


def _of_class(answer: Answer, kind: str) -> float | None:
    shares = [share for name, share in answer.shares.items() if KINDS[name][0] == kind]
    return statistics.fmean(shares) if shares else None


def _mean(answers: Iterable[Answer], value: Callable[[Answer], float | None]) -> float | None:
    """Return the mean over families of the mean over sessions of the mean over cuts."""
    sessions: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for answer in answers:
        if (share := value(answer)) is not None:
            sessions[answer.family, answer.session].append(share)
    families: defaultdict[str, list[float]] = defaultdict(list)
    for (family, _), shares in sessions.items():
        families[family].append(statistics.fmean(shares))
    return statistics.fmean(map(statistics.fmean, families.values())) if families else None


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"
