"""The entry points of the systems that this project unites, under their original names.

Code that was written for one of them imports from its module here: `supyagent`, `open_agent_sdk` or
`agentix`. New code does not need this room: each name can also be imported from the room that
defines it. Agentic Weave has no module, because its names are those of `agentic` itself.
"""

import importlib
import types

__all__ = ["agentix", "open_agent_sdk", "supyagent"]


def __getattr__(name: str) -> types.ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return list(__all__)
