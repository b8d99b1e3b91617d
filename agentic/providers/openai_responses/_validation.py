"""Explain why a server of the Responses API would reject a request's structure.

OpenAI pairs calls and outputs by their ids, at any position; DeepSeek requires them to be adjacent.
With `previous_response_id`, `conversation`, `prompt` or an item reference, the other half of a pair
may be stored on the server, so pairs are not checked. It is also not checked whether an item lacks
the reasoning that it depends on: such an item cannot be distinguished from one that was produced
without reasoning.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from agentic.providers.kit import Violation, at, items_at, plain, text_at
from agentic.providers.openai_responses._decoding import ANSWERS as _ANSWERS
from agentic.providers.openai_responses._decoding import (
    answered_id,
    call_id_of,
    is_async,
    is_openais,
    is_unsealed,
    item_role,
    own_id,
    shell_ids,
    tool_call,
    type_of,
)
from agentic.providers.openai_responses._encoding import MAX_ID_CHARS as _MAX_ID_CHARS
from agentic.providers.openai_responses._encoding import TOOL_NAMES

__all__: list[str] = []  # `validate` is listed by the adapter, which loads this module

_EMPTY_SOURCE = "https://github.com/decolua/9router/pull/419"
# "No tool output found for function call ..."
_UNANSWERED_SOURCE = "https://github.com/openai/codex/issues/620"
_ORPHAN_SOURCE = "https://github.com/continuedev/continue/issues/10092"
_DUPLICATE_SOURCE = "https://github.com/continuedev/continue/issues/10723"
# "Item with id 'rs_...' not found. Items are not persisted when `store` is set to false."
_UNSEALED_SOURCE = "https://github.com/vercel/ai/issues/7543"
_REASONING_SOURCE = "https://github.com/vercel/ai/issues/7099"
_RESPONSE = re.compile(r"rs_([0-9a-f]{16})[0-9a-f]{16,}")
"""A reasoning item's id. The group is the part that all ids of a response share (recorded)."""
_ORDER_SOURCE = "https://github.com/deepseek-ai/awesome-deepseek-integration/issues/740"
_ROLES = {"user", "assistant", "system", "developer"}
# The issue quotes the error for the role `tool`.
_ROLE_SOURCE = "https://github.com/openai/openai-python/issues/2677"
_CONTENT_SOURCE = "https://github.com/QuantumNous/new-api/issues/4776"
_CHAT_SOURCE = "https://github.com/MervinPraison/PraisonAI/issues/3934"
_PARTS_SOURCE = "https://github.com/tinyhumansai/openhuman/issues/3624"
_CALL_ID_SOURCE = "https://github.com/AnswerDotAI/fastllm/issues/45"
_EMPTY_ID_SOURCE = "https://github.com/earendil-works/pi/issues/2917"
_LONG_ID_SOURCE = "https://github.com/can1357/oh-my-pi/issues/284"
# The error: "Expected an ID that begins with 'fc'."
_PREFIX_SOURCE = "https://github.com/BigPizzaV3/CodexPlusPlus/issues/1796"
_NAME_SOURCE = "https://github.com/langchain-ai/deepagents/pull/5953"
_SUMMARY_SOURCE = "https://github.com/newo-ether/Agora/issues/141"
_ARGUMENTS_SOURCE = "https://github.com/torad-labs/splice/pull/50"
_OUTPUT_SOURCE = "https://platform.openai.com/docs/api-reference/responses/create"
_OUTPUT_PARTS = {"output_text", "refusal"}
_INPUT_PARTS = {"input_text", "input_image", "input_file", "input_audio"}
_CHAT_PARTS = {"text", "image_url"}
_PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc"}


def validate(request: Mapping[str, Any], /) -> list[Violation]:
    """Return the reasons why the provider would reject the request's structure, if any.

    >>> call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    >>> [found.rule for found in validate({"model": "gpt-5", "input": [call]})]
    ['unanswered_call']
    """
    body = plain(request)
    elsewhere = any(at(body, key) for key in ("previous_response_id", "conversation", "prompt"))
    items_given, model = at(body, "input"), text_at(body, "model")
    items = items_at(items_given)
    violations = list(_check_tools(at(body, "tools")))
    if not items_given and not elsewhere:
        problem = "there is no input, and no response or conversation to continue from"
        violations.append(Violation("first_message", None, problem, _EMPTY_SOURCE))
    violations += chain.from_iterable(_check_item(i, item, model) for i, item in enumerate(items))
    violations += [*_duplicates(items), *_thinking(items, openais=is_openais(model))]
    if at(body, "store") is False and is_openais(model):
        violations += _unsealed(items)
    if not elsewhere and not any(type_of(item) == "item_reference" for item in items):
        violations += _unpaired(items)
        # OpenAI accepts a pair at any distance.
        if "deepseek" in model.lower():
            violations += _order(items)
    return sorted(violations, key=lambda each: -1 if each.position is None else each.position)


