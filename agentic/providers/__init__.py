"""One adapter a provider: its messages, usage, stop reasons, errors and streams, in one vocabulary.

Each is a package of two parts: what is known of the wire, pure and without any SDK, and a
`Decider` that calls the official SDK's client, which the caller passes in. Adapters load when they
are first used.
"""

import importlib
import types

from agentic.providers._connect import PROVIDERS, Connection, connect
from agentic.providers._incremental import Decoded
from agentic.providers._native import native_payload
from agentic.providers._plain import at, items_at, plain, text_at
from agentic.providers._violation import Step, Violation, find_unpaired

__all__ = [
    "PROVIDERS",
    "Connection",
    "Decoded",
    "Step",
    "Violation",
    "anthropic",
    "at",
    "bedrock",
    "connect",
    "find_unpaired",
    "gemini",
    "items_at",
    "native_payload",
    "openai_chat",
    "openai_responses",
    "overflow",
    "plain",
    "text_at",
]


def __getattr__(name: str) -> types.ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
