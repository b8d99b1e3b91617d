"""Recorded conversations under policies, turn by turn: what is sent, what it costs, what is lost.

    transcript = read_transcripts("session.jsonl")[0].mended()
    room = Room(budget.Policy(32_000), CharCounter())
    replayed = await replay(transcript, [make_policy("digest", room)], room)

`agentic replay` shows the same as a table and as a page.
"""

import importlib
import typing

from agentic.cli.replay._cost import READ, WRITE, PromptCache, Sent, cost_of
from agentic.cli.replay._judge import (
    POINTS,
    Judgement,
    Point,
    points_of,
    speaks_in_text,
    terms_in,
)
from agentic.cli.replay._page import Report, render_page
from agentic.cli.replay._policies import (
    POLICIES,
    Policy,
    Room,
)
from agentic.cli.replay._reading import (
    UNDERSTOOD,
    Transcript,
    TranscriptUnreadable,
    read_transcripts,
)
from agentic.cli.replay._records import Cut, Replayed, Request
from agentic.cli.replay._replay import replay
from agentic.cli.replay._spelling import describe_policy, make_policy
from agentic.cli.replay._summary import COLUMNS, Column, Row, best_of, row_of
from agentic.cli.replay._text import argument_texts, text_of
from agentic.cli.replay._validity import ADAPTERS, Validity, adapters_of, refusal_of

if typing.TYPE_CHECKING:
    from agentic.cli.replay._command import replay_command

__all__ = [
    "ADAPTERS",
    "COLUMNS",
    "POINTS",
    "POLICIES",
    "READ",
    "UNDERSTOOD",
    "WRITE",
    "Column",
    "Cut",
    "Judgement",
    "Point",
    "Policy",
    "PromptCache",
    "Replayed",
    "Report",
    "Request",
    "Room",
    "Row",
    "Sent",
    "Transcript",
    "TranscriptUnreadable",
    "Validity",
    "adapters_of",
    "argument_texts",
    "best_of",
    "cost_of",
    "describe_policy",
    "make_policy",
    "points_of",
    "read_transcripts",
    "refusal_of",
    "render_page",
    "replay",
    "replay_command",
    "row_of",
    "speaks_in_text",
    "terms_in",
    "text_of",
]


def __getattr__(name: str) -> typing.Any:
    if name == "replay_command":  # the command line needs an extra
        return importlib.import_module(f"{__name__}._command").replay_command
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return list(__all__)
