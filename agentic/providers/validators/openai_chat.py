"""Explain why OpenAI would reject the structure of a request's conversation or tools.

Other servers accept a few things that OpenAI rejects (empty lists of calls and of tools), so these
rules do not apply to a model that, by its name, is another provider's. Mistral rejects more; its
own models are recognized by their names. Moonshot requires the reasoning to be sent back if
thinking is enabled.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from agentic.errors import ConfigError
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.openai_chat._decoding import custom_of
from agentic.providers.openai_chat._encoding import MAX_ID_CHARS as _MAX_ID_CHARS
from agentic.providers.openai_chat._encoding import TOOL_NAMES
from agentic.providers.validators import Step, Violation, find_unpaired

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_REFERENCE = "https://platform.openai.com/docs/api-reference/chat/create"
# "An assistant message with 'tool_calls' must be followed by tool messages ..."
_PAIRS = "https://github.com/BerriAI/litellm/issues/10083"
_TOO_LONG = "https://github.com/camel-ai/camel/issues/2215"
_BAD_NAME = "https://github.com/mcp-use/mcp-use/pull/94"
_NULL_CONTENT = "https://github.com/run-llama/llama_index/issues/17555"
_NO_CALLS = "https://github.com/openai/openai-python/issues/2061"
# "Image URLs are only allowed for messages with role 'user'"
_IMAGES = "https://github.com/openai/openai-node/issues/1030"
# "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."
_MISTRAL_IDS = "https://github.com/anomalyco/opencode/issues/1680"
_MISTRAL_ORDER = "https://github.com/mistralai/mistral-common/issues/169"
# The error: "Expected last role User or Tool (or Assistant with prefix True)".
_MISTRAL_LAST = "https://github.com/0xPlaygrounds/rig/pull/1130"
_KIMI_THINKING = "https://github.com/cloudwego/eino-ext/issues/700"
_DIALECTS = ("openai", "mistral", "lax", None)
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_OPENAI_MODEL = re.compile(r"(ft:)?(gpt-?\d|o\d|chatgpt|codex|computer-use)")

_MISTRAL_MODEL = re.compile(
    r"(mistral/)?(open-)?(mistral|mixtral|ministral|codestral|magistral|pixtral|devstral)-[a-z\d.-]+"
)
"""The names on Mistral's own server. With another prefix or a tag, a model is served elsewhere."""

_KIMI_MODEL = re.compile(r"(moonshot(ai)?/)?kimi-.+")
# "A max of 128 functions are supported": `tools` in the reference.
_MAX_TOOLS = 128


def validate(
    request: Mapping[str, Any], /, *, dialect: Literal["openai", "mistral", "lax"] | None = None
) -> list[Violation]:
    """Return the reasons why the provider would reject the request's structure, if any.

    If `dialect` is None, the model's name decides whose rules apply: OpenAI's (also if there is no
    name), Mistral's, or only those that all servers share (`lax`).

    >>> [found.rule for found in validate({"messages": [{"role": "tool", "content": "text"}]})]
    ['orphaned_result']

    Raises:
        ConfigError: there is no such dialect.
    """
    if dialect not in _DIALECTS:
        allowed = "'openai', 'mistral', 'lax' or None"
        raise ConfigError("dialect", dialect, allowed, "leave it out: the model's name decides")
    body = plain(request)
    messages = items_at(body, "messages")
    found = [] if messages else [_violation("first_message", None, "there is no message")]
    model = text_at(body, "model")
    dialect = dialect or _dialect(model)
    for position, message in enumerate(messages):
        found += _message(position, message)
        # Google's endpoint, for one, sends empty ids and accepts them back:
        # https://github.com/openai/openai-dotnet/issues/428
        if dialect != "lax":
            # A router, which has names such as `vendor/name`, accepts longer ids than OpenAI.
            found += _ids(position, message, longest=None if "/" in model else _MAX_ID_CHARS)
    found += find_unpaired(_steps(messages), _PAIRS)
    found += _tools(at(body, "tools"))
    if dialect == "mistral":
        found += _mistral(messages)
    if dialect == "openai":
        found += _empty_lists(messages, at(body, "tools"))
    return found + list(_kimi(body))


