"""Adapters, one for each provider, for messages, usage, stop reasons, errors and streams.

Start with `connect`, or with one adapter, such as `anthropic` or `openai_chat`.

Each adapter is a package with the same parts. `_decoding` and `_encoding` (messages), `_replies`
and `_streaming` are pure and need no SDK. `_decider` has a `Decider` that calls a client of the
official SDK, which the caller passes in. Adapters are imported on first use. `kit` is for authors
of other adapters; `validators` checks whether a provider would reject the structure of a request.
"""

import importlib
import types

from agentic.providers._connect import PROVIDERS as PROVIDERS
from agentic.providers._connect import Connection as Connection
from agentic.providers._connect import connect

__all__ = ["connect"]

_ROOMS = (
    "anthropic",
    "bedrock",
    "cohere",
    "gemini",
    "kit",
    "ollama",
    "openai_chat",
    "openai_responses",
    "overflow",
    "validators",
)


def __getattr__(name: str) -> types.ModuleType:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return [*_ROOMS, *__all__]
