"""What a compactor leaves for its next generation is in the database, and in every view of it."""

import asyncio

from agentic.context.budget import Policy
from agentic.history.postgres import PostgresStore
from agentic.messages import Message, SummaryText
from agentic.session import Session
from agentic.tokens import CharCounter


class Counting:
    """A compactor that counts its generations in its notes, and is lost without them."""

    def __init__(self) -> None:
        self.made = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        former = [each.summary.notes["made"] for each in messages if each.summary]
        assert former == ([self.made] if self.made else [])
        self.made += 1
        return SummaryText(f"{self.made} made", {"made": self.made, "odd": ["\x00", "\ud83d"]})


def test_notes_reach_next_generation_by_database(dsn: str) -> None:
    """The session is opened again at every turn."""
    compactor, policy = Counting(), Policy(1_000, max_messages=6, min_recent_messages=2)

    async def turn(number: int) -> None:
        store = PostgresStore(dsn, "monday")
        session = Session(
            "monday", store, counter=CharCounter(), policy=policy, compactor=compactor
        )
        async with session:
            await session.append(Message("user", f"u{number} " + "please " * 9))
            await session.append(Message("assistant", f"a{number} " + "done " * 9))
            prepared = await session.prepare()
            assert not any(note.kind == "summary_failed" for note in prepared.notes)

    for number in range(20):
        asyncio.run(turn(number))

    assert compactor.made >= 4
