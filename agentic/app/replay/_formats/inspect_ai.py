"""Logs of Inspect in JSON: an evaluation with its samples.

By `EvalLog`, `EvalSample` and `ChatMessage` of
https://inspect.aisi.org.uk/reference/inspect_ai.log.html (2026-11). A sample has `messages` with a
role; a reply's calls have a `function` and `arguments`, and a tool's message names its call and may
have an `error`. Each sample and epoch is a conversation. A log in the form `.eval` is an archive:
`inspect log dump FILE.eval` writes it as JSON.
"""

from collections.abc import Iterator, Sequence

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result, read_output, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.messages._message import Role
from agentic.providers.kit import text_at

_ROLES: dict[str, Role] = {"system": "system", "user": "user"}


def is_log(data: Entry) -> bool:
    """Return whether an object is the log of an evaluation.

    >>> is_log({"version": 2, "eval": {"task": "t"}, "samples": [{"messages": []}]})
    True
    """
    return isinstance(data.get("eval"), dict) and isinstance(data.get("samples"), list)


def _split(values: Sequence[Value]) -> Iterator[tuple[str, Sequence[Value]]]:
    for value in values:
        model = text_at(value.data, "eval", "model")
        for sample in objects_at(value.data, "samples"):
            head = Value(value.line, {"model": model})
            messages = [Value(value.line, each) for each in objects_at(sample, "messages")]
            yield f"{sample.get('id')} {sample.get('epoch', 1)}", [head, *messages]


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages of one sample."""
    head, *messages = values
    reading.use_model(head.data.get("model"))
    for value in messages:
        data, role = value.data, text_at(value.data, "role")
        if role == "assistant":
            _read_reply(data, reading)
        elif role == "tool":
            text, media = read_output(data.get("content"))
            error = text_at(data, "error", "message")
            call_id, name = text_at(data, "tool_call_id"), text_at(data, "function")
            result = make_result(call_id, name, error or text, is_error=bool(error), media=media)
            reading.add(Message("tool", tool_results=[result]))
        elif role in _ROLES:
            for message in read_parts(data.get("content"), reading).messages(_ROLES[role]):
                reading.add(message, data)
        else:
            reading.skip_entry(value.line, f"found the role {data.get('role')!r}", data)


def _read_reply(data: Entry, reading: Reading) -> None:
    reading.use_model(data.get("model"))
    parts = read_parts(data.get("content"), reading)
    parts.calls += [
        make_call(text_at(each, "id"), text_at(each, "function"), each.get("arguments"))
        for each in objects_at(data, "tool_calls")
    ]
    for message in parts.messages("assistant"):
        reading.add(message, data)


FORMAT = Format(name="Inspect log", recognizes=is_log, read=read, split=_split)
