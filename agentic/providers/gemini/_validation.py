"""Explain why Google would reject the structure of a request's conversation.

The rules are the same for AI Studio and Vertex AI, so only what both reject is a violation: a
content that mixes results with other parts is rejected by Vertex AI alone
(https://github.com/Prism-Shadow/agenthub/pull/189). Rules of only some models are checked if the
request names its model.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.providers.gemini._decoding import (
    contents_of,
    field,
    has_field,
    list_of,
    parts_of,
    text_of,
)
from agentic.providers.gemini._encoding import SIGNING, TOOL_NAMES, WITHOUT_PREFILL
from agentic.providers.kit import Violation, plain

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_CONTENT = "https://ai.google.dev/api/caching#Content"
# "Please ensure that function call turn comes immediately after a user turn or after a function
# response turn.", also for a conversation that begins with a call.
_ORDER = "https://github.com/google-gemini/gemini-cli/issues/11814"
_NUMBER = "https://github.com/google-gemini/gemini-cli/issues/16415"
_RESPONSE_ORDER = "https://github.com/langchain-ai/langchain/issues/27799"
_SINGLE = "https://github.com/microsoft/semantic-kernel/pull/13288"
_SIGNED = "https://ai.google.dev/gemini-api/docs/thought-signatures"
_LAST = "https://ai.google.dev/gemini-api/docs/generate-content/whats-new-gemini-3.6"
_NAME = "https://ai.google.dev/api/caching#FunctionDeclaration"
_ROLES = {"", "user", "model", "function"}
"""A missing role means the user; `function` is an older name of that role, for results."""
_KINDS = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)

_PART = "https://ai.google.dev/api/caching#Part"
_ONE_KIND = "https://github.com/googleapis/nodejs-agentplatform/issues/494"
_CALL = "https://ai.google.dev/api/caching#FunctionCall"
_RESPONSE = "https://ai.google.dev/api/caching#FunctionResponse"


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Return the reasons why the provider would reject the request's structure, if any.

    The request is either a REST body or the arguments for the SDK's method.

    >>> [found.rule for found in validate({"contents": []})]
    ['first_message']
    """
    data = plain(request)
    contents = contents_of(field(data, "contents"))
    turns = [_CheckedContent.read(position, content) for position, content in enumerate(contents)]
    violations = [
        *_content_violations(turns),
        *_call_violations(turns),
        *_result_violations(turns),
        *_model_violations(turns, text_of(data, "model")),
        *_tool_violations(data),
    ]
    return sorted(
        violations, key=lambda violation: (violation.position is None, violation.position)
    )


@attrs.frozen
class _CheckedContent:
    """One content, with the data that the rules need."""

    position: int
    role: str
    parts: list[Any]
    calls: list[Any]
    """The parts that are calls."""
    results: int
    """The number of parts that are results."""

    @classmethod
    def read(cls, position: int, content: Any) -> "_CheckedContent":
        parts = parts_of(content)
        calls = [part for part in parts if has_field(part, "functionCall")]
        results = sum(has_field(part, "functionResponse") for part in parts)
        return cls(position, text_of(content, "role"), parts, calls, results)


def _content_violations(turns: list[_CheckedContent]) -> Iterator[Violation]:
    if not turns:
        yield Violation("first_message", None, "there are no contents", _CONTENT)
    for turn in turns:
        if turn.role not in _ROLES:
            problem = f"the role {turn.role!r} is neither user nor model"
            yield Violation("role", turn.position, problem, _CONTENT)
        if not turn.parts:
            problem = f"the content of the {turn.role or 'user'} has no parts"
            yield Violation("empty_content", turn.position, problem, _CONTENT)
        yield from _part_violations(turn.position, turn.parts)
    # A longer conversation may begin with a model turn, and roles need not alternate.
    if len(turns) == 1 and turns[0].role == "model":
        yield Violation("first_message", 0, "the only content is a model turn", _SINGLE)


