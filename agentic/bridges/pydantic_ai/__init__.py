"""Capabilities for agents of Pydantic AI: a budget for their requests, limits for tool returns.

Start with `ContextBudget` and `TruncateToolReturns`. It needs pydantic-ai-slim 2.62 or newer:
the extra `pydantic-ai`.
"""

from agentic._base import _imports, _versions

_versions.require("bridges.pydantic_ai", "pydantic-ai-slim", "pydantic-ai", "2.62")

with _imports.quietly():
    from agentic.bridges.pydantic_ai._budget import ContextBudget
    from agentic.bridges.pydantic_ai._read import to_messages
    from agentic.bridges.pydantic_ai._truncation import TruncateToolReturns
    from agentic.bridges.pydantic_ai._usage import request_usage, usage
    from agentic.bridges.pydantic_ai._write import to_model_messages

__all__ = [
    "ContextBudget",
    "TruncateToolReturns",
    "request_usage",
    "to_messages",
    "to_model_messages",
    "usage",
]
