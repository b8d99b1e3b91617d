"""OpenAI's Chat Completions API, and every server that supports it.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

vLLM, llama.cpp, Ollama (/v1), LM Studio, LiteLLM, Azure, Groq, Mistral, DeepSeek, xAI, OpenRouter,
Together, Cerebras, z.ai, Moonshot, Alibaba, Snowflake, Gemini's /openai and others: where they
differ from OpenAI, the adapter detects the difference, so nothing has to be configured.

Each message is one message on the wire, except that a tool message with several results becomes
several. A message without a payload that can be sent back is rebuilt from its fields as follows:

- The system prompt and system messages become system messages, in place, also in the middle of the
  conversation. A summary is a user message behind those at the start. Pinned messages are not
  treated specially. `kit._templates` describes what strict chat templates demand.
- A user's media become parts of the content (images, audio, PDF). Media that no part can hold are
  named in the text. Media from tools follow the round as a user message, since a tool may send only
  text.
- A tool's error and notice become part of the result's text, since the wire format has no flag.
- Reasoning is sent next to the text if the message still has the payload of this adapter that it
  came in. Otherwise it is not sent.
- An empty user, system or assistant message is left out. A conversation without a user message gets
  a short neutral one.
- These are replaced, always in the same way: an id that is empty, too long or already used, a name
  that OpenAI rejects, arguments that are not a JSON object, and a lone surrogate.
- What single servers demand besides is written for the `server` or the `model` of a request: ids of
  nine characters and a reply between a tool and a user for Mistral, a `reasoning_content` with each
  call for DeepSeek and Moonshot, and more in `_decider`. A message that is added stays there in
  later requests.
"""

import typing

from agentic._base import _lazy
from agentic.providers.openai_chat._decider import ADAPTER, Decider, encode_request
from agentic.providers.openai_chat._replies import StreamedResponse, decode_response, stop_reason
from agentic.providers.openai_chat._replies import usage as usage
from agentic.providers.openai_chat._wire import (
    IncrementalDecoder,
    decode,
    decode_request,
    encode,
    encode_tools,
)
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.openai_chat._validation import validate

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
