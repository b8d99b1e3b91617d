"""Run every entry point against a server that binds reasoning: `python -m benchmarks.binding`.

One row for each entry point, strategy, window and shape. The server is strict and counts what it
would refuse, so that a run goes on and each of its requests is judged: `binding` is what a lenient
server refuses, and with `loop` it is what a strict one refuses. `--sent` refuses in earnest.
`changes` are the requests that do not extend the last one, as the server reads them; `epochs` are
those that the View reports. With epochs, they are equal.
"""

import argparse
import asyncio
import importlib
import itertools
import logging
import sys
import time
import warnings
from collections.abc import Iterator

from agentic.events import epoch_start
from benchmarks.binding._case import SHAPES, STRATEGIES, WINDOWS, Case, Entry, Row

_MODULES = ("loops", "dicts", "frameworks")
_HEADINGS = (
    *("entry point", "strategy", "window", "shape", "requests", "refused, lenient"),
    *(
        "refused, strict",
        "refused, other",
        "reasoning lost",
        "stale",
        "dropped",
        "changes",
        "epochs",
        "cache",
        "dollars",
    ),
)
_NOT_RUN = {
    "Strands by its SDK": "strands-agents is no development tool; its page is driven by dicts",
    "Google ADK by its SDK": "google-adk is no development tool; its page is driven by dicts",
    "mini-swe-agent by its SDK": "its own models talk to the network; its page is driven by dicts",
}


def main() -> int:
    """Print the rows that were asked for; return the exit status."""
    options = _options()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    if options.recorded:
        from benchmarks.binding import recorded  # noqa: PLC0415

        return recorded.main()
    if options.defaults:
        from benchmarks.binding import defaults  # noqa: PLC0415

        return defaults.main(options.window or defaults.WINDOWS)
    print(f"| {' | '.join(_HEADINGS)} |\n|{'---|' * len(_HEADINGS)}")
    combinations = itertools.product(options.strategy, options.window or WINDOWS, options.shape)
    for (name, entry), how in itertools.product(_entries(options.only), [*combinations]):
        strategy, window, shape = how
        case = Case.make(shape, window, strategy, counted=not options.sent)
        print(_written(_run(name, entry, case)), flush=True)
    for name, reason in _NOT_RUN.items():
        print(f"not run: {name}: {reason}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.binding", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of the names of entry points")
    parser.add_argument("--window", type=int, nargs="+")
    parser.add_argument("--shape", nargs="+", choices=[*SHAPES], default=[*SHAPES])
    parser.add_argument("--strategy", nargs="+", choices=[*STRATEGIES], default=[*STRATEGIES])
    parser.add_argument("--sent", action="store_true", help="refuse, and do not only count")
    parser.add_argument("--recorded", action="store_true", help="price recorded sessions instead")
    parser.add_argument("--defaults", action="store_true", help="price the policy of a bare window")
    return parser.parse_args()


def _entries(only: list[str]) -> Iterator[tuple[str, Entry]]:
    for module in _MODULES:
        entries = importlib.import_module(f"benchmarks.binding.{module}").ENTRIES
        for name, entry in entries.items():
            if not only or any(word.lower() in name.lower() for word in only):
                yield name, entry


def _run(name: str, entry: Entry, case: Case) -> Row:
    started = time.perf_counter()
    problem, epochs = "", 0

    def note(_: object, **__: object) -> None:
        nonlocal epochs
        epochs += 1

    try:
        with epoch_start.connected_to(note):
            asyncio.run(entry(case))  # type: ignore[arg-type]
    except Exception as error:  # noqa: BLE001  one entry point must not end the table
        problem = f"{type(error).__name__}: {error}"
    print(f"{name}: {time.perf_counter() - started:.1f} s", file=sys.stderr)
    return Row(entry=name, case=case, epochs=epochs, problem=problem)


def _written(row: Row) -> str:
    report, case = row.report, row.case
    binding, loop = report.refused["binding"], report.refused["loop"]
    # What is counted as refused was not dropped in silence.
    dropped = sum(served.dropped for served in report.served if not served.refusal)
    others = {k: n for k, n in report.refused.items() if k not in ("binding", "loop")}
    cells = (
        *(row.entry, case.strategy, f"{case.window:,}", case.shape, report.requests),
        *(binding, binding + loop),
        ", ".join(f"{number} {reason}" for reason, number in others.items()) or 0,
        *(report.reasoning_lost, report.reasoning_stale, dropped, report.changes, row.epochs),
        *(f"{report.cache_share:.0%}", f"{report.dollars:.2f}"),
    )
    problem = f" given up: {row.problem} |" if row.problem else ""
    return f"| {' | '.join(map(str, cells))} |{problem}"


if __name__ == "__main__":
    sys.exit(main())
