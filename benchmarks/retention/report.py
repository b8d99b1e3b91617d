"""The tables that the benchmark prints."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from benchmarks.retention.cost import SLIDING, Bill
from benchmarks.retention.measure import Row, Sample, below, summarize

__all__ = ["print_bills", "print_floor", "print_table", "print_tables"]

FLOOR = "newest only"
MOST = "msa"
"""The agent that most of the long sessions are of."""
_COSTS: tuple[Callable[[Bill], float], ...] = (
    lambda bill: bill.cost,
    lambda bill: bill.cost_when_full,
)


def print_tables(samples: Sequence[Sample]) -> None:
    """Print the means: of all, of each agent, and of the other agents together."""
    print_table("Sessions of 100 messages or more", [each for each in samples if each.is_long])
    for family in sorted({sample.family for sample in samples if sample.is_long}):
        chosen = [sample for sample in samples if sample.is_long and sample.family == family]
        print_table(f"Of these, {family}", chosen)
    others = [sample for sample in samples if sample.family != MOST]
    print_table("Sessions of other agents, long and short", others)
    short = [sample for sample in others if not sample.is_long]
    print_table("Of these, of fewer than 100 messages", short)


def print_table(title: str, samples: Sequence[Sample]) -> None:
    """Print one table: a line a way and budget."""
    if not samples:
        return
    print(f"\n{title}")
    print(f"{'':30} {'budget':>7} {'sessions':>8} {'points':>6} {'evidence':>8} ", end="")
    print(f"{'95 % of draws':>15} {'term':>6} {'request':>7} {'used':>5} {'ms':>6}")
    for row in summarize(samples):
        _print_row(row)


def _print_row(row: Row) -> None:
    asked = "-" if row.requests is None else f"{row.requests:.1%}"
    print(
        f"{row.way:30} {row.budget:7,} {row.sessions:8} {row.points:6} {row.evidence:8.1%} "
        f"{row.low:6.1%} - {row.high:6.1%} {row.known:6.1%} {asked:>7} {row.used:5.0%} "
        f"{row.seconds * 1000:6.0f}"
    )


def print_floor(samples: Iterable[Sample]) -> None:
    """Print where a digest keeps less than the newest messages alone do."""
    found = [each for each in below(samples, FLOOR) if each[0].startswith("Digest")]
    print(f"\nA digest below {FLOOR!r}, by session and budget: {len(found) or 'nowhere'}")
    for way, budget, session, lacking in found:
        print(f"  {way:24} {budget:7,} {session}: {lacking:.1%} less")


def print_bills(bills: Iterable[Bill]) -> None:
    """Print the costs: sums over sessions, beside the window that slides."""
    groups: defaultdict[int, defaultdict[str, list[Bill]]] = defaultdict(lambda: defaultdict(list))
    for bill in bills:
        groups[bill.budget][bill.way].append(bill)
    print("\nInput cost of whole sessions with a prompt cache, sums over sessions")
    print(f"{'':34} {'budget':>7} {'sessions':>8} {'Mtokens':>8} {'cost':>6} {'full':>6} ", end="")
    print(f"{'reused':>7} {'breaks/turns':>12} {'evidence':>8}")
    for budget, ways in groups.items():
        for way, each in ways.items():
            _print_bill(way, budget, each, ways[SLIDING])
    print("cost: beside the sliding window; full: of the turns with more history than the budget")


def _print_bill(way: str, budget: int, bills: list[Bill], sliding: list[Bill]) -> None:
    cost, full = (sum(map(each, bills)) for each in _COSTS)
    sliding_cost, sliding_full = (sum(map(each, sliding)) for each in _COSTS)
    reused = statistics.fmean(bill.reused for bill in bills)
    breaks = f"{sum(bill.breaks for bill in bills)}/{sum(bill.turns for bill in bills)}"
    evidence = [bill.evidence for bill in bills if bill.evidence is not None]
    kept = f"{statistics.fmean(evidence):.1%}" if evidence else "-"
    print(
        f"{way:34} {budget:7,} {len(bills):8} {cost / 1e6:8.2f} {cost / sliding_cost:6.0%} "
        f"{full / sliding_full:6.0%} {reused:7.0%} "
        f"{breaks:>12} {kept:>8}"
    )
