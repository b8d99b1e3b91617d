"""Middleware for LangChain agents that keeps a budget, and messages in both directions.

Start with `ContextMiddleware`, `TruncateToolOutputs` and `summarizer`.

    agent = create_agent(model, tools, middleware=[ContextMiddleware(128_000)])

It needs langchain 1.2.10 or newer: the extra `langchain`.
"""

from agentic._base import _imports
from agentic._base._versions import require as _require

# The first version in which `wrap_model_call` may return an update of the state with the reply.
_require("bridges.langchain", "langchain", "langchain", "1.2.10")

with _imports.quietly():
    from agentic.bridges.langchain._messages import from_message, to_message
    from agentic.bridges.langchain._middleware import ContextMiddleware
    from agentic.bridges.langchain._summarizer import summarizer
    from agentic.bridges.langchain._tool_outputs import TruncateToolOutputs

__all__ = [
    "ContextMiddleware",
    "TruncateToolOutputs",
    "from_message",
    "summarizer",
    "to_message",
]
