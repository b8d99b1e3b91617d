"""Keep an agent's context small, valid and useful.

Start with `truncate`, `bridges`, `context` or `loop`.

A toolkit: import the one room you need (``from agentic import truncate``) and pay for nothing else.
Rooms load when they are first used.
"""

import importlib
import types

__all__: list[str] = []  # `from agentic import *` would load every room, and need every extra

_ROOMS = (
    "app",
    "bridges",
    "compat",
    "context",
    "durable",
    "errors",
    "events",
    "history",
    "limits",
    "loop",
    "messages",
    "protocols",
    "providers",
    "session",
    "testing",
    "tokens",
    "tools",
    "truncate",
    "usage",
)

__version__ = "0.1.0"


# Not `_lazy.load_lazily`: `import agentic` has 2 ms, and loads nothing, not even `typing`.
def __getattr__(name: str) -> types.ModuleType:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return [*_ROOMS, "__version__"]
