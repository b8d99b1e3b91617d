"""What a page needs to step through a session: its messages, and what each request sent of them.

A request is told as runs of the transcript, `[first, end)`, and as numbers of messages that a
policy put in the place of others, such as a summary. Of each text the page has the beginning.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentic.app.replay._html import Markup, tag
from agentic.app.replay._judge import text_of
from agentic.app.replay._records import Replayed, Series
from agentic.app.replay._transcripts import Transcript
from agentic.messages import Message

_SHOWN, _NOTE = 800, 12_000
"""How many characters of a message are shown, and of a summary, which stands beside the others."""
# How many characters of messages a page has at most, so that a browser opens it at once.
_MOST = 6_000_000


class StepBudget:
    """How many characters of messages still go into a page."""

    def __init__(self, most: int = _MOST) -> None:
        self._left = most

    def take(self, transcript: Transcript, runs: Sequence[Replayed]) -> bool:
        """Return whether a session can be stepped through, and reserve the room for it."""
        # Views are kept only where they will be shown, because they take memory.
        if not all(each.series for each in runs):
            return False
        messages = [*transcript.messages]
        for each in runs:
            messages += _made(each).values()
        # Each message once, however many requests send it.
        size = sum(min(_shown(message), len(text_of([message]))) for message in messages)
        if size > self._left:
            return False
        self._left -= size
        return True


def draw_steps(ident: str, policies: Sequence[str], requests: int) -> Markup:
    """Draw the controls; the page's script fills in what the model would have seen."""
    options = [tag("option", name, value=at) for at, name in enumerate(policies)]
    slider = {"type": "range", "min": 1, "max": requests, "value": 1, "step": 1}
    return tag(
        "details",
        tag("summary", "Step through it: what the model would have seen, request by request"),
        tag(
            "div",
            tag("label", "Policy ", tag("select", *options)),
            tag(
                "div",
                tag("button", "\u2039", type="button", data_step=-1, aria_label="Previous request"),
                tag("input", aria_label="Request", **slider),
                tag("button", "\u203a", type="button", data_step=1, aria_label="Next request"),
                class_="slider",
            ),
            class_="stepper",
        ),
        tag("p", class_="told quiet", aria_live="polite"),
        tag(
            "div",
            tag("ol", class_="seen"),
            tag("aside", tag("h4", "The note"), tag("pre"), class_="note", hidden=True),
            class_="beside",
        ),
        class_="steps",
        data_steps=ident,
    )


def step_data(transcript: Transcript, runs: Sequence[Replayed]) -> dict[str, Any]:
    """Return the messages of a session, and for every policy what each request sent."""
    return {
        "messages": [_told(message) for message in transcript.messages],
        "policies": [_policy(each) for each in runs],
    }


def _policy(run: Replayed) -> dict[str, Any]:
    summaries = _made(run)
    numbers = {ident: number for number, ident in enumerate(summaries)}
    return {
        "series": [
            {"first": one.first, "lengths": one.lengths, "items": _runs(one, numbers)}
            for one in run.series
        ],
        "made": [_told(message) for message in summaries.values()],
        "sizes": [request.tokens for request in run.requests],
    }


def _made(run: Replayed) -> dict[int, Message]:
    """Return the messages that a policy made, by object id: each is in many series."""
    # One notice of a cleared output is in every later request, and would be there as often.
    items = (item for one in run.series for item in one.items)
    return {id(item): item for item in items if isinstance(item, Message)}


def _runs(series: Series, numbers: Mapping[int, int]) -> list[list[int] | int]:
    """Return runs of the transcript, and the numbers of made messages."""
    runs: list[list[int] | int] = []
    for item in series.items:
        last = runs[-1] if runs else None
        if isinstance(item, Message):
            runs.append(numbers[id(item)])
        elif isinstance(last, list) and last[1] == item:
            last[1] += 1
        else:
            runs.append([item, item + 1])
    return runs


def _shown(message: Message) -> int:
    return _SHOWN if message.summary is None else _NOTE


def _told(message: Message) -> list[Any]:
    """Return who speaks, the beginning of the text, and how many characters are left out."""
    text = text_of([message]).strip()
    role = "summary" if message.summary is not None else message.role
    most = _shown(message)
    return [role, text[:most], max(0, len(text) - most)]
