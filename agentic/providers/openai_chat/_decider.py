"""A decider that calls a model through the Chat Completions API, of OpenAI or another server.

What each server of Chat Completions demands beyond what all of them share is in a table.

A server is told by the `model` and, in a Decider, by the address that its client calls. A model's
template is a server here, too: the one of Qwen decides the same at vLLM, SGLang, llama.cpp and
LM Studio. How templates count roles is in `kit._templates`, which Ollama shares.

What is added to a conversation follows from the messages before it alone, never from those behind:
an addition that was part of one request is part of the next, so that requests only grow. An answer
is preceded by what the request that it answers ended with. So a reply that directly follows another
one was made by a request that ended with `GO_ON`.

None of these rules was tried against a server: each names the page or the thread that says so.

A whole request is encoded in a form that the provider accepts, whatever the conversation is.

A conversation that grows is recognized by its messages, and only what is new is converted.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from agentic.errors import ConfigError
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.messages import Message, close_open_rounds, split_rounds
from agentic.messages._rounds import count_settled
from agentic.messages._timeline import RecentConversations
from agentic.providers._bound_requests import BoundRequests
from agentic.providers._model import ModelDecider
from agentic.providers._registry import BEGINNINGS, ELSEWHERE
from agentic.providers.kit import (
    Adapter,
    RequestForm,
    Sdk,
    at,
    items_at,
    place_record,
    plain,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._adapter import HttpApi, ModelOffer, validator_in
from agentic.providers.kit._json import has_object
from agentic.providers.kit._messages import (
    ensure_user_message,
    insert_user_message,
    join_runs,
    merge_replies,
)
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.kit._templates import fit_template, with_one_system
from agentic.providers.openai_chat._replies import (
    STOP_WORDS,
    StreamedResponse,
    decode_response,
    failure_in,
    stop_reason,
    usage,
)
from agentic.providers.openai_chat._wire import (
    BOUND_FIELDS,
    MESSAGES,
    NAME,
    TOOL_NAMES,
    IncrementalDecoder,
    decode,
    decode_message,
    decode_request,
    encode,
    encode_placed,
    encode_tools,
    is_call_id,
    legacy_of,
    sendable_payload,
    with_objects_on_the_wire,
)
from agentic.providers.overflow import is_context_overflow
from agentic.tokens import approx_token_counter
from agentic.tokens._count import TokenCache
from agentic.tools import ToolDefinition
from agentic.usage import StopReason

GO_ON = "Go on."
"""A neutral request, where a server demands a message of the user."""
UNDERSTOOD = "Understood."
"""A neutral reply, where a server demands a message of the model."""
_ANY_ID = re.compile(r".+", re.DOTALL)
_ID_CHARS = 9
"""The length of an id that is made for a server."""


@attrs.frozen(kw_only=True)
class ServerRules:
    """What one server refuses. By default it refuses only what all servers do."""

    ids: re.Pattern[str] | None = None
    """What the whole id of a call has to match."""
    user_after_tool: bool = True
    """Whether a message of the user or of the system may follow a tool's directly."""
    last_reply: bool = True
    """Whether the last message may be a reply, and a reply follow another one."""
    system_anywhere: bool = True
    """Whether there may be several system messages, and others than the first message."""
    reply_images: bool = True
    """Whether a reply may hold images."""
    empty_lists: bool = True
    """Whether a list of calls or of tools may be empty."""
    needs_user: bool = False
    """Whether at least one message has to be the user's. (For others, `encode_request` sees to it
    as well, unless a caller's list had none.)"""
    reasoning_with_calls: bool = False
    """Whether a reply with calls needs the field `reasoning_content`, which may be empty."""
    parses_arguments: bool = False
    """Whether the arguments of a call have to be the text of a JSON object."""
    sources: tuple[str, ...] = ()
    """The pages and threads with the rules."""


