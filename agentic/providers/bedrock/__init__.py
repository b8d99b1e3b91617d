"""Amazon Bedrock, through the Converse and ConverseStream operations.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

The operations are the same for every model, but models differ in what they accept. Given the model,
`encode_request` and `validate` apply the rules of some model families. `Decider` calls a
`bedrock-runtime` client that the caller passes in, either boto3's or one whose methods are
coroutines: the extra `bedrock`. Everything else is pure, and reads and writes
messages of content blocks as JSON data, with bytes in base64.

Where each part of a conversation goes:

- Leading system messages go to the request's `system` field. A later system message becomes user
  text in `<system>` tags. A summary is a user message, or the first block of one that follows it.
- Tool results are blocks of a user message. Consecutive tool and user messages are one message on
  the wire, with results first; so are consecutive assistant messages. A wire message with both
  results and other content is read as two messages.
- A reply without text or calls, and any other empty message, is left out. If a truncated
  conversation does not start with a user message, a neutral one is added.
- Reasoning is sent back in its original blocks, or not at all.
- Media are blocks of a user message. Those of a tool result are blocks of that result; audio
  comes after the results, and so do images if the model is known to be neither Claude nor Nova.
  Media for which Converse has no block are named in a text. Pins are not sent.
- Calls and results keep their ids if Bedrock accepts them. Otherwise the ids are rewritten in calls
  and results alike, and so is an id that a rebuilt call of a later round uses again. Arguments that
  are not a JSON object, or are nested too deeply for Python to walk through, are sent as
  `{"unparsed_arguments": text}`.
- Some families reject text next to calls or results in one turn. For them (see `_encoding`), the
  turn is split by a short turn of the other role. Blank texts are left out where they are rejected.
"""

import typing

from agentic._base import _lazy
from agentic.providers.bedrock._decider import ADAPTER, Decider, StreamedResponse
from agentic.providers.bedrock._decoding import (
    IncrementalDecoder,
    decode,
    decode_request,
    decode_response,
    stop_reason,
)
from agentic.providers.bedrock._decoding import usage as usage
from agentic.providers.bedrock._encoding import encode, encode_request, encode_tools
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.bedrock._validation import validate

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
