"""The entry points of the systems that this project unites, under their original names.

Code that was written for one of them imports from its module here: `supyagent`, `open_agent_sdk` or
`agentix`. New code does not need this room: each name can also be imported from the room that
defines it, so the `__all__` of a module here has only the names that no room lists. Agentic Weave
has no module, because its names are those of `agentic` itself.
"""

import importlib
import types

__all__: list[str] = []

_SYSTEMS = ("agentix", "open_agent_sdk", "supyagent")


def __getattr__(name: str) -> types.ModuleType:
    if name in _SYSTEMS:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return list(_SYSTEMS)