# "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."
MISTRAL_IDS = "https://github.com/anomalyco/opencode/issues/1680"
# "Unexpected role 'user' after role 'tool'" (2025-12).
MISTRAL_ORDER = "https://github.com/datapizza-labs/datapizza-ai/issues/98"
# The error: "Expected last role User or Tool (or Assistant with prefix True)".
MISTRAL_LAST = "https://github.com/0xPlaygrounds/rig/pull/1130"
# "System message must be at the beginning." (2026-04, Qwen 3.5 and 3.6).
QWEN_SYSTEM = "https://github.com/vllm-project/vllm/issues/41114"
# "No user query found in messages." (2026-03).
QWEN_USER = "https://github.com/vllm-project/vllm/issues/36432"
# "messages 参数非法", code 1214, if no message is the user's (tried there on 2026-08-23).
GLM_USER = "https://github.com/diegosouzapw/OmniRoute/pull/11209"
# The error of Moonshot, and that an empty text is accepted (2026-04).
KIMI_REASONING = "https://github.com/openclaw/openclaw/pull/74846"
# The guide of DeepSeek, and that an empty text is accepted (2026-05).
DEEPSEEK_REASONING = "https://github.com/sluisr/deepseek-cli/releases/tag/1.1.1"
# The history is parsed, and refused for one call whose arguments are no JSON.
VLLM_ARGUMENTS = "https://github.com/vllm-project/vllm/issues/43995"
LLAMA_ARGUMENTS = "https://github.com/ggml-org/llama.cpp/issues/25510"
# "Image URLs are only allowed for messages with role 'user'".
OPENAI_IMAGES = "https://github.com/openai/openai-node/issues/1030"
OPENAI_IDS = "https://github.com/camel-ai/camel/issues/2215"
OPENAI_EMPTY = "https://github.com/openai/openai-python/issues/2061"

_LOCAL = ServerRules(
    needs_user=True, parses_arguments=True, sources=(VLLM_ARGUMENTS, LLAMA_ARGUMENTS, QWEN_USER)
)
SERVERS: Mapping[str, ServerRules] = MappingProxyType(
    {
        "openai": ServerRules(
            ids=re.compile(r".{1,40}", re.DOTALL),
            reply_images=False,
            empty_lists=False,
            sources=(OPENAI_IDS, OPENAI_IMAGES, OPENAI_EMPTY),
        ),
        "mistral": ServerRules(
            ids=re.compile(r"[a-zA-Z0-9]{9}"),
            user_after_tool=False,
            last_reply=False,
            reply_images=False,
            sources=(MISTRAL_IDS, MISTRAL_ORDER, MISTRAL_LAST),
        ),
        "deepseek": ServerRules(reasoning_with_calls=True, sources=(DEEPSEEK_REASONING,)),
        "moonshot": ServerRules(reasoning_with_calls=True, sources=(KIMI_REASONING,)),
        "zai": ServerRules(needs_user=True, sources=(GLM_USER,)),
        # The template of Qwen 3.5 and later, whichever server of the four has it.
        "qwen": attrs.evolve(_LOCAL, system_anywhere=False, sources=(*_LOCAL.sources, QWEN_SYSTEM)),
        "vllm": _LOCAL,
        "sglang": _LOCAL,
        "llama.cpp": _LOCAL,
        "lmstudio": _LOCAL,
        # "Message role order: no restriction" (https://docs.x.ai/docs/guides/chat, 2026-11).
        "xai": ServerRules(),
        # A router accepts longer ids than OpenAI, and passes on what a model's server refuses.
        "openrouter": ServerRules(),
        "lax": ServerRules(),
    }
)
"""The rules, by the name of the server. `lax` is any other."""

