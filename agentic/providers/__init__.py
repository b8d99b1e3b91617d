"""One adapter a provider: its messages, usage, stop reasons, errors and streams, in one vocabulary.

Each is a package of two parts: what is known of the wire, pure and without any SDK, and a
`Decider` that calls the official SDK's client, which the caller passes in. Adapters load when they
are first used.
"""

import importlib
import types

from agentic.providers._violation import Violation

__all__ = ["Violation", "anthropic", "bedrock", "gemini", "openai_chat", "openai_responses"]


def __getattr__(name: str) -> types.ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
