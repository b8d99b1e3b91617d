"""Amazon Bedrock, by the Converse and ConverseStream operations.

Start with `Decider`, `decode` and `encode`.

The operations are the same for every model; what a model takes of them is not. `encode_request` and
`validate` know the rules of some families, once they know the model. `Decider` calls
a `bedrock-runtime` client that the caller passes in, boto3's or one whose methods are coroutines:
pip install 'agentic-weave[bedrock]'. Everything else is pure, and reads and writes messages of
content blocks as JSON data, with bytes in base64.

Where each part of a conversation goes:

- Leading system messages, a summary among them, go to `system`, a field of its own; a later one
  becomes a user's text inside `<system>` tags, a later summary a user's text as it is.
- Results of tools are a user's blocks. Tool and user messages that follow each other are one
  message on the wire, results first; so are assistants'. A wire message with both is read as two.
- An answer without words, and any other empty message, is left out. A conversation that a cut left
  without a user's message at its start gets a neutral one.
- Reasoning goes back inside the blocks that it came in, or not at all.
- Media are a user's blocks, those of tools after their results. What Converse has no block for is
  named in a text. Pins are not shown.
- Calls and results keep their ids where Bedrock takes them; others are rewritten, alike on both
  sides, and so is an id that comes again in a later round. Arguments that are no JSON object, or
  too deep for Python to walk through, are sent as `{"unparsed_arguments": text}`.
- Some families refuse words beside calls or results in one turn: for them, see `_families`, it is
  parted by a short turn of the other role. Blank texts are left out where they are refused.
"""

from agentic.providers.bedrock._decider import Decider
from agentic.providers.bedrock._decoding import NAME, IncrementalDecoder, decode, decode_request
from agentic.providers.bedrock._encoding import encode, encode_request, encode_tools, validate
from agentic.providers.bedrock._json import for_boto3
from agentic.providers.bedrock._replies import STOP_WORDS, decode_response, stop_reason, usage
from agentic.providers.bedrock._streaming import StreamedResponse
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
    "for_boto3",
    "is_context_overflow",
    "stop_reason",
    "usage",
    "validate",
]
