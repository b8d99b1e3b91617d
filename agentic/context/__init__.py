"""What the model sees: strategies make a view, the budget compacts the history.

Strategies are pure and leave the history alone; a compaction rewrites it; `config` composes both.
Each room loads when it is first used.
"""

import importlib
import types

__all__ = ["budget", "compactors", "config", "strategies"]


def __getattr__(name: str) -> types.ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return list(__all__)
