"""One adapter a provider: its messages, usage, stop reasons, errors and streams, in one vocabulary.

Start with `connect`, or with one adapter, such as `anthropic` or `openai_chat`.

Each is a package of the same parts: `_decoding` and `_encoding` of messages, `_replies`,
`_streaming`, all of them pure and without any SDK, and in `_decider` a `Decider` that calls the
official SDK's client, which the caller passes in. Adapters load when they are first used. `kit` is
for authors of other adapters; `validators` knows what shapes of requests are refused.
"""

import importlib
import types

from agentic.providers._connect import PROVIDERS, Connection, connect

__all__ = [
    "PROVIDERS",
    "Connection",
    "anthropic",
    "bedrock",
    "connect",
    "gemini",
    "kit",
    "openai_chat",
    "openai_responses",
    "overflow",
    "validators",
]


def __getattr__(name: str) -> types.ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
