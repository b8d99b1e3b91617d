"""Amazon Bedrock, by the Converse and ConverseStream operations.

The operations are the same for every model; what a model takes of them is not. `encode_request` and
`validate` know the rules of some families, once they know the model. The wire is pure; `Decider`
calls a `bedrock-runtime` client that the caller passes in, boto3's or one whose methods are
coroutines: pip install 'agentic-weave[bedrock]'.
"""

from agentic.providers.bedrock._decider import Decider
from agentic.providers.bedrock._wire import (
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
    for_boto3,
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
    "for_boto3",
    "is_context_overflow",
    "stop_reason",
    "usage",
    "validate",
]
