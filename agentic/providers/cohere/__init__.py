"""Cohere's Chat API, version 2, which North and private deployments support too.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

Each message is one message on the wire, except that a tool message with several results becomes
several. A message without a payload that can be sent back is rebuilt from its fields as follows:

- The system prompt and system messages become system messages, in place. A summary is a user
  message behind those at the start.
- What the assistant says along with calls is its `tool_plan`, otherwise its `content`.
- A user's images become parts of the content. All other media are named in the text.
- A tool's error and notice become part of the result's text, since the wire format has no flag.
- Reasoning is sent only within the payload that it came in.
- An empty user, system or assistant message is left out. A conversation without a user message gets
  a short neutral one.
- These are replaced, always in the same way: an id that is empty or used twice in a round, a name
  that Cohere rejects, arguments that are not a JSON object, and a lone surrogate.

Version 1 of the API, with `chat_history`, is a different format and not supported.
"""

import typing

from agentic._base import _lazy
from agentic.providers.cohere._decider import (
    ADAPTER,
    Decider,
    StreamedResponse,
    decode_response,
    stop_reason,
)
from agentic.providers.cohere._decider import usage as usage
from agentic.providers.cohere._messages import (
    IncrementalDecoder,
    decode,
    decode_request,
    encode,
    encode_request,
    encode_tools,
)
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.cohere._validation import validate

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
