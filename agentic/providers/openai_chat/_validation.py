"""Explain why a server would reject the structure of a request's conversation or tools.

What each server demands beyond what all of them share is in one table, by which requests are also
written: `agentic.providers.openai_chat._decider`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers.kit import Step, Violation, at, find_unpaired, items_at, plain, text_at
from agentic.providers.kit._json import parse_object
from agentic.providers.openai_chat import _decider as _servers
from agentic.providers.openai_chat._decider import ServerRules, rules_for
from agentic.providers.openai_chat._wire import TOOL_NAMES, custom_of

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_REFERENCE = "https://platform.openai.com/docs/api-reference/chat/create"
# "An assistant message with 'tool_calls' must be followed by tool messages ..."
_PAIRS = "https://github.com/BerriAI/litellm/issues/10083"
_BAD_NAME = "https://github.com/mcp-use/mcp-use/pull/94"
_NULL_CONTENT = "https://github.com/run-llama/llama_index/issues/17555"
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
# "A max of 128 functions are supported": `tools` in the reference.
_MAX_TOOLS = 128


def validate(request: Mapping[str, Any], /, *, server: str | None = None) -> list[Violation]:
    """Return the reasons why the provider would reject the request's structure, if any.

    If `server` is None, the model's name decides whose rules apply: OpenAI's if there is no name,
    and only those that all servers share (`lax`) if it is not known who serves the model. The
    others are mistral, deepseek, moonshot, zai, qwen (the template of Qwen 3.5 and later), vllm,
    sglang, llama.cpp, lmstudio, xai and openrouter.

    >>> [found.rule for found in validate({"messages": [{"role": "tool", "content": "text"}]})]
    ['orphaned_result']

    Raises:
        ConfigError: there is no such server.
    """
    body = plain(request)
    rules = rules_for(server, text_at(body, "model"))
    messages = items_at(body, "messages")
    violations = [] if messages else [_violation("first_message", None, "there is no message")]
    for position, message in enumerate(messages):
        violations += _message(position, message, rules)
        if rules.ids is not None:
            violations += _ids(position, message, rules.ids)
    violations += find_unpaired(_steps(messages), _PAIRS)
    violations += _tools(at(body, "tools"))
    violations += _order(messages, rules)
    if not rules.system_anywhere:
        violations += _system(messages)
    if rules.needs_user and messages:
        violations += _user(messages)
    if not rules.empty_lists:
        violations += _empty_lists(messages, at(body, "tools"))
    if rules.reasoning_with_calls and text_at(body, "thinking", "type") == "enabled":
        violations += _thoughtless(messages)
    return violations


def _empty_lists(messages: list[Any], tools: Any) -> Iterator[Violation]:
    for position, message in enumerate(messages):
        if at(message, "tool_calls") == []:
            yield _violation(
                "empty_content", position, "tool_calls is an empty list", _servers.OPENAI_EMPTY
            )
    if tools == []:
        yield _violation("tools", None, "tools is an empty list")


def _violation(
    rule: str, position: int | None, problem: str, source: str = _REFERENCE
) -> Violation:
    return Violation(rule, position, problem, source)


def _message(position: int, message: Any, rules: ServerRules) -> Iterator[Violation]:
    role = text_at(message, "role")
    if role not in _ROLES:
        yield _violation("role", position, f"{role!r} is not one of {', '.join(sorted(_ROLES))}")
    content = at(message, "content")
    # A call, a refusal and speech are said without content.
    speaks = any(at(message, key) for key in ("tool_calls", "function_call", "refusal", "audio"))
    if content in (None, []) and not (role == "assistant" and speaks):
        yield _violation("empty_content", position, f"the {role} message is empty", _NULL_CONTENT)
    # Other servers make images themselves, and get them back.
    may_show = role == "user" or (role == "assistant" and rules.reply_images)
    if not may_show and any(at(part, "image_url") for part in items_at(message, "content")):
        yield _violation(
            "media", position, f"an image in a message of role {role}", _servers.OPENAI_IMAGES
        )
    for call in items_at(message, "tool_calls"):
        yield from _call(position, call, rules)


def _ids(position: int, message: Any, pattern: re.Pattern[str]) -> Iterator[Violation]:
    for call in items_at(message, "tool_calls"):
        call_id = text_at(call, "id")
        if not call_id:
            yield _violation("id", position, "a call has no id")
        elif not pattern.fullmatch(call_id):
            is_long = pattern is not _servers.SERVERS["mistral"].ids
            demand = "has more than 40 characters" if is_long else "is not of 9 letters and digits"
            source = _servers.OPENAI_IDS if is_long else _servers.MISTRAL_IDS
            yield _violation("id", position, f"the id {call_id!r} {demand}", source)


def _call(position: int, call: Any, rules: ServerRules) -> Iterator[Violation]:
    function = at(call, "function")
    if not isinstance(function, dict) or custom_of(call) is not None:
        return
    if not TOOL_NAMES.accept(text_at(function, "name")):
        problem = f"{text_at(function, 'name')!r} is not a valid function name"
        yield _violation("name", position, problem, _BAD_NAME)
    if not isinstance(function.get("arguments"), str):
        problem = f"the arguments of {text_at(call, 'id')!r} are not text"
        yield _violation("arguments", position, problem)
    elif rules.parses_arguments and parse_object(function["arguments"] or "?") is None:
        problem = f"the arguments of {text_at(call, 'id')!r} are not a JSON object"
        yield _violation("arguments", position, problem, _servers.VLLM_ARGUMENTS)


def _steps(messages: list[Any]) -> Iterator[Step]:
    """Yield the messages as steps; consecutive results are one step."""
    # By neighbors: an id of an earlier round may be used again. OpenAI's models go on after one in
    # https://github.com/sierra-research/tau-bench (historical_trajectories).
    answers: list[str] = []
    for position, message in enumerate(messages):
        role = text_at(message, "role")
        if role == "tool":
            answers.append(text_at(message, "tool_call_id"))
            continue
        if answers:
            yield Step(position - len(answers), results=tuple(answers))
            answers = []
        calls = items_at(message, "tool_calls") if role == "assistant" else []
        yield Step(position, calls=tuple(text_at(call, "id") for call in calls))
    yield Step(len(messages) - len(answers), results=tuple(answers))


def _tools(tools: Any) -> Iterator[Violation]:
    if isinstance(tools, list) and len(tools) > _MAX_TOOLS:
        yield _violation("tools", None, f"{len(tools)} tools, but only {_MAX_TOOLS} are allowed")
    for tool in items_at(tools):
        function = at(tool, "function")
        if isinstance(function, dict) and not TOOL_NAMES.accept(text_at(function, "name")):
            problem = f"{text_at(function, 'name')!r} is not a valid tool name"
            yield _violation("name", None, problem, _BAD_NAME)


def _order(messages: list[Any], rules: ServerRules) -> Iterator[Violation]:
    before: Any = None
    for position, message in enumerate(messages):
        role, last = text_at(message, "role"), text_at(before, "role")
        if not rules.user_after_tool and last == "tool" and role not in {"tool", "assistant"}:
            problem = f"a {role} message follows a tool message"
            yield _violation("order", position, problem, _servers.MISTRAL_ORDER)
        if not rules.last_reply and role == last == "assistant":
            problem = "two assistant messages in a row"
            yield _violation("alternation", position, problem, _servers.MISTRAL_ORDER)
        before = message
    is_reply = text_at(before, "role") == "assistant" and not at(before, "prefix")
    if is_reply and not rules.last_reply:
        problem = "the last message is an assistant message that is not marked as a prefix"
        yield _violation("prefill", len(messages) - 1, problem, _servers.MISTRAL_LAST)


def _system(messages: list[Any]) -> Iterator[Violation]:
    for position, message in enumerate(messages):
        if position and text_at(message, "role") in {"system", "developer"}:
            problem = "a system message that is not the first message"
            yield _violation("order", position, problem, _servers.QWEN_SYSTEM)


def _user(messages: list[Any]) -> Iterator[Violation]:
    if not any(text_at(message, "role") == "user" for message in messages):
        yield _violation("first_message", None, "no message is the user's", _servers.QWEN_USER)


def _thoughtless(messages: list[Any]) -> Iterator[Violation]:
    """Find calls without their reasoning; the request enables thinking."""
    for position, message in enumerate(messages):
        if items_at(message, "tool_calls") and at(message, "reasoning_content") is None:
            problem = "thinking is enabled, and a message with calls has no reasoning_content"
            yield _violation("thinking", position, problem, _servers.KIMI_REASONING)
