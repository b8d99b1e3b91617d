"""The report as a single page that needs no network and no library.

It has the figures of all transcripts, then a section for each transcript: a chart of all policies,
and for each policy a panel and its compactions. The texts of a chart's marks are embedded as data.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

import attrs

import agentic
from agentic.replay._chart import ChartSubject, Frame, draw_all, draw_one, group_cuts
from agentic.replay._html import Markup, tag, text
from agentic.replay._records import Cut, Replayed
from agentic.replay._report import COLUMNS, Column, PolicyRow, Report, best_of, row_of

__all__ = ["render_page"]

_PANEL = Frame(560, 236)
_WHOLE = Frame(1120, 300, right=220, buckets=480)
_NARROW = Frame(560, 340, buckets=120)
"""The frames of one policy and of all policies, on a wide page and on a narrow one."""
_SHOWN = 25
_SUMMARY_CHARS = 1_500
"""How much of a summary is shown."""
_DETAILED = 6
"""The most compactions that one mark describes in full."""


def render_page(report: Report) -> str:
    """Return the report as one HTML document that contains its style, script and data."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"Replay: {_subject(report)}"),
        tag("style", Markup(style)),
    )
    data = json.dumps(
        _tell_marks([replayed for _, replayed in report.replays], _PANEL),
        ensure_ascii=True,
        separators=(",", ":"),
    )
    body = tag(
        "body",
        tag("a", "To the figures", class_="skip", href="#figures"),
        _header(report),
        tag("main", *_main(report)),
        _footer(),
        tag("div", id="card", role="dialog", aria_label="Compaction", hidden="hidden"),
        tag("script", Markup(data.replace("<", "\\u003c")), type="application/json", id="data"),
        tag("script", Markup(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


@cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _subject(report: Report) -> str:
    replays = report.replays
    return replays[0][0].name if len(replays) == 1 else f"{len(replays)} transcripts"


def _header(report: Report) -> Markup:
    number = len(report.descriptions)
    policies = f"{number} {'policy' if number == 1 else 'policies'}"
    facts = [
        ("window", f"{report.window:,} tokens"),
        ("reserve", f"{report.reserve:,} tokens"),
        ("counted", report.counter),
        ("checked by", ", ".join(report.providers) or "nobody"),
    ]
    listed = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]
    theme = tag("button", "Theme: auto", id="theme", type="button")
    return tag(
        "header",
        tag("div", tag("p", "agentic replay", class_="brand"), theme, class_="bar"),
        tag("h1", _subject(report)),
        tag("p", f"Replayed under {policies}.", class_="lead"),
        tag("dl", *listed, class_="facts"),
    )


def _main(report: Report) -> Iterator[Markup]:
    rows = report.rows
    several = len(report.replays) > 1
    caption = f"All {len(report.replays)} transcripts" if several else "The policies side by side"
    yield tag("section", _figures_table(rows, caption), _how_to_read(), id="figures")
    yield _controls(report)
    if several:
        yield _contents(report)
    for at in range(len(report.replays)):
        yield _section(report, at)


def _controls(report: Report) -> Markup:
    names = [replayed.policy for replayed in report.replays[0][1]]
    toggles = [
        tag(
            "button",
            tag("i", class_=f"chip p{at % 8}"),
            name,
            type="button",
            aria_pressed="true",
            data_toggle=at,
        )
        for at, name in enumerate(names)
    ]
    label = tag("span", "Show", class_="quiet")
    return tag("div", label, *toggles, class_="controls", role="group", aria_label="Policies shown")


def _contents(report: Report) -> Markup:
    names = [replayed.policy for replayed in report.replays[0][1]]
    heads = [
        tag("th", tag("i", class_=f"chip p{at % 8}"), name, scope="col", data_policy=at)
        for at, name in enumerate(names)
    ]
    rows = [
        tag(
            "tr",
            tag("th", tag("a", transcript.name, href=f"#t{at}"), scope="row"),
            tag("td", f"{replayed[0].turns:,}"),
            tag("td", f"{replayed[0].said:,}"),
            *(tag("td", _brief(each), data_policy=n) for n, each in enumerate(replayed)),
        )
        for at, (transcript, replayed) in enumerate(report.replays)
    ]
    head = tag(
        "tr", *(tag("th", each, scope="col") for each in ("transcript", "turns", "said")), *heads
    )
    caption = tag("caption", "Each transcript: cost, and the evidence kept")
    table = tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="contents")
    return tag("nav", tag("div", table, class_="wide"), aria_label="Transcripts", id="contents")


def _brief(replayed: Replayed) -> Markup:
    evidence = "-" if replayed.evidence is None else f"{replayed.evidence:.0%}"
    over = tag("span", f" {replayed.over} over", class_="bad") if replayed.over else Markup("")
    return Markup(f"{text(f'{replayed.cost / 1000:,.0f} k · {evidence}')}{over}")


def _footer() -> Markup:
    shown = (
        "Grey, dotted: everything said until then. Circles or ticks: compactions; point at one, "
        "tap it, or reach it by Tab and the arrow keys. Dashed, below a circle: what was cut away "
        "before the request was sent. The transcript's own replies go on "
        "whatever was cut: what the model would have said instead is not known."
    )
    made = f"Made by agentic {agentic.__version__}. This page holds everything it needs."
    return tag("footer", tag("p", shown), tag("p", made))


def _section(report: Report, at: int) -> Markup:
    """Return the section of one transcript, by its position."""
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
    subject = ChartSubject(report.window, report.reserve, f"{at}", transcript.name)
    befores = [cut.before for each in replayed for cut in each.cuts]
    top = subject.top([each.peak for each in replayed], befores)
    if len(replayed) > 1:
        body += _overviews(replayed, subject, top)
    if len(report.replays) > 1:
        rows = [row_of([each]) for each in replayed]
        body.append(_figures_table(rows, f"Figures of {transcript.name}"))
    panels = [_panel(report, at, number, top) for number in range(len(replayed))]
    body.append(tag("div", *panels, class_="panels"))
    return tag("section", *body, class_="transcript", id=f"t{at}")


def _overviews(replayed: Sequence[Replayed], subject: ChartSubject, top: float) -> Iterator[Markup]:
    """Draw all policies in one chart; a narrow page has no room for names next to the lines."""
    yield tag("div", draw_all(replayed, subject, top, _WHOLE), class_="all")
    small = attrs.evolve(subject, ident=f"{subject.ident}-narrow")
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
    subject = ChartSubject(report.window, report.reserve, f"{at}-{number}", transcript.name)
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("h3", tag("i", class_=f"chip p{number % 8}"), replayed.policy),
            tag("p", report.descriptions[number], class_="quiet"),
        ),
        draw_one(replayed, subject, top, _PANEL, f"p{number % 8}"),
        *(tag("p", problem, class_="problem") for problem in replayed.problems),
        _cuts_table(replayed.cuts),
        class_="panel",
        data_policy=number,
        data_panel=f"{at}-{number}",
    )


