"""Digests of real sessions in full, so that a reader can judge. The sessions choose themselves."""

import asyncio
import zlib
from collections.abc import Iterable, Iterator

from agentic.context.compactors import Digest
from benchmarks.retention.sessions import Session

__all__ = ["markdown_examples"]

NUMBER = 3
FENCE = "~~~~"
"""Longer than any that stands in a session at hand, and of another sign than a digest's own."""


def markdown_examples(sessions: Iterable[Session]) -> Iterator[str]:
    """Yield the default digests of three long sessions: the lowest CRC-32 of the file's name."""
    long = [session for session in sessions if session.is_long]
    long.sort(key=lambda session: zlib.crc32(f"{session.name}.jsonl".encode()))
    for session in long[:NUMBER]:
        text = asyncio.run(Digest().compact(session.messages))
        yield f"`{session.name}`, {len(session.messages)} messages:"
        yield f"\n{FENCE}markdown\n{text}\n{FENCE}\n"
