"""What Converse speaks: messages of content blocks, as JSON data with bytes in base64.

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

from agentic.providers.bedrock._wire._blobs import for_boto3
from agentic.providers.bedrock._wire._decode import IncrementalDecoder, decode, decode_request
from agentic.providers.bedrock._wire._encode import encode
from agentic.providers.bedrock._wire._name import NAME
from agentic.providers.bedrock._wire._reply import STOP_WORDS, decode_response, stop_reason, usage
from agentic.providers.bedrock._wire._request import encode_request, encode_tools
from agentic.providers.bedrock._wire._stream import StreamedResponse
from agentic.providers.bedrock._wire._validate import validate

__all__ = [
    "NAME",
    "STOP_WORDS",
    "IncrementalDecoder",
    "StreamedResponse",
    "decode",
    "decode_request",
    "decode_response",
    "encode",
    "encode_request",
    "encode_tools",
    "for_boto3",
    "stop_reason",
    "usage",
    "validate",
]
