"""Google's Gemini models, through the Gemini API (AI Studio) or Vertex AI.

Start with `Decider`, `decode` and `encode`.

`Decider` calls a `google.genai.Client` (`pip install 'agentic-weave[gemini]'`); everything else
needs no SDK. Functions that decode accept JSON data or google-genai objects; functions that encode
return fields of the REST body.
"""

from agentic.providers.gemini._decider import Decider
from agentic.providers.gemini._decoding import NAME, IncrementalDecoder, decode, decode_request
from agentic.providers.gemini._encoding import encode, encode_request, encode_tools, validate
from agentic.providers.gemini._replies import STOP_WORDS, decode_response, stop_reason, usage
from agentic.providers.gemini._streaming import StreamedResponse
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
    "stop_reason",
    "usage",
    "validate",
]
