"""The cost of truncation, as a ratio to the minimum of work with the standard library.

The minimum, called the floor, is to count the newlines of the same text, to measure its length in
UTF-8 in slices of 64 K characters, and to slice the kept part. Each pair is timed alternately in
one run, and the best time of each is reported.

    python benchmarks/truncate.py            everything, some minutes
    python benchmarks/truncate.py --quick    nothing above 1 MB, a stream of 100 MB
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable, Iterator

from agentic import truncate

KB, MB, GB = 1_000, 1_000_000, 1_000_000_000
SLICE = 65_536
GOALS = {KB: 4.0, 50 * KB: 3.0, MB: 1.3, 100 * MB: 1.3}
MODES = {"head": truncate.head, "tail": truncate.tail, "middle": truncate.middle}
ASCII_LINE = "2026-11-21 10:15:02 INFO worker-7 finished job 48151 in 23 ms\n"
MIXED_LINE = "2026-11-21 10:15:02 ИНФО рабочий-7 завершил 作业 48151 за 23 мс ✅\n"


def main() -> None:
    """Print three tables: time, memory and streams."""
    parser = argparse.ArgumentParser(description="What truncation costs.")
    parser.add_argument("--quick", action="store_true", help="nothing above 1 MB")
    quick = parser.parse_args().quick
    sizes = [size for size in GOALS if not quick or size <= MB]
    print(f"{'size':>8} {'text':6} {'limit':6} {'mode':7} {'floor us':>10} {'us':>10} ratio goal")
    for size in sizes:
        for name, line in (("ascii", ASCII_LINE), ("mixed", MIXED_LINE)):
            compare(name, text_of(line, size), size)
    measure_memory(MB if quick else 100 * MB)
    measure_stream(100 * MB if quick else GB)


def text_of(line: str, size: int) -> str:
    """Repeat a line up to a size in bytes; the last line may be cut."""
    text = line * (size // len(line.encode()) + 1)
    return text[: size * len(line) // len(line.encode())]


def compare(name: str, text: str, size: int) -> None:
    """Compare every mode with the floor, when either limit applies, and when neither does."""
    half = min(truncate.Options().max_bytes or size, size // 2)
    lines = min(2000, text.count("\n") // 2)
    limits = {"lines": (lines, size * 2), "bytes": (size, half), "none": (size * 2, size * 2)}
    for deciding, (max_lines, max_bytes) in limits.items():
        for mode, cut in MODES.items():
            kept = cut(text, max_lines=max_lines, max_bytes=max_bytes)
            length = len(kept.content)

            def run(
                cut: Callable[..., truncate.Result] = cut,
                max_lines: int = max_lines,
                max_bytes: int = max_bytes,
            ) -> object:
                return cut(text, max_lines=max_lines, max_bytes=max_bytes)

            def least(length: int = length, mode: str = mode) -> object:
                return floor(text, length, mode)

            fastest, ours = best_of_each(least, run, size)
            print(
                f"{size:>8} {name:6} {deciding:6} {mode:7} {fastest * 1e6:>10.2f} "
                f"{ours * 1e6:>10.2f} {ours / fastest:>5.2f} {GOALS[size]:>4}"
            )


def floor(text: str, length: int, mode: str) -> tuple[int, int, str]:
    """Do the minimum of work: count, measure, slice."""
    newlines = text.count("\n")
    if text.isascii():
        size = len(text)
    else:
        size = 0
        for at in range(0, len(text), SLICE):
            size += len(text[at : at + SLICE].encode("utf-8", "surrogatepass"))
    return newlines, size, text[:length] if mode == "head" else text[-length:]


def best_of_each(
    first: Callable[[], object], second: Callable[[], object], size: int
) -> tuple[float, float]:
    """Time two callables alternately, and return the best time of each, in seconds."""
    loops = max(1, MB // (size * 2))
    repeats = 7 if size > MB else 40
    best = [float("inf"), float("inf")]
    for _ in range(repeats):
        for index, run in enumerate((first, second)):
            start = time.perf_counter()
            for _ in range(loops):
                run()
            best[index] = min(best[index], (time.perf_counter() - start) / loops)
    return best[0], best[1]


def measure_memory(size: int) -> None:
    """Print the peak memory of a cut, in addition to the text."""
    print(f"\nextra memory for {size // MB} MB, in KB")
    for name, line in (("ascii", ASCII_LINE), ("mixed", MIXED_LINE)):
        text = text_of(line, size)
        for mode, cut in MODES.items():
            tracemalloc.start()
            cut(text)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(f"{name:6} {mode:7} {peak / KB:>8.1f}")


def measure_stream(total: int) -> None:
    """Print the speed of a TailBuffer, compared with counting alone, and its peak size."""
    print(f"\n{total / GB:g} GB of bytes through TailBuffer")
    for name, line in (("ascii", ASCII_LINE), ("mixed", MIXED_LINE)):
        for size in (SLICE, 16 * SLICE):
            chunk = (line.encode() * (size // len(line) + 1))[:size]
            alone = fastest_pass(count_alone, chunk, total)
            fed = fastest_pass(feed, chunk, total)
            tracemalloc.start()
            feed(chunks(chunk, 64 * MB))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(
                f"{name:6} {size // 1024:>5} K chunks {total / fed / GB:>6.2f} GB/s, "
                f"{fed / alone:.2f} of counting alone, peak {peak / KB:.0f} KB"
            )


def fastest_pass(run: Callable[[Iterator[bytes]], None], chunk: bytes, total: int) -> float:
    """Return the shortest of three times, in seconds."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run(chunks(chunk, total))
        best = min(best, time.perf_counter() - start)
    return best


def chunks(chunk: bytes, total: int) -> Iterator[bytes]:
    """Yield a chunk until a total of bytes is reached."""
    for _ in range(total // len(chunk)):
        yield chunk


def count_alone(stream: Iterator[bytes]) -> None:
    """Consume the stream and count its newlines."""
    newlines = 0
    for chunk in stream:
        newlines += chunk.count(b"\n")


def feed(stream: Iterator[bytes]) -> None:
    """Consume the stream with a TailBuffer."""
    with truncate.TailBuffer() as buffer:
        for chunk in stream:
            buffer.feed(chunk)
    buffer.result()


if __name__ == "__main__":
    main()
