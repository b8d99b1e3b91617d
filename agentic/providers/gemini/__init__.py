"""Google's Gemini models, through the Gemini API (AI Studio) or Vertex AI.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

`Decider` calls a `google.genai.Client` (the extra `gemini`); everything else
needs no SDK. Functions that decode accept JSON data or google-genai objects; functions that encode
return fields of the REST body.
"""

import typing

from agentic._base import _lazy
from agentic.providers.gemini._decider import ADAPTER, Decider
from agentic.providers.gemini._decider import StreamedResponse as StreamedResponse
from agentic.providers.gemini._decoding import NAME as NAME
from agentic.providers.gemini._decoding import STOP_WORDS as STOP_WORDS
from agentic.providers.gemini._decoding import IncrementalDecoder as IncrementalDecoder
from agentic.providers.gemini._decoding import decode as decode
from agentic.providers.gemini._decoding import decode_request as decode_request
from agentic.providers.gemini._decoding import decode_response
from agentic.providers.gemini._decoding import stop_reason as stop_reason
from agentic.providers.gemini._decoding import usage as usage
from agentic.providers.gemini._encoding import encode as encode
from agentic.providers.gemini._encoding import encode_request
from agentic.providers.gemini._encoding import encode_tools as encode_tools
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.gemini._validation import validate

__all__ = ["ADAPTER", "Decider", "decode_response", "encode_request", "validate"]

# No Decider needs it.
__getattr__, __dir__ = _lazy.load_lazily(__name__, {"validate": "._validation"})