_HOSTS = {
    "api.openai.com": "openai",
    "api.mistral.ai": "mistral",
    "api.deepseek.com": "deepseek",
    "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot",
    "api.z.ai": "zai",
    "open.bigmodel.cn": "zai",
    "api.x.ai": "xai",
    "openrouter.ai": "openrouter",
}
_MODELS = {
    # The names on Mistral's own server. With another prefix or a tag, a model is served elsewhere.
    "mistral": re.compile(
        r"(mistral/)?(open-)?"
        r"(mistral|mixtral|ministral|codestral|magistral|pixtral|devstral)-[a-z\d.-]+"
    ),
    "moonshot": re.compile(r"(moonshot(ai)?/)?kimi-.+"),
    "deepseek": re.compile(r"(deepseek/)?deepseek-.+"),
    "zai": re.compile(r"(z-?ai/)?glm-.+"),
    "xai": re.compile(r"(x-?ai/)?grok-.+"),
    # Also `Qwen/Qwen3.6-27B`, `qwen3.5:9b` and the names of files.
    "qwen": re.compile(r"(.*/)?qwen-?(3\.[5-9]|[4-9]).*", re.IGNORECASE),
    # A router puts the vendor before the name.
    "openai": re.compile(r"(.*/)?(ft:)?(gpt-?\d|o\d|chatgpt|codex|computer-use).*"),
}


def server_of(model: str, base_url: str = "") -> str:
    """Return the name of the server of a model; `openai` if there is neither a name nor a URL.

    >>> server_of("mistral-large-latest"), server_of("Qwen/Qwen3.6-27B"), server_of("llama3.3")
    ('mistral', 'qwen', 'lax')
    >>> server_of("my-model", "https://api.deepseek.com/v1"), server_of("")
    ('deepseek', 'openai')
    """
    by_host = _HOSTS.get(urlsplit(base_url).hostname or "")
    if by_host == "openrouter":
        # It passes on what the vendor's own server refuses
        # (https://github.com/zed-industries/zed/issues/37021).
        vendors = _by_name(model.rpartition("/")[2])
        return vendors if vendors in {"mistral", "moonshot", "deepseek", "zai"} else by_host
    return by_host or _by_name(model) or ("lax" if model else "openai")


def _by_name(model: str) -> str | None:
    return next((name for name, names in _MODELS.items() if names.fullmatch(model)), None)


def rules_for(server: str | None, model: str) -> ServerRules:
    """Return the rules of a server; if it is None, of that of the model.

    Raises:
        ConfigError: there is no such server.
    """
    name = server_of(model) if server is None else server
    if name not in SERVERS:
        choice = f"one of {', '.join(SERVERS)}, or None"
        raise ConfigError("server", server, choice, "leave it out: the model's name decides")
    rules = SERVERS[name]
    # A router accepts longer ids than OpenAI.
    is_routed = name == "openai" and "/" in model
    return attrs.evolve(rules, ids=_ANY_ID) if is_routed else rules


def fit_server(items: Sequence[Any], rules: ServerRules) -> list[Any]:
    """Return a request's messages as a server accepts them; the items passed in are not changed."""
    result = list(items)
    if rules.ids is not None:
        result = [_with_ids(item, rules.ids) for item in result]
    if not rules.reply_images:
        result = [_without_images(item) for item in result]
    if not rules.empty_lists:
        result = [_without_empty_calls(item) for item in result]
    if rules.reasoning_with_calls:
        result = [_with_reasoning(item) for item in result]
    if not rules.system_anywhere:
        result = with_one_system(result)
    if rules.needs_user:
        insert_user_message(result, GO_ON)
    return list(_in_order(result, rules))


def _in_order(items: Iterable[Any], rules: ServerRules) -> Iterator[Any]:
    """Put a neutral message between two that may not follow each other, and behind a reply."""
    before: Any = None
    for item in items:
        role = text_at(item, "role")
        if text_at(before, "role") == "tool" and role not in {"tool", "assistant"}:
            if not rules.user_after_tool:
                yield {"role": "assistant", "content": UNDERSTOOD}
        elif role == "assistant" and _ends_turn(before) and not rules.last_reply:
            yield {"role": "user", "content": GO_ON}
        yield item
        before = item
    if _ends_turn(before) and not rules.last_reply:
        yield {"role": "user", "content": GO_ON}


def _ends_turn(item: Any) -> bool:
    """Return whether this is a reply without calls which the model is not meant to continue."""
    if text_at(item, "role") != "assistant" or at(item, "prefix"):
        return False
    return not items_at(item, "tool_calls") and at(item, "function_call") is None


