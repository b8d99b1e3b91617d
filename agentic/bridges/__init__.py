"""Bridges between a View and the owner of a conversation; each loads when it is first used.

Start with `dicts` for a list of your own, or with the bridge to what you already use, such as
`langchain` or `pydantic_ai`. `app.proxy` is for agents that are not in Python.
"""

from agentic._base import _lazy

__all__ = [
    "dicts",
    "kit",
    "langchain",
    "litellm",
    "mcp",
    "openai_agents",
    "otel",
    "pydantic_ai",
]


# Not imported: each needs a framework of its own, of which few have more than one.
__getattr__, __dir__ = _lazy.load_lazily(__name__, {name: f".{name}" for name in __all__})
