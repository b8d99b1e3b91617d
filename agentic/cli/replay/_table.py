"""The figures as text: a table for people, a JSON object for programs."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from agentic.cli._printable import printable
from agentic.cli.replay._page import Report
from agentic.cli.replay._records import Replayed
from agentic.cli.replay._summary import COLUMNS, Row, best_of, row_of

__all__ = ["as_plain", "as_text"]

_GAP = "  "


def as_text(report: Report, bold: Callable[[str], str] = str) -> str:
    """Write a table for each transcript, and one for all where there are several.

    The best figures have an asterisk, and are passed through `bold`.
    """
    tables = []
    for transcript, replayed in report.replays:
        problems = [f"{each.policy}: {what}" for each in replayed for what in each.problems]
        told = (*transcript.notes, *problems)
        notes = "".join(f"  note: {printable(note)}\n" for note in told)
        head = f"{transcript.name} ({len(transcript.messages):,} messages, {transcript.format})"
        tables.append(
            f"{printable(head)}\n{notes}{_table([row_of([each]) for each in replayed], bold)}"
        )
    if len(report.replays) > 1:
        rows = total_rows(report)
        tables.append(f"all {len(report.replays)} transcripts\n{_table(rows, bold)}")
    return "\n\n".join(tables)


def as_plain(report: Report) -> dict[str, Any]:
    """Give the JSON form: sizes and costs in tokens, shares from 0 to 1."""
    return {
        "window": report.window,
        "reserve": report.reserve,
        "counter": report.counter,
        "providers": list(report.providers),
        "transcripts": [
            {
                "name": transcript.name,
                "format": transcript.format,
                "messages": len(transcript.messages),
                "notes": list(transcript.notes),
                "policies": [_plain(each) for each in replayed],
            }
            for transcript, replayed in report.replays
        ],
        "policies": [attrs.asdict(row) for row in total_rows(report)],
    }


def total_rows(report: Report) -> list[Row]:
    """Add every policy up over the transcripts."""
    by_policy = zip(*(replayed for _, replayed in report.replays), strict=True)
    return [row_of(each) for each in by_policy]


def _plain(replayed: Replayed) -> dict[str, Any]:
    refused = next((each.refused for each in replayed.requests if each.refused), None)
    cuts = [
        {
            "turn": cut.turn,
            "before": cut.before,
            "after": cut.after,
            "dropped": cut.dropped,
            "cleared": cut.cleared,
            "summarized": bool(cut.summary),
        }
        for cut in replayed.cuts
    ]
    return {
        **attrs.asdict(row_of([replayed])),
        "refused": refused,
        "problems": [*replayed.problems],
        "cuts": cuts,
    }


def _table(rows: Sequence[Row], bold: Callable[[str], str]) -> str:
    best = [best_of(rows, column) for column in COLUMNS]
    heads = ["policy", *(column.title for column in COLUMNS)]
    cells = [
        [printable(row.policy), *(_cell(getattr(row, c.key), c.show) for c in COLUMNS)]
        for row in rows
    ]
    marked = [[False, *(row.policy in names for names in best)] for row in rows]
    widths = [max(len(line[at]) for line in [heads, *cells]) + 1 for at in range(len(heads))]
    lines = [_line(heads, widths, [False] * len(heads), bold)]
    lines += [_line(row, widths, which, bold) for row, which in zip(cells, marked, strict=True)]
    return "\n".join(lines)


def _cell(value: float | None, show: Callable[[float], str]) -> str:
    return "-" if value is None else show(value)


def _line(
    cells: Sequence[str], widths: Sequence[int], marked: Sequence[bool], bold: Callable[[str], str]
) -> str:
    first = f"  {cells[0]:<{widths[0]}}"
    rest = [
        bold(f"{cell + '*':>{width}}") if mark else f"{cell + ' ':>{width}}"
        for cell, width, mark in zip(cells[1:], widths[1:], marked[1:], strict=True)
    ]
    return _GAP.join([first, *rest]).rstrip()
