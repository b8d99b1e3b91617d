"""A budget for any agent in any language: an HTTP server between the agent and its provider.

Start with `Proxy`, or with the command `agentic proxy`. Needs the extra `proxy`.

- `POST .../chat/completions` and `.../responses` (OpenAI), `.../v1/messages` (Anthropic) and
  `.../models/MODEL:generateContent` (Gemini, also streamed) are kept within the window by
  `bridges.dicts`. What need not be cut is sent on byte for byte. Every other path is passed on
  unchanged, and so is a request that is not understood, or whose history the provider keeps.
- Answers are passed on as they arrive: status, headers and bytes. If the provider refuses a request
  as too large, in an error or at the start of a stream, one smaller request follows. If the client
  leaves, the request is cancelled.
- If the provider refuses the reasoning in a request that was cut, because what precedes it has
  changed, the same request follows once more, with the setting that drops it or without it.
- Conversations are told apart by the hash of the credential and by the messages that they
  continue. They are held in memory, and the number of them is bounded. Nothing is stored unless a
  folder for their summaries is named.
- Keys pass through; they are neither logged nor stored.
"""

from agentic._base import _imports
from agentic._base._versions import require as _require

_require("app.proxy", "starlette", "proxy", "0.40")
_require("app.proxy", "httpx", "proxy", "0.27")
_require("app.proxy", "uvicorn", "proxy", "0.30")

with _imports.quietly():
    from agentic.app.proxy._app import Proxy

__all__ = ["Proxy"]
