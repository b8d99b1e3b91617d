"""What the wire takes of a tool call: its id and its name.

Any text will do for the arguments at OpenAI, but vLLM and llama.cpp parse what is sent back, and
refuse the whole conversation for one that is no JSON object:
https://github.com/vllm-project/vllm/issues/43995, https://github.com/ggml-org/llama.cpp/issues/25510.
"""

import re

from agentic.messages import ToolCall
from agentic.providers._names import NameRule
from agentic.providers._sendable import parse_object

__all__ = ["MAX_ID_CHARS", "TOOL_NAMES", "has_object"]

MAX_ID_CHARS = 40
"""https://github.com/camel-ai/camel/issues/2215 quotes the refusal of a longer one."""

TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
"""https://platform.openai.com/docs/api-reference/chat/create (2026-11)."""


def has_object(call: ToolCall) -> bool:
    """Tell whether a call's arguments are a JSON object, or nothing, which stands for none.

    >>> has_object(ToolCall("c1", "read", "{oops")), has_object(ToolCall("c1", "read", ""))
    (False, True)
    """
    return parse_object(call.arguments) is not None
