"""Counters beside quicktok's own function, by whichever agentic is on the path.

    PYTHONPATH=CHECKOUT python benchmarks/counters.py

Microseconds of the processor for a text, the least of many passes that take turns, and the ratio to
quicktok. The texts are pieces of this project's pages and of its code.
"""

import time
from collections.abc import Callable
from pathlib import Path

import quicktok  # type: ignore[import-untyped]

from agentic.tokens import EstimateCounter, QuicktokCounter

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {"prose": "docs/*.md", "code": "benchmarks/*.py"}
SIZES = {40: 2_000, 40_000: 20}
"""How many texts there are of each number of characters."""
PASSES = 31
Count = Callable[[str], int]


def make_texts(pattern: str, size: int, amount: int) -> list[str]:
    """Return texts of so many characters, from equal distances in the files of a pattern."""
    files = sorted(ROOT.glob(pattern))
    source = "\n".join(file.read_text(encoding="utf-8") for file in files)
    step = (len(source) - size) // amount
    return [source[at * step : at * step + size] for at in range(amount)]


def seconds(count: Count, texts: list[str]) -> float:
    """Return the processor time of a text."""
    start = time.process_time()
    for text in texts:
        count(text)
    return (time.process_time() - start) / len(texts)


def main() -> None:
    """Print a line for each kind of text, size and counter."""
    ways: dict[str, Count] = {
        "quicktok": quicktok.get_encoding("o200k_base").count,
        "QuicktokCounter": QuicktokCounter("o200k_base").count,
        "EstimateCounter": EstimateCounter().count,
    }
    for kind, pattern in SOURCES.items():
        for size, amount in SIZES.items():
            texts = make_texts(pattern, size, amount)
            best = dict.fromkeys(ways, float("inf"))
            for _ in range(PASSES):
                for name, count in ways.items():
                    best[name] = min(best[name], seconds(count, texts))
            for name, least in best.items():
                ratio = least / best["quicktok"]
                print(f"{name}, {size:,} characters of {kind}: {1e6 * least:.2f} us, {ratio:.2f}")


if __name__ == "__main__":
    main()
