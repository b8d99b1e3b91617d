"""What a cut keeps, judged by what the agent really went on to use; and what a session costs.

    python -m benchmarks.retention [--quick] [--jobs 2] [--json results.json] [--picture out.svg]
    python -m benchmarks.retention --validity [--quick] [--jobs 2]
    python -m benchmarks.retention --probes [--jobs 2]
    python -m benchmarks.retention --facts [--jobs 2]
    python -m benchmarks.retention --folds [--jobs 2]
    python -m benchmarks.retention --stale
    python -m benchmarks.retention --costs [--jobs 2]
    python -m benchmarks.retention --examples

A third of the sessions is held out: `--held-out` measures these, and everything else the others.
Run it from the root of the checkout. The sessions lie beside it, in shared/data/transcripts.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import attrs

from benchmarks.retention.cost import COST_BUDGETS, Bill, replay, replay_marks
from benchmarks.retention.cuts import CUTS
from benchmarks.retention.evidence import POINTS
from benchmarks.retention.examples import markdown_examples
from benchmarks.retention.handover import (
    evidence_of,
    fold_scores_of,
    markdown_evidence,
    markdown_facts,
    scores_of,
)
from benchmarks.retention.history import markdown_history
from benchmarks.retention.measure import Sample, measure, summarize
from benchmarks.retention.peers import INSTALL, absent_peers, peer_cuts
from benchmarks.retention.picture import draw
from benchmarks.retention.report import print_bills, print_floor, print_tables
from benchmarks.retention.sessions import FOLDER, Session, read_sessions
from benchmarks.retention.stale import markdown_stale
from benchmarks.retention.successor import answers_of, flagged_twins, markdown_probes, sample_of
from benchmarks.retention.validity import check, print_verdicts

QUICK_POINTS = 3
QUICK_STEP = 60


def main() -> None:
    """Measure, and print the tables."""
    options = _options()
    sessions = [
        session
        for session in read_sessions(options.folder)
        if session.is_held_out == options.held_out
    ]
    if not sessions:
        print(f"No transcripts in {options.folder.name}: there is nothing to measure.")
        return
    tables = {
        "validity": _print_validity,
        "probes": _print_probes,
        "facts": _print_facts,
        "folds": _print_folds,
        "stale": _print_stale,
        "examples": _print_examples,
        "costs": _print_costs,
    }
    for name, print_table in tables.items():
        if getattr(options, name):
            print_table(sessions, options)
            return
    _print_all(sessions, options)


def _print_validity(sessions: list[Session], options: argparse.Namespace) -> None:
    checked = partial(check, step=QUICK_STEP if options.quick else 1)
    with ProcessPoolExecutor(options.jobs) as pool:
        print_verdicts(verdict for each in pool.map(checked, sessions) for verdict in each)


def _print_probes(sessions: list[Session], options: argparse.Namespace) -> None:
    for name in absent_peers():
        print(f"{name} is not installed and has no row; to have it: {INSTALL}")
    with ProcessPoolExecutor(options.jobs) as pool:
        judged = pool.map(answers_of, [*sample_of(sessions), *flagged_twins(sessions)])
        answers = [answer for each in judged for answer in each]
    print(*markdown_probes(answers), sep="\n")


def _print_facts(sessions: list[Session], options: argparse.Namespace) -> None:
    every = [*sessions, *flagged_twins(sessions)]
    with ProcessPoolExecutor(options.jobs) as pool:
        scores = [score for each in pool.map(scores_of, every) for score in each]
        print(*markdown_facts(scores), sep="\n", flush=True)
        samples = [sample for each in pool.map(evidence_of, sessions) for sample in each]
    print(*markdown_evidence(samples), sep="\n")


def _print_folds(sessions: list[Session], options: argparse.Namespace) -> None:
    with ProcessPoolExecutor(options.jobs) as pool:
        scores = [score for each in pool.map(fold_scores_of, sessions) for score in each]
    print(*markdown_facts(scores), sep="\n")


def _print_examples(sessions: list[Session], _: argparse.Namespace) -> None:
    print(*markdown_examples(sessions), sep="\n")


def _print_stale(_: list[Session], __: argparse.Namespace) -> None:
    print(*markdown_stale(), *markdown_history(), sep="\n")


def _print_all(sessions: list[Session], options: argparse.Namespace) -> None:
    for name in absent_peers():
        print(f"{name} is not installed and has no row; to have it: {INSTALL}")
    judged = partial(_judge, points=QUICK_POINTS if options.quick else POINTS)
    with ProcessPoolExecutor(options.jobs) as pool:
        samples = [sample for each in pool.map(judged, sessions) for sample in each]
        print_tables(samples)
        print_floor(samples)
        long = [session for session in sessions if session.is_long]
        replayed = pool.map(_bills, long[:: 4 if options.quick else 1])
        bills = [bill for each in replayed for bill in each]
    print_bills(bills)
    if options.json:
        options.json.write_text(_as_json(samples, bills))
    if options.picture:
        rows = summarize(sample for sample in samples if sample.is_long)
        options.picture.write_text(draw(rows, len(long)))


def _print_costs(sessions: list[Session], options: argparse.Namespace) -> None:
    long = [session for session in sessions if session.is_long]
    with ProcessPoolExecutor(options.jobs) as pool:
        for bills_of in (_bills, _marked_bills):
            print_bills(bill for each in pool.map(bills_of, long) for bill in each)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retention", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="of transcripts")
    parser.add_argument("--quick", action="store_true", help="a few points a session")
    parser.add_argument("--validity", action="store_true", help="only what providers would refuse")
    parser.add_argument("--probes", action="store_true", help="only what a successor learns")
    parser.add_argument("--facts", action="store_true", help="only what a digest hands over")
    parser.add_argument("--folds", action="store_true", help="ten generations beside one digest")
    parser.add_argument("--stale", action="store_true", help="values that changed")
    parser.add_argument("--costs", action="store_true", help="only costs, also at other marks")
    parser.add_argument("--examples", action="store_true", help="three digests, in full")
    parser.add_argument("--held-out", action="store_true", help="the third for the end only")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, help="write every sample into this file")
    parser.add_argument("--picture", type=Path, help="draw evidence against budget into this file")
    return parser.parse_args()


def _judge(session: Session, points: int) -> list[Sample]:
    return list(measure([session], {**CUTS, **peer_cuts()}, points=points))


def _bills(session: Session) -> list[Bill]:
    return [bill for budget in COST_BUDGETS for bill in replay(session, budget)]


def _marked_bills(session: Session) -> list[Bill]:
    return [bill for budget in COST_BUDGETS for bill in replay_marks(session, budget)]


def _as_json(samples: list[Sample], bills: list[Bill]) -> str:
    return json.dumps(
        {"samples": [*map(attrs.asdict, samples)], "bills": [*map(attrs.asdict, bills)]}
    )


if __name__ == "__main__":
    main()
