"""Where a wire puts the items, the system prompt and the tools of a complete request.

A request is a body of JSON data, or the arguments of an SDK's call. None of these functions changes
its argument.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs

from agentic.errors import ConfigError
from agentic.providers.kit._json import plain


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
    """The field with the wire's list of messages."""
    system: str | Callable[[Mapping[str, Any]], Any] = ""
    """The field with the system prompt, or a function that returns it, given a request; empty if
    the system prompt is one of the items."""
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
    replies: Literal["as_they_came", "answered", "merged"] = "as_they_came"
    """What becomes of several replies in a row that make calls: each is followed by its results, or
    they are one item. As they came, the wire reads them as one turn."""
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
        system = self.system
        prompt = request.get(system) if isinstance(system, str) else system(request)
        return Opened(items, prompt, self.tools_of(request))

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
