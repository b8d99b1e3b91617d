"""Decode a complete reply: its message, its token usage and why it ended."""

from typing import Any

import attrs

from agentic.loop import Decision
from agentic.messages import Message, ProviderPayload
from agentic.providers._bound_requests import input_transformations
from agentic.providers.anthropic._decoding import NAME, blocks_of, read_payload
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._iterations import (
    is_server_call,
    last_request_in,
    read_counts,
    requests_in,
    used_server_tools,
)
from agentic.usage import StopReason, StopWords, Usage

# All but the last: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
# (2026-11). `compaction` is from a beta: the pause after the server compacted the conversation,
# https://platform.claude.com/docs/en/build-with-claude/compaction. A paused turn is neither done
# nor cut off: the Decider continues it, so a caller sees these two words only after several
# consecutive pauses.
STOP_WORDS = StopWords(
    NAME,
    {
        "end_turn": StopReason.STOP,
        "stop_sequence": StopReason.STOP,
        "tool_use": StopReason.TOOL,
        "max_tokens": StopReason.MAX_TOKENS,
        "model_context_window_exceeded": StopReason.MAX_TOKENS,
        "refusal": StopReason.CONTENT_FILTER,
        "pause_turn": StopReason.OTHER,
        "compaction": StopReason.OTHER,
    },
)

_NOTHING = {"type": "text", "text": ""}


def decode_response(response: Any, /) -> Decision:
    """Read a reply. Its blocks, with thinking and signatures, are the payload to send back.

    >>> decode_response({"content": [{"type": "text", "text": "Done."}]}).reply
    'Done.'
    """
    data = plain(response)
    blocks = reply_blocks(data)
    payload = {"role": "assistant", "content": blocks}
    message = read_payload(payload) or Message("assistant")
    used = usage(data) if isinstance(_usage_of(data), dict) else None
    return Decision(
        message.content,
        message.tool_calls,
        used,
        stop_reason(data),
        ProviderPayload(NAME, payload) if blocks else None,
        stop_word=text_at(data, "stop_reason"),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_model=text_at(data, "model"),
        response_id=text_at(data, "id"),
        last_request=last_request_in(_usage_of(data)) if used and used.summed else None,
        input_transformations=input_transformations(data),
    )


def reply_blocks(response: Any) -> list[Any]:
    """Return the blocks of a response that are sent back with the next request.

    An empty text is left out: a stream may contain one, but the API rejects it in a request
    (https://github.com/anthropics/claude-code/issues/59812).
    """
    return [block for block in blocks_of(at(response, "content")) if block != _NOTHING]


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended.

    >>> stop_reason({"stop_reason": "refusal"})
    <StopReason.CONTENT_FILTER: 'content_filter'>
    """
    data = plain(response)
    if at(data, "type") == "error":
        return StopReason.ERROR
    # A server that says end_turn next to a call waits for its result all the same.
    calls = any(at(block, "type") == "tool_use" for block in items_at(data, "content"))
    return STOP_WORDS.reason(text_at(data, "stop_reason") or None, has_tool_calls=calls)


def usage(response: Any, /) -> Usage:
    """Return a reply's usage. The provider counts cached tokens separately; `input` includes them.

    The tokens of a compaction on the server and of an advisor are in `iterations` only, and are not
    counted: they do not reflect the size of the context, and have separate prices
    (https://platform.claude.com/docs/en/build-with-claude/compaction, 2026-11).

    >>> usage({"usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7}})
    Usage(input=95, output=7, total=0, cache_read=90, cache_write=0, reasoning=0)
    """
    data = plain(response)
    counts = _usage_of(data)
    return attrs.evolve(read_counts(counts), summed=_is_sum(data, counts))


def _is_sum(data: Any, counts: Any) -> bool:
    """Return whether a usage adds up several requests, or is not that of the conversation now.

    The server sends the conversation again after each of its own tools, and counts what it read
    from the cache each time.
    """
    requests = requests_in(counts)
    if requests:
        replies = [each for each in requests if text_at(each, "type") != "compaction"]
        return len(replies) != 1 or replies[-1] is not requests[-1]
    ran = any(is_server_call(text_at(block, "type")) for block in items_at(data, "content"))
    return ran or used_server_tools(counts)


def _usage_of(data: Any) -> Any:
    """Return the usage in a response, or in the event that starts a streamed one."""
    return at(data, "usage") or at(data, "message", "usage")
