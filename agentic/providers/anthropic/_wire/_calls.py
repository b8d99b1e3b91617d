"""What the API takes of a tool call: its id, its name, its arguments."""

import re

from agentic.providers._names import NameRule

__all__ = ["CALL_IDS", "INVALID_JSON", "TOOL_NAMES"]

TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
"""https://github.com/BerriAI/litellm/pull/26788."""

CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
"""https://github.com/langchain-ai/langchain/pull/37756; no length is stated for an id."""

INVALID_JSON = "INVALID_JSON"
"""The key under which arguments that are no JSON object are sent, as the provider proposes:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming."""
