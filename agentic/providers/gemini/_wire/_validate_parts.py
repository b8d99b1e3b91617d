"""Why Google would refuse one part of a content."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers._violation import Violation
from agentic.providers.gemini._wire._fields import field, has_field, text_of

__all__ = ["part_violations"]

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


def part_violations(position: int, parts: list[Any]) -> Iterator[Violation]:
    """Check each part of the content at a position."""
    for part in parts:
        if not part:
            yield Violation("empty_content", position, "a part holds nothing", _PART)
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
            problem = f"the {holder} of {text_of(function, 'name')!r} is no JSON object"
            yield Violation("arguments", position, problem, source)
