"""The rules that a single input item is held to: its role, its parts, its ids and names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.providers._plain import at, items_at, text_at
from agentic.providers._violation import Violation
from agentic.providers.openai_responses._wire._calls import MAX_ID_CHARS, TOOL_NAMES
from agentic.providers.openai_responses._wire._items import ANSWERS, type_of

__all__ = ["check_item", "check_tools", "is_openais"]

_ROLES = {"user", "assistant", "system", "developer"}
# https://github.com/openai/openai-python/issues/2677 quotes the refusal of a tool's role.
_ROLE_SOURCE = "https://github.com/openai/openai-python/issues/2677"
_CONTENT_SOURCE = "https://github.com/QuantumNous/new-api/issues/4776"
_CHAT_SOURCE = "https://github.com/MervinPraison/PraisonAI/issues/3934"
_PARTS_SOURCE = "https://github.com/tinyhumansai/openhuman/issues/3624"
_CALL_ID_SOURCE = "https://github.com/AnswerDotAI/fastllm/issues/45"
_EMPTY_ID_SOURCE = "https://github.com/earendil-works/pi/issues/2917"
_LONG_ID_SOURCE = "https://github.com/can1357/oh-my-pi/issues/284"
_PREFIX_SOURCE = "https://github.com/BigPizzaV3/CodexPlusPlus/issues/1796"
_NAME_SOURCE = "https://github.com/langchain-ai/deepagents/pull/5953"
_SUMMARY_SOURCE = "https://github.com/newo-ether/Agora/issues/141"
_ARGUMENTS_SOURCE = "https://github.com/torad-labs/splice/pull/50"
_OUTPUT_SOURCE = "https://platform.openai.com/docs/api-reference/responses/create"

_OUTPUT_PARTS = {"output_text", "refusal"}
_INPUT_PARTS = {"input_text", "input_image", "input_file", "input_audio"}
_CHAT_PARTS = {"text", "image_url"}
_OPENAI = re.compile(r"(gpt-(?!oss)|o\d|codex|chatgpt)")
_PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc"}


def check_item(position: int, item: Any, model: str) -> Iterator[Violation]:
    """Say what is wrong with an item by itself.

    >>> [found.rule for found in check_item(0, {"role": "tool", "content": "text"}, "gpt-5")]
    ['role']
    """
    kind = type_of(item)
    if kind == "message":
        yield from _message(position, item)
    if kind in ANSWERS or kind in ANSWERS.values():
        yield from _call_id(position, item)
    if kind == "function_call":
        yield from _function(position, item)
    if kind == "function_call_output" and not isinstance(at(item, "output"), str | list):
        yield Violation("empty_content", position, "the output is missing", _OUTPUT_SOURCE)
    if kind == "reasoning" and not isinstance(at(item, "summary"), list):
        problem = "a reasoning item has no list `summary`"
        yield Violation("thinking", position, problem, _SUMMARY_SOURCE)
    if is_openais(model):
        yield from _item_id(position, item, kind)


def is_openais(model: str) -> bool:
    """Tell one of OpenAI's own models by its name; their weights (gpt-oss) run elsewhere."""
    return _OPENAI.match(model) is not None


def check_tools(tools: Any) -> Iterator[Violation]:
    """Say which functions have a name that is refused."""
    for tool in items_at(tools):
        name = at(tool, "name")
        if at(tool, "type") == "function" and not TOOL_NAMES.accept(name):
            problem = f"the name {name!r} of a tool is refused"
            yield Violation("name", None, problem, _NAME_SOURCE)


def _message(position: int, item: Mapping[str, Any]) -> Iterator[Violation]:
    role, content = at(item, "role"), at(item, "content")
    if not isinstance(role, str) or role not in _ROLES:
        yield Violation("role", position, f"the role {role!r} is none of this API", _ROLE_SOURCE)
        return
    if not isinstance(content, str | list):
        yield Violation("empty_content", position, "the message has no content", _CONTENT_SOURCE)
    refused = _INPUT_PARTS if role == "assistant" else _OUTPUT_PARTS
    for kind in (text_at(part, "type") for part in items_at(content)):
        if kind in _CHAT_PARTS:
            problem = f"a part of type {kind!r} is one of chat completions"
            yield Violation("part", position, problem, _CHAT_SOURCE)
        if kind in refused:
            problem = f"a part of type {kind!r} is in a message of the role {role!r}"
            yield Violation("role", position, problem, _PARTS_SOURCE)


def _call_id(position: int, item: Mapping[str, Any]) -> Iterator[Violation]:
    call_id = at(item, "call_id")
    if not isinstance(call_id, str) and type_of(item) == "function_call":
        yield Violation("id", position, "a function call has no call id", _OUTPUT_SOURCE)
    elif call_id == "":
        yield Violation("id", position, "the call id is empty", _EMPTY_ID_SOURCE)
    elif isinstance(call_id, str) and len(call_id) > MAX_ID_CHARS:
        problem = f"the call id {call_id!r} is longer than {MAX_ID_CHARS} characters"
        yield Violation("id", position, problem, _CALL_ID_SOURCE)


def _function(position: int, item: Mapping[str, Any]) -> Iterator[Violation]:
    if not isinstance(at(item, "arguments"), str):
        problem = "the arguments of a function call are no text"
        yield Violation("arguments", position, problem, _ARGUMENTS_SOURCE)
    if not TOOL_NAMES.accept(at(item, "name")):
        problem = f"the name {at(item, 'name')!r} of a called function is refused"
        yield Violation("name", position, problem, _NAME_SOURCE)


def _item_id(position: int, item: Any, kind: str) -> Iterator[Violation]:
    """Check an id as OpenAI does; other servers of this API name items as they please."""
    named = text_at(item, "id")
    prefix = _PREFIXES.get(kind, "")
    if named and not named.startswith(prefix):
        problem = f"the id {named!r} of a {kind} does not begin with {prefix!r}"
        yield Violation("id", position, problem, _PREFIX_SOURCE)
    if len(named) > MAX_ID_CHARS:
        problem = f"the id {named[:20]!r}... is longer than {MAX_ID_CHARS} characters"
        yield Violation("id", position, problem, _LONG_ID_SOURCE)
