"""What must change in blocks that are sent back: what a model wrote and Bedrock does not take."""

from operator import is_
from typing import Any

from agentic.providers._plain import at, text_at
from agentic.providers.bedrock._wire._calls import TOOL_NAMES, CallIds, wire_input

__all__ = ["is_blank", "mend"]

_UNKNOWN = "SDK_UNKNOWN_MEMBER"
"""What boto3 gives in place of a block that it does not know, and refuses to send."""


def mend(message: Any, ids: CallIds) -> Any | None:
    """Give a wire message as it can be sent, the same object if it can; None if nothing is left."""
    content = at(message, "content")
    if not isinstance(content, list):
        return message
    strict = at(message, "role") == "assistant" or all(map(is_blank, content))
    blocks = [_mend_block(block, ids) for block in content if not _is_refused(block, strict)]
    if len(blocks) == len(content) and all(map(is_, blocks, content)):
        return message if blocks else None
    return {**message, "content": blocks} if blocks else None


def _is_refused(block: Any, strict: bool) -> bool:
    """Tell an empty text, which gpt-oss for one gives; if `strict`, a blank one, too.

    https://github.com/strands-agents/harness-sdk/pull/3029
    """
    refused = is_blank(block) if strict else block == {"text": ""}
    return refused or (isinstance(block, dict) and _UNKNOWN in block)


def is_blank(block: Any) -> bool:
    """Tell a text of white space alone.

    An assistant's is refused, and a user's that has nothing beside it; recorded is a user's that
    was taken beside another text. https://github.com/NousResearch/hermes-agent/pull/67978
    """
    is_text = isinstance(block, dict) and block.keys() == {"text"}
    return is_text and isinstance(block["text"], str) and not block["text"].strip()


def _mend_block(block: Any, ids: CallIds) -> Any:
    if isinstance(at(block, "toolUse"), dict):
        return _mend_call(block, ids)
    if isinstance(at(block, "toolResult"), dict):
        call_id = text_at(block, "toolResult", "toolUseId")
        answered = ids.answer(call_id)
        if answered != call_id:
            return {**block, "toolResult": {**block["toolResult"], "toolUseId": answered}}
    return block


def _mend_call(block: Any, ids: CallIds) -> Any:
    call = block["toolUse"]
    name, call_id, given = text_at(call, "name"), text_at(call, "toolUseId"), call.get("input")
    changes: dict[str, Any] = {}
    kept = call_id if call.get("type") == "server_tool_use" else ids.keep(call_id)
    if kept != call_id:
        changes["toolUseId"] = kept
    if not TOOL_NAMES.accept(name):
        changes["name"] = TOOL_NAMES.wire(name)
    sent = wire_input(given)
    if sent is not given:
        changes["input"] = sent
    return {**block, "toolUse": {**call, **changes}} if changes else block
