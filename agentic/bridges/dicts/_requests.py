"""Where each wire puts the items, the system prompt and the tools of a complete request.

A request is a body of JSON data, or the arguments of an SDK's call. None of these functions changes
its argument.
"""

import functools
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from agentic.bridges.dicts._items import SystemSummary
from agentic.errors import ConfigError
from agentic.messages import read_summary
from agentic.providers.kit import at, plain


@attrs.frozen
class Opened:
    """A request in its parts."""

    items: Sequence[Any]
    system: Any
    """The system prompt without our summary, in the form of the wire."""
    summary: SystemSummary | None
    """Our summary in the system prompt, if there is one."""
    tools: Any

    @property
    def all_items(self) -> Sequence[Any]:
        """The items, preceded by the summary in the system prompt, if there is one."""
        return self.items if self.summary is None else [self.summary, *self.items]

    @property
    def system_text(self) -> str:
        """The text of the system prompt."""
        return "\n\n".join(_texts(self.system))


@attrs.frozen
class RequestForm:
    """How one wire writes a request."""

    items_key: str
    open_system: Callable[[Mapping[str, Any]], Any] = lambda _: None
    """Returns the system prompt of a request, if it is not one of the items."""
    with_system: Callable[[Mapping[str, Any], Any, str | None], dict[str, Any]] | None = None
    """Returns a request with another system prompt, made of one without a summary, and a summary;
    None if a summary is one of the items."""
    tools_of: Callable[[Mapping[str, Any]], Any] = operator.methodcaller("get", "tools")
    on_server: tuple[str, ...] = ()
    """The parameters with which the provider keeps the history."""
    takes_texts: bool = False
    """Whether an item may be a plain str."""
    parts_users: bool = False
    """Whether two user items may not follow each other."""
    family: str = ""
    """A model that counts images as those do which are mostly asked on this wire."""

    @property
    def has_system_role(self) -> bool:
        """Whether a system message may occur among the items."""
        return self.with_system is None

    def open(self, request: Mapping[str, Any]) -> Opened:
        """Return the parts of a request.

        Raises:
            ConfigError: it has no list of items, or the provider keeps its history.
        """
        for key in self.on_server:
            if request.get(key):
                raise ConfigError(
                    key,
                    request[key],
                    "a request that holds its whole history",
                    "send all items yourself (store=False), or leave the history to the provider",
                )
        items = request.get(self.items_key)
        # OpenAI's Responses API and Google's SDK take a text for a single user item.
        if isinstance(items, str):
            items = [items]
        if not isinstance(items, Sequence):
            raise ConfigError(
                f"request[{self.items_key!r}]", items, "a list", "pass the arguments of the call"
            )
        system, summary = _split(self.open_system(request))
        return Opened(items, system, summary, self.tools_of(request))

    def close(
        self, request: Mapping[str, Any], opened: Opened, items: list[Any], summary: str | None
    ) -> dict[str, Any]:
        """Return the request with other items, and this summary or none in its system prompt."""
        changed = dict(request)
        # A text that needs no change stays a text.
        if list(opened.items) != items or not isinstance(request[self.items_key], str):
            changed[self.items_key] = items
        former = None if opened.summary is None else opened.summary.text
        if self.with_system is None or summary == former:
            return changed
        return self.with_system(changed, opened.system, summary)


def _split(system: Any) -> tuple[Any, SystemSummary | None]:
    """Separate our summary from a system prompt, where it is one of the blocks."""
    blocks = at(system, "parts") if isinstance(system, Mapping) else system
    if isinstance(blocks, str):
        return (None, SystemSummary(blocks)) if read_summary(blocks) else (system, None)
    if not (isinstance(blocks, list | tuple) and blocks):
        return system, None
    texts = ["".join(_texts(block)) for block in blocks]
    # Not only the last one: the owner may add a block behind it, such as a mark for the cache.
    place = next((at for at, text in enumerate(texts) if read_summary(text) is not None), None)
    if place is None:
        return system, None
    rest = [*blocks[:place], *blocks[place + 1 :]]
    found = SystemSummary(texts[place])
    return ({**system, "parts": rest} if isinstance(system, Mapping) else rest), found


