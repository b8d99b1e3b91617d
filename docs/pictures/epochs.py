"""Draws epochs.svg: the requests of one conversation, with epochs and without.

An agent reads one file after the other, and `ClearToolOutputs` clears what it has read. The model
binds its reasoning. Sizes, prices and refusals are what `testing.ModelServer` counts by itself.
Draw it anew by `make picture`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import attrs

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.strategies import ClearToolOutputs
from agentic.providers import anthropic
from agentic.testing import AgentScript, ModelServer

PICTURE = Path(__file__).with_name("epochs.svg")
TEMPLATE = Template(PICTURE.with_suffix(".template.svg").read_text())
WINDOW, CLEARED_FROM = 16_000, 6_000
TURNS, OUTPUT_LINES = 20, 40
LEFT, WIDTH, BAR_HEIGHT, PANEL_HEIGHT = 20, 820, 130, 210
TOOL = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}


@attrs.frozen(kw_only=True)
class Request:
    """What the server and the View said of one request. Sizes in tokens."""

    read: int
    """From the prompt cache."""
    written: int
    """To the cache, or paid in full because the request is too short for it."""
    changes: tuple[str, ...]
    """Why it does not extend the last one."""
    thoughts: int
    """How many pieces of its earlier reasoning the model reads."""


@attrs.define
class Run:
    """One conversation under one policy."""

    policy: Policy
    requests: list[Request] = attrs.field(factory=list)
    server: ModelServer = attrs.field(
        factory=lambda: ModelServer(
            script=AgentScript(turns=TURNS), window=WINDOW, refusals="counted"
        )
    )

    def talk(self) -> None:
        """Run the loop that somebody wrote: ask, read the files, ask again."""
        strategies = [ClearToolOutputs(CLEARED_FROM)]
        conversation = Conversation(anthropic, self.policy, strategies=strategies)
        messages: list[Any] = []
        for turn in range(TURNS):
            messages.append({"role": "user", "content": f"Say what part {turn} does."})
            while True:
                content = self.ask(conversation, messages)
                messages.append({"role": "assistant", "content": content})
                results = [result(each) for each in content if each["type"] == "tool_use"]
                if not results:
                    break
                messages.append({"role": "user", "content": results})

    def ask(self, conversation: Conversation, messages: list[Any]) -> list[Any]:
        """Send one request, and return the content of the reply."""
        request = {
            "model": "claude-fable-5-2",
            "max_tokens": 1_000,
            "cache_control": {"type": "ephemeral"},
            "tools": [TOOL],
            "messages": messages,
        }
        fitting = json.loads(json.dumps(conversation.fit_request(request)))
        reply = self.server.post("/v1/messages", fitting)
        conversation.report(reply.body)
        served, latest = self.server.served[-1], conversation.latest
        sent = [block for each in fitting["messages"] for block in each["content"]]
        self.requests.append(
            Request(
                read=served.read,
                written=served.written + served.uncached,
                changes=latest.changes if latest else (),
                thoughts=sum(isinstance(b, dict) and b["type"] == "thinking" for b in sent),
            )
        )
        content: list[Any] = reply.body["content"]
        return content

    @property
    def begun(self) -> list[int]:
        """The numbers of the requests that began an epoch, the first one included."""
        return [0, *(n for n, each in enumerate(self.requests) if each.changes)]


def result(call: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call: a file that says little."""
    path = call["input"]["path"]
    lines = [f"{number}: a line of {path} that says little" for number in range(OUTPUT_LINES)]
    return {"type": "tool_result", "tool_use_id": call["id"], "content": "\n".join(lines)}


def panel(run: Run, top: int, highest: int) -> Iterator[str]:
    """Yield the bars of one run, and what they add up to."""
    report, total = run.server.report, len(run.requests)
    thoughts = sum(each.thoughts for each in run.requests) / total
    yield (
        f'<text x="{LEFT}" y="{top}"><tspan class="name">{name_of(run.policy)}</tspan> '
        f"{len(run.begun) - 1} changes, {report.cache_share:.0%} from the cache, "
        f"${report.dollars:.2f}; a request holds {thoughts:.1f} pieces of reasoning</text>"
    )
    bottom, step = top + 34 + BAR_HEIGHT, WIDTH / total
    for number, each in enumerate(run.requests):
        left, height = LEFT + number * step, 0.0
        for kind, tokens in (("read", each.read), ("written", each.written)):
            size = BAR_HEIGHT * tokens / highest
            height += size
            yield (
                f'<rect class="{kind}" x="{left + 1:.1f}" y="{bottom - height:.1f}" '
                f'width="{step - 2:.1f}" height="{size:.1f}"/>'
            )
        if each.changes:
            yield (
                f'<line class="epoch" x1="{left:.1f}" x2="{left:.1f}" y1="{top + 14}" '
                f'y2="{bottom + 4}"><title>{", ".join(each.changes)}</title></line>'
            )
    yield f'<line class="base" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{bottom}" y2="{bottom}"/>'
    yield from names(run, top + 24, step)


def names(run: Run, y: int, step: float) -> Iterator[str]:
    """Yield the numbers of the epochs, if there is room for them."""
    if not run.policy.epochs:
        return
    ends = [*run.begun[1:], len(run.requests)]
    for number, (begin, end) in enumerate(zip(run.begun, ends, strict=True), start=1):
        x = LEFT + step * (begin + end) / 2
        yield f'<text class="small" x="{x:.1f}" y="{y}">epoch {number}</text>'


def name_of(policy: Policy) -> str:
    """Return the heading of a policy's panel."""
    return "With epochs:" if policy.epochs else "With epochs=False:"


def draw(runs: list[Run]) -> str:
    """Return the picture."""
    highest = max(each.read + each.written for run in runs for each in run.requests)
    requests = len(runs[0].requests)
    panels = [
        line
        for number, run in enumerate(runs)
        for line in panel(run, 58 + number * PANEL_HEIGHT, highest)
    ]
    end = 58 + len(runs) * PANEL_HEIGHT
    return TEMPLATE.substitute(
        title=f"{requests} requests of one conversation, {highest:,} tokens at most",
        panels="\n".join(panels),
        key=end,
        key_top=end - 11,
        height=end + 18,
    )


if __name__ == "__main__":
    both = [Run(Policy(WINDOW)), Run(Policy(WINDOW, epochs=False))]
    for run in both:
        run.talk()
        if run.server.report.refused:
            raise SystemExit(f"{name_of(run.policy)} refused: {run.server.report.refused}")
    PICTURE.write_text(draw(both), encoding="utf-8")
    print(f"{PICTURE.name} is drawn")
