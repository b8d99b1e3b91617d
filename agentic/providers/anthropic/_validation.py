"""Explain why Anthropic would reject a request's structure: settings, messages, then turns.

To the API, consecutive messages of one role are one turn. Its error messages are quoted in the
threads named next to each rule. The schema is in
https://platform.claude.com/docs/en/api/messages/create (2026-11).
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.providers.anthropic._decoding import blocks_of
from agentic.providers.anthropic._encoding import (
    TOOL_NAMES,
    WITHOUT_PREFILL,
    directive_only,
    follows_well,
    is_paused,
)
from agentic.providers.kit import Step, Violation, at, find_unpaired, items_at, plain, text_at

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_SCHEMA = "https://platform.claude.com/docs/en/api/messages/create"
_NAMES = "https://github.com/BerriAI/litellm/pull/26788"
# The error: "Tool names must be unique."
_UNIQUE = "https://github.com/anthropics/claude-code/issues/10687"
# "input_schema does not support oneOf, allOf, or anyOf at the top level"
_ONE_OF = "https://github.com/Hmbown/Codewhale/issues/4329"
_PREFILL = "https://platform.claude.com/docs/en/about-claude/models/migration-guide"
# "final assistant content cannot end with trailing whitespace"
_TRAILING = "https://github.com/tailcallhq/forgecode/issues/1872"
# "The final block in an assistant message cannot be `thinking`."
_LAST_THOUGHT = "https://github.com/router-for-me/CLIProxyAPI/issues/5321"
# "text content blocks must contain non-whitespace text"
_BLANK = "https://github.com/anthropics/claude-code/issues/23369"
_BUDGET = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
_THINKING = "https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows"
# "A maximum of 4 blocks with cache_control may be provided."
_MARKS = "https://github.com/tghamm/Anthropic.SDK/issues/50"
_LEAST_BUDGET = 1024
_MOST_MARKS = 4
"""https://platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-11)."""

# A token-counting request has none of these fields, and needs no max_tokens.
_SAMPLING = {
    *("metadata", "service_tier", "stop_sequences", "stream", "temperature", "top_k", "top_p")
}
_SILENCE = "https://github.com/lobehub/lobehub/issues/1601"
_SYSTEM = "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"
_SYSTEM_BEFORE = "https://github.com/anthropics/claude-code/issues/73821"
_IDS = "https://github.com/farion1231/cc-switch/issues/1181"
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ASSISTANTS_ONLY = {"tool_use", "thinking", "redacted_thinking", "server_tool_use"}
_SIGNED = {"thinking": "signature", "redacted_thinking": "data"}
_PAIRS = "https://github.com/anthropics/claude-code/issues/8210"
_RESULTS_FIRST = "https://github.com/shareAI-lab/learn-claude-code/issues/55"
_EMPTY = "https://github.com/anthropics/claude-code/issues/6774"
_SERVER = "https://github.com/anthropics/claude-code/issues/64383"
_THOUGHTLESS = "https://github.com/anomalyco/opencode/issues/3077"


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Return the reasons why the provider would reject the request's structure, if any.

    >>> [found.rule for found in validate({"messages": [{"role": "user", "content": ""}]})]
    ['empty_content']
    """
    data = plain(request)
    messages = items_at(data, "messages")
    if not messages:
        return [Violation("first_message", None, "there is no message", _SCHEMA)]
    return [
        *_find_refused_settings(data),
        *_system(data),
        *_tools(data),
        *_find_refused(messages),
        *_find_misplaced(messages),
        *_find_broken_turns(messages, at(data, "thinking", "type") == "enabled"),
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
        # Only the caller's own tools have a schema; tools without one are the provider's.
        if schema is not None and not TOOL_NAMES.accept(at(tool, "name")):
            problem = f"the name {at(tool, 'name')!r} has characters other than a-z A-Z 0-9 _ -"
            yield Violation("name", None, problem, _NAMES)
        if any(at(schema, choice) is not None for choice in ("oneOf", "allOf", "anyOf")):
            problem = f"the schema of {text_at(tool, 'name')!r} has a choice at its top level"
            yield Violation("tools", None, problem, _ONE_OF)


def _prefill(messages: list[Any], model: str) -> Iterator[Violation]:
    """Check a prefill: a last message by the assistant, which the model is meant to continue."""
    last, position = messages[-1], len(messages) - 1
    if at(last, "role") != "assistant":
        return
    content = at(last, "content")
    block = at(content, -1)
    kind = text_at(block, "type")
    text = content if isinstance(content, str) else text_at(block, "text")
    if text != text.rstrip():
        problem = "the reply to continue ends in white space"
        yield Violation("prefill", position, problem, _TRAILING)
    if kind in {"thinking", "redacted_thinking"}:
        problem = "the reply to continue ends in thinking"
        yield Violation("thinking", position, problem, _LAST_THOUGHT)
    if WITHOUT_PREFILL.search(model) and not is_paused(last):
        problem = f"{model} cannot continue a reply: the last message must be the user's"
        yield Violation("prefill", position, problem, _PREFILL)


def _find_refused_settings(request: Any) -> Iterator[Violation]:
    """Check the fields other than the messages, the system prompt and the tools."""
    yield from _max_tokens(request)
    if at(request, "thinking", "type") == "enabled":
        yield from _budget(request)
        choice = text_at(request, "tool_choice", "type")
        if choice in {"any", "tool"}:
            problem = f"tool_choice {choice!r} forces a call, which thinking with a budget forbids"
            yield Violation("thinking", None, problem, _THINKING)
    marks = sum(at(block, "cache_control") is not None for block in _cacheable(request))
    if marks > _MOST_MARKS:
        problem = f"{marks} blocks have cache_control, but only {_MOST_MARKS} may"
        yield Violation("cache", None, problem, _MARKS)


def _max_tokens(request: Any) -> Iterator[Violation]:
    limit = at(request, "max_tokens")
    if limit is None and not any(at(request, key) is not None for key in _SAMPLING):
        return
    # 0 fills the prompt cache and generates no reply:
    # https://platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-11).
    if not _is_whole(limit) or limit < 0:
        problem = f"max_tokens is {limit!r}, not a whole number"
        yield Violation("max_tokens", None, problem, _SCHEMA)


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _budget(request: Any) -> Iterator[Violation]:
    """Check the thinking budget, which has to be smaller than the reply's limit."""
    budget, longest = at(request, "thinking", "budget_tokens"), at(request, "max_tokens")
    if not _is_whole(budget) or budget < _LEAST_BUDGET:
        problem = f"budget_tokens is {budget!r}, not a whole number of {_LEAST_BUDGET} or more"
        yield Violation("thinking", None, problem, _BUDGET)
    # With tools it may be larger: thinking between calls has one budget for all replies of a turn.
    elif _is_whole(longest) and budget >= longest and not items_at(request, "tools"):
        problem = f"budget_tokens is {budget}, not less than max_tokens, {longest}"
        yield Violation("thinking", None, problem, _BUDGET)


