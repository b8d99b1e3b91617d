"""Whether every provider would accept what each strategy leaves, turn by turn.

A request is refused if the validator of a provider's wire format finds anything in it.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import (
    Chain,
    ClearToolOutputs,
    ContextStrategy,
    FitContextWindow,
    Importance,
    KeepLast,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.messages import Message
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from benchmarks.retention.measure import BUDGETS
from benchmarks.retention.sessions import Session
from benchmarks.retention.shown import CharSize

__all__ = ["Verdict", "check", "print_verdicts"]

ADAPTERS = (anthropic, bedrock, gemini, openai_chat, openai_responses)
_STRATEGIES: dict[str, Callable[[int], ContextStrategy]] = {
    "KeepLast": lambda budget: KeepLast(max(1, budget // 200)),
    "TrimRounds": lambda budget: TrimRounds(max(1, budget // 500)),
    "TruncateToolOutputs": lambda budget: TruncateToolOutputs(max(1, budget // 4)),
    "ClearToolOutputs": lambda budget: ClearToolOutputs(budget, CharSize()),
    "FitContextWindow": lambda budget: FitContextWindow(budget, CharSize()),
    "FitContextWindow, sliding": lambda budget: FitContextWindow(
        budget, CharSize(), low_watermark=1.0
    ),
    "FitContextWindow, low, digest": lambda budget: FitContextWindow(
        budget,
        CharSize(),
        low_watermark=0.35,
        digest=Digest(max_tokens=budget // 8, counter=CharSize()),
    ),
    "Importance": lambda budget: Importance(budget // 500),
    "ClearToolOutputs, FitContextWindow": lambda budget: Chain(
        [ClearToolOutputs(budget, CharSize()), FitContextWindow(budget, CharSize())]
    ),
}
COMPACTED = "Manager with Digest"


@attrs.frozen
class Verdict:
    """What became of the requests of one session, one way, at one budget."""

    way: str
    budget: int
    session: str
    requests: int
    """How many different requests there were, each encoded for every provider."""
    refused: int
    first: str = ""
    """The first refusal: the provider, the rule, the problem."""


def check(session: Session, *, budgets: Sequence[int] = BUDGETS, step: int = 1) -> list[Verdict]:
    """Send a session turn by turn, or every so many turns, and count what is refused."""
    court = _Court()
    pasts = list(_turns(session, step))
    verdicts = [
        court.judge(way, budget, session, map(make(budget).compact, pasts))
        for budget in budgets
        for way, make in _STRATEGIES.items()
    ]
    return verdicts + [
        court.judge(COMPACTED, budget, session, _compacted(pasts, budget)) for budget in budgets
    ]


def print_verdicts(verdicts: Iterable[Verdict]) -> None:
    """Print a line a way and budget."""
    groups: dict[tuple[str, int], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.way, verdict.budget), []).append(verdict)
    print(f"\nRequests that a provider would refuse, of {len(ADAPTERS)} providers")
    print(f"{'':36} {'budget':>7} {'sessions':>8} {'requests':>9} {'refused':>8}")
    for (way, budget), each in sorted(groups.items()):
        requests, refused = (sum(one.requests for one in each), sum(one.refused for one in each))
        print(f"{way:36} {budget:7,} {len(each):8} {requests:9,} {refused:8,}")
        for first in [one for one in each if one.first][:3]:
            print(f"  {first.session}: {first.first}")
    total = sum(one.requests for each in groups.values() for one in each)
    refused = sum(one.refused for each in groups.values() for one in each)
    print(f"{refused:,} of {total:,} requests are refused")


def _turns(session: Session, step: int) -> Iterator[list[Message]]:
    """Yield what a model was asked with: the history before each of its messages."""
    asked = [
        at for at, message in enumerate(session.messages) if message.role == "assistant" and at
    ]
    for at in asked[::step]:
        yield session.messages[:at]


def _compacted(pasts: Iterable[list[Message]], budget: int) -> Iterator[list[Message]]:
    """Yield the histories of a session that is compacted on its way."""
    digest = Digest(max_tokens=budget // 4, counter=CharSize())
    manager = Manager(CharSize(), digest, Policy(budget))
    history: list[Message] = []
    seen = 0
    for past in pasts:
        grown = [*history, *past[seen:]]
        done = asyncio.run(manager.compact_if_needed(grown))
        history, seen = done.messages, len(past)
        yield past if history == past else history


@attrs.define
class _Court:
    """Judges requests; one that was judged before, as the whole past is by every way, only once."""

    known: dict[int, tuple[list[Message], list[str]]] = attrs.field(factory=dict)

    def judge(
        self, way: str, budget: int, session: Session, views: Iterable[list[Message]]
    ) -> Verdict:
        """Count what is refused of the requests of one session."""
        each = [self._problems(view) for view in views]
        refused = [problem for problems in each for problem in problems]
        return Verdict(
            way, budget, session.name, len(each) * len(ADAPTERS), len(refused), "".join(refused[:1])
        )

    def _problems(self, view: list[Message]) -> list[str]:
        if id(view) not in self.known:
            # The list is kept with its verdict, so that no other gets its id.
            self.known[id(view)] = view, [*_refusals(view)]
        return self.known[id(view)][1]


def _refusals(view: list[Message]) -> Iterator[str]:
    """Yield, for each provider that would refuse a view, the first reason."""
    for adapter in ADAPTERS:
        request = adapter.encode_request(view, system_prompt="Be brief.")
        problems = adapter.validate(request)
        if problems:
            yield f"{adapter.__name__}: {problems[0].rule}: {problems[0].problem}"
