"""The page as a whole."""

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from importlib import resources

import agentic
from agentic.cli.replay._page._html import Markup, tag, text
from agentic.cli.replay._page._report import Report
from agentic.cli.replay._page._section import PANEL, transcript_section
from agentic.cli.replay._page._tables import figures_table, how_to_read
from agentic.cli.replay._page._told import tell_marks
from agentic.cli.replay._records import Replayed
from agentic.cli.replay._summary import row_of

__all__ = ["render_page"]


def render_page(report: Report) -> str:
    """Write the report: one HTML document with its style, script and data inside."""
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
        tell_marks([replayed for _, replayed in report.replays], PANEL),
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
    number = len(report.told)
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
        tag("p", f"Sent anew, turn by turn, under {policies}.", class_="lead"),
        tag("dl", *listed, class_="facts"),
    )


def _main(report: Report) -> Iterator[Markup]:
    by_policy = zip(*(replayed for _, replayed in report.replays), strict=True)
    rows = [row_of(each) for each in by_policy]
    several = len(report.replays) > 1
    caption = f"All {len(report.replays)} transcripts" if several else "The policies side by side"
    yield tag("section", figures_table(rows, caption), how_to_read(), id="figures")
    yield _controls(report)
    if several:
        yield _contents(report)
    for at in range(len(report.replays)):
        yield transcript_section(report, at)


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
