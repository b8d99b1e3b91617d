"""Recorded conversations under policies: what each request sends, what it costs, what is lost.

Start with `read_transcripts`, `make_policy`, `replay` and `Report`, which compares the figures.
`agentic replay` does the same on the command line.

    transcript = read_transcripts("session.jsonl")[0].mended()
    context_limits = ContextLimits(budget.Policy(32_000), CharCounter())
    replayed = await replay(transcript, [make_policy("digest", context_limits)], context_limits)
"""

from agentic.app.replay._compare import Difference as Difference
from agentic.app.replay._compare import compare as compare
from agentic.app.replay._page import render_page as render_page
from agentic.app.replay._policies import AS_RECORDED as AS_RECORDED
from agentic.app.replay._policies import POLICIES as POLICIES
from agentic.app.replay._policies import ContextLimits, ReplayPolicy, make_policy
from agentic.app.replay._records import Cut as Cut
from agentic.app.replay._records import Price as Price
from agentic.app.replay._records import PromptCache as PromptCache
from agentic.app.replay._records import Replayed as Replayed
from agentic.app.replay._records import SentRequest as SentRequest
from agentic.app.replay._records import Series as Series
from agentic.app.replay._records import cost_of as cost_of
from agentic.app.replay._records import price_of as price_of
from agentic.app.replay._replay import CountedTranscript as CountedTranscript
from agentic.app.replay._replay import replay
from agentic.app.replay._report import Report
from agentic.app.replay._transcripts import FoundSession as FoundSession
from agentic.app.replay._transcripts import Transcript as Transcript
from agentic.app.replay._transcripts import TranscriptUnreadable as TranscriptUnreadable
from agentic.app.replay._transcripts import find_sessions as find_sessions
from agentic.app.replay._transcripts import read_transcripts

__all__ = ["ContextLimits", "ReplayPolicy", "Report", "make_policy", "read_transcripts", "replay"]
