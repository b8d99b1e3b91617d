"""Capabilities for agents of Pydantic AI: a budget for their requests, limits for tool returns.

Start with `ContextBudget` and `TruncateToolReturns`. It needs pydantic-ai-slim 2.64 or later:
pip install 'agentic-weave[pydantic-ai]'.
"""

from importlib import metadata

_OLDEST = (2, 64)

try:
    _version = metadata.version("pydantic-ai-slim")
except metadata.PackageNotFoundError as missing:
    raise ImportError(
        "bridges.pydantic_ai needs Pydantic AI: pip install 'agentic-weave[pydantic-ai]'"
    ) from missing
if tuple(map(int, _version.split(".")[:2])) < _OLDEST:
    raise ImportError(
        f"bridges.pydantic_ai needs pydantic-ai-slim 2.64 or later, found {_version}: "
        "pip install -U 'agentic-weave[pydantic-ai]'"
    )

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
