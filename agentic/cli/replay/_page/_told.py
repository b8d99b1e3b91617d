"""What the marks of a chart say when somebody points at them: the data beside the page."""

from collections.abc import Sequence

from agentic.cli.replay._page._chart import group_cuts
from agentic.cli.replay._page._ground import Frame
from agentic.cli.replay._records import Cut, Replayed

__all__ = ["tell_marks"]

_SUMMARY_CHARS = 1_500
"""How much of a summary is shown."""
_DETAILED = 6
"""The most compactions that one mark tells in full."""


def tell_marks(
    replays: Sequence[Sequence[Replayed]], frame: Frame
) -> dict[str, list[list[dict[str, object]]]]:
    """Give what the marks tell: by panel, by mark, compaction by compaction."""
    told: dict[str, list[list[dict[str, object]]]] = {}
    for at, policies in enumerate(replays):
        for number, replayed in enumerate(policies):
            groups = group_cuts(replayed.cuts, frame.scale(replayed.turns, 1.0))
            told[f"{at}-{number}"] = [_tell(group.cuts) for group in groups]
    return told


def _tell(cuts: Sequence[Cut]) -> list[dict[str, object]]:
    return [
        {
            "turn": cut.turn,
            "before": cut.before,
            "after": cut.after,
            "dropped": cut.dropped,
            "cleared": cut.cleared,
            "what": list(cut.what),
            "summary": summary[:_SUMMARY_CHARS],
            "more": max(0, len(summary) - _SUMMARY_CHARS),
        }
        for cut in cuts[:_DETAILED]
        for summary in [cut.summary.strip()]
    ]