def _duplicates(items: list[Any]) -> Iterator[Violation]:
    """Find ids that name two items, and call ids used again before their call was answered."""
    names_before: set[tuple[str, str]] = set()
    for position, item in enumerate(items):
        side = "call" if type_of(item) in _ANSWERS else "output"
        is_pair = side == "call" or type_of(item) in _ANSWERS.values()
        names = [("item", own_id(item))]
        names += [(side, call_id_of(item))] if is_pair else []
        for what, name in names:
            if name and (what, name) in names_before:
                problem = f"the id {name!r} is used by a second {what}"
                yield Violation("duplicate_id", position, problem, _DUPLICATE_SOURCE)
            names_before.add((what, name))
            # Once its call is answered, an id may come again in a later turn.
            if what == "call" and ("output", name) in names_before:
                names_before -= {("output", name)}
            elif what == "output":
                names_before -= {("call", name)}


def _thinking(items: list[Any], *, openais: bool) -> Iterator[Violation]:
    """Find reasoning without the item that followed it. OpenAI's reasoning ids begin with rs_."""
    product, after = None, None
    # Backwards, so that what follows a run of reasoning is found once.
    for position, item in reversed([*enumerate(items)]):
        own = text_at(item, "id")
        # The ids of one response share a prefix: reasoning directly before that of another response
        # has lost its item.
        is_alone = item_role(product) != "assistant" or _is_of_another(item, after)
        if type_of(item) != "reasoning":
            product = item
        elif is_alone and (own.startswith("rs_") or (openais and not own)):
            problem = f"the reasoning {own!r} is not followed by the item that it came with"
            yield Violation("thinking", position, problem, _REASONING_SOURCE)
        after = item


def _is_of_another(reasoning: Any, follower: Any) -> bool:
    """Return whether both items are reasoning, with ids from different responses."""
    ids = [_RESPONSE.match(text_at(item, "id")) for item in (reasoning, follower)]
    return all(ids) and len({pair[1] for pair in ids if pair}) > 1


def _unsealed(items: list[Any]) -> Iterator[Violation]:
    """Find reasoning that is neither stored nor encrypted in the request."""
    for position, item in enumerate(items):
        if is_unsealed(item):
            problem = f"store is false, and the reasoning {item['id']!r} has no encrypted content"
            yield Violation("thinking", position, problem, _UNSEALED_SOURCE)


def _unpaired(items: list[Any]) -> Iterator[Violation]:
    """Find outputs that follow no call, and calls that no output answers, wherever it is."""
    calls = {call.id for call in map(tool_call, items) if call}
    # The provider answers these calls itself: their outputs are not the caller's.
    on_server = {call_id_of(item) for item in items if type_of(item) in _ANSWERS} - calls - {""}
    shells = shell_ids(items)
    asked, results = set[str](), set[str]()
    for position, item in enumerate(items):
        call_id = answered_id(item, shells)
        if type_of(item) in _ANSWERS:
            asked.add(call_id)
        if item_role(item, on_server=on_server) == "tool" and call_id:
            results.add(call_id)
            if call_id not in asked:
                problem = f"the output for {call_id!r} follows no call of that id"
                yield Violation("orphaned_result", position, problem, _ORPHAN_SOURCE)
    for position, call in enumerate(map(tool_call, items)):
        # The output of an asynchronous call may come in a later request:
        # https://developers.openai.com/api/docs/guides/async-tool-calling (2026-11).
        if call and call.id and call.id not in results and not call.is_async:
            problem = f"the call {call.id!r} has no output"
            yield Violation("unanswered_call", position, problem, _UNANSWERED_SOURCE)


