"""The report as a single page that needs no network and no library.

It opens with the verdict and the figures of all transcripts. Then a section for each transcript has
a chart of all policies, for each policy a panel with its compactions, and a way to step through it.
The texts of a chart's marks and the messages to step through are embedded as data.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from importlib import resources

import attrs

import agentic
from agentic.app.replay._chart import ChartSubject, Frame, colour_of, draw_all, draw_one, group_cuts
from agentic.app.replay._html import Markup, tag, text
from agentic.app.replay._records import Cut, Replayed, count_of
from agentic.app.replay._report import Column, PolicyRow, Report, best_of, row_of, verdict_on
from agentic.app.replay._steps import StepBudget, draw_steps, step_data

_PANEL = Frame(560, 236)
_WHOLE = Frame(1120, 320, right=220, buckets=480, sizes=6, numbers=12)
_NARROW = Frame(560, 340, buckets=120, sizes=5, numbers=4)
"""The frames of one policy and of all policies, on a wide page and on a narrow one."""
_SHOWN = 25
"""The most compactions that are listed below a chart."""
_SUMMARY_CHARS = 1_500
"""How much of a summary is shown."""
_DETAILED = 6
"""The most compactions that one mark describes in full."""
# Where the context is largest, the policies differ most.
_SECTIONS = 40
"""The most transcripts that have a section; of more, those with the largest context have one."""


def render_page(report: Report) -> str:
    """Return the report as one HTML document that contains its style, script and data."""
    style, script = _asset("report.css"), _asset("report.js")
    # The texts are those of others: whatever they contain, the browser runs this script alone.
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
    sections = _sections(report)
    steps = _steps(report, sections)
    data_of_page = {
        "marks": _tell_marks(report, sections),
        "sizes": {at: _sizes(report.replays[at][1]) for at in sections},
        "steps": steps,
        "policies": _policies(report),
    }
    data = json.dumps(data_of_page, ensure_ascii=True, separators=(",", ":"))
    # A `<` in a text could otherwise end the element that holds the data.
    json_text = Markup(data.replace("<", "\\u003c"))
    body = tag(
        "body",
        tag("a", "To the figures", class_="skip", href="#figures"),
        _header(report),
        tag("main", *_main(report, sections, set(steps))),
        _footer(),
        tag("div", id="card", role="dialog", aria_label="Details", hidden="hidden"),
        tag("script", json_text, type="application/json", id="data"),
        tag("script", Markup(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _subject(report: Report) -> str:
    replays = report.replays
    return replays[0][0].name if len(replays) == 1 else f"{len(replays)} transcripts"


def _policies(report: Report) -> list[str]:
    return [run.policy for run in report.replays[0][1]]


def _chip(at: int) -> Markup:
    return tag("i", class_=f"chip {colour_of(at)}")


def _header(report: Report) -> Markup:
    number = len(report.descriptions)
    policies = f"{number} {'policy' if number == 1 else 'policies'}"
    facts = [
        ("window", f"{report.window:,} tokens"),
        ("reserve", f"{report.reserve:,} tokens"),
        ("counted", report.counter),
        ("checked by", ", ".join(report.providers) or "nobody"),
        ("cost", report.price.description if report.price else "tokens at the full price"),
    ]
    entries = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]
    theme = tag("button", "Theme: auto", id="theme", type="button")
    return tag(
        "header",
        tag("div", tag("p", "agentic replay", class_="brand"), theme, class_="bar"),
        tag("h1", _subject(report)),
        tag("p", f"{report.verdict}.", class_="verdict"),
        tag("p", f"Replayed under {policies}.", class_="lead"),
        tag("dl", *entries, class_="facts"),
    )


def _sections(report: Report) -> list[int]:
    """Return the positions of the transcripts that have a section of their own, in order."""
    positions = range(len(report.replays))
    # A stable sort: of transcripts of one size, the first have a section.
    largest = sorted(positions, key=lambda at: -report.replays[at][1][0].said)[:_SECTIONS]
    return sorted(largest)


def _steps(report: Report, places: Sequence[int]) -> dict[int, object]:
    """Return what is needed to step through transcripts, as long as the page has room for it."""
    budget = StepBudget()
    return {at: step_data(*report.replays[at]) for at in places if budget.take(*report.replays[at])}


def _sizes(runs: Sequence[Replayed]) -> list[list[int]]:
    return [[request.tokens for request in each.requests] for each in runs]


def _main(report: Report, places: Sequence[int], steps: set[int]) -> Iterator[Markup]:
    several = len(report.replays) > 1
    scope = f"{report.scope[0].upper()}{report.scope[1:]}"
    caption = scope if several else "The policies side by side"
    if report.is_understood:
        table = _figures_table(report.rows, report.columns, caption)
        yield tag("section", table, _how_to_read(report.columns), id="figures")
    yield _controls(report)
    if several:
        yield _contents(report, places)
    for at in places:
        yield _section(report, places, at, can_step=at in steps)


def _controls(report: Report) -> Markup:
    names = _policies(report)
    toggles = [
        tag("button", _chip(at), name, type="button", aria_pressed="true", data_toggle=at)
        for at, name in enumerate(names)
    ]
    label = tag("span", "Show", class_="quiet")
    return tag("div", label, *toggles, class_="controls", role="group", aria_label="Policies shown")


def _contents(report: Report, places: Sequence[int]) -> Markup:
    sections = set(places)
    names = _policies(report)
    heads = [
        tag("th", _chip(at), name, scope="col", data_policy=at) for at, name in enumerate(names)
    ]
    rows = [
        tag(
            "tr",
            tag(
                "th",
                tag("a", transcript.name, href=f"#t{at}") if at in sections else transcript.name,
                scope="row",
            ),
            tag("td", f"{len(runs[0].requests):,}"),
            tag("td", f"{runs[0].said:,}"),
            *(tag("td", _brief(report, each), data_policy=n) for n, each in enumerate(runs)),
        )
        for at, (transcript, runs) in enumerate(report.replays)
    ]
    head = tag(
        "tr",
        *(tag("th", each, scope="col") for each in ("transcript", "requests", "tokens said")),
        *heads,
    )
    rest = len(report.replays) - len(places)
    more = f"; the {rest} smallest have no section of their own" if rest else ""
    title = f"Each transcript: cost, and how much it keeps of what was needed later{more}"
    caption = tag("caption", title)
    table = tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="contents")
    return tag("nav", tag("div", table, class_="wide"), aria_label="Transcripts", id="contents")


def _brief(report: Report, run: Replayed) -> Markup:
    row = row_of([run], report.price)
    cost = next(each for each in report.columns if each.key in {"cost", "dollars"})
    recall = "-" if row.recall is None else f"{row.recall:.0%}"
    over = tag("span", f" {row.over} over", class_="bad") if row.over else Markup("")
    figures = f"{cost.show(getattr(row, cost.key))} \u00b7 {recall}"
    return Markup(f"{text(figures)}{over}")


def _footer() -> Markup:
    parts = (
        "Grey, dotted: everything said until then. Circles or ticks: compactions; point at one, "
        "tap it, or reach it by Tab and the arrow keys. Dashed, below a circle: what was cut away "
        "before the request was sent. The replies are always those of the transcript: "
        "what the model would have said after a cut is unknown."
    )
    imprint = f"Made by agentic {agentic.__version__}. This page holds everything it needs."
    return tag("footer", tag("p", parts), tag("p", imprint))


def _section(report: Report, places: Sequence[int], at: int, *, can_step: bool) -> Markup:
    """Return the section of one transcript, by its position."""
    transcript, runs = report.replays[at]
    sizes = f"{count_of(len(transcript.messages), 'message')}, {runs[0].said:,} tokens"
    notes = [tag("li", note) for note in transcript.notes]
    body: list[Markup] = [
        tag("h2", transcript.name, *_links(places, at)),
        tag("p", f"{sizes}, {transcript.format}", class_="quiet"),
        tag("ul", *notes, class_="notes") if notes else Markup(""),
    ]
    rows = [row_of([each], report.price) for each in runs]
    if not (runs[0].requests and transcript.is_understood):
        body.append(tag("p", f"{verdict_on(transcript, rows)}.", class_="quiet"))
        return tag("section", *body, class_="transcript", id=f"t{at}")
    if len(report.replays) > 1:
        body.append(tag("p", f"{verdict_on(transcript, rows)}."))
    subject = ChartSubject(report.window, report.reserve, f"{at}", transcript.name)
    # One height for all charts of a transcript, so that they can be compared.
    befores = [cut.before for each in runs for cut in each.cuts]
    top = subject.top([each.peak for each in runs], befores)
    if len(runs) > 1:
        body += _overviews(runs, subject, top)
    if len(report.replays) > 1:
        body.append(_figures_table(rows, report.columns, f"Figures of {transcript.name}"))
    if can_step:
        names = [each.policy for each in runs]
        body.append(draw_steps(f"{at}", names, len(runs[0].requests)))
    panels = [_panel(report, at, number, top) for number in range(len(runs))]
    body.append(tag("div", *panels, class_="panels"))
    return tag("section", *body, class_="transcript", id=f"t{at}")


def _overviews(runs: Sequence[Replayed], subject: ChartSubject, top: float) -> Iterator[Markup]:
    """Draw all policies in one chart; a narrow page has no room for names next to the lines."""
    yield tag("h3", "The size of each request, in tokens")
    yield tag("div", draw_all(runs, subject, top, _WHOLE), class_="all")
    # Both charts are in the page, whichever the style shows, and ids are unique in it.
    small = attrs.evolve(subject, ident=f"{subject.ident}-narrow")
    names = [tag("li", _chip(at), each.policy, data_policy=at) for at, each in enumerate(runs)]
    chart = draw_all(runs, small, top, _NARROW, with_names=False)
    yield tag("div", chart, tag("ul", *names, class_="names"), class_="all narrow")


def _links(order: Sequence[int], at: int) -> Iterator[Markup]:
    if len(order) == 1:
        return
    place = list(order).index(at)
    places = [("\u2039 previous", place - 1), ("next \u203a", place + 1)]
    links = [tag("a", name, href=f"#t{order[to]}") for name, to in places if 0 <= to < len(order)]
    yield tag("span", *links, tag("a", "\u2191 all", href="#contents"), class_="links")


def _panel(report: Report, at: int, number: int, top: float) -> Markup:
    transcript, all_replayed = report.replays[at]
    run = all_replayed[number]
    subject = ChartSubject(report.window, report.reserve, f"{at}-{number}", transcript.name)
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("h3", _chip(number), run.policy),
            tag("p", report.descriptions[number], class_="quiet"),
        ),
        draw_one(run, subject, top, _PANEL, colour_of(number)),
        *(tag("p", problem, class_="problem") for problem in run.problems),
        _cuts_table(run.cuts),
        class_="panel",
        data_policy=number,
        data_panel=f"{at}-{number}",
    )


def _figures_table(rows: Sequence[PolicyRow], columns: Sequence[Column], caption: str) -> Markup:
    """Return the figures of every policy, with the best of each column marked."""
    best = {column.key: best_of(rows, column) for column in columns}
    head = [
        tag("th", tag("span", column.title, title=column.meaning), scope="col")
        for column in columns
    ]
    body = [
        tag(
            "tr",
            tag("th", _chip(at), row.policy, scope="row"),
            *(_figure(row, column, best[column.key]) for column in columns),
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
    # It scrolls on a narrow page, and keys can only scroll what has the focus.
    return tag("div", table, class_="wide", tabindex=0, role="region", aria_label=caption)


def _figure(row: PolicyRow, column: Column, best: set[str]) -> Markup:
    value = getattr(row, column.key)
    if value is None:
        return tag("td", "-", class_="none", data_title=column.title)
    if row.policy in best:
        # A screen reader does not say what is bold.
        text = tag("b", column.show(value), tag("span", " best", class_="unseen"))
        return tag("td", text, class_="best", data_title=column.title)
    class_name = "bad" if column.key in {"over", "invalid"} and value > 0 else None
    return tag("td", column.show(value), class_=class_name, data_title=column.title)


def _cuts_table(cuts: Sequence[Cut]) -> Markup:
    """List compactions as text, for readers without a pointer, and for print."""
    if not cuts:
        return tag("p", "No compaction.", class_="quiet")
    rows = [
        tag(
            "tr",
            tag("td", f"{cut.request:,}"),
            tag("td", f"{cut.before:,}"),
            tag("td", f"{cut.after:,}"),
            tag("td", ", ".join(cut.what) or "-", class_="words"),
        )
        for cut in cuts[:_SHOWN]
    ]
    titles = ("request", "before", "after", "what is gone")
    head = tag("tr", *(tag("th", title, scope="col") for title in titles))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="cuts")
    more = len(cuts) - _SHOWN
    rest = tag("p", f"and {more:,} more", class_="quiet") if more > 0 else ""
    summary = tag("summary", f"{count_of(len(cuts), 'compaction')}, one by one")
    return tag("details", summary, tag("div", table, class_="wide"), rest)


def _how_to_read(columns: Sequence[Column]) -> Markup:
    """Explain every column."""
    terms = [part for c in columns for part in (tag("dt", c.title), tag("dd", c.meaning))]
    marks = (
        "Bold with a dot: the best figure of the policies whose requests could all be sent, and "
        "that keep at least half of what was needed later."
    )
    return tag(
        "details",
        tag("summary", "What the figures mean"),
        tag("dl", *terms),
        tag("p", marks, class_="quiet"),
        class_="legend",
    )


def _tell_marks(report: Report, places: Sequence[int]) -> dict[str, object]:
    """Return the texts of the marks: by panel, by mark, by compaction."""
    marks: dict[str, object] = {}
    for at in places:
        for number, run in enumerate(report.replays[at][1]):
            # Grouped as in the chart: by the horizontal position, so that any height will do.
            groups = group_cuts(run.cuts, _PANEL.scale(len(run.requests), 1.0))
            marks[f"{at}-{number}"] = [_tell(group) for group in groups]
    return marks


def _tell(cuts: Sequence[Cut]) -> list[dict[str, object]]:
    return [
        {
            **cut.figures,
            "what": list(cut.what),
            "summary": summary[:_SUMMARY_CHARS],
            "more": max(0, len(summary) - _SUMMARY_CHARS),
        }
        for cut in cuts[:_DETAILED]
        for summary in [cut.summary.strip()]
    ]
