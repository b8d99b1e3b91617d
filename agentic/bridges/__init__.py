"""Bridges between a View and the owner of a conversation; each loads when it is first used.

Start with `dicts` for a list of your own, or with the bridge to what you already use, such as
`langchain` or `pydantic_ai`. `proxy` is for agents that are not in Python.
"""

import importlib
import types

__all__ = [
    "dbos",
    "dicts",
    "langchain",
    "litellm",
    "mcp",
    "openai_agents",
    "otel",
    "proxy",
    "pydantic_ai",
]


# Not imported above: each needs a framework of its own, of which few have more than one.
def __getattr__(name: str) -> types.ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
