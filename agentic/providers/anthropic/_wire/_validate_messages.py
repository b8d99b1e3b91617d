"""What the API refuses in one message, and where it refuses one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers._plain import at, items_at, text_at
from agentic.providers._violation import Violation
from agentic.providers.anthropic._wire._place import directive_only, follows_well

__all__ = ["find_misplaced", "find_refused"]

_SCHEMA = "https://platform.claude.com/docs/en/api/messages/create"
_FIRST = "https://github.com/lobehub/lobehub/issues/1601"
_SYSTEM = "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"
_SYSTEM_BEFORE = "https://github.com/anthropics/claude-code/issues/73821"
_BLANK = "https://github.com/anthropics/claude-code/issues/23369"
_IDS = "https://github.com/farion1231/cc-switch/issues/1181"
_THINKING = "https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows"

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ASSISTANTS_ONLY = {"tool_use", "thinking", "redacted_thinking", "server_tool_use"}
_SIGNED = {"thinking": "signature", "redacted_thinking": "data"}


def find_refused(messages: list[Any]) -> Iterator[Violation]:
    """Look into each message alone."""
    for position, message in enumerate(messages):
        role, content = at(message, "role"), at(message, "content")
        if role not in ("user", "assistant", "system"):
            yield Violation("role", position, f"there is no role {role!r}", _SCHEMA)
        elif not isinstance(content, str | list):
            problem = "the content is neither a text nor a list of blocks"
            yield Violation("empty_content", position, problem, _SCHEMA)
        for block in items_at(message, "content"):
            yield from _refused_block(position, role, block)
            for part in [block, *items_at(block, "content")]:
                yield from _sourceless(position, part)


def _refused_block(position: int, role: Any, block: Any) -> Iterator[Violation]:
    kind = text_at(block, "type")
    if not isinstance(block, Mapping) or not kind:
        yield Violation("part", position, "a block has no type", _SCHEMA)
    elif kind == "text" and not _has_text(block, role):
        yield Violation("empty_content", position, "a block of text has no text", _BLANK)
    elif role != "assistant" and kind in _ASSISTANTS_ONLY:
        yield Violation("role", position, f"a {kind} block is for assistants only", _SCHEMA)
    elif role != "user" and kind == "tool_result":
        yield Violation("role", position, "a tool_result block is for users only", _SCHEMA)
    elif kind in _SIGNED and not text_at(block, _SIGNED[kind]):
        problem = f"a {kind} block lacks its {_SIGNED[kind]}"
        yield Violation("thinking", position, problem, _THINKING)
    elif kind == "tool_use":
        yield from _refused_call(position, block)


def _sourceless(position: int, part: Any) -> Iterator[Violation]:
    """Look at a picture or a document, which may also stand in the result of a tool."""
    kind = text_at(part, "type")
    if kind in {"image", "document"} and not text_at(part, "source", "type"):
        yield Violation("media", position, f"a {kind} block has no source", _SCHEMA)


def _has_text(block: Any, role: Any) -> bool:
    """Tell whether a text says something; a model's may be white space, and goes back so."""
    text = text_at(block, "text")
    return bool(text if role == "assistant" else text.strip())


def _refused_call(position: int, block: Any) -> Iterator[Violation]:
    call_id = at(block, "id")
    if not (isinstance(call_id, str) and _ID.fullmatch(call_id)):
        problem = f"the id {call_id!r} has other characters than a-z A-Z 0-9 _ -, or none"
        yield Violation("id", position, problem, _IDS)
    if not text_at(block, "name"):
        problem = f"the call {call_id!r} names no tool"
        yield Violation("name", position, problem, _SCHEMA)
    if not isinstance(at(block, "input"), Mapping):
        problem = f"the input of the call {call_id!r} is no object"
        yield Violation("arguments", position, problem, _SCHEMA)


def find_misplaced(messages: list[Any]) -> Iterator[Violation]:
    """Look at where the first message stands, and each system message."""
    spoken = [
        (position, message)
        for position, message in enumerate(messages)
        if not (at(message, "role") == "system" and directive_only(message))
    ]
    if not spoken:
        yield Violation("first_message", None, "nobody says anything", _FIRST)
    for place, (position, message) in enumerate(spoken):
        if at(message, "role") == "system":
            before = spoken[place - 1][1] if place else None
            after = spoken[place + 1][1] if place + 1 < len(spoken) else None
            yield from _misplaced_system(position, before, after)


def _misplaced_system(position: int, before: Any, after: Any) -> Iterator[Violation]:
    """Look at both sides of a system message; a run of them is as one."""
    if before is None:
        problem = "a system prompt goes into the request's `system`"
        yield Violation("order", position, problem, _SYSTEM)
        return
    if at(before, "role") != "system" and not follows_well(before):
        problem = "a system message follows a user's message, or a server tool's result"
        yield Violation("order", position, problem, _SYSTEM)
    if after is not None and at(after, "role") not in ("assistant", "system"):
        problem = "a system message comes before a reply, or last"
        yield Violation("order", position, problem, _SYSTEM_BEFORE)
