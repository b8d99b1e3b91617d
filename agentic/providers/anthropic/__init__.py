"""Anthropic's Messages API, wherever it is served: messages, usage, stop reasons, streams.

Start with `Decider`, `decode` and `encode`.

Where each part of a conversation goes:

- Leading system messages and the summary: the request's `system`, a text if it is one, a block
  for each if there are several. Any other system message: the user's text, in `<system>` tags,
  unless it came from the wire and may stand where it stands. Pinned messages: where they stand.
- Results of tools: first in one message of the user's, `is_error` for a failure, the notice at the
  end of the text. Pictures and documents: blocks of the user's message, after the results.
- Thinking: goes back with the whole message that the API sent, or not at all. Reasoning of other
  providers: nowhere.
- What has no field of ours (server tools and their results, searches, containers, compactions,
  citations, marks of the cache): stays in the payload of the message.
- Arguments that are no JSON object: `{"INVALID_JSON": text}`. Ids and tools' names of other
  characters than the API takes: rewritten, calls and results alike. Lone surrogates: U+FFFD.
- An id that names two calls of one turn: `call_0_2` for the second, even in a reply that otherwise
  goes back as it came. One that a later turn uses again, as compatible servers do, is kept there.
- Messages that say nothing: left out. A conversation that a cut left without a first or a last
  word of the user's: "Continue.", said for the user.
"""

from agentic.providers.anthropic._decider import Decider, reply_tokens
from agentic.providers.anthropic._decoding import NAME, IncrementalDecoder, decode, decode_request
from agentic.providers.anthropic._encoding import encode, encode_request, encode_tools, validate
from agentic.providers.anthropic._replies import STOP_WORDS, decode_response, stop_reason, usage
from agentic.providers.anthropic._streaming import StreamedResponse
from agentic.providers.overflow import is_context_overflow

__all__ = [
    "NAME",
    "STOP_WORDS",
    "Decider",
    "IncrementalDecoder",
    "StreamedResponse",
    "decode",
    "decode_request",
    "decode_response",
    "encode",
    "encode_request",
    "encode_tools",
    "is_context_overflow",
    "reply_tokens",
    "stop_reason",
    "usage",
    "validate",
]
