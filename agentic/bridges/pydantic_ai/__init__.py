"""Capabilities for agents of Pydantic AI: a budget for their requests, limits for tool returns.

Start with `ContextBudget` and `TruncateToolReturns`. It needs pydantic-ai-slim 2.64 or newer:
pip install 'agentic-weave[pydantic-ai]'.
"""

from agentic.bridges import _versions

_versions.require("pydantic_ai", "pydantic-ai-slim", "pydantic-ai", "2.64")

from agentic.bridges.pydantic_ai._budget import ContextBudget  # noqa: E402
from agentic.bridges.pydantic_ai._read import to_messages  # noqa: E402
from agentic.bridges.pydantic_ai._truncation import TruncateToolReturns  # noqa: E402
from agentic.bridges.pydantic_ai._usage import request_usage, usage  # noqa: E402
from agentic.bridges.pydantic_ai._write import to_model_messages  # noqa: E402

__all__ = [
    "ContextBudget",
    "TruncateToolReturns",
    "request_usage",
    "to_messages",
    "to_model_messages",
    "usage",
]
