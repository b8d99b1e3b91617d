"""The table of tools, from where it lives now."""

from agentic.context.digest._tools import ToolKind, ToolTable

__all__ = ["ToolKind", "ToolTable"]
