"""What the policy of a bare window costs and keeps, beside a window that is used up.

Dollars are those of the server's prompt cache, at Anthropic's prices. Evidence is what
`benchmarks.retention` calls so: the share of names that the next 40 messages really use, of which a
request shows a whole line. It is judged where it judges it, in the requests that were sent.
"""

from collections.abc import Iterator, Sequence

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.testing import ModelServer, ScriptedAnswer
from agentic.testing._model_server import ServerReport
from benchmarks.binding._case import COUNTER
from benchmarks.binding.recorded import ask, size_of, sum_reports
from benchmarks.retention.evidence import points_of
from benchmarks.retention.sessions import FOLDER, Session, read_sessions
from benchmarks.retention.shown import text_of

__all__ = ["main"]

_HEADINGS = (
    "| window | compacts at | digest | recent | sessions | changes | dollars | ratio | evidence |"
)


WINDOWS = (200_000, 128_000, 32_000)


def main(windows: Sequence[int] = WINDOWS) -> int:
    """Print a row for each window and policy; return the exit status."""
    sessions = [session for session in read_sessions() if session.is_long]
    if not sessions:
        print(f"skipped: no recorded sessions in {FOLDER}")
        return 0
    print(f"{_HEADINGS}\n|{'---|' * 9}")
    for window in windows:
        larger = [each for each in sessions if size_of(each.messages) > window // 2]
        if not larger:
            print(f"no session is larger than half of {window:,} tokens")
            continue
        whole = 0.0
        for policy, digest in _policies(window):
            runs = [_run(session, policy, digest) for session in larger]
            report = sum_reports([each for each, _ in runs])
            whole = whole or report.dollars
            shares = [sum(found) / len(found) for _, found in runs if found]
            figures = (
                *(f"{window:,}", f"{policy.trigger_tokens:,}", f"{digest:,}"),
                *(f"{policy.keep_recent_tokens:,}", len(larger), report.changes),
                *(f"{report.dollars:.2f}", f"{report.dollars / whole:.2f}"),
                f"{100 * sum(shares) / len(shares):.1f}",
            )
            print(f"| {' | '.join(map(str, figures))} |", flush=True)
    return 0


def _policies(window: int) -> Iterator[tuple[Policy, int]]:
    yield Policy(window), 2_000
    yield Policy.for_window(window), min(8_000, window // 8)


def _run(session: Session, policy: Policy, digest: int) -> tuple[ServerReport, list[float]]:
    text = ""
    server = ModelServer(script=lambda _: ScriptedAnswer(text=text), window=policy.context_window)
    view = View(policy, counter=COUNTER, compactor=Digest(max_tokens=digest))
    points = {len(point.past): point for point in points_of(session.messages)}
    history = list(session.messages[:0])
    evidence = []
    for message in session.messages:
        if message.role == "assistant" and history and history[-1].role != "assistant":
            text = message.content or "."
            sent = ask(server, view, history)
            if len(history) in points:
                evidence.append(points[len(history)].judge(text_of(sent)).evidence)
        history.append(message)
    return server.report, evidence