def _with_ids(item: Any, pattern: re.Pattern[str]) -> Any:
    if text_at(item, "role") == "tool" and text_at(item, "tool_call_id"):
        call_id = _id(text_at(item, "tool_call_id"), pattern)
        return item if call_id == item["tool_call_id"] else {**item, "tool_call_id": call_id}
    calls = items_at(item, "tool_calls")
    ids = [text_at(call, "id") for call in calls]
    if all(not each or pattern.fullmatch(each) for each in ids):
        return item
    result = [
        {**call, "id": _id(each, pattern)} if each else call
        for call, each in zip(calls, ids, strict=True)
    ]
    return {**item, "tool_calls": result}


def _id(call_id: str, pattern: re.Pattern[str]) -> str:
    """Return the id to send: the same for a call, its result and every later request."""
    if pattern.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_CHARS]


def _without_images(item: Any) -> Any:
    """Return a reply with a note in the place of each image."""
    parts = items_at(item, "content")
    if text_at(item, "role") == "user" or not any(at(part, "image_url") for part in parts):
        return item
    note = {"type": "text", "text": "[an image]"}
    return {**item, "content": [note if at(part, "image_url") else part for part in parts]}


def _without_empty_calls(item: Any) -> Any:
    if at(item, "tool_calls") != []:
        return item
    return {key: value for key, value in item.items() if key != "tool_calls"}


def _with_reasoning(item: Any) -> Any:
    """Return a reply with calls with its reasoning, of which an empty text is accepted."""
    has_calls = text_at(item, "role") == "assistant" and items_at(item, "tool_calls")
    if not has_calls or at(item, "reasoning_content") is not None:
        return item
    return {**item, "reasoning_content": text_at(item, "reasoning")}


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
    history = place_record(messages, record_role)
    request = _request(_items(history), history, system_prompt, tools, rules)
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
        history = place_record(messages, record_role)
        with self._lock:
            items = self._items_of(history)
        request = _request(items, history, system_prompt, tools, rules)
        return fit_template(request, model, strict_roles=strict_roles)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return an estimate of the size of a conversation, in tokens."""
        with self._lock:
            return self._sizes.sizes(list(messages)).total

    def _items_of(self, messages: list[Message]) -> list[dict[str, Any]]:
        entry = self._recent.find(messages)
        state = entry or _Settled()
        start = len(state.messages)
        ids = [call.id for message in messages[start:] for call in message.tool_calls]
        is_sound = len(set(ids)) == len(ids) and all(map(is_call_id, ids))
        if not (is_sound and state.call_ids.isdisjoint(ids)):
            # An id has to be made up, which depends on all others.
            return _items(messages)
        end = count_settled(messages, split_rounds(messages, start))
        new = messages[start:end]
        # Before anything is noted: messages noted without items would be left out ever after.
        state.items += _items(new)
        state.messages += new
        state.call_ids.update(call.id for message in new for call in message.tool_calls)
        if entry is None and new:
            self._recent.add(state)
        return [*state.items, *_items(messages[end:])]


def _items(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the items for a conversation, or for rounds that belong together."""
    # Results have to follow the message that made the calls (see `validate`), so the calls of two
    # messages cannot both be answered after the second one.
    history = join_runs(close_open_rounds(list(messages), answer_async=True), _join)
    items: list[dict[str, Any]] = replace_surrogates(encode_placed(history))
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
    are_lists = all(
        isinstance(each, dict) and legacy_of(each) is None and MESSAGES not in each
        for each in payloads
    )
    if are_lists and len(set(ids)) == len(ids):
        return [decode_message(_join_payloads(payloads))]
    return [merge_replies(replies)]


