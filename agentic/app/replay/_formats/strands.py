"""Sessions of Strands Agents: a folder with a file for each message.

`session_<id>/agents/agent_<id>/agent.json` stands beside `messages/message_<n>.json`, by
FileSessionManager in https://github.com/strands-agents/sdk-python
(src/strands/session/file_session_manager.py, 2026-11). A message is one of Bedrock's Converse,
within `message`; `redact_message` replaces it if a guardrail has removed it.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentic.app.replay._formats import messages_in_parts
from agentic.app.replay._formats._format import Entry, Format, SessionFiles
from agentic.app.replay._json_values import Damage, Value
from agentic.app.replay._reading import Reading
from agentic.providers.kit import text_at

_FILE = re.compile(r"message_(\d{1,9})\.json")


def is_agent_file(path: Path) -> bool:
    """Return whether a path is that of an agent, next to the folder of its messages."""
    return path.name == "agent.json" and (path.parent / "messages").is_dir()


def belongs(path: Path) -> bool:
    """Return whether a path is that of a message, which its agent's file leads to."""
    is_message_file = path.parent.name == "messages" and _FILE.fullmatch(path.name)
    return bool(is_message_file) and (path.parents[1] / "agent.json").is_file()


def read_files(path: Path) -> list[Value]:
    """Return the messages next to an agent's file, in order."""
    by_number = sorted(
        (int(match[1]), file)
        for file in (path.parent / "messages").iterdir()
        if (match := _FILE.fullmatch(file.name)) and file.is_file()
    )
    return [Value(1, _read_file(file)) for _, file in by_number]


def _read_file(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise Damage(None, f"{path.name} of this session is not JSON ({problem})") from problem
    return data if isinstance(data, dict) else {}


def is_message(data: Entry) -> bool:
    """Return whether an object is a message as Strands stores it.

    >>> is_message({"message": {"role": "user", "content": [{"text": "Hi."}]}, "message_id": 0})
    True
    """
    return "message_id" in data and bool(text_at(data, "message", "role"))


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages."""
    messages = []
    for value in values:
        message = value.data.get("redact_message") or value.data.get("message")
        messages.append(Value(value.line, message if isinstance(message, dict) else {}))
    messages_in_parts.read(messages, reading)


FILES = SessionFiles(leads=is_agent_file, belongs=belongs, read=read_files)
FORMAT = Format(name="Strands session", recognizes=is_message, read=read)
