"""Items of OpenAI's Responses API, as its `input` and `output` have them.

The adapter reads them (https://platform.openai.com/docs/api-reference/responses, 2026-11). A call
of a server's own tool (`mcp_call`) holds its output. Native items are not kept, because a replay
judges only what was said.
"""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._formats.apis import ENDING, without_native
from agentic.app.replay._json_values import Damage, Value, objects_at
from agentic.app.replay._parts import make_call, read_output
from agentic.app.replay._reading import Reading
from agentic.errors import ConfigError
from agentic.providers import openai_responses
from agentic.providers.kit import text_at

_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "shell_call"}
_ANSWERS = {f"{kind}_output" for kind in _CALLS}
_PARTS = {"input_text", "output_text", "input_image", "input_file"}
_READ = {"message", "reasoning", "image_generation_call", *_CALLS, *_ANSWERS}


def is_item(data: Entry) -> bool:
    """Return whether an object is an item that only the Responses API knows.

    >>> is_item({"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"})
    True
    >>> is_item({"type": "message", "role": "user", "content": "Hi."})
    False
    """
    if data.get("object") == "response" or text_at(data, "type") in _CALLS | _ANSWERS:
        return True
    parts = objects_at(data, "content") if data.get("role") else []
    return any(text_at(part, "type") in _PARTS for part in parts)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read items; a whole response stands for its items."""
    items: list[Entry] = []
    for value in values:
        if value.data.get("object") == "response":
            reading.use_model(value.data.get("model"))
            items += objects_at(value.data, "output")
        elif value.data.get("role") != ENDING:
            items.append(value.data)
    read_items(items, reading)


def read_items(items: Sequence[Entry], reading: Reading) -> list[int]:
    """Read items of the Responses API; return for each the number of messages up to its own."""
    rest: list[Entry] = []
    places = []
    for item in items:
        # A message may leave its type out (`EasyInputMessage` in OpenAI's API).
        if text_at(item, "type") in _READ or item.get("role"):
            rest.append(item)
        elif item.get("type") == "mcp_call":
            rest += _hosted_call(item)
        else:
            reading.skip(f"item of the type {text_at(item, 'type') or 'none'!r}", item)
        places.append(len(rest))
    try:
        results = openai_responses.IncrementalDecoder().decode(rest)
    except ConfigError as problem:
        raise Damage(None, str(problem)) from problem
    counts = [0]
    for result in results:
        first = rest[len(counts) - 1]
        before = len(reading.messages)
        for message in without_native(result.messages):
            reading.add(message, first if result.items == 1 else None)
        counts += [before + len(result.messages)] * result.items
    return [counts[place] for place in places]


def _hosted_call(item: Entry) -> list[Entry]:
    """Return a call that the provider's server has run as a call and its output."""
    call_id = text_at(item, "id")
    call = make_call(call_id, text_at(item, "name"), item.get("arguments"))
    output, _ = read_output(item.get("output") or item.get("error"))
    return [
        {
            "type": "function_call",
            "call_id": call_id,
            "name": call.name,
            "arguments": call.arguments,
        },
        {"type": "function_call_output", "call_id": call_id, "output": output},
    ]


FORMAT = Format(name="Responses API items", recognizes=is_item, read=read)