def _join_payloads(payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join payloads: texts and lists are joined; of any other field the first value is kept."""
    result: dict[str, Any] = {}
    for payload in payloads:
        for key, value in payload.items():
            before = result.get(key)
            # The first value that says something: of an id, a time or a model there is only one.
            if not before:
                result[key] = value
            # A text beside a list of parts becomes a part.
            elif isinstance(before, list) or isinstance(value, list):
                result[key] = [*_parts(before), *_parts(value)]
            elif key in _TEXTS and value:
                result[key] = f"{before}\n\n{value}"
    return result


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


if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OURS = {"tools", "stream", "stream_options"}
"""Options that are not passed on unchanged."""
_SIGNED = {"reasoning_details", "thinking_blocks", "reasoning_opaque"}
_OWN_FIELDS = "provider_specific_fields"


@attrs.frozen
class Decider(ModelDecider):
    """Calls one model with the official SDK's `chat.completions.create`."""

    _provider = NAME
    # LiteLLM, which may be the client, calls AWS and Google by their packages.
    _sdks = frozenset({"boto3", "botocore", "google", "openai"})
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    _stream_type = StreamedResponse
    client: "AsyncOpenAI" = attrs.field(repr=False)
    """`AsyncOpenAI`, `AsyncAzureOpenAI` or a subclass. It supplies the API key, the server address,
    timeouts and retries."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call, such as temperature, max_tokens and extra_body. `tools` are
    added after those of the request. A stream requests its usage by default: `stream_options`
    replaces that setting, and None leaves it out."""
    strict_roles: bool | None = attrs.field(default=None, kw_only=True)
    """Whether the server's chat template accepts only one system message, at the start, and roles
    that alternate. By default it is known by the model's name (Qwen, Mistral, Gemma, GLM,
    MiniMax)."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _requests: GrowingRequests = attrs.field(
        factory=GrowingRequests, kw_only=True, eq=False, repr=False
    )
    """Deciders that serve the same conversations may share one."""
    _bound: BoundRequests = attrs.field(
        factory=lambda: BoundRequests(cannot_ask, leave_out_reasoning),
        kw_only=True,
        eq=False,
        repr=False,
    )
    """What the server has refused of the reasoning in these conversations."""

    async def _whole(self, request: Input) -> Any:
        body = plain(await self._create(self._call(request)))
        if not items_at(body, "choices"):
            raise failure_in(body, self.model) or self._without("choices", body)
        return body

    async def _open(self, request: Input) -> Any:
        # Without this option, OpenAI reports no usage in a stream.
        usage = self.options.get("stream_options", {"include_usage": True})
        options = {"stream": True, **({} if usage is None else {"stream_options": usage})}
        return await self._create({**self._call(request), **options})

    async def _create(self, body: dict[str, Any]) -> Any:
        create: Any = self.client.chat.completions.create
        return await self._bound.send(lambda request: create(**request), body, self.model)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the server offers.

        Raises:
            Exception: what the SDK raises; many servers do not list their models.
        """
        return [model.id async for model in self.client.models.list()]

    def _call(self, request: Input) -> dict[str, Any]:
        """Return the arguments for the SDK's method, except those for streaming."""
        body = self._requests.encode(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            model=self.model,
            strict_roles=self.strict_roles,
            record_role=self.record_role,
            server=server_of(self.model, str(getattr(self.client, "base_url", ""))),
        )
        tools = [*body.pop("tools", ()), *(self.options.get("tools") or ())]
        options = {key: value for key, value in self.options.items() if key not in _OURS}
        # The options go first: they do not replace the conversation.
        return {"model": self.model, **options, **body, **({"tools": tools} if tools else {})}

    def _decision(self, body: Any, request: Input) -> Decision:
        decision = super()._decision(body, request)
        # Servers of this API may cut a prompt and say nothing; other providers report an error.
        self._check_for_silent_overflow(decision, request)
        if decision.stop_reason is StopReason.TOOL and self._was_cut_off(decision):
            return attrs.evolve(decision, stop_reason=StopReason.MAX_TOKENS)
        return decision

    def _check_for_silent_overflow(self, decision: Decision, request: Input) -> None:
        """Raise if the reply answers only part of the request: some servers truncate it silently.

        The window in the catalog may be smaller than the one served (a long context that is paid
        for). An input larger than the catalog's window is therefore no sign of truncation, unless
        the caller passed the limits.
        """
        catalog, usage = lookup(self.model), decision.request_usage
        if self._limits is None and usage and usage.input > catalog.context_window:
            return

        def estimate() -> int:
            prompt = approx_token_counter(request.system_prompt)
            return prompt + self._requests.count_tokens(request.history)

        self._raise_if_cut(decision, estimate)

    def _was_cut_off(self, decision: Decision) -> bool:
        """Return whether the limit cut a call short although the stop reason is `tool_calls`.

        https://github.com/vllm-project/vllm/issues/58228
        """
        limit = self.options.get("max_completion_tokens") or self.options.get("max_tokens")
        if not isinstance(limit, int) or decision.usage is None or not decision.tool_calls:
            return False
        return decision.usage.output >= limit and not has_object(decision.tool_calls[-1])


def cannot_ask(_: dict[str, Any]) -> None:
    """Return None: this API has no setting for reasoning that is bound to another request."""


def leave_out_reasoning(body: dict[str, Any], is_stale: Callable[[Any], bool]) -> dict[str, Any]:
    """Return a request without the signed reasoning whose signature is stale.

    A gateway keeps the reasoning of a model in a list next to the text: OpenRouter in
    `reasoning_details`, LiteLLM in `thinking_blocks`, which it repeats among its own fields. GitHub
    Copilot has the signature alone, in `reasoning_opaque`. The text of the reasoning goes with the
    last of them, because it repeats what they say.
    """

    def leave_out(message: dict[str, Any]) -> dict[str, Any]:
        kept = dict(message)
        for field in _SIGNED & message.keys():
            value = message[field]
            blocks = value if isinstance(value, list) else [{"signature": value}]
            rest = [each for each in blocks if not is_stale(_signature_of(each))]
            if blocks and not rest:
                kept = {key: value for key, value in kept.items() if key not in BOUND_FIELDS}
            elif len(rest) < len(blocks):
                kept[field] = rest
        own = message.get(_OWN_FIELDS)
        return kept | ({_OWN_FIELDS: leave_out(own)} if isinstance(own, dict) else {})

    replies = (at(message, "role") == "assistant" for message in body["messages"])
    pairs = zip(body["messages"], replies, strict=True)
    messages = [leave_out(message) if is_reply else message for message, is_reply in pairs]
    return {**body, "messages": messages}


def _signature_of(block: Any) -> Any:
    fields = ("signature", "data", "thinking", "text", "summary")
    return next(filter(None, (text_at(block, field) for field in fields)), "")


def _has_content(event: Any) -> bool:
    """Return whether an event of a stream has a part of the reply, or ends it.

    >>> _has_content({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
    False
    """
    return event == "[DONE]" or any(
        choice.get("finish_reason")
        or any(value for key, value in (choice.get("delta") or {}).items() if key != "role")
        for choice in items_at(event, "choices")
    )


ADAPTER = Adapter(
    name=NAME,
    stop_words=STOP_WORDS,
    decode=decode,
    decode_request=decode_request,
    decode_response=decode_response,
    usage=usage,
    stop_reason=stop_reason,
    streamed_response=StreamedResponse,
    list_decoder=IncrementalDecoder,
    encode=encode,
    encode_request=encode_request,
    validate=validator_in("agentic.providers.openai_chat._validation"),
    is_context_overflow=is_context_overflow,
    decider=Decider,
    form=RequestForm(
        "messages",
        replies="answered",
        is_templated=True,
        text_block={"type": "text"},
        family="gpt-5.6",
    ),
    sdk=Sdk(
        install="agentic-weave[openai]",
        module="openai",
        make=lambda sdk: sdk.AsyncOpenAI(),
        key_variables=("OPENAI_API_KEY",),
        address_variable="OPENAI_BASE_URL",
    ),
    http=HttpApi(
        takes_path=lambda path: path.endswith("/chat/completions"),
        has_content=_has_content,
        is_last=lambda event: event == "[DONE]",
        leave_out_reasoning=leave_out_reasoning,
    ),
    offer=ModelOffer(model="gpt-5", starts=BEGINNINGS["openai_chat"], without=ELSEWHERE),
    trace_name="openai",
)
