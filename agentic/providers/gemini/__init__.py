"""Google's Gemini models, through the Gemini API (AI Studio) or Vertex AI.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

`Decider` calls a `google.genai.Client` (the extra `gemini`); everything else
needs no SDK. Functions that decode accept JSON data or google-genai objects; functions that encode
return fields of the REST body.
"""

import typing

from agentic._base import _lazy
from agentic.providers.gemini._decider import ADAPTER, Decider, StreamedResponse
from agentic.providers.gemini._decoding import (
    IncrementalDecoder,
    decode,
    decode_request,
    decode_response,
    stop_reason,
)
from agentic.providers.gemini._decoding import usage as usage
from agentic.providers.gemini._encoding import encode, encode_request, encode_tools
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.gemini._validation import validate

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