def _figures_table(rows: Sequence[PolicyRow], caption: str) -> Markup:
    """Return the figures of every policy, with the best of each column marked."""
    best = {column.key: best_of(rows, column) for column in COLUMNS}
    head = [
        tag("th", tag("span", column.title, title=column.meaning), scope="col")
        for column in COLUMNS
    ]
    body = [
        tag(
            "tr",
            tag("th", tag("i", class_=f"chip p{at % 8}"), row.policy, scope="row"),
            *(_figure(row, column, best[column.key]) for column in COLUMNS),
            data_policy=at,
        )
        for at, row in enumerate(rows)
    ]
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", tag("th", "policy", scope="col"), *head)),
        tag("tbody", *body),
        class_="figures",
    )
    return tag("div", table, class_="wide", tabindex=0, role="region", aria_label=caption)


def _figure(row: PolicyRow, column: Column, best: set[str]) -> Markup:
    value = getattr(row, column.key)
    if value is None:
        return tag("td", "-", class_="none", data_title=column.title)
    if row.policy in best:
        shown = tag("b", column.show(value), tag("span", " best", class_="unseen"))
        return tag("td", shown, class_="best", data_title=column.title)
    bad = column.key in {"over", "invalid"} and value > 0
    marked = "bad" if bad else None
    return tag("td", column.show(value), class_=marked, data_title=column.title)


def _cuts_table(cuts: Sequence[Cut]) -> Markup:
    """List compactions as text, for readers without a pointer, and for print."""
    if not cuts:
        return tag("p", "No compaction.", class_="quiet")
    rows = [
        tag(
            "tr",
            tag("td", f"{cut.turn:,}"),
            tag("td", f"{cut.before:,}"),
            tag("td", f"{cut.after:,}"),
            tag("td", ", ".join(cut.what) or "-", class_="words"),
        )
        for cut in cuts[:_SHOWN]
    ]
    head = (tag("th", title, scope="col") for title in ("turn", "before", "after", "what is gone"))
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="cuts")
    more = len(cuts) - _SHOWN
    rest = tag("p", f"and {more:,} more", class_="quiet") if more > 0 else ""
    noun = "compaction" if len(cuts) == 1 else "compactions"
    summary = tag("summary", f"{len(cuts):,} {noun}, one by one")
    return tag("details", summary, tag("div", table, class_="wide"), rest)


def _how_to_read() -> Markup:
    """Explain every column."""
    terms = [part for c in COLUMNS for part in (tag("dt", c.title), tag("dd", c.meaning))]
    marked = "Bold with a dot: the best figure of a policy whose requests could all be sent."
    return tag(
        "details",
        tag("summary", "What the figures mean"),
        tag("dl", *terms),
        tag("p", marked, class_="quiet"),
        class_="legend",
    )


def _tell_marks(
    replays: Sequence[Sequence[Replayed]], frame: Frame
) -> dict[str, list[list[dict[str, object]]]]:
    """Return the texts of the marks: by panel, by mark, by compaction."""
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
