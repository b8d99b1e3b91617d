"""One agent of one framework: 60 turns with two calls each, on OpenAI's Chat Completions.

The server caches what a request has in common with an earlier one, as OpenAI's does by itself, and
refuses what is larger than the window. It knows a request for a summary by its lack of tools, or by
the question that a `Continuation` appends. What a framework does about reasoning that is bound to
its request is measured by `benchmarks.binding`, on wires that have such reasoning.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from agentic.testing import AgentScript, ModelServer, ScriptedAnswer
from benchmarks.binding._case import asks_for_summary, output_of

__all__ = [
    "MODEL",
    "SYSTEM",
    "WINDOW",
    "Agent",
    "Figures",
    "measure",
    "output_of",
    "page",
    "section",
    "texts",
]

WINDOW = 16_000
MODEL = "gpt-5"
SYSTEM = "You read files, and say what they do. Be brief."
_TURNS, _ROUNDS = 60, 2
_DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to"
_PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
# About as long as a model's: 500 words under headings.
_SUMMARY = "## Done\n" + "\n".join(
    f"- src/part{number}.py was read, and it defines what part {number} asks of it."
    for number in range(40)
)

Agent: TypeAlias = Callable[[str, Iterator[str]], Awaitable[None]]
"""Runs an agent on the server at a base URL, with the requests of the user, one after the other."""


@attrs.frozen(kw_only=True)
class Figures:
    """What one run cost."""

    turns: int
    """How many turns ended with a reply."""
    refused: Mapping[str, int]
    """Requests that the server refused, by the reason."""
    missing: int
    """Requests of the agent without the user's latest request."""
    summaries: int
    summary_dollars: float
    tokens: int
    """All tokens sent, those of summaries included."""
    cache_share: float
    dollars: float

    @property
    def row(self) -> str:
        """Return the cells of a table."""
        refused = ", ".join(f"{n} {why}" for why, n in self.refused.items()) or "0"
        return (
            f"{self.turns} | {refused} | {self.missing} | {self.summaries} "
            f"| {self.summary_dollars:.2f} | {self.tokens:,} | {self.cache_share:.0%} "
            f"| {self.dollars:.2f}"
        )


@attrs.define
class _Talk:
    """The user's side: the next request follows whatever became of the one before."""

    server: ModelServer
    script: AgentScript
    latest: str = ""
    ended: int = 0

    def requests(self) -> Iterator[str]:
        """Yield the requests; a turn that a refusal ended is passed over."""
        turn = _ROUNDS + 1
        for number in range(_TURNS):
            self.latest = f"Request {number}: read what part {number} needs, and say what it does."
            yield self.latest
            if self.script.answered == (number + 1) * turn:
                self.ended += 1
            else:
                self.script.answered = (number + 1) * turn


def _is_aside(body: Mapping[str, Any]) -> bool:
    return not body.get("tools") or asks_for_summary(body)


def _as_final_answer(body: Mapping[str, Any], answer: ScriptedAnswer) -> ScriptedAnswer:
    """Return a reply without calls as a call of the tool by which smolagents ends its turns."""
    tools = [each["function"]["name"] for each in body.get("tools") or ()]
    if answer.calls or "final_answer" not in tools:
        return answer
    return attrs.evolve(answer, text="", calls=({"answer": answer.text},), tool="final_answer")


async def measure(agent: Agent, window: int = WINDOW) -> Figures:
    """Run an agent, and return what the server saw."""
    script = AgentScript(turns=_TURNS, rounds=_ROUNDS)
    server = ModelServer(
        script=script,
        window=window,
        aside=_is_aside,
        summary=lambda _: ScriptedAnswer(text=_SUMMARY),
    )
    talk, missing = _Talk(server, script), 0

    def answer(body: Mapping[str, Any]) -> ScriptedAnswer:
        nonlocal missing
        missing += talk.latest not in str(body.get("messages"))
        return _as_final_answer(body, script(body))

    server.script = answer
    with server.serve() as url:
        await agent(url, talk.requests())
    report = server.report
    asides = [each for each in report.served if each.aside]
    return Figures(
        turns=talk.ended,
        refused=report.refused,
        missing=missing,
        summaries=len(asides),
        summary_dollars=sum(each.dollars for each in asides),
        tokens=sum(each.tokens for each in report.served),
        cache_share=report.cache_share,
        dollars=report.dollars,
    )


def page(name: str) -> dict[str, Any]:
    """Return the names of the first program on a page of docs/how-to: the bridge itself."""
    return _first_program((_DOCS / f"use-with-{name}.md").read_text("utf-8"))


def section(title: str) -> dict[str, Any]:
    """Return the names of the first program in a section of the page about other frameworks."""
    text = (_DOCS / "frameworks.md").read_text("utf-8")
    return _first_program(text[text.index(f"\n## {title}\n") :])


def _first_program(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(_PROGRAM.findall(text)[0], "page", "exec"), names)  # noqa: S102  our own page
    return names


def texts(number: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield a request, a path, an output and a reply: four messages for each of `number` turns."""
    for turn in range(number):
        path = f"src/part{turn}.py"
        yield (
            f"Request {turn}: read {path}.",
            path,
            output_of(path)[:600],
            f"{path} defines part {turn}.",
        )
