"""Texts, names and arguments made such that no server refuses them, the same way every time."""

import hashlib
import json
import re
from typing import Any

from agentic.messages import ToolCall

__all__ = ["arguments_of", "encodable", "is_object", "wire_name"]

# "a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64",
# https://platform.openai.com/docs/api-reference/chat/create (2026-11).
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")


def encodable(value: Any) -> Any:
    r"""Replace lone surrogates, which UTF-8 has no form for, in texts and in what holds them.

    >>> encodable({"content": "cut \ud83d"})
    {'content': 'cut \ufffd'}
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            # Two halves that stand side by side are one character again.
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    return [encodable(item) for item in value] if isinstance(value, list) else value


def wire_name(name: str) -> str:
    """Give a tool's name as OpenAI takes it; a name that it takes is left alone.

    >>> wire_name("read_file"), wire_name("files.read")
    ('read_file', 'files_read_601e4eb6')
    """
    if _NAME.fullmatch(name):
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_FORBIDDEN.sub('_', name)[:55]}_{mark}"


def is_object(call: ToolCall) -> bool:
    """Tell whether a call's arguments are a JSON object, or nothing, which stands for none."""
    try:
        call.parse()
    except ValueError:
        return False
    return True


def arguments_of(call: ToolCall) -> str:
    r"""Give arguments as the JSON text of an object.

    OpenAI takes any text, but vLLM and llama.cpp parse what is sent back and refuse the whole
    conversation: https://github.com/vllm-project/vllm/issues/43995,
    https://github.com/ggml-org/llama.cpp/issues/25510.

    >>> arguments_of(ToolCall("c1", "read", "{oops"))
    '{"unparsed_arguments": "{oops"}'
    >>> arguments_of(ToolCall("c1", "write", '{"text": "a\nb"}'))
    '{"text": "a\\nb"}'
    """
    text: str = encodable(call.arguments)
    if is_object(call):
        return text if text.strip() else "{}"
    try:
        value = json.loads(text, strict=False)  # small models write raw newlines within strings
    except (ValueError, RecursionError):
        value = None
    return json.dumps(value if isinstance(value, dict) else {"unparsed_arguments": text})
