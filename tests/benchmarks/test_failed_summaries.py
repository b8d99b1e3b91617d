"""Every kind of compaction through every entry point, with each failure of a summary injected.

The server binds reasoning and is strict. Whatever the model answers when it is asked for a summary,
no request is refused, each holds the user's latest request, and the agent ends its work.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest

from agentic.context.budget import Compactor
from agentic.context.compactors import (
    Continuation,
    Digest,
    Model,
    ProviderCompactor,
    first_of,
    with_coverage,
    with_digest,
    with_restoration,
)
from agentic.testing import AgentScript, ModelServer, ScriptedAnswer
from benchmarks.binding import _case, dicts, frameworks, loops
from tests.benchmarks.test_entry_points import _NEEDS

_TURNS, _ROUNDS, _WINDOW = 10, 2, 8_000
_GOOD = ScriptedAnswer(text="## Done\nFiles were read, and nothing is open.")
FAILURES: dict[str, ScriptedAnswer] = {
    "empty": ScriptedAnswer(text=""),
    "only reasoned": ScriptedAnswer(text="", thinking="Hm.", thinking_tokens=20),
    "called a tool": ScriptedAnswer(calls=({"path": "src/a.py"},), tool="read"),
    "cut off": ScriptedAnswer(text="## Done\nFiles we", truncated=True),
    "refused": ScriptedAnswer(text="I'm sorry, but I cannot help with that."),
    "grew": ScriptedAnswer(text="and so it goes on, " * 9_000),
    "unavailable": ScriptedAnswer(text="compaction_unavailable", status=529),
}
_ENTRIES = {**loops.ENTRIES, **dicts.ENTRIES, **frameworks.ENTRIES}


@attrs.define
class _Summarizer:
    """Fails as told when it is asked for the first time, and then answers."""

    failure: ScriptedAnswer
    asked: int = 0

    def answer(self, _: Mapping[str, Any], /) -> ScriptedAnswer:
        self.asked += 1
        return self.failure if self.asked == 1 else _GOOD

    async def ask(self, _: str, /) -> str:
        """Answer a prompt of its own, without the server."""
        answer = self.answer({})
        if answer.status != 200:
            raise ConnectionError(answer.text)
        return answer.text


KINDS: dict[str, Callable[[_Summarizer], Compactor]] = {
    "Digest": lambda _: Digest(max_tokens=600),
    "Model": lambda model: first_of(Model(model.ask), Digest(max_tokens=600)),
    "Continuation": lambda _: Continuation(),
    "ProviderCompactor": lambda _: first_of(ProviderCompactor(), Continuation()),
    "with_digest": lambda model: with_digest(Model(model.ask), Digest(max_tokens=600)),
    "with_coverage": lambda model: with_coverage(Model(model.ask)),
    "with_restoration": lambda _: with_restoration(Continuation()),
    "Model alone": lambda model: Model(model.ask),
}


@attrs.frozen(kw_only=True)
class _FailingCase(_case.Case):
    make: Callable[[], Compactor]

    def compactor(self) -> Compactor:
        return self.make()


def _asks_for_summary(body: Mapping[str, Any]) -> bool:
    """Return whether a request asks for a summary: by extending another one, or by itself."""
    return _case.asks_for_summary(body) or "Write a summary of a conversation" in str(body)


def _combinations() -> list[Any]:
    """Return all of them; one failure of each kind, on one entry point, is for CI."""
    places = itertools.product(_ENTRIES, KINDS, FAILURES)
    in_ci = {
        ("dicts, fit_request (Anthropic)", kind, [*FAILURES][number % len(FAILURES)])
        for number, kind in enumerate(KINDS)
    }
    return [
        pytest.param(*place, marks=[pytest.mark.slow] if place in in_ci else [pytest.mark.long])
        for place in places
    ]


@pytest.mark.parametrize(("entry", "kind", "failure"), _combinations())
def test_failed_summary_costs_no_request(entry: str, kind: str, failure: str) -> None:
    """Nor a request of the user's, nor the reasoning that is still valid."""
    for part, module in _NEEDS.items():
        if part in entry:
            pytest.importorskip(module)
    summarizer = _Summarizer(FAILURES[failure])
    script = AgentScript(turns=_TURNS, rounds=_ROUNDS, thinking="I read on.")
    server = ModelServer(
        script=script,
        window=_WINDOW,
        strict=True,
        aside=_asks_for_summary,
        summary=summarizer.answer,
    )
    case = _FailingCase(
        shape=f"{_TURNS}x{_ROUNDS}",
        window=_WINDOW,
        strategy="default",
        server=server,
        script=script,
        make=lambda: KINDS[kind](summarizer),
    )

    asyncio.run(_ENTRIES[entry](case))  # type: ignore[arg-type]

    report = server.report
    assert {reason: n for reason, n in report.refused.items() if reason != "scripted"} == {}
    assert report.reasoning_lost == 0
    sent = [each for each in report.served if not each.aside and each.refusal != "scripted"]
    assert len(sent) == _TURNS * (_ROUNDS + 1)
    missing = [n for n, each in enumerate(sent) if f"Request {n // 3}:" not in str(each.body)]
    assert missing == []
    assert report.changes > 0
