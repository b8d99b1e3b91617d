"""What the API takes as the name of a function."""

import re

from agentic.providers._names import NameRule

__all__ = ["TOOL_NAMES"]

TOOL_NAMES = NameRule(re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), 128)
"""https://ai.google.dev/api/caching#FunctionDeclaration (2026-11)."""