def _dialect(model: str) -> Literal["openai", "mistral", "lax"]:
    if _MISTRAL_MODEL.fullmatch(model):
        return "mistral"
    # A router puts the vendor before the name.
    is_of_openai = not model or _OPENAI_MODEL.match(model.rpartition("/")[2])
    return "openai" if is_of_openai else "lax"


def _empty_lists(messages: list[Any], tools: Any) -> Iterator[Violation]:
    for position, message in enumerate(messages):
        if at(message, "tool_calls") == []:
            yield _violation("empty_content", position, "tool_calls is an empty list", _NO_CALLS)
    if tools == []:
        yield _violation("tools", None, "tools is an empty list")


def _violation(
    rule: str, position: int | None, problem: str, source: str = _REFERENCE
) -> Violation:
    return Violation(rule, position, problem, source)


def _message(position: int, message: Any) -> Iterator[Violation]:
    role = text_at(message, "role")
    if role not in _ROLES:
        yield _violation("role", position, f"{role!r} is not one of {', '.join(sorted(_ROLES))}")
    content = at(message, "content")
    # A call, a refusal and speech are said without content.
    speaks = any(at(message, key) for key in ("tool_calls", "function_call", "refusal", "audio"))
    if content in (None, []) and not (role == "assistant" and speaks):
        yield _violation("empty_content", position, f"the {role} message is empty", _NULL_CONTENT)
    if role != "user" and any(at(part, "image_url") for part in items_at(message, "content")):
        yield _violation("media", position, f"an image in a message of role {role}", _IMAGES)
    for call in items_at(message, "tool_calls"):
        yield from _call(position, call)


def _ids(position: int, message: Any, *, longest: int | None) -> Iterator[Violation]:
    """Check the ids of calls, which may have any length if `longest` is None."""
    for call in items_at(message, "tool_calls"):
        call_id = text_at(call, "id")
        if not call_id:
            yield _violation("id", position, "a call has no id")
        elif longest and len(call_id) > longest:
            problem = f"the id {call_id!r} has more than {longest} characters"
            yield _violation("id", position, problem, _TOO_LONG)


def _call(position: int, call: Any) -> Iterator[Violation]:
    function = at(call, "function")
    if not isinstance(function, dict) or custom_of(call) is not None:
        return
    if not TOOL_NAMES.accept(text_at(function, "name")):
        problem = f"{text_at(function, 'name')!r} is not a valid function name"
        yield _violation("name", position, problem, _BAD_NAME)
    if not isinstance(function.get("arguments"), str):
        problem = f"the arguments of {text_at(call, 'id')!r} are not text"
        yield _violation("arguments", position, problem)


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


def _mistral(messages: list[Any]) -> Iterator[Violation]:
    before = ""
    for position, message in enumerate(messages):
        role = text_at(message, "role")
        if before == "tool" and role not in {"tool", "assistant"}:
            problem = f"a {role} message follows a tool message"
            yield _violation("order", position, problem, _MISTRAL_ORDER)
        for call in items_at(message, "tool_calls"):
            if not _MISTRAL_ID.fullmatch(text_at(call, "id")):
                problem = f"the id {text_at(call, 'id')!r} is not of 9 letters and digits"
                yield _violation("id", position, problem, _MISTRAL_IDS)
        before = role
    if before == "assistant" and not at(messages, -1, "prefix"):
        problem = "the last message is an assistant message that is not marked as a prefix"
        yield _violation("prefill", len(messages) - 1, problem, _MISTRAL_LAST)


def _kimi(body: Any) -> Iterator[Violation]:
    """Find calls without their reasoning in a request that explicitly enables thinking."""
    asked = text_at(body, "thinking", "type") == "enabled"
    if not (asked and _KIMI_MODEL.fullmatch(text_at(body, "model"))):
        return
    for position, message in enumerate(items_at(body, "messages")):
        if items_at(message, "tool_calls") and at(message, "reasoning_content") is None:
            problem = "thinking is enabled, and a message with calls has no reasoning_content"
            yield _violation("thinking", position, problem, _KIMI_THINKING)
