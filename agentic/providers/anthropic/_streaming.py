"""Assemble a streamed reply from its events.

The events: https://platform.claude.com/docs/en/build-with-claude/streaming (2026-11).
"""

import json
from typing import Any

import attrs

from agentic.errors import ProviderError
from agentic.providers._model import ModelStream, reported_error
from agentic.providers.anthropic._decoding import INVALID_JSON, NAME
from agentic.providers.anthropic._replies import usage
from agentic.providers.kit import at, items_at, parse_object, plain, text_at
from agentic.providers.kit._streamed_texts import GrowingText, index_in

# By the type of a delta: the fields that are complete in it, the field of which it is a fragment,
# and the type of the block that it belongs to if that is not a text.
_SETTLED = {"signature_delta": ("signature",), "compaction_delta": ("content", "encrypted_content")}
_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}
_KINDS = {"thinking_delta": "thinking", "input_json_delta": "tool_use"}

# https://platform.claude.com/docs/en/api/errors (2026-11): an error in a stream has no status.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

_WRITTEN = "cache_creation_input_tokens"
_INPUT = ("input_tokens", "cache_read_input_tokens", _WRITTEN, "cache_creation")


@attrs.define
class _StreamedBlock:
    """One block as received so far."""

    _fields: dict[str, Any]
    _citations: list[Any] = attrs.field(factory=list, init=False)
    """Citations that arrived in deltas."""
    _input: GrowingText | None = attrs.field(default=None, init=False)
    """The fragments of a call's JSON text, until the block ends."""

    @property
    def is_open(self) -> bool:
        """Return whether a call's input is not complete yet."""
        return self._input is not None

    @property
    def is_call(self) -> bool:
        """Return whether it is a call, whoever answers it."""
        return text_at(self._fields, "type").endswith("tool_use")

    def add(self, delta: Any) -> str:
        """Process the next delta; return the text it adds to the reply."""
        kind = text_at(delta, "type")
        if kind in _GROWING:
            piece = self._grow(_GROWING[kind], text_at(delta, _GROWING[kind]))
            return piece if kind == "text_delta" else ""
        if kind == "input_json_delta":
            self._input = GrowingText() if self._input is None else self._input
            self._input.add(text_at(delta, "partial_json"))
        elif kind == "citations_delta":
            self._citations.append(at(delta, "citation"))
        for field in _SETTLED.get(kind, ()):
            if at(delta, field) is not None:
                self._fields[field] = at(delta, field)
        return ""

    def _grow(self, field: str, piece: str) -> str:
        text = self._fields.get(field)
        if not isinstance(text, GrowingText):
            # A start event may already hold the first piece.
            self._fields[field] = text = GrowingText(text_at(self._fields, field))
        return text.add(piece)

    def close(self) -> None:
        """Parse a call's input, which is now complete."""
        text, self._input = str(self._input or ""), None
        # A call without arguments has no fragments, and keeps the object that it started with.
        if text.strip():
            found = parse_object(text)
            self._fields["input"] = {INVALID_JSON: text} if found is None else found

    def whole(self) -> dict[str, Any]:
        """Return the block as in a non-streamed response."""
        # Not `join_pieces`: a call's input may be nested more deeply than Python can recurse into.
        whole = {
            key: str(value) if isinstance(value, GrowingText) else value
            for key, value in self._fields.items()
        }
        if self._citations:
            whole["citations"] = [*items_at(whole, "citations"), *self._citations]
        return whole


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> streamed = StreamedResponse()
    >>> streamed.feed({"type": "ping"})
    ''
    """

    before: str = attrs.field(default="", kw_only=True)
    """The text of this turn from before a pause; it is a part of `text`."""
    _message: dict[str, Any] = attrs.field(factory=dict, init=False)
    _blocks: list[_StreamedBlock] = attrs.field(factory=list, init=False)
    _by_index: dict[int, _StreamedBlock] = attrs.field(factory=dict, init=False)
    """The latest block with each index: a gateway may give all blocks the same."""
    _ended: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._said = GrowingText(self.before)

    def _process(self, event: Any) -> str:
        data = plain(event)
        kind = at(data, "type")
        if kind == "error":
            raise stream_error(data, text_at(self._message, "model") or self.model)
        if kind == "message_start":
            return self._start(at(data, "message"))
        if kind == "content_block_start":
            return self._open(_index(data), at(data, "content_block"))
        if kind == "content_block_delta":
            return self._extend(_index(data), at(data, "delta"))
        if kind == "content_block_stop" and _index(data) in self._by_index:
            self._by_index[_index(data)].close()
        elif kind == "message_delta":
            self._update(data)
        elif kind == "message_stop":
            self._ended = True
        return ""

    def _built(self) -> dict[str, Any] | None:
        stopped = at(self._message, "stop_reason") is not None
        # Some gateways omit the last event: a stop reason without an open block is the end, too.
        if not self._ended and (not stopped or any(block.is_open for block in self._blocks)):
            return None
        for block in self._blocks:
            block.close()
        return {**self._message, "content": [block.whole() for block in self._blocks]}

    def _start(self, message: Any) -> str:
        # A second start is a gateway's retry, which replaces the first.
        self._message = dict(message) if isinstance(message, dict) else {}
        self._blocks, self._by_index, self._said = [], {}, GrowingText(self.before)
        begun = enumerate(items_at(message, "content"))
        return "".join([self._open(index, block) for index, block in begun])

    def _open(self, index: int, block: Any) -> str:
        begun = dict(block) if isinstance(block, dict) else {"type": "text"}
        self._blocks.append(_StreamedBlock(begun))
        self._by_index[index] = self._blocks[-1]
        return text_at(block, "text") if at(block, "type") == "text" else ""

    def _extend(self, index: int, delta: Any) -> str:
        block = self._by_index.get(index)
        if block is None:
            kind = _KINDS.get(text_at(delta, "type"), "text")
            # Arguments without a call belong to the latest one. Of other blocks the start event is
            # missing: the type of the delta says what it belongs to.
            if kind == "tool_use" and self._blocks and self._blocks[-1].is_call:
                return self._blocks[-1].add(delta)
            self._open(index, {"type": kind})
            block = self._blocks[-1]
        return block.add(delta)

    def _update(self, event: dict[str, Any]) -> None:
        """Process late fields."""
        # A container comes within the delta, `context_management` next to it.
        told = {
            **{key: value for key, value in event.items() if key not in {"type", "delta", "usage"}},
            **_dict(at(event, "delta")),
        }
        self._message.update(told)
        # Counts are running totals, so the last report is the final one:
        # https://platform.claude.com/docs/en/build-with-claude/streaming (2026-11); the SDK's own
        # `accumulate_event` overwrites them too. A count may decrease: the start event reports an
        # estimate, or tokens that a compaction on the server then removed.
        if late := _dict(at(event, "usage")):
            counts = _dict(at(self._message, "usage"))
            self._message["usage"] = _latest(counts, late)


def _latest(before: dict[str, Any], late: dict[str, Any]) -> dict[str, Any]:
    """Return the counts updated by a later report.

    >>> _latest({"input_tokens": 25, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 9})
    {'input_tokens': 25, 'output_tokens': 9}
    """
    told = {key: value for key, value in late.items() if value is not None}
    # No request has 0 input tokens. A server that reports that, or 0 output tokens after some
    # output, does not know the number.
    if not usage({"usage": told}).input:
        told = {key: value for key, value in told.items() if key not in _INPUT}
    if not told.get("output_tokens"):
        told.pop("output_tokens", None)
    kept = dict(before)
    if told.get(_WRITTEN, before.get(_WRITTEN)) != before.get(_WRITTEN):
        kept.pop("cache_creation", None)  # the earlier number, split by lifetime
    return {**kept, **told}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(event: Any) -> int:
    return index_in(at(event, "index")) or 0


def stream_error(event: Any, model: str) -> ProviderError:
    """Return the error for an error event."""
    kind = text_at(event, "error", "type")
    problem = text_at(event, "error", "message") or json.dumps(event, default=str)
    named = f"{kind}: {problem}" if kind else problem
    return reported_error(event, NAME, model, _STATUSES.get(kind), named)
