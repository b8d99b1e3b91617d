"""Why the API would refuse a request for its shape: the whole request, then its messages.

The sentences that the API says are quoted in the threads named beside each rule; the schema is in
https://platform.claude.com/docs/en/api/messages/create (2026-11).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers._plain import at, items_at, plain, text_at
from agentic.providers._violation import Violation
from agentic.providers.anthropic._wire._calls import TOOL_NAMES
from agentic.providers.anthropic._wire._validate_messages import find_misplaced, find_refused
from agentic.providers.anthropic._wire._validate_settings import find_refused_settings
from agentic.providers.anthropic._wire._validate_turns import find_broken_turns

__all__ = ["validate"]

_SCHEMA = "https://platform.claude.com/docs/en/api/messages/create"
_NAMES = "https://github.com/BerriAI/litellm/pull/26788"
_UNIQUE = "https://github.com/anthropics/claude-code/issues/10687"
_ONE_OF = "https://github.com/Hmbown/Codewhale/issues/4329"
_PREFILL = "https://platform.claude.com/docs/en/about-claude/models/migration-guide"
_TRAILING = "https://github.com/tailcallhq/forgecode/issues/1872"
_LAST_THOUGHT = "https://github.com/router-for-me/CLIProxyAPI/issues/5321"
_BLANK = "https://github.com/anthropics/claude-code/issues/23369"

_WITHOUT_PREFILL = re.compile(r"claude-[a-z]+-(4[-.][6-9]|[5-9])(?![0-9])")
"""4.6 and later, https://github.com/strands-agents/sdk-python/issues/1694."""


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Say why the provider would refuse a request for its shape; nothing if it would not.

    >>> [found.rule for found in validate({"messages": [{"role": "user", "content": ""}]})]
    ['empty_content']
    """
    data = plain(request)
    messages = items_at(data, "messages")
    if not messages:
        return [Violation("first_message", None, "there is no message", _SCHEMA)]
    return [
        *find_refused_settings(data),
        *_system(data),
        *_tools(data),
        *find_refused(messages),
        *find_misplaced(messages),
        *find_broken_turns(messages, at(data, "thinking", "type") == "enabled"),
        *_prefill(messages, text_at(data, "model")),
    ]


def _system(data: Any) -> Iterator[Violation]:
    for block in items_at(data, "system"):
        if at(block, "type") == "text" and not text_at(block, "text").strip():
            yield Violation("empty_content", None, "a block of `system` has no text", _BLANK)


def _tools(data: Any) -> Iterator[Violation]:
    tools = items_at(data, "tools")
    names = [text_at(tool, "name") for tool in tools if at(tool, "name") is not None]
    for name, count in Counter(names).items():
        if count > 1:
            yield Violation("tools", None, f"{count} tools are named {name!r}", _UNIQUE)
    yield from _refused_tools(tools)
    wanted = at(data, "tool_choice", "name")
    if wanted is not None and wanted not in names:
        yield Violation("tools", None, f"the chosen tool {wanted!r} is not in `tools`", _SCHEMA)


def _refused_tools(tools: list[Any]) -> Iterator[Violation]:
    for tool in tools:
        schema = at(tool, "input_schema")
        # Only the caller's own tools have a schema; the others are the provider's.
        if schema is not None and not TOOL_NAMES.accept(at(tool, "name")):
            problem = f"the name {at(tool, 'name')!r} has other characters than a-z A-Z 0-9 _ -"
            yield Violation("name", None, problem, _NAMES)
        if any(at(schema, choice) is not None for choice in ("oneOf", "allOf", "anyOf")):
            problem = f"the schema of {text_at(tool, 'name')!r} is a choice at its top"
            yield Violation("tools", None, problem, _ONE_OF)


def _prefill(messages: list[Any], model: str) -> Iterator[Violation]:
    """Look at a beginning that the model is to go on with: a reply in the last place."""
    last, position = messages[-1], len(messages) - 1
    if at(last, "role") != "assistant":
        return
    content = at(last, "content")
    block = at(content, -1)
    kind = text_at(block, "type")
    text = content if isinstance(content, str) else text_at(block, "text")
    if text != text.rstrip():
        problem = "the reply to go on with ends in white space"
        yield Violation("prefill", position, problem, _TRAILING)
    if kind in {"thinking", "redacted_thinking"}:
        problem = "the reply to go on with ends in thinking"
        yield Violation("thinking", position, problem, _LAST_THOUGHT)
    # A turn that the server paused ends so, and goes back to be continued.
    paused = kind.endswith(("_tool_result", "_tool_use")) or kind == "compaction"
    if _WITHOUT_PREFILL.search(model) and not paused:
        problem = f"{model} does not go on with a reply: the last message is to be the user's"
        yield Violation("prefill", position, problem, _PREFILL)
