"""How fast `Digest` is, and which part of the time goes into reading.

    python benchmarks/digest.py

The long sessions in shared/data/transcripts beside the checkout, one by one, without the system
messages at the start and without thinking; then all of them as one conversation, to show that the
time grows with the text and not faster. Megabytes are millions of characters: contents, arguments,
outputs. Seconds are of the processor, and the best of a few runs.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from agentic.cli.replay import read_transcripts
from agentic.context.compactors import Digest
from agentic.context.compactors._gather import gather
from agentic.messages import Message, leading_system_count

TRANSCRIPTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
SIZES = (2_000, 8_000, 20_000)
LEAST_MESSAGES, RUNS = 100, 5
GOAL = 10.0


def main() -> None:
    """Print megabytes a second for digests of several sizes."""
    sessions = read_sessions()
    if not sessions:
        print(f"no sessions in {TRANSCRIPTS}")
        return
    together = [message for session in sessions for message in session]
    print(f"{len(sessions)} sessions, {size_of(together) / 1e6:.2f} MB")
    print(f"{'max_tokens':>10}{'MB/s':>8}{'reading':>9}{'as one, MB/s':>14}")
    for size in SIZES:
        digest = Digest(max_tokens=size)
        whole, reading = map(
            sum, zip(*(cost(digest, session) for session in sessions), strict=True)
        )
        in_one, _ = cost(digest, together)
        speed, speed_in_one = (size_of(together) / 1e6 / each for each in (whole, in_one))
        missed = "" if speed >= GOAL else f"   the goal is {GOAL:.0f}"
        print(f"{size:10}{speed:8.1f}{reading / whole:9.0%}{speed_in_one:14.1f}{missed}")


def cost(digest: Digest, messages: list[Message]) -> tuple[float, float]:
    """Give the seconds that a digest takes, and those of them that reading takes."""
    whole = reading = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        asyncio.run(digest.compact(messages))
        middle = time.process_time()
        gather(messages, digest.tools)
        whole = min(whole, middle - start)
        reading = min(reading, time.process_time() - middle)
    return whole, reading


def size_of(messages: Sequence[Message]) -> int:
    """Count the characters of all texts."""
    return sum(
        len(message.content)
        + sum(len(call.arguments) for call in message.tool_calls)
        + sum(len(result.text) for result in message.tool_results)
        for message in messages
    )


def read_sessions() -> list[list[Message]]:
    """Read the sessions of some length; none where the folder is absent."""
    paths = [path for path in sorted(TRANSCRIPTS.glob("*.jsonl")) if path.name != "index.jsonl"]
    sessions = map(read_session, paths)
    return [session for session in sessions if len(session) >= LEAST_MESSAGES]


def read_session(path: Path) -> list[Message]:
    """Read a session without its thinking, which no provider is sent again."""
    [transcript] = read_transcripts(path)
    messages = [attrs.evolve(message, reasoning="") for message in transcript.messages]
    return messages[leading_system_count(messages) :]


if __name__ == "__main__":
    main()
