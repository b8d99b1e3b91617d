"""Whether the request was larger than the model's window, from an error or from the usage.

Start with `is_context_overflow` and `read_overflow`.

One table for all: gateways pass on the errors of whom they ask, in that server's words. What must
not be taken for an overflow (a quota, a rate limit, the size of the body, the limit of the output)
is read first. A server that cuts the prompt and says nothing is told by what it counted.
"""

from agentic.providers.overflow._detection import (
    is_context_overflow,
    read_overflow,
    read_silent_overflow,
)
from agentic.providers.overflow._error_text import Overflow

__all__ = ["Overflow", "is_context_overflow", "read_overflow", "read_silent_overflow"]