def _cacheable(request: Any) -> Iterator[Any]:
    yield from items_at(request, "tools")
    yield from items_at(request, "system")
    for message in items_at(request, "messages"):
        for block in items_at(message, "content"):
            # A result's own blocks can have a mark, too.
            yield from (block, *items_at(block, "content"))


def _find_refused(messages: list[Any]) -> Iterator[Violation]:
    """Check each message by itself."""
    for position, message in enumerate(messages):
        role, content = at(message, "role"), at(message, "content")
        if role not in ("user", "assistant", "system"):
            yield Violation("role", position, f"there is no role {role!r}", _SCHEMA)
        elif not isinstance(content, str | list):
            problem = "the content is neither a text nor a list of blocks"
            yield Violation("empty_content", position, problem, _SCHEMA)
        for block in items_at(message, "content"):
            yield from _refused_block(position, role, block)
            # An image or a document may also be inside a tool result.
            for part in [block, *items_at(block, "content")]:
                kind = text_at(part, "type")
                if kind in {"image", "document"} and not text_at(part, "source", "type"):
                    yield Violation("media", position, f"a {kind} block has no source", _SCHEMA)


def _refused_block(position: int, role: Any, block: Any) -> Iterator[Violation]:
    kind = text_at(block, "type")
    if not isinstance(block, Mapping) or not kind:
        yield Violation("part", position, "a block has no type", _SCHEMA)
    elif kind == "text" and not _has_text(block, role):
        yield Violation("empty_content", position, "a block of text has no text", _BLANK)
    elif role != "assistant" and kind in _ASSISTANTS_ONLY:
        yield Violation(
            "role", position, f"a {kind} block is only allowed in an assistant message", _SCHEMA
        )
    elif role != "user" and kind == "tool_result":
        yield Violation(
            "role", position, "a tool_result block is only allowed in a user message", _SCHEMA
        )
    elif kind in _SIGNED and not text_at(block, _SIGNED[kind]):
        problem = f"a {kind} block lacks its {_SIGNED[kind]}"
        yield Violation("thinking", position, problem, _THINKING)
    elif kind == "tool_use":
        yield from _refused_call(position, block)


def _has_text(block: Any, role: Any) -> bool:
    """Return whether a text block is valid."""
    text = text_at(block, "text")
    # The model's own text may be blank, and is accepted back.
    return bool(text if role == "assistant" else text.strip())


def _refused_call(position: int, block: Any) -> Iterator[Violation]:
    call_id = at(block, "id")
    if not (isinstance(call_id, str) and _ID.fullmatch(call_id)):
        problem = f"the id {call_id!r} has characters other than a-z A-Z 0-9 _ -, or none"
        yield Violation("id", position, problem, _IDS)
    if not text_at(block, "name"):
        problem = f"the call {call_id!r} names no tool"
        yield Violation("name", position, problem, _SCHEMA)
    if not isinstance(at(block, "input"), Mapping):
        problem = f"the input of the call {call_id!r} is not an object"
        yield Violation("arguments", position, problem, _SCHEMA)


