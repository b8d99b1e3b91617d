"""What the model sees: strategies make a view, the budget compacts the history.

Start with `view`, `strategies` and `budget`.

Strategies are pure and leave the history alone; a compaction rewrites it; `config` composes both.
Each room loads when it is first used. Four plain functions serve those who keep their messages
themselves, as `Message` or as dicts in the form of chat completions.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from agentic.context.strategies import truncate_messages
    from agentic.tokens import count_message_tokens, count_tokens, estimate_tokens

__all__ = [
    "budget",
    "compactors",
    "config",
    "count_message_tokens",
    "count_tokens",
    "estimate_tokens",
    "strategies",
    "truncate_messages",
    "view",
]

_ROOMS = {"budget", "compactors", "config", "strategies", "view"}


def __getattr__(name: str) -> typing.Any:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    home = "agentic.context.strategies" if name == "truncate_messages" else "agentic.tokens"
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return list(__all__)
