r"""Keep the start, the end or both ends of a text within a number of lines and bytes.

Start with `head`, `tail`, `middle` and `TailBuffer`.

    >>> from agentic import truncate
    >>> result = truncate.tail("one\ntwo\nthree", max_lines=2)
    >>> print(result.content)
    two
    three

A limit that is given applies alone; without one, 2,000 lines and 51,200 bytes are kept at most.
A line ends at a line feed and nowhere else; a final one opens no further line. Bytes are UTF-8,
and a lone surrogate counts as the three bytes of its surrogatepass form. Neither a character nor,
where it can be helped, a line is cut in two. A text within its limits is returned as it is.
"""

import typing

from agentic import _lazy
from agentic.truncate._cut import Mode, Result
from agentic.truncate._options import Default, Options, head, middle, tail

if typing.TYPE_CHECKING:
    from agentic.truncate._buffers import HeadBuffer, MiddleBuffer, TailBuffer, read_file

__all__ = [
    "Default",
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
