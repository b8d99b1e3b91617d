"""Small recorded conversations, as they lie in a file."""

import json
from itertools import count
from typing import Any

__all__ = ["called", "said", "shell"]

_NUMBERS = count()


def said(role: str, text: str) -> dict[str, Any]:
    """Return a message with a text alone."""
    return {"role": role, "content": text}


def called(
    tool: str, output: str | None, *, is_error: bool | None = None, **arguments: object
) -> list[dict[str, Any]]:
    """Return a call and its output; the call alone if there is none."""
    name = f"c{next(_NUMBERS)}"
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": name, "function": function}]}
    answer: dict[str, Any] = {"role": "tool", "tool_call_id": name, "content": output}
    if is_error is not None:
        answer["x_is_error"] = is_error
    return [call] if output is None else [call, answer]


def shell(command: str, output: str = "", *, status: int = 0) -> list[dict[str, Any]]:
    """Return a shell command that ends with a status."""
    text = f"<returncode>{status}</returncode>\n<output>\n{output}\n</output>"
    return called("bash", text, command=command)
