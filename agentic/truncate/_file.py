"""Truncating a file on disk without reading it into memory."""

import os
from typing import Protocol

from agentic.truncate._buffers import Buffer, HeadBuffer, MiddleBuffer, TailBuffer
from agentic.truncate._options import Options, check_options
from agentic.truncate._result import Mode, Result

__all__ = ["read_file"]

_BLOCK = 262_144
"""Bytes read at a time."""

_DEFAULTS = Options()

_BUFFERS: dict[Mode, type[Buffer]] = {
    Mode.HEAD: HeadBuffer,
    Mode.TAIL: TailBuffer,
    Mode.MIDDLE: MiddleBuffer,
}


class _Source(Protocol):
    def read(self, size: int, /) -> bytes | None: ...


def read_file(path: str | os.PathLike[str], options: Options = _DEFAULTS) -> Result:
    """Truncate what a file holds, as `options.apply` would truncate its decoded text.

    Every byte is read once, in blocks of 256 KiB: the totals are exact, and no less tells them.
    Only what the limits keep is held. Bytes that are not UTF-8 become U+FFFD.

    Raises:
        ConfigError: The options are none.
        OSError: The file cannot be read.
    """
    check_options(options)
    with open(path, "rb", buffering=0) as source:  # noqa: PTH123  # pathlib slows the import
        return _read(source, options)


def _read(source: _Source, options: Options) -> Result:
    buffer = _BUFFERS[options.mode](max_lines=options.max_lines, max_bytes=options.max_bytes)
    while block := source.read(_BLOCK):
        buffer.feed(block)
    return buffer.result()
