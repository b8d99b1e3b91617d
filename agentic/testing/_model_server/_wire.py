"""What makes a wire: one record with the rules and the words of a provider's API."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from agentic.testing._model_server._cache import CacheRules, TokenPrices
from agentic.testing._model_server._reasoning import BindingRules, Mismatch
from agentic.testing._model_server._request import Block, ModelReply, ReadRequest, Refusal
from agentic.testing._model_server._structure import StructureRules

__all__ = ["ModelWire", "ServerEvent"]

ServerEvent = tuple[str, Any]
"""The name of an event of a stream (empty for none) and its data."""


@attrs.frozen(kw_only=True)
class ModelWire:
    """A provider's API: everything that a model server must know to speak and to judge it."""

    name: str
    path: str
    """A regular expression for the path of requests."""
    read: Callable[[Mapping[str, Any], Mapping[str, str], str], ReadRequest]
    """Reads a body, with its headers in lower case and its path; raises `Refusal`."""
    write: Callable[[ModelReply], dict[str, Any]]
    """Writes a reply as the body of a response."""
    replay: Callable[[Mapping[str, Any]], list[Block]]
    """Reads the body of a response as the next request will have it."""
    stream: Callable[[Mapping[str, Any]], Iterator[ServerEvent]]
    """Splits the body of a response into the events of a stream."""
    error: Callable[[Refusal], dict[str, Any]]
    """Writes the body of a refusal."""
    mismatch: Callable[[Block, bool], str]
    """Words the refusal of stale reasoning; the flag is whether the control's header was sent."""
    tampered: Callable[[Block], str]
    """Words the refusal of reasoning that the server did not make so."""
    transformation: Callable[[Mismatch], Mapping[str, Any]]
    """Writes one entry of `input_transformations`."""
    overflow: Callable[[int, int], tuple[str, str]]
    """Words the refusal of a request of so many tokens for a window, and gives its code."""
    binding: BindingRules = attrs.field(factory=BindingRules)
    structure: StructureRules
    cache: CacheRules
    prices: TokenPrices
    proof_chars: int = 600
    """How long the signatures are."""
    call_ids: str = "call_"
    """How the ids of calls begin that the server makes."""
