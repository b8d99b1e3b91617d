"""OpenAI's Chat Completions, and every server that speaks it.

vLLM, llama.cpp, Ollama (/v1), LM Studio, LiteLLM, Azure, Groq, Mistral, DeepSeek, xAI, OpenRouter,
Together, Cerebras, z.ai, Moonshot, Alibaba, Snowflake, Gemini's /openai and others: where they
differ from OpenAI, the difference is read here, none is configured.
"""

from agentic.providers.openai_chat._decider import Decider
from agentic.providers.openai_chat._wire import (
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
