"""Detect that a request was larger than the model's window, from an error or the usage.

Start with `is_context_overflow` and `read_overflow`.

`read_size_refusal` also tells a request that has too many bytes or too many images.

All providers share one set of patterns, because gateways pass on the errors of other servers in
their original wording. Errors that must not be taken for an overflow (quotas, rate limits, body
size limits, output limits) are excluded. A server that truncates the prompt silently is recognized
by its token counts.
"""

from agentic.providers.overflow._detection import is_context_overflow, read_overflow
from agentic.providers.overflow._size_refusal import read_size_refusal

__all__ = ["is_context_overflow", "read_overflow", "read_size_refusal"]
