"""Encode whole requests: a conversation in a form that the provider accepts, whatever it is.

A conversation that grows is recognized by its messages, and only what is new is converted.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import (
    Message,
    RecentConversations,
    close_open_rounds,
    count_settled,
    split_rounds,
)
from agentic.providers.kit import (
    RecordRole,
    items_at,
    place_record,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._messages import ensure_user_message, join_runs, merge_replies
from agentic.providers.kit._templates import fit_template
from agentic.providers.openai_chat._decoding import MESSAGES, NAME, decode_message, legacy_of
from agentic.providers.openai_chat._encoding import (
    encode_placed,
    encode_tools,
    is_call_id,
    sendable_payload,
    with_objects_on_the_wire,
)
from agentic.providers.openai_chat._servers import GO_ON, ServerRules, fit_server, rules_for
from agentic.tokens import TokenCache, approx_token_counter
from agentic.tools import ToolDefinition

_TEXTS = {"content", "reasoning_content", "reasoning", "reasoning_text", "refusal"}


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    model: str = "",
    server: str | None = None,
    strict_roles: bool | None = None,
    record_role: RecordRole = "user",
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results and empty messages are left out. Assistant messages
    whose calls are answered together are merged. A summary is a message of the `record_role`.
    `server` is one of those whose rules `validate` knows; if it is None, the model's name decides.
    Without either, only what all servers share is seen to. For a model whose chat template is known
    to demand it, or if `strict_roles` is true, the request has one system message at the most, at
    its start, and the other roles alternate.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["messages"][0]
    {'role': 'system', 'content': 'Be brief.'}
    """
    rules = _rules(server, model)
    placed = place_record(messages, record_role)
    request = _request(_items(placed), placed, system_prompt, tools, rules)
    return fit_template(request, model, strict_roles=strict_roles)


@attrs.define(eq=False)
class _Settled:
    """The start of a conversation, which no later message can change, and its items."""

    messages: list[Message] = attrs.field(factory=list)
    items: list[dict[str, Any]] = attrs.field(factory=list)
    call_ids: set[str] = attrs.field(factory=set)


@attrs.define(eq=False)
class GrowingRequests:
    """Encodes the requests of one decider: of the latest few conversations, only what is new.

    The items of two requests are the same objects, so whoever sends them must not change them.

    >>> growing, history = GrowingRequests(), [Message("user", "Hello.")]
    >>> growing.encode(history)["messages"][0] is growing.encode(history)["messages"][0]
    True
    """

    _recent: RecentConversations[_Settled] = attrs.field(factory=RecentConversations, init=False)
    _sizes: TokenCache = attrs.field(factory=lambda: TokenCache(approx_token_counter), init=False)
    _lock: Any = attrs.field(factory=threading.Lock, init=False)

    def encode(
        self,
        messages: Sequence[Message],
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        model: str = "",
        server: str | None = None,
        strict_roles: bool | None = None,
        record_role: RecordRole = "user",
    ) -> dict[str, Any]:
        """Return what `encode_request` returns."""
        rules = _rules(server, model)
        placed = place_record(messages, record_role)
        with self._lock:
            items = self._items_of(placed)
        request = _request(items, placed, system_prompt, tools, rules)
        return fit_template(request, model, strict_roles=strict_roles)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return an estimate of the size of a conversation, in tokens."""
        with self._lock:
            return self._sizes.sizes(list(messages)).total

    def _items_of(self, messages: list[Message]) -> list[dict[str, Any]]:
        known = self._recent.find(messages)
        settled = known or _Settled()
        start = len(settled.messages)
        ids = [call.id for message in messages[start:] for call in message.tool_calls]
        is_sound = len(set(ids)) == len(ids) and all(map(is_call_id, ids))
        if not (is_sound and settled.call_ids.isdisjoint(ids)):
            # An id has to be made up, which depends on all others.
            return _items(messages)
        end = count_settled(messages, split_rounds(messages, start))
        new = messages[start:end]
        # Before anything is noted: messages noted without items would be left out ever after.
        settled.items += _items(new)
        settled.messages += new
        settled.call_ids.update(call.id for message in new for call in message.tool_calls)
        if known is None and new:
            self._recent.add(settled)
        return [*settled.items, *_items(messages[end:])]


def _items(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the items for a conversation, or for rounds that belong together."""
    # Results have to follow the message that made the calls (see `validate`), so the calls of two
    # messages cannot both be answered after the second one.
    closed = join_runs(close_open_rounds(list(messages), answer_async=True), _join)
    items: list[dict[str, Any]] = replace_surrogates(encode_placed(closed))
    return [_with_objects(each) for each in items if not _says_nothing(each)]


def _with_objects(wire: Any) -> Any:
    """Return the item with the text of an object as the arguments of each call."""
    calls = text_at(wire, "role") == "assistant" and ("tool_calls" in wire or legacy_of(wire))
    return with_objects_on_the_wire(wire) if calls else wire


def _rules(server: str | None, model: str) -> ServerRules:
    # Of a request for nobody in particular, nothing is changed.
    return rules_for("lax" if server is None and not model else server, model)


def _request(
    items: list[dict[str, Any]],
    messages: Sequence[Message],
    system_prompt: str,
    tools: Sequence[ToolDefinition],
    rules: ServerRules,
) -> dict[str, Any]:
    """Return a request with these items, which are completed in place."""
    ensure_user_message(items, messages, NAME, GO_ON)
    if system_prompt:
        items.insert(0, {"role": "system", "content": replace_surrogates(system_prompt)})
    items = fit_server(items, rules)
    return {"messages": items, **({"tools": encode_tools(tools)} if tools else {})}


def _join(replies: Sequence[Message]) -> list[Message]:
    """Return the assistant messages of a round as one, from their payloads if that is possible."""
    payloads = [sendable_payload(reply) for reply in replies]
    ids = [call.id for reply in replies for call in reply.tool_calls]
    # A call in the form of 2023 has no place in a list of calls.
    listed = all(
        isinstance(each, dict) and legacy_of(each) is None and MESSAGES not in each
        for each in payloads
    )
    if listed and len(set(ids)) == len(ids):
        return [decode_message(_join_payloads(payloads))]
    return [merge_replies(replies)]


def _join_payloads(payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join payloads: texts and lists are joined; of any other field the first value is kept."""
    joined: dict[str, Any] = {}
    for payload in payloads:
        for key, value in payload.items():
            before = joined.get(key)
            # The first value that says something: of an id, a time or a model there is only one.
            if not before:
                joined[key] = value
            # A text beside a list of parts becomes a part.
            elif isinstance(before, list) or isinstance(value, list):
                joined[key] = [*_parts(before), *_parts(value)]
            elif key in _TEXTS and value:
                joined[key] = f"{before}\n\n{value}"
    return joined


def _parts(value: Any) -> list[Any]:
    if isinstance(value, str) and value:
        return [{"type": "text", "text": value}]
    return items_at(value)


def _says_nothing(wire: Any) -> bool:
    """Return whether a reply is empty: null content without calls is rejected in a request."""
    empty = isinstance(wire, dict) and not any(
        value for key, value in wire.items() if key != "role"
    )
    return empty and wire.get("role") == "assistant" and wire.get("content") is None
