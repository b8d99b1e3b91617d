"""Trajectories of SWE-agent: `<instance>.traj`.

By https://swe-agent.com/latest/usage/trajectories/ (versions 0.7 to 1.1, 2026-11): a `trajectory`
of steps, and a `history` of messages as they were sent, with a role, `content` and, since 1.0,
`tool_calls` and `tool_call_ids`. Messages of other agents than the main one, such as a
demonstration (`is_demo`), are sent as well.
"""

from collections.abc import Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format, each_document
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import at, items_at, text_at


def is_trajectory(data: Entry) -> bool:
    """Return whether an object is a trajectory with its history.

    >>> is_trajectory({"trajectory": [], "history": [{"role": "user", "content": "Mend it."}]})
    True
    """
    return isinstance(data.get("trajectory"), list) and isinstance(data.get("history"), list)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the history."""
    document, *items = values
    info: Any = document.data.get("replay_config") or document.data.get("environment")
    reading.use_model(text_at(info, "agent", "model", "name") if isinstance(info, dict) else "")
    for value in items:
        data, role = value.data, text_at(value.data, "role")
        parts = read_parts(data.get("content"), reading)
        ids = [each for each in items_at(data, "tool_call_ids") if isinstance(each, str)]
        if role == "assistant":
            parts.calls += [
                make_call(
                    text_at(call, "id"),
                    text_at(call, "function", "name"),
                    at(call, "function", "arguments"),
                )
                for call in objects_at(data, "tool_calls")
            ]
            for message in parts.messages("assistant"):
                reading.add(message, data)
        elif role == "tool" and ids:
            # One text for all calls of the step.
            text = "\n".join(parts.texts)
            results = [make_result(ids[0], "", text, media=parts.media)]
            results += [make_result(each, "", "") for each in ids[1:]]
            reading.add(Message("tool", tool_results=results))
        elif role in {"system", "user", "tool"}:
            for message in parts.messages("system" if role == "system" else "user"):
                reading.add(message, data)
        else:
            reading.skip_entry(value.line, f"found the role {data.get('role')!r}", data)


FORMAT = Format(
    name="SWE-agent trajectory",
    recognizes=is_trajectory,
    read=read,
    split=each_document("history", "environment"),
)
