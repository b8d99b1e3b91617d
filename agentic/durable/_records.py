"""What a step returns: plain JSON with a version, never a pickle of our classes.

So an engine can store it, and a newer version can read what an older one wrote. A record holds the
time at which the work ended and one outcome: a decision, the result of a call, a summary, or the
error that ended the work.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import attrs

from agentic.errors import (
    AgenticError,
    BoundReasoning,
    CompactionRefused,
    ConfigError,
    ContextOverflow,
    IncompleteReply,
    RequestFailed,
)
from agentic.loop import Decision, InputTransformation
from agentic.messages import Message, SummaryText, ToolResult, from_plain, to_plain
from agentic.tools import Approval
from agentic.usage import Usage
from agentic.usage._usage import WITHOUT_SUMMED, ReportedCall

_VERSION = 1
_DECISION_TEXTS = ("stop_word", "provider", "request_model", "response_model", "response_id")
_ERRORS: dict[str, type[AgenticError]] = {
    cls.__name__: cls
    for cls in (CompactionRefused, ContextOverflow, IncompleteReply, BoundReasoning, RequestFailed)
}
"""Errors that callers act on: they are raised again with their fields. A kind of another comes
before it."""


class OutOfTime(TimeoutError):
    """The run reached its limit of seconds during a step."""


@attrs.define
class StepFailed(AgenticError):
    """A step failed with an error that only its text was kept of."""

    step: str
    kind: str
    """The name of the error's class."""
    problem: str

    def __str__(self) -> str:
        return f"{self.step} failed: {self.kind}: {self.problem}"


def make_record(
    outcome: Mapping[str, Any], end: datetime, seconds: float, calls: Iterable[ReportedCall]
) -> dict[str, Any]:
    """Return the record of a step that ended when the run had taken so many seconds.

    `calls` are the model calls that its work reported by `usage.report`.
    """
    record = {"v": _VERSION, "ended": end.isoformat(), "seconds": seconds, **outcome}
    # Left out where there are none, as in most records.
    reports = [attrs.asdict(call, filter=WITHOUT_SUMMED) for call in calls]
    return record | ({"calls": reports} if reports else {})


def add_listing(record: Mapping[str, Any], listing: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that holds the list of tools of the turn as well."""
    return {**record, "listing": dict(listing)}


def read_listing(record: Any) -> dict[str, Any] | None:
    """Return the list of tools in a record; None if it was the same as before."""
    return record.get("listing") if isinstance(record, dict) else None


def read_seconds(record: Any) -> float:
    """Return the seconds in a record; 0.0 if an earlier version wrote it, which had none."""
    return float(record.get("seconds", 0.0)) if isinstance(record, dict) else 0.0


def read_calls(record: Any) -> list[ReportedCall]:
    """Return the model calls in a record; none if an earlier version wrote it."""
    calls = record.get("calls", ()) if isinstance(record, dict) else ()
    return [ReportedCall(**{**call, "usage": Usage(**call["usage"])}) for call in calls]


def read_record(record: Any, step: str) -> tuple[dict[str, Any], datetime]:
    """Return the outcome in a record, and when the work ended.

    Raises:
        ConfigError: it is not a record, or one of a newer version.
        AgenticError: the work failed.
        OutOfTime: the run reached its limit of seconds.
    """
    version = record.get("v") if isinstance(record, dict) else None
    if type(version) is not int or not 1 <= version <= _VERSION:
        raise ConfigError(
            f"the record of {step}",
            record,
            f"a record of version 1 to {_VERSION}",
            "upgrade agentic-weave if a newer version wrote it",
        )
    if "error" in record:
        raise _error(record["error"], step)
    return record, datetime.fromisoformat(record["ended"])


def encode_error(error: Exception) -> dict[str, Any]:
    """Return the outcome of work that failed.

    >>> encode_error(ContextOverflow("gpt-4.1", 130_000, 128_000))["error"]["fields"]
    {'model': 'gpt-4.1', 'sent': 130000, 'window': 128000, 'kind': 'tokens'}
    """
    # An adapter's own kind of a known error counts as that: a Runner compacts after any overflow.
    for error_type in _ERRORS.values():
        if isinstance(error, error_type):
            fields = {each.name: getattr(error, each.name) for each in attrs.fields(error_type)}
            return {"error": {"kind": error_type.__name__, "fields": fields}}
    return {"error": {"kind": type(error).__name__, "problem": str(error)}}


def _error(plain: Mapping[str, Any], step: str) -> AgenticError | OutOfTime:
    if plain["kind"] == OutOfTime.__name__:
        return OutOfTime()
    error_type = _ERRORS.get(plain["kind"])
    # An error of somebody else may have the same name, and has no fields of ours.
    if error_type is not None and "fields" in plain:
        return error_type(**plain["fields"])
    return StepFailed(step, plain["kind"], plain["problem"])


def encode_decision(decision: Decision) -> dict[str, Any]:
    """Return the outcome of asking a model; its message has the form that stores use."""
    texts = {name: getattr(decision, name) for name in _DECISION_TEXTS}
    changes = [attrs.asdict(each) for each in decision.input_transformations]
    return {
        "message": to_plain(decision.to_message()),
        "stop_reason": decision.stop_reason.value,
        **{name: text for name, text in texts.items() if text},
        **({"input_transformations": changes} if changes else {}),
    }


def decode_decision(outcome: Mapping[str, Any]) -> Decision:
    """Return the decision in an outcome."""
    message = from_plain(outcome["message"])
    return Decision(
        message.content,
        message.tool_calls,
        message.usage,
        outcome["stop_reason"],
        message.native,
        reasoning=message.reasoning,
        media=message.media,
        last_request=message.last_request,
        **{name: outcome.get(name, "") for name in _DECISION_TEXTS},
        input_transformations=[
            InputTransformation(**each) for each in outcome.get("input_transformations", ())
        ],
    )


def encode_result(result: ToolResult, output_ref: str | None = None) -> dict[str, Any]:
    """Return the outcome of a call; with `output_ref`, its output is stored elsewhere."""
    # In the form of a message, which is versioned and which stores read as well.
    rest = result if output_ref is None else attrs.evolve(result, output="")
    plain = to_plain(Message("tool", tool_results=[rest]))["tool_results"][0]
    return {"result": plain} if output_ref is None else {"result": plain, "output_ref": output_ref}


def decode_result(outcome: Mapping[str, Any]) -> ToolResult:
    """Return the result in an outcome, as far as the record has it."""
    message = from_plain({"v": 1, "role": "tool", "tool_results": [outcome["result"]]})
    return message.tool_results[0]


def encode_approval(approval: Approval) -> dict[str, Any]:
    """Return the outcome of asking for approval."""
    return {"allowed": approval.allowed, "reason": approval.reason}


def decode_approval(outcome: Mapping[str, Any]) -> Approval:
    """Return the answer in an outcome."""
    return Approval(outcome["allowed"], outcome["reason"])


def encode_summary(text: str) -> dict[str, Any]:
    """Return the outcome of a compactor, with the notes of its next generation."""
    return {"summary": str(text), "notes": dict(SummaryText(text).notes)}


def decode_summary(outcome: Mapping[str, Any]) -> SummaryText:
    """Return the summary in an outcome."""
    return SummaryText(outcome["summary"], outcome["notes"])
