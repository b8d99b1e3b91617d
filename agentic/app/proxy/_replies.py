"""Read a reply while it is passed on, to learn how large the request was."""

import contextlib
import json
import re
import zlib
from typing import Any

import attrs

from agentic.errors import ConfigError, ContextOverflow
from agentic.providers.kit import Adapter, HttpApi, at
from agentic.providers.overflow import read_size_refusal
from agentic.providers.overflow._size_refusal import SizeRefusal

# From here on a reply is passed on unread: no model writes as much.
_MAX_BYTES = 16 * 2**20
_EITHER_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS
_BEFORE_EVENT = re.compile(r"[\s,\[]*(?=\{)")
_decode = json.JSONDecoder().raw_decode


@attrs.define(eq=False)
class ReplyReader:
    """Reads one reply, whole or streamed, compressed or not; never raises."""

    _wire: Adapter
    _is_stream: bool
    _encoding: str
    """The Content-Encoding: gzip, deflate or empty. Others are not read."""
    _length: int | None
    """The Content-Length."""
    response: Any = attrs.field(default=None, init=False)
    """The response as JSON data, once it is complete."""
    refusal: SizeRefusal | None = attrs.field(default=None, init=False)
    """What the request had too much of, if the answer says so before it has any content."""
    _has_content: bool = attrs.field(default=False, init=False)
    _received: int = attrs.field(default=0, init=False)
    _buffer: bytearray = attrs.field(factory=bytearray, init=False)
    _streamed: Any = attrs.field(init=False)
    _inflate: Any = attrs.field(init=False)
    _is_lost: bool = attrs.field(init=False)
    _is_array: bool = attrs.field(default=False, init=False)
    """Whether the events are the items of a JSON array."""

    def __attrs_post_init__(self) -> None:
        self._streamed = self._wire.streamed_response()
        is_packed = self._encoding in {"gzip", "deflate"}
        self._inflate = zlib.decompressobj(_EITHER_ZLIB_OR_GZIP) if is_packed else None
        self._is_lost = not is_packed and self._encoding not in {"", "identity"}

    @property
    def _api(self) -> HttpApi:
        api = self._wire.http
        if api is None:
            raise ConfigError("wire", self._wire.name, "an adapter with an `http`")
        return api

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
        except ContextOverflow as error:
            self.refusal = None if self._has_content else read_size_refusal(error)
            self._is_lost = True
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
        elif b"}" in plain and self._buffer.lstrip()[:1] == b"[":
            self._take_array()

    def _take_lines(self) -> None:
        """Read complete lines of server-sent events; each `data` of all wires is one line."""
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer[:] = rest
        for line in lines:
            if line.startswith(b"data:"):
                data = line[5:].strip()
                self._take_event("[DONE]" if data == b"[DONE]" else json.loads(data))

    def _take_array(self) -> None:
        """Read the complete events of an array: a stream of Gemini's without `alt=sse`."""
        self._is_array = True
        text = self._buffer.decode(errors="surrogateescape")
        at_end = 0
        # An event that is not complete is read again with the next piece; each is short.
        with contextlib.suppress(ValueError):
            while match := _BEFORE_EVENT.match(text, at_end):
                event, at_end = _decode(text, match.end())
                self._take_event(event)
        # What is left begins with a bracket again, as the whole did.
        self._buffer[:] = b"[" + text[at_end:].encode(errors="surrogateescape")

    def _take_event(self, event: Any) -> None:
        self._streamed.feed(event)
        self._has_content = self._has_content or self._api.has_content(event)
        if self._api.is_last(event):
            self._end()

    def _end(self) -> None:
        if self._is_stream or self._is_array:
            self.response = self._streamed.response()
            return
        self.response = json.loads(self._buffer)
        # Some gateways answer 200 whatever happened. A reply may quote the words of an overflow, so
        # there has to be an error as well.
        if at(self.response, "error"):
            self.refusal = read_size_refusal(self.response)
