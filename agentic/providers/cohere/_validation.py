"""Explain why Cohere would reject the structure of a request's conversation or tools."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers.cohere._messages import TOOL_NAMES
from agentic.providers.kit import Step, Violation, at, find_unpaired, items_at, plain, text_at
from agentic.providers.kit._json import parse_object

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_REFERENCE = "https://docs.cohere.com/reference/chat"
_PAIRS = "https://github.com/oracle/langchain-oracle/issues/10"
_EMPTY = "https://github.com/kwaroran/Risuai/issues/458"
_BAD_NAME = "https://github.com/lobehub/lobehub/pull/4216"
_ROLES = {"system", "user", "assistant", "tool"}


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Return the reasons why the provider would reject the request's structure, if any.

    >>> [found.rule for found in validate({"messages": [{"role": "tool", "content": "text"}]})]
    ['orphaned_result']
    """
    body = plain(request)
    messages = items_at(body, "messages")
    violations = [] if messages else [_violation("first_message", None, "there is no message")]
    for position, message in enumerate(messages):
        violations += _message(position, message)
    return violations + _unpaired(messages) + list(_tools(at(body, "tools")))


def _violation(
    rule: str, position: int | None, problem: str, source: str = _REFERENCE
) -> Violation:
    return Violation(rule, position, problem, source)


def _message(position: int, message: Any) -> Iterator[Violation]:
    role = text_at(message, "role")
    if role not in _ROLES:
        yield _violation("role", position, f"{role!r} is none of {', '.join(sorted(_ROLES))}")
    calls = items_at(message, "tool_calls")
    content = at(message, "content")
    # A tool may return nothing, so that its text is empty.
    empty = content in (None, []) if role == "tool" else not content
    if empty and not (role == "assistant" and calls):
        yield _violation("empty_content", position, f"the {role} says nothing", _EMPTY)
    if role != "user" and any(at(part, "image_url") for part in items_at(message, "content")):
        yield _violation("media", position, f"an image in a message of role {role}")
    for call in calls:
        yield from _call(position, call)


def _call(position: int, call: Any) -> Iterator[Violation]:
    if not text_at(call, "id"):
        yield _violation("id", position, "a call has no id")
    name = at(call, "function", "name")
    if not TOOL_NAMES.accept(name):
        yield _violation("name", position, f"{name!r} is not a valid name of a tool", _BAD_NAME)
    arguments = at(call, "function", "arguments")
    if not isinstance(arguments, str) or parse_object(arguments) is None:
        yield _violation("arguments", position, f"the arguments of {name!r} are not a JSON object")


def _unpaired(messages: list[Any]) -> list[Violation]:
    """Find calls that the messages right after them do not answer, and results without a call."""
    steps: list[Step] = []
    for position, message in enumerate(messages):
        calls = tuple(text_at(call, "id") for call in items_at(message, "tool_calls"))
        results = (text_at(message, "tool_call_id"),) if text_at(message, "role") == "tool" else ()
        # A message holds one result, so that all in a row answer the message before them.
        if results and steps and steps[-1].results:
            steps[-1] = Step(steps[-1].position, results=steps[-1].results + results)
        else:
            steps.append(Step(position, calls, results))
    return find_unpaired(steps, _PAIRS)


def _tools(tools: Any) -> Iterator[Violation]:
    for tool in items_at(tools):
        name = at(tool, "function", "name")
        if not TOOL_NAMES.accept(name):
            yield _violation("name", None, f"{name!r} is not a valid name of a tool", _BAD_NAME)
