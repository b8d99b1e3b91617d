"""Explain why Converse would reject a request's structure. Each rule names its source.

Rules of a model family are checked only if the request names its model in `modelId`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers.bedrock._decoding import as_json, is_blank
from agentic.providers.bedrock._encoding import (
    CALL_IDS,
    TOOL_NAMES,
    is_two_kinds,
    refuses_last_reply,
    refuses_two_kinds,
    says_before_results,
    wants_results_first,
)
from agentic.providers.kit import Step, Violation, at, find_unpaired, items_at, text_at

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_API = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_"
_ROLES = {"user", "assistant", "system"}
_BLANK_SOURCE = "https://github.com/NousResearch/hermes-agent/pull/67978"
_PAIRS = "https://github.com/NousResearch/hermes-agent/issues/108584"
_USERS = ("image", "document", "video")
# The underscore is not in the rule, but is accepted: https://github.com/vercel/ai/pull/20366
_DOCUMENT_NAME = re.compile(r"(?!.*\s\s)[a-zA-Z0-9\s()\[\]_-]{1,200}", re.DOTALL)


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Return the reasons why the provider would reject the request's structure, if any.

    The request is either the body of the HTTP call or the arguments for boto3.

    >>> [found.rule for found in validate({"messages": [{"role": "assistant", "content": []}]})]
    ['empty_content', 'first_message']
    """
    body = as_json(request)
    messages = items_at(body, "messages")
    return [
        *_contents(messages),
        *_first_message(body, messages),
        *_roles(messages),
        # It names the missing ids, counts the results, and rejects an id used twice in a turn:
        # https://github.com/langgenius/dify-official-plugins/issues/765
        # https://github.com/BerriAI/litellm/issues/20048
        *find_unpaired(map(_step, range(len(messages)), messages), _PAIRS),
        *_documents(messages),
        *_system(body),
        *_tools(body, messages),
        *_families(text_at(body, "modelId"), messages),
    ]


def _contents(messages: list[Any]) -> Iterator[Violation]:
    for position, message in enumerate(messages):
        blocks = items_at(message, "content")
        if not blocks:
            # "The content field in the Message object at messages.X is empty."
            source = "https://github.com/earendil-works/pi/pull/3443"
            yield Violation("empty_content", position, "the message has no blocks", source)
        for block in blocks:
            yield from _check_block(block, text_at(message, "role"), position)
        if blocks and all(map(is_blank, blocks)) and at(message, "role") == "user":
            problem = "the message has nothing but blank texts"
            yield Violation("empty_content", position, problem, _BLANK_SOURCE)
        if _documents_in(blocks) and all(at(block, "text") is None for block in blocks):
            source = "https://github.com/archestra-ai/archestra/pull/4220"
            yield Violation("media", position, "a document has no text next to it", source)


def _first_message(body: Any, messages: list[Any]) -> Iterator[Violation]:
    roles = [at(message, "role") for message in messages if at(message, "role") != "system"]
    # A request for one of the service's stored prompts has no `messages` at all.
    empty = isinstance(at(body, "messages"), list) and not roles
    if empty or (roles and roles[0] == "assistant"):
        source = "https://github.com/pydantic/pydantic-ai/issues/4495"
        position = 0 if messages else None
        yield Violation("first_message", position, "it does not begin with a user message", source)


def _roles(messages: list[Any]) -> Iterator[Violation]:
    before = None
    for position, message in enumerate(messages):
        role = at(message, "role")
        if not isinstance(role, str) or role not in _ROLES:
            problem = f"{role!r} is not a role"
            yield Violation("role", position, problem, f"{_API}Message.html")
        elif role == before == "assistant":
            source = "https://github.com/langchain-ai/langchain-aws/issues/130"
            yield Violation("alternation", position, "two assistant messages in a row", source)
        before = role


def _step(position: int, message: Any) -> Step:
    blocks = items_at(message, "content")
    if at(message, "role") == "assistant":
        calls = [at(block, "toolUse") for block in blocks]
        # The service answers its own tools' calls itself.
        own = [c for c in calls if isinstance(c, dict) and c.get("type") != "server_tool_use"]
        return Step(position, calls=tuple(text_at(call, "toolUseId") for call in own))
    results = [at(block, "toolResult") for block in blocks]
    answers = [result for result in results if isinstance(result, dict)]
    return Step(position, results=tuple(text_at(one, "toolUseId") for one in answers))


def _documents(messages: list[Any]) -> Iterator[Violation]:
    names = Counter(
        name
        for message in messages
        for block in items_at(message, "content")
        for name in _documents_in([block, *items_at(block, "toolResult", "content")])
    )
    for name, times in names.items():
        if times > 1:
            source = "https://github.com/maximhq/bifrost/issues/7003"
            yield Violation("media", None, f"{times} documents are named {name!r}", source)


def _documents_in(blocks: list[Any]) -> list[str]:
    documents = [block for block in blocks if isinstance(at(block, "document"), dict)]
    return [text_at(block, "document", "name") for block in documents]


