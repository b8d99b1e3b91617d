"""Bridges between a View and the owner of a conversation; each loads when it is first used.

Start with `dicts`, or with the bridge to your framework: `langchain`.
"""

import importlib
import types

__all__ = ["dicts", "langchain", "litellm", "pydantic_ai"]


def __getattr__(name: str) -> types.ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
