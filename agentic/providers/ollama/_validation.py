"""Explain why an Ollama server would reject the structure of a request, or read it wrongly.

The server itself checks only types. That calls and results belong together is what its models'
templates expect: they write a result after the call that it answers, by its tool's name.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers.kit import Step, Violation, at, find_unpaired, items_at, plain, text_at

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_CHAT = "https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion"
_PAIRS = "https://github.com/ollama/ollama/issues/11417"
# "cannot unmarshal array into Go struct field ChatRequest.messages.content of type string"
_CONTENT = "https://github.com/ollama/ollama/issues/10255"
# "cannot unmarshal string into Go struct field ... of type api.ToolCallFunctionArguments"
_ARGUMENTS = "https://github.com/ollama/ollama/issues/12794"
# A URL is refused, too.
_IMAGES = "https://github.com/BerriAI/litellm/issues/30313"
_PARAMETERS = "https://github.com/ollama/ollama/issues/10328"
_ROLES = ("system", "user", "assistant", "tool")


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Return the reasons why the server would reject the request's structure, if any.

    >>> [found.rule for found in validate({"messages": [{"role": "tool", "content": "text"}]})]
    ['orphaned_result']
    """
    body = plain(request)
    messages = items_at(body, "messages")
    violations = [] if messages else [_violation("first_message", None, "there is no message")]
    for position, message in enumerate(messages):
        violations += _message(position, message)
    violations += find_unpaired(_steps(messages), _PAIRS)
    return violations + list(_tools(body))


def _violation(rule: str, position: int | None, problem: str, source: str = _CHAT) -> Violation:
    return Violation(rule, position, problem, source)


def _message(position: int, message: Any) -> Iterator[Violation]:
    role, content = text_at(message, "role"), at(message, "content")
    if role not in _ROLES:
        yield _violation("role", position, f"{role!r} is none of {', '.join(_ROLES)}")
    if not isinstance(content, str | None):
        kind = type(content).__name__
        yield _violation("part", position, f"the content is a {kind}, not a text", _CONTENT)
    # A tool may return nothing.
    says = content or at(message, "images") or at(message, "tool_calls") or role == "tool"
    if not (says or at(message, "thinking")):
        yield _violation("empty_content", position, f"the {role} says nothing")
    for image in items_at(message, "images"):
        if not _is_base64(image):
            yield _violation("media", position, "an image is not base64", _IMAGES)
    for call in items_at(message, "tool_calls"):
        yield from _call(position, call)


def _call(position: int, call: Any) -> Iterator[Violation]:
    if not text_at(call, "function", "name"):
        yield _violation("name", position, "a call names no tool")
    arguments = at(call, "function", "arguments")
    if not isinstance(arguments, dict):
        kind = type(arguments).__name__
        problem = f"the arguments are a {kind}, not an object"
        yield _violation("arguments", position, problem, _ARGUMENTS)


def _is_base64(image: Any) -> bool:
    try:
        base64.b64decode(image, validate=True)
    except (TypeError, ValueError):
        return False
    return isinstance(image, str)


def _steps(messages: list[Any]) -> list[Step]:
    """Return the turns of calls and results; without an id, tool and position tell them apart."""
    steps: list[Step] = []
    waiting: list[tuple[str, str]] = []
    """The calls of the latest turn that have no result yet, each with its tool."""
    before = ""
    for position, message in enumerate(messages):
        role = text_at(message, "role")
        # A message holds one result; replies in a row count as one turn, too.
        same = bool(steps) and role == before and role in ("assistant", "tool")
        calls = items_at(message, "tool_calls")
        asked = [
            (text_at(call, "id") or f"without an id, number {n}", text_at(call, "function", "name"))
            for n, call in enumerate(calls, 1)
        ]
        ids_of_results = [_answered(message, waiting)] if role == "tool" else []
        if role != "tool":
            waiting = [*(waiting if same else ()), *asked]
        last = steps.pop() if same else Step(position)
        ids = (*last.calls, *(call_id for call_id, _ in asked))
        steps.append(Step(last.position, ids, (*last.results, *ids_of_results)))
        before = role
    return steps


def _answered(result: Any, waiting: list[tuple[str, str]]) -> str:
    """Return the id of the call that a result answers, which then waits no longer."""
    call_id, tool = text_at(result, "tool_call_id"), text_at(result, "tool_name")
    fitting = [
        call for call in waiting if call_id in ("", call[0]) and (call_id or tool == call[1])
    ]
    if not fitting:
        return call_id
    waiting.remove(fitting[0])
    return fitting[0][0]


def _tools(body: Any) -> Iterator[Violation]:
    for tool in items_at(body, "tools"):
        if not text_at(tool, "function", "name"):
            yield _violation("name", None, "a tool has no name")
        if not isinstance(at(tool, "function", "parameters"), dict | None):
            problem = "the parameters of a tool are not an object"
            yield _violation("tools", None, problem, _PARAMETERS)
