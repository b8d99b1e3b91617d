"""What each server of Chat Completions demands beyond what all of them share, and how it is met.

A server is told by the `model` and, in a Decider, by the address that its client calls. A model's
template is a server here, too: the one of Qwen decides the same at vLLM, SGLang, llama.cpp and
LM Studio. How templates count roles is in `kit._templates`, which Ollama shares.

What is added to a conversation follows from the messages before it alone, never from those behind:
an addition that was part of one request is part of the next, so that requests only grow. An answer
is preceded by what the request that it answers ended with. So a reply that directly follows another
one was made by a request that ended with `GO_ON`.

None of these rules was tried against a server: each names the page or the thread that says so.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import attrs

from agentic.errors import ConfigError
from agentic.providers.kit import at, items_at, text_at
from agentic.providers.kit._messages import insert_user_message
from agentic.providers.kit._templates import with_one_system

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
        allowed = f"one of {', '.join(SERVERS)}, or None"
        raise ConfigError("server", server, allowed, "leave it out: the model's name decides")
    rules = SERVERS[name]
    # A router accepts longer ids than OpenAI.
    is_routed = name == "openai" and "/" in model
    return attrs.evolve(rules, ids=_ANY_ID) if is_routed else rules


def fit_server(items: Sequence[Any], rules: ServerRules) -> list[Any]:
    """Return a request's messages as a server accepts them; the items passed in are not changed."""
    fitted = list(items)
    if rules.ids is not None:
        fitted = [_with_ids(item, rules.ids) for item in fitted]
    if not rules.reply_images:
        fitted = [_without_images(item) for item in fitted]
    if not rules.empty_lists:
        fitted = [_without_empty_calls(item) for item in fitted]
    if rules.reasoning_with_calls:
        fitted = [_with_reasoning(item) for item in fitted]
    if not rules.system_anywhere:
        fitted = with_one_system(fitted)
    if rules.needs_user:
        insert_user_message(fitted, GO_ON)
    return list(_in_order(fitted, rules))


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


def _with_ids(item: Any, accepted: re.Pattern[str]) -> Any:
    if text_at(item, "role") == "tool" and text_at(item, "tool_call_id"):
        call_id = _id(text_at(item, "tool_call_id"), accepted)
        return item if call_id == item["tool_call_id"] else {**item, "tool_call_id": call_id}
    calls = items_at(item, "tool_calls")
    ids = [text_at(call, "id") for call in calls]
    if all(not each or accepted.fullmatch(each) for each in ids):
        return item
    named = [
        {**call, "id": _id(each, accepted)} if each else call
        for call, each in zip(calls, ids, strict=True)
    ]
    return {**item, "tool_calls": named}


def _id(call_id: str, accepted: re.Pattern[str]) -> str:
    """Return the id to send: the same for a call, its result and every later request."""
    if accepted.fullmatch(call_id):
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
