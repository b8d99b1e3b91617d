"""The speed of `Digest`, compared with that of tiktoken.

    python benchmarks/digest.py

The input is the long sessions in shared/data/transcripts next to the checkout, one by one, without
the system messages at the start and without thinking. Then all of them are read as one
conversation, to show that the time grows linearly with the text. Megabytes are millions of
characters: contents, arguments, outputs. Seconds are processor time, the best of a few runs.
Alternating with the digests of all sessions, tiktoken counts the same texts. The ratio of the two
depends less on the machine; the median over the runs is reported.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from agentic.context.compactors import Digest
from agentic.messages import Message, leading_system_count
from agentic.replay import read_transcripts
from agentic.tokens import Counter, TiktokenCounter
from agentic.tokens._count import message_texts

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZES = (2_000, 8_000, 20_000)
LEAST_MESSAGES, RUNS = 100, 7
GOALS = {2_000: 20.0 / 17.7, 8_000: 10.0 / 17.7, 20_000: 10.0 / 17.7}
"""20 and 10 MB/s on the machine on which the goal was set, where tiktoken reached 17.7 MB/s."""


def main() -> None:
    """Print megabytes per second for digests of several sizes."""
    sessions = read_sessions()
    if not sessions:
        print(f"no sessions in {DATA}")
        return
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(DATA / "tiktoken_cache"))
    tiktoken = TiktokenCounter()
    if not tiktoken.is_exact:
        print("tiktoken has no vocabulary, and nothing to compare with")
        return
    together = [message for session in sessions for message in session]
    texts = [text for message in together for text in message_texts(message)]
    print(f"{len(sessions)} sessions, {size_of(together) / 1e6:.2f} MB")
    print(f"{'max_tokens':>10}{'MB/s':>8}{'as one, MB/s':>14}{'of tiktoken':>13}")
    for size in SIZES:
        digest = Digest(max_tokens=size)
        each = sum(min(seconds(digest.write, one) for _ in range(RUNS)) for one in sessions)
        pairs = [
            (seconds(digest.write, together), seconds(count_all, tiktoken, texts))
            for _ in range(RUNS)
        ]
        in_one = min(mine for mine, _ in pairs)
        quotient = statistics.median(theirs / mine for mine, theirs in pairs)
        missed = "" if quotient >= GOALS[size] else f"   the goal is {GOALS[size]:.0%}"
        speed, speed_in_one = (size_of(together) / 1e6 / taken for taken in (each, in_one))
        print(f"{size:10}{speed:8.1f}{speed_in_one:14.1f}{quotient:13.1%}{missed}")


def count_all(counter: Counter, texts: list[str]) -> int:
    """Count texts one by one."""
    return sum(map(counter.count, texts))


def seconds(work: Callable[..., object], *arguments: object) -> float:
    """Return the processor time of a call, in seconds."""
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def size_of(messages: Sequence[Message]) -> int:
    """Count the characters of all texts."""
    return sum(
        len(message.content)
        + sum(len(call.arguments) for call in message.tool_calls)
        + sum(len(result.text) for result in message.tool_results)
        for message in messages
    )


def read_sessions() -> list[list[Message]]:
    """Read the long sessions; none if the folder does not exist."""
    paths = [
        path
        for path in sorted((DATA / "transcripts").glob("*.jsonl"))
        if path.name != "index.jsonl"
    ]
    sessions = map(read_session, paths)
    return [session for session in sessions if len(session) >= LEAST_MESSAGES]


def read_session(path: Path) -> list[Message]:
    """Read a session without its thinking, which is not sent to a provider again."""
    [transcript] = read_transcripts(path)
    messages = [attrs.evolve(message, reasoning="") for message in transcript.messages]
    return messages[leading_system_count(messages) :]


if __name__ == "__main__":
    main()