def _order(items: list[Any]) -> Iterator[Violation]:
    """Check that there are only calls and outputs between a call and its output."""
    waiting, shells = set[str](), shell_ids(items)
    for position, item in enumerate(items):
        kind, call_id = type_of(item), answered_id(item, shells)
        if kind in _ANSWERS:
            # The model has gone on without the output of an asynchronous call.
            if not is_async(item):
                waiting.add(call_id)
        elif kind in _ANSWERS.values():
            waiting.discard(call_id)
        elif waiting:
            problem = f"an item is between the calls {sorted(waiting)} and their outputs"
            yield Violation("order", position, problem, _ORDER_SOURCE)


def _check_item(position: int, item: Any, model: str) -> Iterator[Violation]:
    """Find violations in an item by itself.

    >>> [found.rule for found in _check_item(0, {"role": "tool", "content": "text"}, "gpt-5")]
    ['role']
    """
    kind = type_of(item)
    if kind == "message":
        yield from _message(position, item)
    if kind in _ANSWERS or kind in _ANSWERS.values():
        yield from _call_id(position, item)
    if kind == "function_call":
        yield from _function(position, item)
    if kind == "function_call_output" and not isinstance(at(item, "output"), str | list):
        yield Violation("empty_content", position, "the output is missing", _OUTPUT_SOURCE)
    if kind == "reasoning" and not isinstance(at(item, "summary"), list):
        problem = "a reasoning item has no list `summary`"
        yield Violation("thinking", position, problem, _SUMMARY_SOURCE)
    # Other servers of this API use ids of any form.
    if is_openais(model):
        yield from _item_id(position, item, kind)


def _check_tools(tools: Any) -> Iterator[Violation]:
    """Find functions with a name that is rejected."""
    for tool in items_at(tools):
        name = at(tool, "name")
        if at(tool, "type") == "function" and not TOOL_NAMES.accept(name):
            problem = f"the name {name!r} of a tool is refused"
            yield Violation("name", None, problem, _NAME_SOURCE)


def _message(position: int, item: Mapping[str, Any]) -> Iterator[Violation]:
    role, content = at(item, "role"), at(item, "content")
    if not isinstance(role, str) or role not in _ROLES:
        yield Violation(
            "role", position, f"the role {role!r} does not exist in this API", _ROLE_SOURCE
        )
        return
    if not isinstance(content, str | list):
        yield Violation("empty_content", position, "the message has no content", _CONTENT_SOURCE)
    wrong_parts = _INPUT_PARTS if role == "assistant" else _OUTPUT_PARTS
    for kind in (text_at(part, "type") for part in items_at(content)):
        if kind in _CHAT_PARTS:
            problem = f"a part of type {kind!r} belongs to Chat Completions"
            yield Violation("part", position, problem, _CHAT_SOURCE)
        if kind in wrong_parts:
            problem = f"a part of type {kind!r} is in a message of the role {role!r}"
            yield Violation("role", position, problem, _PARTS_SOURCE)


def _call_id(position: int, item: Mapping[str, Any]) -> Iterator[Violation]:
    call_id = at(item, "call_id")
    if not isinstance(call_id, str) and type_of(item) == "function_call":
        yield Violation("id", position, "a function call has no call id", _OUTPUT_SOURCE)
    elif call_id == "":
        yield Violation("id", position, "the call id is empty", _EMPTY_ID_SOURCE)
    elif isinstance(call_id, str) and len(call_id) > _MAX_ID_CHARS:
        problem = f"the call id {call_id!r} is longer than {_MAX_ID_CHARS} characters"
        yield Violation("id", position, problem, _CALL_ID_SOURCE)


def _function(position: int, item: Mapping[str, Any]) -> Iterator[Violation]:
    if not isinstance(at(item, "arguments"), str):
        problem = "the arguments of a function call are not text"
        yield Violation("arguments", position, problem, _ARGUMENTS_SOURCE)
    if not TOOL_NAMES.accept(at(item, "name")):
        problem = f"the name {at(item, 'name')!r} of a called function is refused"
        yield Violation("name", position, problem, _NAME_SOURCE)


def _item_id(position: int, item: Any, kind: str) -> Iterator[Violation]:
    """Check an item id by OpenAI's rules."""
    name = text_at(item, "id")
    prefix = _PREFIXES.get(kind, "")
    if name and not name.startswith(prefix):
        problem = f"the id {name!r} of a {kind} does not begin with {prefix!r}"
        yield Violation("id", position, problem, _PREFIX_SOURCE)
    if len(name) > _MAX_ID_CHARS:
        problem = f"the id {name[:20]!r}... is longer than {_MAX_ID_CHARS} characters"
        yield Violation("id", position, problem, _LONG_ID_SOURCE)
