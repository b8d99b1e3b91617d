"""What recorded sessions cost under a policy, at Anthropic's prices, by the server's own cache.

The reasoning of a recorded session is not replayed, so nothing is refused for it: this is about
dollars alone. Every reply of the session is a request, which is sent as the View decides.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.messages import Message
from agentic.providers import anthropic
from agentic.testing import ModelServer, ScriptedAnswer
from agentic.testing._model_server import ServerReport
from agentic.tokens import count_tokens
from benchmarks.binding._case import COUNTER, STRATEGIES, policy_of
from benchmarks.retention.sessions import FOLDER, Session, read_sessions

__all__ = ["ask", "main", "size_of", "sum_reports"]

WINDOWS = (128_000, 32_000)
_REST: Mapping[str, Any] = {
    "model": "claude-opus-4-5",  # it binds no reasoning
    "max_tokens": 1_000,
    "cache_control": {"type": "ephemeral"},
}
_HEADINGS = (
    "| window | strategy | sessions | requests | refused | changes | cache | dollars | ratio |"
)


def main() -> int:
    """Print a row for each window and strategy; return the exit status."""
    sessions = [session for session in read_sessions() if session.is_long]
    if not sessions:
        print(f"skipped: no recorded sessions in {FOLDER}")
        return 0
    print(f"{_HEADINGS}\n|{'---|' * 9}")
    for window in WINDOWS:
        larger = [each for each in sessions if size_of(each.messages) > window // 2]
        whole = 0.0
        for strategy in STRATEGIES:
            report = sum_reports([_replay(session, window, strategy) for session in larger])
            whole = whole or report.dollars
            figures = (
                *(f"{window:,}", strategy, len(larger), report.requests),
                *(sum(report.refused.values()), report.changes, f"{report.cache_share:.0%}"),
                *(f"{report.dollars:.2f}", f"{report.dollars / whole:.2f}"),
            )
            print(f"| {' | '.join(map(str, figures))} |", flush=True)
    return 0


def size_of(messages: Sequence[Message]) -> int:
    """Return the size of messages in tokens of four characters."""
    return count_tokens(messages, COUNTER)


def sum_reports(reports: Sequence[ServerReport]) -> ServerReport:
    """Return several servers' requests as those of one."""
    return ServerReport(tuple(served for report in reports for served in report.served))


def _replay(session: Session, window: int, strategy: str) -> ServerReport:
    text = ""
    server = ModelServer(script=lambda _: ScriptedAnswer(text=text), window=window)
    strategies = STRATEGIES[strategy](window)
    view = View(policy_of(window), counter=COUNTER, compactor=Digest(), strategies=strategies)
    history: list[Message] = []
    for message in session.messages:
        if message.role == "assistant" and history and history[-1].role != "assistant":
            text = message.content or "."
            ask(server, view, history)
        history.append(message)
    return server.report


def ask(server: ModelServer, view: View, history: list[Message]) -> list[Message]:
    """Send a request, and a smaller one if it is refused as too large; return what was sent."""
    prepared = view.prepare_sync(history)
    sent = prepared.messages
    reply = server.post("/v1/messages", {**_REST, **anthropic.encode_request(prepared.messages)})
    if server.served[-1].refusal == "overflow":
        smaller = view.shrink_sync(prepared.messages)
        if smaller is not None:
            sent = smaller.messages
            body = {**_REST, **anthropic.encode_request(sent)}
            reply = server.post("/v1/messages", body)
    if reply.status == 200:
        decision = anthropic.decode_response(reply.body)
        view.report(Message("assistant", decision.reply), decision.request_usage)
    return list(sent)
