"""The report, opened in a real browser: what is drawn is where the data says, and answers."""

import base64
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pytest

from agentic.app.replay import Report, Transcript
from agentic.app.replay._page import render_page
from agentic.app.replay._records import Cut, Replayed, SentRequest
from agentic.app.replay._report import columns_of
from agentic.messages import Message

Open: TypeAlias = Callable[..., Any]
WINDOW, RESERVE = 1_000, 200
NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\x00\u2028\ud800\"'"


def replayed(policy: str, sizes: Sequence[int], cuts: Sequence[Cut] = ()) -> Replayed:
    """Make a replay that sent these sizes."""
    requests = [
        SentRequest(said=100 * at, tokens=size, reused=size // 2)
        for at, size in enumerate(sizes, 1)
    ]
    return Replayed(policy=policy, window=WINDOW, requests=tuple(requests), cuts=tuple(cuts))


def sawtooth(turns: int, every: int = 8) -> Replayed:
    """Make a replay that climbs and is cut."""
    sizes = [200 + 90 * (at % every) for at in range(turns)]
    cuts = [
        Cut(request=at + 1, before=900, after=200, dropped=3, what=("3 replies",), summary=f"S{at}")
        for at in range(every, turns, every)
    ]
    return replayed("digest", sizes, cuts)


def climb(turns: int) -> Replayed:
    """Make a replay that is never cut."""
    return replayed("none", [100 * at for at in range(1, turns + 1)])


def report(*replays: Sequence[Replayed], names: Sequence[str] = ()) -> Report:
    """Make a report of transcripts, each with its policies."""
    messages = (Message("user", "Hello."),)
    named = [*names, *(f"session {at}" for at in range(len(names), len(replays)))]
    return Report(
        replays=tuple(
            (Transcript(name, "made", messages), tuple(each))
            for name, each in zip(named, replays, strict=True)
        ),
        descriptions=tuple("What it does." for _ in replays[0]),
        window=WINDOW,
        reserve=RESERVE,
        counter="four characters a token",
        providers=("anthropic",),
    )


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Open:
    """Write a report and open it."""

    def show(made: Report, **options: Any) -> Any:
        path = tmp_path / "report.html"
        path.write_text(render_page(made), encoding="utf-8")
        browser.open(path, **options)
        browser.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        return browser

    return show


def middle(browser: Any, selector: str, at: int = 0) -> tuple[float, float]:
    """Bring an element into the window, and give its middle."""
    x, y = browser.evaluate(
        f"""(() => {{
            const found = document.querySelectorAll({json.dumps(selector)})[{at}];
            found.scrollIntoView({{block: "center"}});
            const box = found.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
    )
    return x, y


def card(browser: Any) -> str | None:
    """Return what the card says; None while it is hidden."""
    said = browser.evaluate(
        "document.getElementById('card').hidden ? null : document.getElementById('card').innerText"
    )
    return said if said is None else str(said)


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_opens_without_a_complaint(opened: Open, dark: bool) -> None:
    """Neither the console nor the network hears anything, in both colour schemes."""
    browser = opened(report([climb(20), sawtooth(20)], [climb(9), sawtooth(9)]), dark=dark)

    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    shade = sum(map(int, re.findall(r"\d+", ground)))
    assert browser.complaints == []
    assert (shade < 150) is dark


def test_marks_lie_where_the_data_says(opened: Open) -> None:
    """Request and size of every mark, as the browser places it, against the axes' own labels."""
    made = sawtooth(40)
    browser = opened(report([made]))

    drawn = browser.evaluate(
        """(() => {
            const svg = document.querySelector("[data-panel] svg");
            const box = (e) => { const b = e.getBoundingClientRect();
                                 return [b.x + b.width / 2, b.y + b.height / 2]; };
            const grid = [...svg.querySelectorAll(".grid")].map((e) => box(e)[1]);
            const ticks = [...svg.querySelectorAll("text.tick")].map((e) =>
                [e.textContent, ...box(e)]);
            const mark = (e) => [e.dataset.request, e.dataset.before].map(Number)
                .concat(box(e.querySelector(".knob")));
            const marks = [...svg.querySelectorAll(".mark")].map(mark);
            return {grid, ticks, marks, window: box(svg.querySelector(".window"))[1]};
        })()"""
    )
    turns = [(int(text), x) for text, x, _ in drawn["ticks"] if text in {"10", "20", "30", "40"}]
    step = (turns[-1][1] - turns[0][1]) / (turns[-1][0] - turns[0][0])
    token = (drawn["window"] - drawn["grid"][0]) / WINDOW

    assert [mark[0] for mark in drawn["marks"]] == [cut.request for cut in made.cuts]
    for turn, before, x, y in drawn["marks"]:
        assert x == pytest.approx(turns[0][1] + (turn - turns[0][0]) * step, abs=1)
        assert y == pytest.approx(drawn["grid"][0] + before * token, abs=1)


def test_the_line_goes_through_every_turn(opened: Open) -> None:
    """Each request is a point of the line, and nothing else is."""
    made = sawtooth(24)
    browser = opened(report([made]))

    points, window = browser.evaluate(
        """[[...document.querySelector("[data-panel] .line").points].map((p) => p.y),
            Number(document.querySelector("[data-panel] .window").getAttribute("y1"))]"""
    )

    base = 236 - 34
    sizes = [(base - y) / (base - window) * WINDOW for y in points]
    assert sizes == pytest.approx([request.tokens for request in made.requests], abs=5)


def uncut(*befores: int) -> Replayed:
    """Make a replay that would have sent these sizes, and cut each of them."""
    cuts = [Cut(request=4 * at, before=size, after=300) for at, size in enumerate(befores, 1)]
    return replayed("digest", [300, 500, 700] * (2 * len(befores)), cuts)


BEFORES = """(() => {
    const box = (e) => { const b = e.getBoundingClientRect(); return [b.top, b.bottom]; };
    const svg = document.querySelector("[data-panel] svg");
    return {chart: box(svg), window: box(svg.querySelector(".window")),
            reached: [...svg.querySelectorAll(".before")].map(box),
            arrows: [...svg.querySelectorAll(".further")].map(box),
            red: getComputedStyle(svg.querySelector(".line.over")).stroke,
            colours: [...svg.querySelectorAll(".before")].map((e) => getComputedStyle(e).stroke),
            highest: Math.min(...[...svg.querySelector(".line.over").points].map((p) => p.y)),
            line: Number(svg.querySelector(".window").getAttribute("y1"))};
})()"""


def test_unsent_size_is_no_red_peak(opened: Open) -> None:
    """What a request would have been without a cut is a stroke of its own, wholly in the chart."""
    browser = opened(report([uncut(1_200, 1_700)]))

    drawn = browser.evaluate(BEFORES)

    assert drawn["highest"] > drawn["line"]
    assert drawn["red"] not in drawn["colours"]
    assert len(drawn["reached"]) == 2
    assert all(drawn["chart"][0] < top < drawn["window"][0] for top, _ in drawn["reached"])
    assert drawn["arrows"] == []


def test_clipped_strokes_end_in_an_arrow(opened: Open) -> None:
    """Sizes far above the window do not flatten what was sent; each is told to go on."""
    browser = opened(report([uncut(900, 9_000)]))

    drawn = browser.evaluate(BEFORES)

    [(top, bottom)] = drawn["arrows"]
    assert drawn["chart"][0] <= top < bottom <= drawn["reached"][1][0]
    assert drawn["window"][0] - drawn["chart"][0] < (drawn["chart"][1] - drawn["chart"][0]) / 2


def test_pointing_at_mark_tells_the_cut(opened: Open) -> None:
    """Turn, sizes, what is gone and the summary; away from it the card goes, too."""
    browser = opened(report([sawtooth(40)]))

    x, y = middle(browser, ".mark .knob", 1)
    browser.point(x, y)
    said = card(browser)
    browser.point(5, 5)

    assert said is not None
    for part in ("Request 17", "900 → 200 tokens", "78 %", "3 replies", "S16"):
        assert part in said
    assert card(browser) is None


def test_click_holds_card_until_escape(opened: Open) -> None:
    """Tapping keeps it open, so that a summary can be read; Escape or a click elsewhere closes."""
    browser = opened(report([sawtooth(40)]))

    browser.click(*middle(browser, ".mark .knob"))
    browser.point(5, 5)
    held = card(browser)
    browser.press("Escape")

    assert held is not None
    assert card(browser) is None


def test_marks_are_reached_by_keys(opened: Open) -> None:
    """Tab finds the first mark of a chart, the arrows the others."""
    browser = opened(report([sawtooth(40)]))

    said = []
    for _ in range(40):
        browser.press("Tab")
        if card(browser):
            break
    for key in ("ArrowRight", "End", "Home"):
        browser.press(key)
        said.append((card(browser) or "").partition("\n")[0])

    assert said == ["Request 17", "Request 33", "Request 9"]


def test_a_policy_can_be_hidden(opened: Open) -> None:
    """Its panel, its rows and its line go, and come back."""
    browser = opened(report([climb(20), sawtooth(20)], [climb(9), sawtooth(9)]))
    count = "document.querySelectorAll('[data-policy=\"1\"]:not([hidden])').length"

    before = browser.evaluate(count)
    browser.click(*middle(browser, "[data-toggle='1']"))
    hidden = browser.evaluate(count)
    browser.click(*middle(browser, "[data-toggle='1']"))

    assert (hidden, browser.evaluate(count)) == (0, before)
    assert before > 5


def test_the_theme_can_be_chosen(opened: Open) -> None:
    """Auto, light, dark, and round again."""
    browser = opened(report([climb(5)]))

    seen = []
    for _ in range(3):
        browser.click(*middle(browser, "#theme"))
        seen.append(browser.evaluate("document.documentElement.dataset.theme || 'auto'"))

    assert sorted(seen) == ["auto", "dark", "light"]


def test_nothing_in_a_transcript_becomes_markup(opened: Open) -> None:
    """Names, notes, policies and summaries are shown as they are, and run nothing."""
    cut = Cut(request=2, before=500, after=90, dropped=1, what=(NASTY,), summary=NASTY * 3)
    made = report([attrs.evolve(replayed(NASTY, [90, 90], [cut]))], names=[NASTY])
    transcript, policies = made.replays[0]
    noted = attrs.evolve(transcript, notes=(NASTY,))
    browser = opened(attrs.evolve(made, replays=((noted, policies),), descriptions=(NASTY,)))

    browser.point(*middle(browser, ".mark .knob"))

    assert browser.complaints == []
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert "<script>alert(1)</script>" in (card(browser) or "")
    assert "<img src=x" in browser.evaluate("document.querySelector('h1').innerText")


def test_page_policy_forbids_everything_else() -> None:
    """No source but its own style and script, by their digests; no style attribute, no address."""
    page = render_page(report([climb(5), sawtooth(30)]))

    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src &#x27;none&#x27;; style-src &#x27;sha256-")
    assert "unsafe" not in policy
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert " style=" not in page
    assert "http:" not in page.replace("http-equiv", "")


def test_one_turn_is_a_picture_too(opened: Open) -> None:
    """A dot in the middle, no line, no complaint."""
    browser = opened(report([replayed("none", [300])]))

    assert browser.complaints == []
    assert browser.evaluate("document.querySelectorAll('[data-panel] .dot').length") == 1


def test_one_request_is_a_dot(opened: Open) -> None:
    """One of each policy, in its colour, on a wide page and on a narrow one."""
    made = report([replayed("none", [300]), replayed("digest", [200])])
    dots = """[...document.querySelectorAll(".all .dot")].filter((e) => e.getClientRects().length)
              .map((e) => getComputedStyle(e).fill)"""

    wide = opened(made).evaluate(dots)
    narrow = opened(made, width=400).evaluate(dots)

    assert len(set(wide)) == 2
    assert wide == narrow


def test_a_narrow_page_compares_the_policies(opened: Open) -> None:
    """One overview with a legend, and every figure with its name, none outside of the window."""
    browser = opened(report([climb(20), sawtooth(20)]), width=400, height=800)

    shown = browser.evaluate(
        """(() => {
            const seen = (e) => { const b = e.getBoundingClientRect();
                                  return b.width > 0 && b.left >= 0 && b.right <= 400; };
            const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
            const figures = all("#figures td");
            return {charts: all(".all svg").length, lines: all(".all .line").length,
                    names: all(".all .names li").map((e) => e.textContent),
                    figures: figures.length,
                    titles: figures.map((e) => getComputedStyle(e, "::before").content)};
        })()"""
    )

    assert (shown["charts"], shown["lines"]) == (1, 2)
    assert shown["names"] == ["none", "digest"]
    assert shown["figures"] == 2 * len(columns_of(with_prices=False))
    assert shown["titles"] == 2 * [f'"{column.title}"' for column in columns_of(with_prices=False)]


def test_five_thousand_turns_keep_their_peaks(opened: Open) -> None:
    """A long line is thinned out; its highest point and all of its compactions are still there."""
    sizes = [300 + at % 50 for at in range(5_000)]
    sizes[3_333] = 990
    cuts = [Cut(request=at, before=900, after=300, what=("1 reply",)) for at in range(2, 5_000, 7)]
    browser = opened(report([replayed("keep_last", sizes, cuts)]))

    ys, top = browser.evaluate(
        """(() => { const line = document.querySelector("[data-panel] .line");
            const window = document.querySelector(".window");
            return [[...line.points].map((p) => p.y), Number(window.getAttribute("y1"))]; })()"""
    )
    told = browser.evaluate(
        "[...document.querySelectorAll('.mark')].reduce((n, e) => n + Number(e.dataset.count), 0)"
    )

    assert len(ys) < 1_000
    assert min(ys) == pytest.approx(top, abs=3)
    assert told == len(cuts)
    assert browser.complaints == []


def test_thirty_transcripts_can_be_walked_through(opened: Open) -> None:
    """A table leads to each, each leads to its neighbours; the page is no wider than the window."""
    made = report(*([climb(30), sawtooth(30)] for _ in range(30)))
    browser = opened(made, width=390, height=800)

    links = browser.evaluate(
        "[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))"
    )

    assert links.count("#t29") == 2
    assert browser.evaluate(
        "[...document.querySelectorAll('a')].every((a) => "
        "document.querySelector(a.getAttribute('href')))"
    )
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    assert browser.complaints == []


@pytest.mark.parametrize("dark", [False, True])
def test_texts_and_lines_stand_out(opened: Open, dark: bool) -> None:
    """Contrast by WCAG: 4.5 for texts, 3 for lines, in both colour schemes."""
    eight = [replayed(f"policy {at}", [400, 500]) for at in range(8)]
    browser = opened(report(eight), dark=dark)

    colours = browser.evaluate(
        """(() => { const style = getComputedStyle(document.documentElement);
            const names = ["ground", "card", "ink", "quiet", "bad", "best", "focus",
                           ...[..."01234567"].map((n) => "p" + n)];
            const colour = (name) => style.getPropertyValue("--" + name).trim();
            return Object.fromEntries(names.map((name) => [name, colour(name)]));
        })()"""
    )

    for ground in (colours["ground"], colours["card"]):
        assert all(
            contrast(colours[name], ground) >= 4.5 for name in ("ink", "quiet", "bad", "best")
        )
        assert all(contrast(colours[f"p{at}"], ground) >= 4.5 for at in range(8))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


LABELS = """(() => {
    const box = (e) => { const b = e.getBoundingClientRect();
                         return [e.textContent, b.left, b.top, b.right, b.bottom]; };
    const seen = (e) => e.getClientRects().length > 0;
    const charts = [...document.querySelectorAll("svg.chart")].filter(seen);
    return charts.map((svg) => [box(svg), [...svg.querySelectorAll("text")].filter(seen).map(box)]);
})()"""
WAYS = [
    {"dark": False},
    {"dark": True},
    {"width": 400, "height": 800},
    {"media": "print"},
]


def overlap(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether two boxes cover each other by more than a pixel."""
    across = min(one[3], other[3]) - max(one[1], other[1])
    down = min(one[4], other[4]) - max(one[2], other[2])
    return across > 1 and down > 1


@pytest.mark.parametrize("way", WAYS, ids=["light", "dark", "400 px", "print"])
@pytest.mark.parametrize("height", [1.0, 2.5, 40.0])
def test_no_label_covers_another(opened: Open, way: dict[str, Any], height: float) -> None:
    """Sizes, numbers, names and levels, whether the lines stay in the window or leave it."""
    sizes = [int(height * 10 * at) for at in range(1, 101)]
    eight = [replayed(f"a policy with a name {at}", sizes) for at in range(7)]
    browser = opened(report([*eight, sawtooth(100)]), **way)

    for chart, labels in browser.evaluate(LABELS):
        pairs = [(a, b) for at, a in enumerate(labels) for b in labels[at + 1 :] if overlap(a, b)]
        outside = [each for each in labels if each[1] < chart[1] - 1 or each[3] > chart[3] + 1]
        assert (pairs, outside) == ([], [])
        assert len([each for each in labels if each[0].rstrip("kM").isdigit()]) >= 5


@pytest.mark.parametrize("way", WAYS, ids=["light", "dark", "400 px", "print"])
def test_headline_is_whole_wherever_read(opened: Open, way: dict[str, Any]) -> None:
    """The name, the verdict and the chart's headline, also if they are long."""
    name = "a-session-with-a-long-name-" * 4
    browser = opened(report([climb(20), sawtooth(20)], names=[name]), **way)

    shown = browser.evaluate(
        """[...document.querySelectorAll("h1, .verdict, h2, h3")].map((e) => {
            const b = e.getBoundingClientRect();
            return [e.textContent, b.left >= 0, b.right <= document.documentElement.clientWidth + 1,
                    e.scrollWidth <= e.clientWidth + 1]; })"""
    )

    texts = [text for text, *_ in shown]
    assert texts[:2] == [name, "digest: every request fits, 47 % more expensive than sending all."]
    assert "The size of each request, in tokens" in texts
    assert all(whole for _, *inside in shown for whole in inside)


def test_printed_page_is_ink_on_paper(opened: Open) -> None:
    """Light also where the screen is dark, without controls, and as a PDF of a few pages."""
    browser = opened(report([climb(40), sawtooth(40)]), dark=True, media="print")

    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    controls = browser.evaluate(
        """[...document.querySelectorAll(".controls, #theme, .steps, .links, .skip")]
           .filter((e) => e.getClientRects().length).length"""
    )
    pdf = base64.b64decode(browser.send("Page.printToPDF", printBackground=True)["data"])

    assert (ground, controls) == ("rgb(255, 255, 255)", 0)
    assert pdf.startswith(b"%PDF-")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 3


def test_pointing_at_overview_tells_every_size(opened: Open) -> None:
    """The request at the pointer, with the size under each policy; away from it nothing."""
    made = report([climb(21), sawtooth(21)])
    browser = opened(made)

    x, y = middle(browser, ".all svg .grid")
    browser.point(x, y)
    said = (card(browser) or "").split()
    browser.point(5, 5)

    sizes = [str(each.requests[10].tokens) for each in made.replays[0][1]]
    assert said == ["Request", "11", "none", f"{int(sizes[0]):,}", "digest", f"{int(sizes[1]):,}"]
    assert card(browser) is None


def test_overview_lines_have_hover_names(opened: Open) -> None:
    """As titles, which need no script."""
    browser = opened(report([climb(20), sawtooth(20)]))

    titles = "[...document.querySelectorAll('.all title')].map((e) => e.textContent)"
    assert browser.evaluate(titles)[:2] == [
        "none: at most 2,000 tokens, 0 compactions",
        "digest: at most 830 tokens, 2 compactions",
    ]


def test_forgetting_half_is_never_green(opened: Open) -> None:
    """Though it is the cheapest."""
    cheap = attrs.evolve(replayed("last", [100] * 9), recalls=(0.4,))
    good = attrs.evolve(replayed("digest", [300] * 9), recalls=(0.9,))
    browser = opened(report([cheap, good]))

    best = browser.evaluate(
        """[...document.querySelectorAll("#figures tbody tr")].map((row) =>
            [row.querySelector("th").textContent, row.querySelectorAll(".best").length])"""
    )

    assert best[0] == ["last", 0]
    assert best[1][1] >= 3


def test_only_largest_transcripts_have_sections(opened: Open) -> None:
    """All are in the summary, which comes first; a page of a thousand sections would not open."""
    made = report(*([climb(2 + at)] for at in range(60)))
    browser = opened(made)

    listed, sections, first = browser.evaluate(
        """[document.querySelectorAll("#contents tbody tr").length,
            document.querySelectorAll("section.transcript").length,
            document.querySelector("section.transcript").id]"""
    )

    assert (listed, sections, first) == (60, 40, "t20")
    assert "the 20 smallest have no section" in browser.evaluate(
        "document.querySelector('#contents caption').textContent"
    )
