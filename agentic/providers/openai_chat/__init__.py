"""OpenAI's Chat Completions, and every server that speaks it.

Start with `Decider`, `decode` and `encode`.

vLLM, llama.cpp, Ollama (/v1), LM Studio, LiteLLM, Azure, Groq, Mistral, DeepSeek, xAI, OpenRouter,
Together, Cerebras, z.ai, Moonshot, Alibaba, Snowflake, Gemini's /openai and others: where they
differ from OpenAI, the difference is read here, none is configured.

One wire message is one of ours, but for a tool message with several results, which becomes several.
Where the rest goes when a message is written anew, that is, without a payload of its own:

- the system prompt, leading system messages and a summary: system messages, in place; so does a
  system message in the middle of the conversation, and a pinned message is like any other;
- media of a user: parts of its content (images, audio, PDF); what no part can carry is named in the
  text; media of tools follow the round as a user's message, since tools may send text only;
- a tool's error and notice: in the result's text, since the wire has no flag for it;
- reasoning: beside the text, if the message still has the payload of this wire that it came in;
  else nowhere;
- an empty user, system or assistant message: left out; a conversation without any user's message
  gets a short neutral one;
- an id that is empty, too long or used before, a name that OpenAI refuses, arguments that are no
  JSON object, a lone surrogate: replaced, the same way every time.
"""

from agentic.providers.openai_chat._decider import Decider
from agentic.providers.openai_chat._decoding import NAME, IncrementalDecoder, decode, decode_request
from agentic.providers.openai_chat._encoding import encode, encode_request, encode_tools, validate
from agentic.providers.openai_chat._replies import STOP_WORDS, decode_response, stop_reason, usage
from agentic.providers.openai_chat._streaming import StreamedResponse
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
