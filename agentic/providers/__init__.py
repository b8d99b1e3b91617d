"""Adapters, one for each provider, for messages, usage, stop reasons, errors and streams.

Start with `connect`, or with one adapter, such as `anthropic` or `openai_chat`.

Each adapter is a package with the same parts. `_decoding` and `_encoding`, `_replies` and
`_streaming` are pure and need no SDK; short ones share a file (`_messages`, `_replies`). `_decider`
has a `Decider` that calls a client of the official SDK, which the caller passes in. Adapters are
imported on first use.
`overflow` and `binding` tell apart two refusals after which a smaller or another request succeeds.
`kit` is for authors of other adapters; `validators` checks whether a provider would reject the
structure of a request.
"""

from agentic import _lazy
from agentic.providers._connect import PROVIDERS as PROVIDERS
from agentic.providers._connect import Connection as Connection
from agentic.providers._connect import connect

__all__ = ["connect"]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "anthropic": ".anthropic",
        "bedrock": ".bedrock",
        "binding": ".binding",
        "cohere": ".cohere",
        "gemini": ".gemini",
        "kit": ".kit",
        "ollama": ".ollama",
        "openai_chat": ".openai_chat",
        "openai_responses": ".openai_responses",
        "overflow": ".overflow",
        "validators": ".validators",
    },
)
