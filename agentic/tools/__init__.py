"""Tools: what a model may call, the schemas that it sees, and the registry that runs the calls.

Start with `tool`, `Registry` and `RequireApproval`.

Whatever a model writes, `Registry.execute` returns a result that the model can read. Only `tool`,
which reads a function's signature, needs the extra `tools`.
"""

from agentic.protocols import ToolDefinition
from agentic.tools._executors import (
    AllowlistPolicy,
    Approval,
    Approver,
    CompositeExecutor,
    FilteredExecutor,
    RequireApproval,
)
from agentic.tools._function import tool
from agentic.tools._registry import Registry, Tool
from agentic.tools._signature import CallKey

__all__ = [
    "AllowlistPolicy",
    "Approval",
    "Approver",
    "CallKey",
    "CompositeExecutor",
    "FilteredExecutor",
    "Registry",
    "RequireApproval",
    "Tool",
    "ToolDefinition",
    "tool",
]
