r"""Keep the start, the end or both ends of a text, within limits on lines and bytes.

Start with `head`, `tail`, `middle` and `TailBuffer`.

    >>> from agentic import truncate
    >>> result = truncate.tail("one\ntwo\nthree", max_lines=2)
    >>> print(result.content)
    two
    three

A limit that is passed applies alone; without any, 2,000 lines and 51,200 bytes are the limits.
Lines end only at a line feed; a final line feed does not begin another line. Bytes are UTF-8, with
a lone surrogate as the three bytes of its surrogatepass form. Characters are never split, and lines
only if a single one exceeds the limit. A text within its limits is returned unchanged.
"""

import typing

from agentic._base import _lazy
from agentic.truncate._cut import Mode, Result
from agentic.truncate._options import Options, head, middle, tail

if typing.TYPE_CHECKING:
    from agentic.truncate._buffers import HeadBuffer, MiddleBuffer, TailBuffer, read_file

__all__ = [
    "HeadBuffer",
    "MiddleBuffer",
    "Mode",
    "Options",
    "Result",
    "TailBuffer",
    "head",
    "middle",
    "read_file",
    "tail",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "HeadBuffer": "._buffers",
        "MiddleBuffer": "._buffers",
        "TailBuffer": "._buffers",
        "read_file": "._buffers",
    },
)
