"""Adapters, one for each provider, for messages, usage, stop reasons, errors and streams.

Start with `connect`, or with one adapter, such as `anthropic` or `openai_chat`.

Each adapter is a package with everything that is known about one provider, and its `ADAPTER` is the
record of it, by which the other rooms know the provider. `_decoding` and
`_encoding` are pure and need no SDK. `_decider` has a `Decider` that calls a client of the official
SDK, which the caller passes in, and the record. `_validation` explains why the provider would
reject the structure of a request. An adapter is imported on first use, its `_validation` with the
first request that is checked. `register` adds an adapter from elsewhere.
`overflow` and `binding` tell apart two refusals after which a smaller or another request succeeds.
`kit` is for authors of other adapters.
"""

import typing

from agentic._base import _lazy
from agentic.providers._registry import BUILT_IN as _BUILT_IN
from agentic.providers._registry import register

# Only with the first model: the loop's protocols load half of the package.
if typing.TYPE_CHECKING:
    from agentic.providers._connect import connect

__all__ = ["connect", "register"]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        **{name: f".{name}" for name in (*_BUILT_IN, "binding", "kit", "overflow")},
        "connect": "._connect",
    },
)
