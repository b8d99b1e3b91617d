"""Read a reply while it is passed on, to learn how large the request was."""

import json
import zlib
from types import ModuleType
from typing import Any

import attrs

from agentic.errors import ContextOverflow
from agentic.providers.kit import at, items_at
from agentic.providers.overflow import is_context_overflow

# From here on a reply is passed on unread: no model writes as much.
_MAX_BYTES = 16 * 2**20
_EITHER_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS
_NO_CONTENT = {"message_start", "ping"}
"""Anthropic's events before the first content."""


@attrs.define(eq=False)
class ReplyReader:
    """Reads one reply, whole or streamed, compressed or not; never raises."""

    _wire: ModuleType
    _is_stream: bool
    _encoding: str
    """The Content-Encoding: gzip, deflate or empty. Others are not read."""
    _length: int | None
    """The Content-Length."""
    response: Any = attrs.field(default=None, init=False)
    """The response as JSON data, once it is complete."""
    is_refused: bool = attrs.field(default=False, init=False)
    """Whether the answer says that the request was too large, before it has any content."""
    _has_content: bool = attrs.field(default=False, init=False)
    _received: int = attrs.field(default=0, init=False)
    _buffer: bytearray = attrs.field(factory=bytearray, init=False)
    _streamed: Any = attrs.field(init=False)
    _inflate: Any = attrs.field(init=False)
    _is_lost: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._streamed = self._wire.StreamedResponse()
        is_packed = self._encoding in {"gzip", "deflate"}
        self._inflate = zlib.decompressobj(_EITHER_ZLIB_OR_GZIP) if is_packed else None
        self._is_lost = not is_packed and self._encoding not in {"", "identity"}

    @property
    def has_begun(self) -> bool:
        """Whether there is content, or nothing more to be learned about the request."""
        return self._has_content or self._is_lost or self.response is not None

    def feed(self, piece: bytes) -> None:
        """Read the next bytes of the body as they were received."""
        self._try(self._take, piece)

    def finish(self) -> None:
        """Read what is left at the end of the body."""
        if self.response is None:
            self._try(self._end)

    def _try(self, read: Any, *args: Any) -> None:
        if self._is_lost:
            return
        try:
            read(*args)
        except ContextOverflow:
            self.is_refused, self._is_lost = not self._has_content, True
        except Exception:  # noqa: BLE001  a reply that cannot be read is passed on nevertheless
            self._is_lost = True

    def _take(self, piece: bytes) -> None:
        self._received += len(piece)
        plain = self._inflate.decompress(piece) if self._inflate else piece
        self._buffer += plain
        if len(self._buffer) > _MAX_BYTES:
            raise ValueError("too large to be a reply")
        if self._is_stream:
            # Splitting copies the buffer: for each piece of one long line, that would be quadratic.
            if b"\n" in plain:
                self._take_lines()
        elif self._received == self._length:
            self._end()

    def _take_lines(self) -> None:
        """Read complete lines of server-sent events; each `data` of both wires is one line."""
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer[:] = rest
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            event = None if data == b"[DONE]" else json.loads(data)
            self._streamed.feed(event or "[DONE]")
            self._has_content = self._has_content or _is_content(event)
            if event is None or event.get("type") == "message_stop":
                self._end()

    def _end(self) -> None:
        if self._is_stream:
            self.response = self._streamed.response()
            return
        self.response = json.loads(self._buffer)
        # Some gateways answer 200 whatever happened. A reply may quote the words of an overflow, so
        # there has to be an error as well.
        self.is_refused = bool(at(self.response, "error")) and is_context_overflow(self.response)


def _is_content(event: Any) -> bool:
    """Return whether an event of either wire has a part of the reply, or ends it.

    >>> _is_content({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
    False
    """
    if event is None or "type" in event:
        return event is None or event["type"] not in _NO_CONTENT
    return any(
        choice.get("finish_reason")
        or any(value for key, value in (choice.get("delta") or {}).items() if key != "role")
        for choice in items_at(event, "choices")
    )
