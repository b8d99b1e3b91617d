"""Google's Gemini models, by the Gemini API (AI Studio) and by Vertex AI.

`Decider` calls a `google.genai.Client` (`pip install 'agentic-weave[gemini]'`); everything else
needs no SDK.
"""

from agentic.providers.gemini._decider import Decider
from agentic.providers.gemini._wire import (
    NAME,
    STOP_WORDS,
    IncrementalDecoder,
    StreamedResponse,
    decode,
    decode_request,
    decode_response,
    encode,
    encode_request,
    encode_tools,
    stop_reason,
    usage,
    validate,
)
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
