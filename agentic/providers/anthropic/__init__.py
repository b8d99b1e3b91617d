"""Anthropic's Messages API, on any host: messages, usage, stop reasons and streams.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

Where each part of a conversation goes:

- Leading system messages: the request's `system`, as a string if there is one of them and as one
  block each if there are several. A summary: a user message of its own before all others. Any other
  system message becomes user text in `<system>` tags, unless it came from the wire and is allowed
  at its position. Pinned messages stay where they are.
- Tool results: the first blocks of a single user message, with `is_error` for a failure and the
  notice at the end of the text. A result's images and documents: blocks of that result, or after
  all results if it failed. Other images and documents: blocks of the same user message, after the
  results.
- Thinking: sent back with the complete message that the API sent, or not at all. Reasoning from
  other providers is not sent.
- Data that no field of ours can hold (server tools and their results, searches, containers,
  compactions, citations, cache marks): kept in the message's payload.
- Arguments that are not a JSON object: `{"INVALID_JSON": text}`. Ids and tool names with characters
  that the API does not accept: rewritten, in calls and results alike. Lone surrogates: U+FFFD.
- An id used by two calls of one turn: `call_0_2` for the second, even in a reply that is otherwise
  sent back unchanged. An id that a later turn uses again, as compatible servers do, is kept.
- Empty messages: left out. If a truncated conversation does not start or end with a user message,
  the user message "Continue." is added there.
"""

import typing

from agentic._base import _lazy
from agentic.providers.anthropic._decider import ADAPTER, Decider, StreamedResponse
from agentic.providers.anthropic._decoding import (
    IncrementalDecoder,
    decode,
    decode_request,
    decode_response,
    stop_reason,
)
from agentic.providers.anthropic._decoding import usage as usage
from agentic.providers.anthropic._encoding import encode, encode_request, encode_tools
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.anthropic._validation import validate

__all__ = [
    "ADAPTER",
    "Decider",
    "IncrementalDecoder",
    "StreamedResponse",
    "decode",
    "decode_request",
    "decode_response",
    "encode",
    "encode_request",
    "encode_tools",
    "stop_reason",
    "validate",
]

# No Decider needs it.
__getattr__, __dir__ = _lazy.load_lazily(__name__, {"validate": "._validation"})
