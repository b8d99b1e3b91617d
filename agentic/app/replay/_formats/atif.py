"""Trajectories in the Agent Trajectory Interchange Format: `trajectory.json` of Harbor.

By https://github.com/laude-institute/harbor/blob/main/docs/rfcs/0001-trajectory-format.md
(ATIF-v1.0 to v1.6, read 2026-11): `steps`, each with a `source` (system, user, agent) and a
`message`. An agent's step may have `reasoning_content`, `tool_calls`, an `observation` with the
results, and `metrics`, whose `prompt_tokens` include what was cached.
"""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format, each_document
from agentic.app.replay._formats._usage import whole_usage
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result, read_output, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import at, text_at


def is_trajectory(data: Entry) -> bool:
    """Return whether an object is a trajectory of this format.

    >>> is_trajectory({"schema_version": "ATIF-v1.4", "steps": []})
    True
    """
    return text_at(data, "schema_version").startswith("ATIF") and isinstance(
        data.get("steps"), list
    )


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the steps."""
    document, *steps = values
    model = text_at(document.data, "agent", "model_name")
    for value in steps:
        step, source = value.data, text_at(value.data, "source")
        if source == "agent":
            reading.use_model(step.get("model_name") or model)
            _read_step(step, reading)
        elif source in {"system", "user"}:
            parts = read_parts(step.get("message"), reading)
            for message in parts.messages("system" if source == "system" else "user"):
                reading.add(message, step)
            for result in objects_at(step, "observation", "results"):
                text, media = read_output(result.get("content"))
                reading.add(Message("user", text, media=media))
        else:
            reading.skip_entry(value.line, f"found a step of the source {source!r}", step)


def _read_step(step: Entry, reading: Reading) -> None:
    parts = read_parts(step.get("message"), reading)
    parts.thoughts += filter(None, [text_at(step, "reasoning_content")])
    parts.calls += [
        make_call(
            text_at(call, "tool_call_id"), text_at(call, "function_name"), call.get("arguments")
        )
        for call in objects_at(step, "tool_calls")
    ]
    names = {call.id: call.name for call in parts.calls}
    nameless: list[str] = []
    for result in objects_at(step, "observation", "results"):
        text, media = read_output(result.get("content"))
        call = text_at(result, "source_call_id")
        if call in names:
            parts.results.append(make_result(call, names[call], text, media=media))
        elif text:
            nameless.append(text)
        elif result.get("subagent_trajectory_ref") is None:
            reading.skip("result without content", result)
    if len(parts.calls) == 1 and not parts.results and nameless:
        parts.results.append(make_result(parts.calls[0].id, parts.calls[0].name, nameless.pop(0)))
    usage = whole_usage(at(step, "metrics"), "prompt_tokens", "completion_tokens", "cached_tokens")
    for message in parts.messages("assistant", usage=usage):
        reading.add(message, step)
    # What the environment answers to an action that is no call, a user message tells the model.
    for text in nameless:
        reading.add(Message("user", text))


FORMAT = Format(
    name="ATIF trajectory",
    recognizes=is_trajectory,
    read=read,
    split=each_document("steps", "session_id"),
)