def _find_misplaced(messages: list[Any]) -> Iterator[Violation]:
    """Check that there is a message, and the position of each system message."""
    conversation = [
        (position, message)
        for position, message in enumerate(messages)
        if not (at(message, "role") == "system" and directive_only(message))
    ]
    if not conversation:
        yield Violation("first_message", None, "no message has any content", _SILENCE)
    for place, (position, message) in enumerate(conversation):
        if at(message, "role") == "system":
            before = conversation[place - 1][1] if place else None
            after = conversation[place + 1][1] if place + 1 < len(conversation) else None
            yield from _misplaced_system(position, before, after)


def _misplaced_system(position: int, before: Any, after: Any) -> Iterator[Violation]:
    """Check the neighbors of a system message."""
    if before is None:
        problem = "a system prompt goes into the request's `system`"
        yield Violation("order", position, problem, _SYSTEM)
        return
    # Consecutive ones count as one, so only the first and the last have a neighbor to check.
    if at(before, "role") != "system" and not follows_well(before):
        problem = "a system message follows a user's message, or a server tool's result"
        yield Violation("order", position, problem, _SYSTEM)
    if after is not None and at(after, "role") not in ("assistant", "system"):
        problem = "a system message comes before a reply, or last"
        yield Violation("order", position, problem, _SYSTEM_BEFORE)


@attrs.frozen
class _Turn:
    position: int
    """The position of the turn's first message."""
    role: Any
    blocks: tuple[Any, ...]
    silent: bool
    """Whether all its contents are empty."""

    def ids(self, kind: str, field: str) -> tuple[str, ...]:
        found = (block for block in self.blocks if at(block, "type") == kind)
        return tuple(text_at(block, field) for block in found)


def _find_broken_turns(messages: list[Any], thinking: bool) -> Iterator[Violation]:
    """Check the turns; `thinking` is whether the request enables it with a budget."""
    turns = list(_turns(messages))
    steps = [
        Step(turn.position, turn.ids("tool_use", "id"), turn.ids("tool_result", "tool_use_id"))
        for turn in turns
    ]
    yield from find_unpaired(steps, _PAIRS)
    for turn in turns:
        yield from _empty(turn, turn is turns[-1])
        results = turn.ids("tool_result", "tool_use_id")
        if results and at(turn.blocks[0], "type") != "tool_result":
            problem = f"other content precedes the result of {results[0]!r}"
            yield Violation("order", turn.position, problem, _RESULTS_FIRST)
    yield from _server_results(turns)
    if thinking:
        yield from _thoughtless(turns)


def _turns(messages: list[Any]) -> Iterator[_Turn]:
    conversation = [pair for pair in enumerate(messages) if not directive_only(pair[1])]
    for role, run in itertools.groupby(conversation, key=lambda pair: at(pair[1], "role")):
        members = list(run)
        blocks = [block for _, message in members for block in blocks_of(at(message, "content"))]
        silent = not any(_says_something(at(message, "content")) for _, message in members)
        yield _Turn(members[0][0], role, tuple(blocks), silent)


def _says_something(content: Any) -> bool:
    blocks = blocks_of(content)
    return any(
        text_at(block, "type") != "text" or text_at(block, "text").strip() for block in blocks
    )


def _empty(turn: _Turn, last: bool) -> Iterator[Violation]:
    """Check for an empty turn: only a reply in the last place may be empty."""
    # Of the turn, not of each message: one may be empty if another of its turn is not.
    if turn.silent and not (last and turn.role == "assistant"):
        yield Violation("empty_content", turn.position, f"the {turn.role} message is empty", _EMPTY)


def _server_results(turns: Sequence[_Turn]) -> Iterator[Violation]:
    """Check that results of server tools follow their calls, in the same or an earlier reply."""
    calls: set[str] = set()
    for turn in turns:
        for block in turn.blocks if turn.role == "assistant" else ():
            kind = text_at(block, "type")
            # `tool_use` itself does not end so: its result comes from the user.
            if kind.endswith("_tool_use"):
                calls.add(text_at(block, "id"))
            elif kind.endswith("_tool_result") and text_at(block, "tool_use_id") not in calls:
                problem = f"a {kind} of {at(block, 'tool_use_id')!r} follows no call of that id"
                yield Violation("orphaned_result", turn.position, problem, _SERVER)


def _thoughtless(turns: Sequence[_Turn]) -> Iterator[Violation]:
    """Check that the reply whose calls are being answered starts with its thinking."""
    if len(turns) < 2 or not turns[-1].ids("tool_result", "tool_use_id"):  # noqa: PLR2004  a pair
        return
    # For thinking, the replies and results since the last user message are a single turn.
    asking = turns[-2]
    for turn in reversed(turns[:-1]):
        if turn.role == "assistant":
            asking = turn
        elif not turn.ids("tool_result", "tool_use_id"):
            break
    if asking.blocks and at(asking.blocks[0], "type") not in ("thinking", "redacted_thinking"):
        problem = (
            "thinking is enabled, but the reply with the calls does not start with a thinking block"
        )
        yield Violation("thinking", asking.position, problem, _THOUGHTLESS)
