"""One transcript on the page: all policies in one chart, then a panel for each."""

from collections.abc import Iterator, Sequence

import attrs

from agentic.cli.replay._page._chart import draw_all, draw_one
from agentic.cli.replay._page._ground import Frame, Look
from agentic.cli.replay._page._html import Markup, tag
from agentic.cli.replay._page._report import Report
from agentic.cli.replay._page._tables import cuts_table, figures_table
from agentic.cli.replay._records import Replayed
from agentic.cli.replay._summary import row_of

__all__ = ["PANEL", "transcript_section"]

PANEL = Frame(560, 236)
_WHOLE = Frame(1120, 300, right=220, buckets=480)
_NARROW = Frame(560, 340, buckets=120)
"""The frames of one policy, and of all in one, on a wide page and on a narrow one."""


def transcript_section(report: Report, at: int) -> Markup:
    """Draw one transcript, by its position, under all policies and under each."""
    transcript, replayed = report.replays[at]
    sizes = f"{len(transcript.messages):,} messages, {replayed[0].said:,} tokens"
    notes = [tag("li", note) for note in transcript.notes]
    body: list[Markup] = [
        tag("h2", transcript.name, *_links(report, at)),
        tag("p", f"{sizes}, {transcript.format}", class_="quiet"),
        tag("ul", *notes, class_="notes") if notes else Markup(""),
    ]
    if not replayed[0].turns:
        body.append(tag("p", "No reply of an agent: there was nothing to send.", class_="quiet"))
        return tag("section", *body, class_="transcript", id=f"t{at}")
    look = Look(report.window, report.reserve, f"{at}", transcript.name)
    befores = [cut.before for each in replayed for cut in each.cuts]
    top = look.top([each.peak for each in replayed], befores)
    if len(replayed) > 1:
        body += _overviews(replayed, look, top)
    if len(report.replays) > 1:
        rows = [row_of([each]) for each in replayed]
        body.append(figures_table(rows, f"Figures of {transcript.name}"))
    panels = [_panel(report, at, number, top) for number in range(len(replayed))]
    body.append(tag("div", *panels, class_="panels"))
    return tag("section", *body, class_="transcript", id=f"t{at}")


def _overviews(replayed: Sequence[Replayed], look: Look, top: float) -> Iterator[Markup]:
    """Draw all policies in one chart; a narrow page has no room for names beside the lines."""
    yield tag("div", draw_all(replayed, look, top, _WHOLE), class_="all")
    small = attrs.evolve(look, ident=f"{look.ident}-narrow")
    names = [
        tag("li", tag("i", class_=f"chip p{at % 8}"), each.policy, data_policy=at)
        for at, each in enumerate(replayed)
    ]
    chart = draw_all(replayed, small, top, _NARROW, named=False)
    yield tag("div", chart, tag("ul", *names, class_="names"), class_="all narrow")


def _links(report: Report, at: int) -> Iterator[Markup]:
    if len(report.replays) == 1:
        return
    last = len(report.replays) - 1
    places = [("\u2039 previous", at - 1), ("next \u203a", at + 1)]
    links = [tag("a", name, href=f"#t{to}") for name, to in places if 0 <= to <= last]
    yield tag("span", *links, tag("a", "↑ all", href="#contents"), class_="links")


def _panel(report: Report, at: int, number: int, top: float) -> Markup:
    transcript, all_replayed = report.replays[at]
    replayed = all_replayed[number]
    look = Look(report.window, report.reserve, f"{at}-{number}", transcript.name)
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("h3", tag("i", class_=f"chip p{number % 8}"), replayed.policy),
            tag("p", report.told[number], class_="quiet"),
        ),
        draw_one(replayed, look, top, PANEL, f"p{number % 8}"),
        *(tag("p", problem, class_="problem") for problem in replayed.problems),
        cuts_table(replayed.cuts),
        class_="panel",
        data_policy=number,
        data_panel=f"{at}-{number}",
    )
