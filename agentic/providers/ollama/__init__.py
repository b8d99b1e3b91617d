"""Ollama's native API, `/api/chat`.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

Unlike the server's `/v1`, which `providers.openai_chat` speaks, it lets a request choose its window
(`num_ctx`) and refuse to be cut.

Each message is one message on the wire, except that a tool message with several results becomes
several. A message without a payload that can be sent back is rebuilt from its fields as follows:

- The system prompt and system messages become system messages, in place. A summary is a user
  message behind those at the start.
- Images of a user or a tool become `images`. Other media, and images that are only a location, are
  named in the text.
- A tool's error and notice become part of the result's text.
- Thinking is sent while the message still has the payload that it came in. Otherwise it is not.
- A call without an id, as older servers send them, gets one made from its reply.
- An empty user, system or assistant message is left out. A conversation without a user message gets
  a short neutral one.
"""

import typing

from agentic._base import _lazy
from agentic.providers.ollama._decider import ADAPTER, Decider
from agentic.providers.ollama._messages import (
    IncrementalDecoder,
    decode,
    decode_request,
    encode,
    encode_request,
    encode_tools,
)
from agentic.providers.ollama._replies import StreamedResponse, decode_response, stop_reason
from agentic.providers.ollama._replies import usage as usage
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.ollama._validation import validate

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
