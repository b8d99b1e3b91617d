"""How well `ContextMeter` predicts what providers reported, compared with estimates alone.

    python benchmarks/meter.py

The script reads the recorded sessions next to the checkout. From the second call of a session on,
the size of the next request is predicted and compared with the input that was reported. The figures
are absolute values of relative errors. The recordings of the Claude and GPT-4.1 sessions do not
contain the system prompt and the tools. Their size does not show in the messages, just as a meter
in use does not see it.

`after a cut` is a request that was never sent: the messages of the first request, and the newest
ones from some earlier call on, as after a compaction. Its size is taken to be the input of the
first call plus the growth of the input since the earlier call, because token counts add up, except
for one or two tokens at the seam. The meter has seen all earlier reports, but none of the cut view.
"""

import json
import random
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import attrs

from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import (
    CharCounter,
    ContextMeter,
    Counter,
    EstimateCounter,
    QuicktokCounter,
    for_model,
)
from agentic.usage import Usage

DATA = Path(__file__).parents[2] / "shared" / "data"
SETS = {
    "DeepSeek": ("deepseek_calls", "{}", "deepseek-chat"),
    "Claude": ("pi_anthropic_openai_calls", "pi_{}", "claude-sonnet-4-5"),
    "GPT-4.1": ("tau2_gpt41_calls", "{}.jsonl", "gpt-4.1"),
}
CUTS = 4


@attrs.frozen
class Call:
    """One call of a session: the number of messages that were sent, and the reported usage."""

    sent: int
    usage: Usage


@attrs.frozen
class Session:
    """The messages of one session and its calls."""

    messages: list[Message]
    calls: list[Call]


def main() -> None:
    """Print a table for each set."""
    for name, (truth, file, model) in SETS.items():
        sessions = load(truth, file)
        calls = sum(len(session.calls) - 1 for session in sessions)
        print(f"\n{name}: {len(sessions)} sessions, {calls} calls; median and 95th percentile")
        print(f"{'':22}{'meter':>16}{'calls 2-4':>16}{'after a cut':>16}{'no meter':>16}")
        counters: list[Counter] = [
            CharCounter(),
            EstimateCounter(),
            QuicktokCounter(),
            for_model(model),
        ]
        for label, counter in zip(
            ["characters/4", "EstimateCounter", "o200k_base, exact", "for_model"],
            counters,
            strict=True,
        ):
            report(label, sessions, counter)


def report(label: str, sessions: list[Session], counter: Counter) -> None:
    """Print one row."""
    grown, early, cut, bare = [], [], [], []
    for session in sessions:
        found = predict(session, counter)
        grown += found
        early += found[:3]
        cut += predict_cuts(session, counter)
        bare += [
            off(ContextMeter(counter).measure(session.messages[: call.sent]), call.usage.input)
            for call in session.calls[1:]
        ]
    print(f"{label:22}" + "".join(f"{spread(some):>16}" for some in (grown, early, cut, bare)))


def predict(session: Session, counter: Counter) -> list[float]:
    """Return the error of each prediction of a growing session."""
    meter, errors = ContextMeter(counter), []
    for number, call in enumerate(session.calls):
        if number:
            errors.append(off(meter.measure(session.messages[: call.sent]), call.usage.input))
        tell(meter, session, call)
    return errors


def predict_cuts(session: Session, counter: Counter) -> list[float]:
    """Return the error of each prediction for a view without its middle."""
    meter, errors, draw = ContextMeter(counter), [], random.Random(1)
    first = session.calls[0]
    for number, call in enumerate(session.calls):
        tell(meter, session, call)
        for former in draw.sample(session.calls[1:number], min(CUTS, max(0, number - 1))):
            if call.usage.input < former.usage.input:
                continue  # the session itself was compacted, or another model took over
            view = session.messages[: first.sent] + session.messages[former.sent : call.sent]
            truth = first.usage.input + call.usage.input - former.usage.input
            errors.append(off(meter.measure(view), truth))
    return errors


def tell(meter: ContextMeter, session: Session, call: Call) -> None:
    """Report the usage of a call to a meter."""
    meter.report(session.messages[: call.sent], session.messages[call.sent], call.usage)


def off(predicted: int, reported: int) -> float:
    """Return the relative error."""
    return abs(predicted - reported) / reported


def spread(errors: list[float]) -> str:
    """Return the median and the 95th percentile as text."""
    p95 = statistics.quantiles(errors, n=20)[-1]
    return f"{statistics.median(errors):.2%} {p95:.1%}"


def load(truth: str, file: str) -> list[Session]:
    """Read the sessions of one set."""
    calls: dict[str, list[Call]] = defaultdict(list)
    for line in lines(DATA / "usage_ground_truth" / f"{truth}.jsonl"):
        usage = read_usage(line["usage"])
        if usage.input:
            calls[line["file"]].append(Call(line["n_messages_before"], usage))
    return [
        Session([decode(line) for line in lines(DATA / "transcripts" / file.format(name))], some)
        for name, some in calls.items()
    ]


def read_usage(usage: dict[str, Any]) -> Usage:
    """Read usage in OpenAI's form, or in pi's, whose input does not include the cache."""
    if "prompt_tokens" in usage:
        details = usage.get("completion_tokens_details") or {}
        reasoning = details.get("reasoning_tokens")
        return Usage(usage["prompt_tokens"], usage["completion_tokens"], reasoning=reasoning)
    sent = usage["input"] + usage["cacheRead"] + usage["cacheWrite"]
    return Usage(sent, usage["output"])


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a file with one JSON object per line."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def decode(plain: dict[str, Any]) -> Message:
    """Read a message in OpenAI's form."""
    text = plain.get("content") or ""
    if plain["role"] == "tool":
        return Message("tool", tool_results=[ToolResult(plain["tool_call_id"], output=text)])
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in plain.get("tool_calls") or ()
    ]
    thought = plain.get("reasoning_content") or ""
    return Message(plain["role"], text, reasoning=thought, tool_calls=calls)


if __name__ == "__main__":
    main()
