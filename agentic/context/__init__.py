"""What the model sees: strategies make a view, the budget compacts the history.

Start with `view`, `strategies` and `budget`.

Strategies are pure and leave the history alone; a compaction rewrites it.
Each room loads when it is first used. Four plain functions serve those who keep their messages
themselves, as `Message` or as dicts in the form of chat completions.
"""

import typing

from agentic._base import _lazy

if typing.TYPE_CHECKING:
    from agentic.context.strategies import truncate_messages as truncate_messages
    from agentic.tokens import count_message_tokens as count_message_tokens
    from agentic.tokens import count_tokens as count_tokens
    from agentic.tokens import estimate_tokens as estimate_tokens

# Empty: rooms are found by their path, and each function is listed in the room that has it.
__all__: list[str] = []

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "budget": ".budget",
        "compactors": ".compactors",
        "strategies": ".strategies",
        "view": ".view",
        "count_message_tokens": "agentic.tokens",
        "count_tokens": "agentic.tokens",
        "estimate_tokens": "agentic.tokens",
        "truncate_messages": "agentic.context.strategies",
    },
)