def _texts(system: Any) -> list[str]:
    """Return the texts of a system prompt in any form."""
    data = plain(system)
    if isinstance(data, str):
        return [data]
    if isinstance(data, Mapping):
        parts = data.get("parts")
        return _texts(parts) if isinstance(parts, list) else _texts(data.get("text", []))
    return [text for part in data or () for text in _texts(part)]


def _with_blocks(
    form: Mapping[str, str], request: Mapping[str, Any], system: Any, summary: str | None
) -> dict[str, Any]:
    blocks = [] if isinstance(system, str) else list(system or ())
    texts = [system] if isinstance(system, str) and system.strip() else []
    texts += [] if summary is None else [summary]
    blocks += [{**form, "text": text} for text in texts]
    rest = {key: value for key, value in request.items() if key != "system"}
    return {**rest, "system": blocks} if blocks else rest


def _gemini_system(request: Mapping[str, Any]) -> Any:
    """Return the system instruction: a text, or a content as JSON data."""
    holder, key = _gemini_place(request)
    found = holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)
    if isinstance(found, str) or found is None:
        return found
    data = plain(found)
    if isinstance(data, list):
        return {"parts": [{"text": part} if isinstance(part, str) else part for part in data]}
    return data if isinstance(data, Mapping) and "parts" in data else {"parts": [data]}


def _gemini_place(request: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the object that holds the system instruction, and its name there.

    `config` and `model` are arguments of the SDK's call; a body of the REST API has neither.
    """
    config = request.get("config")
    if config is not None or "model" in request:
        is_rest_spelled = isinstance(config, Mapping) and "systemInstruction" in config
        return config or {}, "systemInstruction" if is_rest_spelled else "system_instruction"
    snake = "system_instruction"
    return request, snake if snake in request else "systemInstruction"


def _gemini_with_system(
    request: Mapping[str, Any], system: Any, summary: str | None
) -> dict[str, Any]:
    parts = [{"text": text} for text in [system] if isinstance(system, str)]
    parts += list(system["parts"]) if isinstance(system, Mapping) else []
    parts += [] if summary is None else [{"text": summary}]
    holder, key = _gemini_place(request)
    instruction = {"parts": parts} if parts else None
    if holder is request:
        return {**request, key: instruction}
    if isinstance(holder, Mapping):
        return {**request, "config": {**holder, key: instruction}}
    # A copy: the config is the caller's.
    return {**request, "config": holder.model_copy(update={key: instruction})}


def _gemini_tools(request: Mapping[str, Any]) -> Any:
    config = request.get("config")
    tools = config.get("tools") if isinstance(config, Mapping) else getattr(config, "tools", None)
    return request.get("tools") or tools


def describe_tools(tools: Any) -> str:
    """Return the tools of a request as the JSON text that is sent."""
    # default: Google's SDK takes functions as tools, and JSON has no form for them.
    return json.dumps(plain(tools), ensure_ascii=False, default=str) if tools else ""


_system = operator.methodcaller("get", "system")
FORMS: Mapping[str, RequestForm] = {
    "openai_chat": RequestForm("messages", family="gpt-5.6"),
    "cohere": RequestForm("messages"),
    "ollama": RequestForm("messages"),
    "openai_responses": RequestForm(
        "input",
        operator.methodcaller("get", "instructions"),
        on_server=("previous_response_id", "conversation"),
        takes_texts=True,
        family="gpt-5.6",
    ),
    "anthropic": RequestForm(
        "messages",
        _system,
        functools.partial(_with_blocks, {"type": "text"}),
        family="claude",
    ),
    "bedrock": RequestForm(
        "messages",
        _system,
        functools.partial(_with_blocks, {}),
        lambda request: at(request, "toolConfig", "tools"),
        # Older versions of Converse reject two user messages in a row.
        parts_users=True,
        family="claude",
    ),
    "gemini": RequestForm(
        "contents",
        _gemini_system,
        _gemini_with_system,
        _gemini_tools,
        takes_texts=True,
        family="gemini-3",
    ),
}
"""The request forms, by the name of the adapter."""
