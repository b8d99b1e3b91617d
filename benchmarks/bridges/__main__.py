"""Run the scenario in every framework that is installed: `python -m benchmarks.bridges [NAME ...]`.

A module of this folder measures one framework. It has `run() -> dict[str, Figures]`, from the name
of a way to keep the window (`none`, `framework`, `bridge`, `bridge, digest`) to its figures, and
`overhead() -> dict[str, float]`, the milliseconds that a turn takes at 2,000 messages.
"""

import importlib
import sys
from pathlib import Path

from benchmarks.bridges._scenario import Figures

HEADINGS = "| | requests | summaries | of messages | tokens sent | largest | prefix | evidence |"


def main() -> int:
    """Print a table for each framework named, by default for all; return the exit status."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    for name in sys.argv[1:] or modules:
        if name not in modules:
            print(f"no benchmark named {name!r}; there are: {', '.join(modules)}")
            return 2
        try:
            module = importlib.import_module(f"benchmarks.bridges.{name}")
        except ImportError as problem:
            print(f"\n## {name}: not measured ({problem})")
            continue
        print(f"\n## {name}")
        ways = module.run()
        if ways:  # a bridge that only observes has none
            print(f"\n{HEADINGS}\n|---|---|---|---|---|---|---|---|")
        for way, figures in ways.items():
            print(_row(way, figures))
        for way, milliseconds in module.overhead().items():
            print(f"\n{way}: {milliseconds:.2f} ms a turn at 2,000 messages")
    return 0


def _row(way: str, of: Figures) -> str:
    shares = f"{of.prefix_reused:.0%} | {of.evidence_kept:.0%}"
    return (
        f"| {way} | {of.requests} | {of.summaries} | {of.messages_summarized} "
        f"| {of.tokens_sent:,} | {of.largest_request:,} | {shares} |"
    )


if __name__ == "__main__":
    sys.exit(main())
