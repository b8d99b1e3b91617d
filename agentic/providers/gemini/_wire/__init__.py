"""What is known of generateContent and streamGenerateContent, of AI Studio and of Vertex AI.

Pure, and without any SDK: JSON data or the objects of google-genai come in, keys of the REST body
come out.
"""

from agentic.providers.gemini._wire._decode import IncrementalDecoder, decode, decode_request
from agentic.providers.gemini._wire._encode import encode
from agentic.providers.gemini._wire._name import NAME
from agentic.providers.gemini._wire._reply import (
    STOP_WORDS,
    decode_response,
    stop_reason,
    usage,
)
from agentic.providers.gemini._wire._request import encode_request, encode_tools
from agentic.providers.gemini._wire._stream import StreamedResponse
from agentic.providers.gemini._wire._validate import validate

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
    "stop_reason",
    "usage",
    "validate",
]
