"""Middleware for LangChain agents that keeps a budget, and messages in both directions.

Start with `ContextMiddleware`, `TruncateToolOutputs` and `summarizer`.

    agent = create_agent(model, tools, middleware=[ContextMiddleware(128_000)])

It needs langchain 1.2.10 or newer: pip install 'agentic-weave[langchain]'.
"""

import importlib.metadata

_NEEDED = (1, 2, 10)
"""The first version in which `wrap_model_call` may return an update of the state with the reply."""


def _check_version() -> None:
    remedy = "pip install 'agentic-weave[langchain]'"
    try:
        found = importlib.metadata.version("langchain")
    except importlib.metadata.PackageNotFoundError as missing:
        raise ImportError(f"bridges.langchain needs langchain: {remedy}") from missing
    if tuple(int(part) for part in found.split(".")[:3] if part.isdigit()) < _NEEDED:
        needed = ".".join(map(str, _NEEDED))
        raise ImportError(
            f"bridges.langchain needs langchain {needed} or newer, found {found}: {remedy}"
        )


_check_version()

from agentic.bridges.langchain._messages import from_message, to_message  # noqa: E402
from agentic.bridges.langchain._middleware import ContextMiddleware  # noqa: E402
from agentic.bridges.langchain._summarizer import summarizer  # noqa: E402
from agentic.bridges.langchain._tool_outputs import TruncateToolOutputs  # noqa: E402

__all__ = [
    "ContextMiddleware",
    "TruncateToolOutputs",
    "from_message",
    "summarizer",
    "to_message",
]
