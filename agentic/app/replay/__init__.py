"""Recorded conversations under policies: what each request sends, what it costs, what is lost.

Start with `read_transcripts`, `make_policy`, `replay` and `Report`, which compares the figures.
`agentic replay` does the same on the command line.

    transcript = read_transcripts("session.jsonl")[0].mended()
    context_limits = ContextLimits(budget.Policy(32_000), CharCounter())
    replayed = await replay(transcript, [make_policy("digest", context_limits)], context_limits)
"""

from agentic.app.replay._policies import ContextLimits, make_policy
from agentic.app.replay._replay import replay
from agentic.app.replay._report import Report
from agentic.app.replay._transcripts import Transcript, TranscriptUnreadable, read_transcripts

__all__ = [
    "ContextLimits",
    "Report",
    "Transcript",
    "TranscriptUnreadable",
    "make_policy",
    "read_transcripts",
    "replay",
]
