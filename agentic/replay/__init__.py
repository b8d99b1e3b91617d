"""Recorded conversations under policies, turn by turn: what is sent, what it costs, what is lost.

`read_transcripts` reads them, `make_policy` makes a policy, `replay` sends them anew under it, and
a `Report` compares the figures; `agentic replay` is the same on the command line.

    transcript = read_transcripts("session.jsonl")[0].mended()
    room = Room(budget.Policy(32_000), CharCounter())
    replayed = await replay(transcript, [make_policy("digest", room)], room)
"""

from agentic.replay._page import render_page
from agentic.replay._policies import POLICIES, ReplayPolicy, Room, make_policy
from agentic.replay._prompt_cache import PromptCache, cost_of
from agentic.replay._records import Replayed
from agentic.replay._replay import replay
from agentic.replay._report import Report
from agentic.replay._transcripts import Transcript, TranscriptUnreadable, read_transcripts
from agentic.replay._validity import ADAPTERS

__all__ = [
    "ADAPTERS",
    "POLICIES",
    "PromptCache",
    "ReplayPolicy",
    "Replayed",
    "Report",
    "Room",
    "Transcript",
    "TranscriptUnreadable",
    "cost_of",
    "make_policy",
    "read_transcripts",
    "render_page",
    "replay",
]
