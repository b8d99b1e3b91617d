"""Tools: what a model may call, the schema it is shown, and the registry that carries a call out.

Start with `tool`, `Registry` and `AllowlistPolicy`.

Whatever a model writes, `Registry.execute` answers with a result that the model can read. Only
`tool`, which reads a function's signature, needs the extra: pip install 'agentic-weave[tools]'.
"""

from agentic._tool_definition import ToolDefinition
from agentic.tools._compose import AllowlistPolicy, CompositeExecutor, FilteredExecutor, ToolPolicy
from agentic.tools._function import FunctionTool, tool
from agentic.tools._registry import Registry, Tool

__all__ = [
    "AllowlistPolicy",
    "CompositeExecutor",
    "FilteredExecutor",
    "FunctionTool",
    "Registry",
    "Tool",
    "ToolDefinition",
    "ToolPolicy",
    "tool",
]