def _call_violations(turns: list[_CheckedContent]) -> Iterator[Violation]:
    """Check what precedes each turn with calls, and that results for all calls follow it."""
    for turn, answers in zip(turns, _count_answers(turns), strict=True):
        if not turn.calls:
            continue
        if turn.position == 0:
            yield Violation("first_message", 0, "the conversation begins with a call", _ORDER)
        elif turns[turn.position - 1].role == "model":
            problem = "a call follows a model turn, not a user turn or a result"
            yield Violation("order", turn.position, problem, _ORDER)
        # By number, as Google's error counts them: the ids of calls are optional.
        missing = len(turn.calls) - answers
        if missing > 0:
            problem = f"{missing} of {len(turn.calls)} calls have no result right after them"
            yield Violation("unanswered_call", turn.position, problem, _NUMBER)


def _count_answers(turns: list[_CheckedContent]) -> list[int]:
    """Return, for each turn, the number of results in the contents directly after it."""
    # Backwards, in one pass: counted for each call anew, a long request took seconds.
    counts: list[int] = []
    following = 0
    for turn in reversed(turns):
        counts.append(following)
        following = following + turn.results if turn.results else 0
    return counts[::-1]


def _result_violations(turns: list[_CheckedContent]) -> Iterator[Violation]:
    open_calls = 0
    for turn in turns:
        if turn.results > open_calls:
            extra = turn.results - open_calls
            problem = f"{extra} of {turn.results} results follow no call"
            yield Violation("orphaned_result", turn.position, problem, _RESPONSE_ORDER)
        # Only the contents directly after a call may answer it.
        open_calls = max(0, open_calls - turn.results) if turn.results else 0
        open_calls += len(turn.calls)


def _model_violations(turns: list[_CheckedContent], model: str) -> Iterator[Violation]:
    """Check the rules that only some models have."""
    if SIGNING.search(model):
        for turn in turns[_current_turn(turns) :]:
            # Of parallel calls, the model signs only the first one.
            if turn.calls and not text_of(turn.calls[0], "thoughtSignature"):
                problem = "the first call of a step of the current turn has no thought signature"
                yield Violation("thinking", turn.position, problem, _SIGNED)
    if WITHOUT_PREFILL.search(model) and turns and turns[-1].role == "model":
        problem = "the last content is a model turn"
        yield Violation("prefill", turns[-1].position, problem, _LAST)


def _current_turn(turns: list[_CheckedContent]) -> int:
    """Return the index of the latest user content that has more than results."""
    users = (turn for turn in reversed(turns) if turn.role != "model")
    return next((turn.position for turn in users if turn.results < len(turn.parts)), 0)


def _tool_violations(request: Any) -> Iterator[Violation]:
    for tool in list_of(request, "tools"):
        for declaration in list_of(tool, "functionDeclarations"):
            name = text_of(declaration, "name")
            if not TOOL_NAMES.accept(name):
                problem = f"{name!r} is not a valid function name"
                yield Violation("name", None, problem, _NAME)


def _part_violations(position: int, parts: list[Any]) -> Iterator[Violation]:
    """Check each part of the content at a position."""
    for part in parts:
        if not part:
            yield Violation("empty_content", position, "a part is empty", _PART)
        kinds = [kind for kind in _KINDS if has_field(part, kind)]
        if len(kinds) > 1:
            problem = f"one part is {' and '.join(kinds)}"
            yield Violation("part", position, problem, _ONE_KIND)
        yield from _function_violations(position, part)


def _function_violations(position: int, part: Any) -> Iterator[Violation]:
    kinds = (("functionCall", "args", _CALL), ("functionResponse", "response", _RESPONSE))
    for kind, holder, source in kinds:
        function = field(part, kind)
        if function is None:
            continue
        if not text_of(function, "name"):
            yield Violation("name", position, f"a {kind} has no name", source)
        value = field(function, holder)
        if value is not None and not isinstance(value, Mapping):
            problem = f"the {holder} of {text_of(function, 'name')!r} is not a JSON object"
            yield Violation("arguments", position, problem, source)
