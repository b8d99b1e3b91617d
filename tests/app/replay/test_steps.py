"""Stepping through a session: what the page shows is what the model would have seen."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic.app.replay import ContextLimits, Report, Transcript, make_policy, replay
from agentic.app.replay._judge import text_of
from agentic.app.replay._page import render_page
from agentic.app.replay._records import Replayed, SentRequest, Series
from agentic.app.replay._steps import StepBudget, step_data
from agentic.context import budget
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter

SPECS = ["none", "keep_last:keep_recent=6", "clear_tool_outputs", "digest"]
LIMITS = ContextLimits(budget.Policy(3_000), CharCounter())


def talk(turns: int) -> Transcript:
    """Make a session that reads a file in each turn."""
    said = [Message("system", "Be brief."), Message("user", "Read all of src/.")]
    for number in range(turns):
        call = ToolCall(f"c{number}", "read", f'{{"path": "src/file_{number}.py"}}')
        output = f"import file_{number + 1}\n" + f"def f{number}(): ...\n" * 30
        said += [
            Message("assistant", f"Next is {number}.", tool_calls=[call]),
            Message("tool", tool_results=[ToolResult(call.id, "read", output)]),
        ]
    return Transcript("talk", "made", (*said, Message("assistant", "Done.")))


def run(transcript: Transcript, *, keep_views: bool = True) -> list[Replayed]:
    """Replay a session under every policy."""
    policies = [make_policy(spec, LIMITS) for spec in SPECS]
    return asyncio.run(replay(transcript, policies, LIMITS, keep_views=keep_views))


def sent(transcript: Transcript, spec: str) -> list[list[Message]]:
    """Return what a View prepares before each reply, each from the whole history."""
    view = make_policy(spec, LIMITS).make_view()
    history = list(transcript.messages)
    replies = [at for at, message in enumerate(history) if message.role == "assistant"]
    return [asyncio.run(view.prepare(history[:at])).messages for at in replies]


def texts(messages: Sequence[Message]) -> list[str]:
    """Return who says what."""
    return [f"{message.role}: {text_of([message]).strip()}" for message in messages]


def told(transcript: Transcript, series: Sequence[Series]) -> list[list[Message]]:
    """Return the requests that series describe."""
    return [
        [
            transcript.messages[item] if isinstance(item, int) else item
            for item in one.items[:length]
        ]
        for one in series
        for length in one.lengths
    ]


@pytest.mark.parametrize("at", range(len(SPECS)), ids=SPECS)
def test_series_are_what_a_view_prepares(at: int) -> None:
    """Request by request, and numbered without a gap."""
    transcript = talk(30)

    replayed = run(transcript)[at]

    counts = [len(one.lengths) for one in replayed.series]
    # By their texts: a summary has the time at which it was made.
    described = list(map(texts, told(transcript, replayed.series)))
    assert described == list(map(texts, sent(transcript, SPECS[at])))
    assert [one.first for one in replayed.series] == [
        1 + sum(counts[:number]) for number in range(len(counts))
    ]


def test_views_are_kept_only_on_request() -> None:
    """They take memory that most replays need not."""
    assert all(replayed.series == () for replayed in run(talk(4), keep_views=False))


def test_page_has_limited_message_room() -> None:
    """A session that does not fit is left out, one that fits after it is not."""
    large, small = talk(40), talk(3)
    budget = StepBudget(4_000)

    took = [budget.take(each, run(each)) for each in (large, small, small, small)]

    assert took == [False, True, True, False]


def test_a_cleared_output_is_told_once() -> None:
    """Every request after the first has it again, and a page would have hundreds of copies."""
    transcript = talk(40)

    told = step_data(transcript, run(transcript))["policies"][2]

    numbers = [at for one in told["series"] for at in one["items"] if isinstance(at, int)]
    assert len(numbers) > 2 * len(told["made"])
    assert set(numbers) == set(range(len(told["made"])))
    assert len(told["made"]) <= 40


def write(transcript: Transcript, path: Path, replays: Sequence[Replayed] = ()) -> Path:
    """Write the page of a session, by default under every policy."""
    replays = replays or run(transcript)
    report = Report(
        replays=((transcript, tuple(replays)),),
        descriptions=("",) * len(replays),
        window=3_000,
        reserve=750,
        counter="four characters a token",
        providers=(),
    )
    path.write_text(render_page(report), encoding="utf-8")
    return path


def all_of(transcript: Transcript) -> Replayed:
    """Make the replay of a session under `none`, which needs no counting."""
    replies = [at for at, each in enumerate(transcript.messages) if each.role == "assistant"]
    series = Series(first=1, items=tuple(range(replies[-1])), lengths=tuple(replies))
    requests = tuple(SentRequest(said=at, tokens=at, reused=0) for at in replies)
    return Replayed(policy="none", window=9_000, requests=requests, cuts=(), series=(series,))


def test_several_sessions_are_listed_with_their_figures() -> None:
    """Each policy has its cost and what it keeps, and a long session is drawn by its extremes."""
    long = Transcript("a long one", "made", talk(1_200).messages)
    short = attrs.evolve(talk(3), name="a short one")
    report = Report(
        replays=((long, (all_of(long),)), (short, (all_of(short),))),
        descriptions=("",),
        window=9_000,
        reserve=750,
        counter="four characters a token",
        providers=(),
    )

    page = render_page(report)

    contents = page[page.index('id="contents"') : page.index("</nav>")]
    assert contents.index("a long one") < contents.index("a short one")
    assert ">1,201</td>" in contents
    assert ">4</td>" in contents
    # The line has two points for each bucket, and not one for each of the requests.
    line = page[page.index("points=") :]
    assert 100 < line[: line.index(">")].count(",") < 1_201


def test_a_cut_shows_what_it_spared(tmp_path: Path) -> None:
    """Up to the size that was not sent; and a session of one request is a dot."""
    many = write(talk(20), tmp_path / "many.html").read_text("utf-8")
    one = write(Transcript("one", "made", talk(1).messages[:3]), tmp_path / "one.html")

    assert 'class="before"' in many
    assert 'class="dot"' in one.read_text("utf-8")


SHOWN = """(() => {
    const shown = (item) => item.className === "gap" ? item.textContent
        : [item.className, item.querySelector("b").textContent,
           item.querySelector("pre").textContent];
    return [document.querySelector(".steps .told").textContent,
            [...document.querySelectorAll(".seen > li")].map(shown)];
})()"""


def go(browser: Any, policy: int, request: int) -> Any:
    """Choose a policy and a request, and return what is shown."""
    browser.evaluate(
        f"""(() => {{
            const steps = document.querySelector(".steps");
            steps.open = true;
            steps.querySelector("select").value = "{policy}";
            const slider = steps.querySelector("input");
            slider.value = "{request}";
            slider.dispatchEvent(new Event("input", {{bubbles: true}}));
        }})()"""
    )
    return browser.evaluate(SHOWN)


@pytest.mark.parametrize("at", range(len(SPECS)), ids=SPECS)
def test_the_page_shows_what_was_sent(browser: Any, tmp_path: Path, at: int) -> None:
    """Every message of a request with the beginning of its text, in order."""
    transcript = talk(20)
    browser.open(write(transcript, tmp_path / "page.html"))
    expected = sent(transcript, SPECS[at])

    for request in (1, 9, 21):
        head, items = go(browser, at, request)
        messages = [each for each in items if isinstance(each, list)]
        texts = [text_of([message]).strip() for message in expected[request - 1]]
        assert head.startswith(f"Request {request} of 21: {len(texts)} messages, ")
        assert [text.partition("\n\u2026 ")[0][:800] for _, _, text in messages] == [
            text[:800] for text in texts
        ]
    assert browser.complaints == []


def test_one_message_is_one_message(browser: Any, tmp_path: Path) -> None:
    """The first request often is the task alone."""
    task = Transcript("t", "made", (Message("user", "Look."), Message("assistant", "Done.")))
    browser.open(write(task, tmp_path / "page.html"))

    head, _ = go(browser, 0, 1)

    assert head.startswith("Request 1 of 1: 1 message, ")


def test_gap_is_told_where_it_was(browser: Any, tmp_path: Path) -> None:
    """A gap says how many; a cleared output stands in its place and leaves none."""
    # An epoch that only pays begins with a request of the user's, not in the middle of the calls.
    *calls, done = talk(20).messages
    transcript = Transcript("talk", "made", (*calls, Message("user", "Which files?"), done))
    browser.open(write(transcript, tmp_path / "page.html"))

    _, last = go(browser, 1, 21)
    _, cleared = go(browser, 2, 21)
    _, digest = go(browser, 3, 21)

    # Of 43 messages the system prompt, the task and the three rounds that were the newest when the
    # latest epoch began are sent, and what came since: one round and the request.
    assert [each for each in last if isinstance(each, str)] == ["32 not sent"]
    assert {each for each in cleared if isinstance(each, str)} == set()
    assert any(kind == "made" and role == "tool" for kind, role, _ in cleared)
    assert any(each[:2] == ["made", "summary"] for each in digest if isinstance(each, list))


def test_only_what_is_visible_is_drawn(browser: Any, tmp_path: Path) -> None:
    """Of a request of 240 messages the first hundred, and more of them on the way down."""
    transcript = talk(120)
    browser.open(write(transcript, tmp_path / "page.html", [all_of(transcript)]))

    head, items = go(browser, 0, 121)
    for _ in range(4):
        browser.evaluate(
            """(() => {
                const list = document.querySelector(".seen");
                list.scrollTop = list.scrollHeight;
                list.onscroll();
            })()"""
        )

    assert head.startswith("Request 121 of 121: 24")
    assert len(items) == 100
    assert len(browser.evaluate(SHOWN)[1]) > 240


def test_a_late_request_draws_a_hundred_messages(browser: Any, tmp_path: Path) -> None:
    """Of 6,200 messages that request 3,100 sends: a page of a few hundred nodes opens at once."""
    transcript = talk(3_100)
    browser.open(write(transcript, tmp_path / "page.html", [all_of(transcript)]))

    head, items = go(browser, 0, 3_100)

    assert head.startswith("Request 3,100 of 3,101: 6,200 messages, ")
    assert len(items) == 100
    assert browser.evaluate("document.querySelectorAll('.seen *').length") <= 700


def test_a_call_is_seen_with_its_arguments(browser: Any, tmp_path: Path) -> None:
    """In the line that opens a message, where the name alone would say little."""
    call = ToolCall("c", "run", '{"command": "make test"}')
    said = (Message("user", "Test."), Message("assistant", tool_calls=[call]))
    browser.open(write(Transcript("t", "made", (*said, Message("assistant"))), tmp_path / "p.html"))

    go(browser, 0, 2)

    heads = browser.evaluate("[...document.querySelectorAll('.seen span')].map(e => e.innerText)")
    assert heads[1] == "run make test"


BOXES = """(() => Object.fromEntries([".seen", ".note", "[data-step='-1']", "[data-step='1']"]
    .map((name) => [name, document.querySelector(name).getBoundingClientRect()])
    .map(([name, box]) => [name, [box.left, box.top, box.right, box.bottom]])))()"""


@pytest.mark.parametrize("dark", [False, True])
def test_note_and_conversation_are_side_by_side(browser: Any, tmp_path: Path, dark: bool) -> None:
    """On a wide page; the text of both is in the colour of text."""
    browser.open(write(talk(20), tmp_path / "page.html"), dark=dark)

    go(browser, 3, 21)

    boxes = browser.evaluate(BOXES)
    assert boxes[".note"][0] > boxes[".seen"][2]
    assert boxes[".note"][1] == boxes[".seen"][1]
    colours = browser.evaluate(
        "['.note pre', '.seen b', 'h1'].map("
        "(name) => getComputedStyle(document.querySelector(name)).color)"
    )
    assert len(set(colours)) == 1


def test_a_narrow_page_has_both_at_once(browser: Any, tmp_path: Path) -> None:
    """One above the other within a screen, and both buttons on the line of the slider."""
    browser.open(write(talk(20), tmp_path / "page.html"), width=400, height=800)

    go(browser, 3, 21)

    boxes = browser.evaluate(BOXES)
    assert boxes[".seen"][3] < boxes[".note"][1]
    assert boxes[".note"][3] - boxes[".seen"][1] < 800
    assert boxes["[data-step='-1']"][1] == boxes["[data-step='1']"][1]
    assert browser.evaluate("document.documentElement.scrollWidth") == 400


def test_buttons_go_from_request_to_request(browser: Any, tmp_path: Path) -> None:
    """Forth and back, and no further than the first."""
    browser.open(write(talk(5), tmp_path / "page.html"))
    go(browser, 0, 1)

    heads = []
    for name in ("Next request", "Next request", "Previous request", *["Previous request"] * 3):
        browser.evaluate(f"document.querySelector('[aria-label=\"{name}\"]').click()")
        heads.append(browser.evaluate(SHOWN)[0].split(":")[0])

    assert heads[:3] == ["Request 2 of 6", "Request 3 of 6", "Request 2 of 6"]
    assert heads[-1] == "Request 1 of 6"


def test_note_stands_beside_the_conversation(browser: Any, tmp_path: Path) -> None:
    """In full, while the messages show their beginning; without a summary there is none."""
    browser.open(write(talk(20), tmp_path / "page.html"))
    shown = """(() => {
        const note = document.querySelector(".steps .note");
        return [note.hidden, note.querySelector("pre").textContent];
    })()"""

    go(browser, 0, 21)
    assert browser.evaluate(shown) == [True, ""]
    go(browser, 3, 21)
    hidden, text = browser.evaluate(shown)
    assert not hidden
    assert "## Files read" in text
    assert len(text) > 800