def _system(body: Any) -> Iterator[Violation]:
    for block in items_at(body, "system"):
        if at(block, "text") == "":
            source = f"{_API}SystemContentBlock.html"
            yield Violation("empty_content", None, "a text of system is empty", source)


def _tools(body: Any, messages: list[Any]) -> Iterator[Violation]:
    tools = items_at(body, "toolConfig", "tools")
    blocks = [block for message in messages for block in items_at(message, "content")]
    if isinstance(at(body, "toolConfig"), dict) and not tools:
        source = "https://github.com/Portkey-AI/gateway/issues/1124"
        yield Violation("tools", None, "toolConfig has no tools", source)
    elif not tools and any(at(block, "toolUse") or at(block, "toolResult") for block in blocks):
        source = "https://github.com/strands-agents/harness-sdk/issues/998"
        problem = "there are calls or results, and toolConfig is missing"
        yield Violation("tools", None, problem, source)
    for tool in tools:
        name = at(tool, "toolSpec", "name")
        if isinstance(at(tool, "toolSpec"), dict) and not TOOL_NAMES.accept(name):
            problem = f"{name!r} is not a valid tool name"
            yield Violation("name", None, problem, f"{_API}ToolSpecification.html")


def _families(model: str, messages: list[Any]) -> Iterator[Violation]:
    if refuses_last_reply(model) and at(messages, -1, "role") == "assistant":
        source = "https://github.com/anomalyco/opencode/issues/29760"
        problem = f"{model} cannot continue a reply: the last message must be the user's"
        yield Violation("prefill", len(messages) - 1, problem, source)
    for position, message in enumerate(messages):
        if refuses_two_kinds(model) and is_two_kinds(message):
            # The same for calls: https://github.com/quarkiverse/quarkus-langchain4j/issues/1983
            source = "https://github.com/strands-agents/harness-sdk/issues/1223"
            problem = "text is next to calls or results, which this model refuses in one turn"
            yield Violation("part", position, problem, source)
        if wants_results_first(model) and says_before_results(message):
            source = "https://github.com/nulib/dc-api-v2/pull/296"
            problem = "a result is not at the start of its message"
            yield Violation("order", position, problem, source)


def _check_block(block: Any, role: str, position: int) -> Iterator[Violation]:
    """Find violations in a block of a message with the given role."""
    if at(block, "text") == "":
        source = "https://github.com/earendil-works/pi/issues/4975"
        yield Violation("empty_content", position, "a text is empty", source)
    # Of a user, only a message of nothing but blank texts is refused: see `_contents`.
    elif role == "assistant" and is_blank(block):
        yield Violation("empty_content", position, "a text is blank", _BLANK_SOURCE)
    if isinstance(at(block, "toolUse"), dict):
        yield from _call(block["toolUse"], role, position)
    if isinstance(at(block, "toolResult"), dict):
        yield from _result(block["toolResult"], position)
    if role == "assistant" and any(at(block, kind) for kind in _USERS):
        problem = "only a user message may contain images, documents and videos"
        yield Violation("media", position, problem, f"{_API}Message.html")
    if role == "user" and isinstance(at(block, "reasoningContent"), dict):
        source = "https://github.com/vercel/ai/issues/7034"
        yield Violation("thinking", position, "a user message contains reasoning", source)
    yield from _document(block, position)


def _call(call: dict[str, Any], role: str, position: int) -> Iterator[Violation]:
    source = f"{_API}ToolUseBlock.html"
    name, call_id = text_at(call, "name"), text_at(call, "toolUseId")
    if role != "assistant":
        yield Violation("role", position, f"a {role} message contains the call {call_id!r}", source)
    if not CALL_IDS.accept(call_id):
        yield Violation("id", position, f"{call_id!r} is not a valid call id", source)
    if not TOOL_NAMES.accept(name):
        yield Violation("name", position, f"{name!r} is not a valid tool name", source)
    if not isinstance(call.get("input"), dict):
        problem = f"the input of {call_id!r} is not an object"
        yield Violation("arguments", position, problem, "https://github.com/vercel/ai/pull/19023")


def _result(result: dict[str, Any], position: int) -> Iterator[Violation]:
    call_id = text_at(result, "toolUseId")
    if not CALL_IDS.accept(call_id):
        source = f"{_API}ToolResultBlock.html"
        yield Violation("id", position, f"{call_id!r} is not a valid call id", source)
    for part in items_at(result, "content"):
        if isinstance(part, dict) and "json" in part and not isinstance(part["json"], dict):
            source = "https://github.com/sigoden/aichat/issues/1542"
            problem = f"the JSON of the result of {call_id!r} is not an object"
            yield Violation("arguments", position, problem, source)
        yield from _document(part, position)


def _document(block: Any, position: int) -> Iterator[Violation]:
    if isinstance(at(block, "document"), dict):
        name = text_at(block, "document", "name")
        if not _DOCUMENT_NAME.fullmatch(name):
            source = "https://github.com/anomalyco/opencode/issues/19964"
            yield Violation("media", position, f"{name!r} is not a valid document name", source)
