"""How far `EstimateCounter` is off on texts it was not fitted to, and how fast it is.

    python benchmarks/estimate/check.py

Signed errors in % against o200k_base, each kind as a whole; the spread is the standard deviation
over its texts. Base64 and emoji may be 25 % off, agent sessions 5 %, all else 10 %.
"""

import statistics
import time
from collections.abc import Callable

import texts as material  # type: ignore[import-not-found]  # beside this script

from agentic.tokens import CharCounter, EstimateCounter, QuicktokCounter

MEGABYTES = 8


def main() -> None:
    """Print the table and the speeds."""
    exact = QuicktokCounter("o200k_base")
    print(f"{'':36}{'chars/4':>8}{'bytes/4':>8}{'estimate':>9}{'spread':>8}{'texts':>7}")
    unseen = material.texts(1)
    for kind, texts in unseen.items():
        counted = [exact.count(text) for text in texts]
        report(kind, texts, counted)
    session = "".join(unseen["agent session"])
    report_speed("ASCII", session.encode("ascii", "ignore").decode())
    report_speed("Chinese", "".join(unseen["Chinese"]))


def report(kind: str, texts: list[str], counted: list[int]) -> None:
    """Print one row."""
    total = sum(counted)
    estimates = [EstimateCounter().count(text) for text in texts]
    chars = sum(CharCounter().count(text) for text in texts) / total - 1
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 4 / total - 1
    off = [e / max(c, 1) - 1 for e, c in zip(estimates, counted, strict=True)]
    spread = statistics.pstdev(off)
    whole = sum(estimates) / total - 1
    print(f"{kind:36}{chars:+8.0%}{size:+8.0%}{whole:+9.1%}{spread:8.1%}{len(texts):7}")


def report_speed(kind: str, text: str) -> None:
    """Print how fast some megabytes are counted, beside what else there is."""
    text *= 1 + (MEGABYTES << 20) // len(text)
    exact = QuicktokCounter("o200k_base")
    size = len(text.encode()) / 1e6
    best = measure(lambda: EstimateCounter().count(text))
    tokenized = measure(lambda: exact.count(text), runs=2)
    bare = measure(lambda: text.encode().translate(bytes(range(256))))
    print(
        f"{kind}: {size / best:.0f} MB/s, {tokenized / best:.1f} times quicktok's "
        f"{size / tokenized:.0f}; "
        f"encode and translate alone take {bare / best:.2f} of it"
    )


def measure(action: Callable[[], object], runs: int = 7) -> float:
    """Return the best time of some runs, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
