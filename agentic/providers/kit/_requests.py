"""Where each wire puts the items, the system prompt and the tools of a complete request.

A request is a body of JSON data, or the arguments of an SDK's call. None of these functions changes
its argument.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.providers.kit import at, plain


@attrs.frozen
class Opened:
    """A request in its parts."""

    items: Sequence[Any]
    system: Any
    """The system prompt, in the form of the wire."""
    tools: Any

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
    tools_of: Callable[[Mapping[str, Any]], Any] = operator.methodcaller("get", "tools")
    on_server: tuple[str, ...] = ()
    """The parameters with which the provider keeps the history."""
    takes_texts: bool = False
    """Whether an item may be a plain str."""
    has_system_role: bool = True
    """Whether a system message may be one of the items."""
    has_turns: bool = True
    """Whether the items are the turns of two roles, of which the user's comes first."""
    parts_replies: bool = False
    """Whether two replies may not follow each other."""
    parts_users: bool = False
    """Whether two user items may not follow each other."""
    is_templated: bool = False
    """Whether a server may render the items by a model's chat template, which may refuse them."""
    drops_reasoning: bool = False
    """Whether the provider drops stale reasoning by itself, and refuses no request for it."""
    text_block: Mapping[str, str] | None = None
    """The fields of a block of text besides the text; None if a content is one text."""
    family: str = ""
    """A model that counts images as those do which are mostly asked on this wire."""

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
        return Opened(items, self.open_system(request), self.tools_of(request))

    def close(self, request: Mapping[str, Any], opened: Opened, items: list[Any]) -> dict[str, Any]:
        """Return the request with other items."""
        # A text that needs no change stays a text.
        if list(opened.items) == items and isinstance(request[self.items_key], str):
            return dict(request)
        return {**request, self.items_key: items}


def _texts(system: Any) -> list[str]:
    """Return the texts of a system prompt in any form."""
    data = plain(system)
    if isinstance(data, str):
        return [data]
    if isinstance(data, Mapping):
        parts = data.get("parts")
        return _texts(parts) if isinstance(parts, list) else _texts(data.get("text", []))
    return [text for part in data or () for text in _texts(part)]


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
    "openai_chat": RequestForm(
        "messages", is_templated=True, text_block={"type": "text"}, family="gpt-5.6"
    ),
    "cohere": RequestForm("messages"),
    "ollama": RequestForm("messages", is_templated=True),
    "openai_responses": RequestForm(
        "input",
        operator.methodcaller("get", "instructions"),
        on_server=("previous_response_id", "conversation"),
        takes_texts=True,
        has_turns=False,
        # https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (2026-11)
        drops_reasoning=True,
        family="gpt-5.6",
    ),
    "anthropic": RequestForm(
        "messages", _system, has_system_role=False, parts_replies=True, family="claude"
    ),
    "bedrock": RequestForm(
        "messages",
        _system,
        lambda request: at(request, "toolConfig", "tools"),
        has_system_role=False,
        parts_replies=True,
        # Older versions of Converse reject two user messages in a row.
        parts_users=True,
        text_block={},
        family="claude",
    ),
    "gemini": RequestForm(
        "contents",
        _gemini_system,
        _gemini_tools,
        takes_texts=True,
        has_system_role=False,
        parts_replies=True,
        family="gemini-3",
    ),
}
"""The request forms, by the name of the adapter."""
