"""A streamed reply, put together from its events.

The events: https://platform.claude.com/docs/en/build-with-claude/streaming (2026-11).
"""

import json
from typing import Any

import attrs

from agentic.errors import IncompleteReply, ProviderError
from agentic.providers._failure import reported_error
from agentic.providers._plain import at, items_at, plain, text_at
from agentic.providers._sendable import parse_object
from agentic.providers.anthropic._wire._calls import INVALID_JSON
from agentic.providers.anthropic._wire._name import NAME

__all__ = ["StreamedResponse", "stream_error"]

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

_SETTLED = {
    "signature_delta": ("signature",),
    "compaction_delta": ("content", "encrypted_content"),
}
"""What comes whole, in one delta."""
_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}
"""What comes in fragments."""


@attrs.define
class StreamedResponse:
    """Puts the events of one streamed reply together.

    >>> streamed = StreamedResponse()
    >>> streamed.feed({"type": "ping"})
    ''
    """

    text: str = attrs.field(default="", init=False)
    """The reply's text so far."""
    _message: dict[str, Any] = attrs.field(factory=dict, init=False)
    _blocks: dict[int, dict[str, Any]] = attrs.field(factory=dict, init=False)
    _inputs: dict[int, str] = attrs.field(factory=dict, init=False)
    """The JSON texts of calls whose blocks have not ended."""
    _ended: bool = attrs.field(default=False, init=False)

    def feed(self, event: Any) -> str:
        """Take the next event; give the text that it adds to the reply, empty for most kinds.

        Raises:
            ContextOverflow: the event says that the request does not fit the model's window.
            RequestFailed: the event is any other error.
        """
        data = plain(event)
        kind = at(data, "type")
        if kind == "error":
            raise stream_error(data, text_at(self._message, "model"))
        piece = ""
        if kind == "message_start":
            self._start(at(data, "message"))
        elif kind == "content_block_start":
            piece = self._open(_index(data), at(data, "content_block"))
        elif kind == "content_block_delta":
            piece = self._extend(_index(data), at(data, "delta"))
        elif kind == "content_block_stop":
            self._close(_index(data))
        elif kind == "message_delta":
            self._update(data)
        elif kind == "message_stop":
            self._ended = True
        self.text += piece
        return piece

    def response(self) -> dict[str, Any]:
        """Give the response in the shape of one that was not streamed.

        Some gateways leave out the last event: a stop reason and no open block are an end too.

        Raises:
            IncompleteReply: the stream broke off.
        """
        stopped = at(self._message, "stop_reason") is not None and not self._inputs
        if not (self._ended or stopped):
            raise IncompleteReply(self.text)
        for index in list(self._inputs):
            self._close(index)
        content = [self._blocks[index] for index in sorted(self._blocks)]
        return {**self._message, "content": content}

    def _start(self, message: Any) -> None:
        """Begin; a second start is a gateway's second attempt, which replaces the first."""
        self._message = dict(message) if isinstance(message, dict) else {}
        self._blocks, self._inputs, self.text = {}, {}, ""
        for index, block in enumerate(items_at(message, "content")):
            self._open(index, block)

    def _open(self, index: int, block: Any) -> str:
        self._blocks[index] = dict(block) if isinstance(block, dict) else {"type": "text"}
        return text_at(block, "text") if at(block, "type") == "text" else ""

    def _extend(self, index: int, delta: Any) -> str:
        kind = text_at(delta, "type")
        block = self._blocks.setdefault(index, _first_block(kind))
        if kind in _GROWING:
            field = _GROWING[kind]
            block[field] = text_at(block, field) + text_at(delta, field)
            return text_at(delta, field) if kind == "text_delta" else ""
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + text_at(delta, "partial_json")
        elif kind == "citations_delta":
            block["citations"] = [*items_at(block, "citations"), at(delta, "citation")]
        for field in _SETTLED.get(kind, ()):
            if at(delta, field) is not None:
                block[field] = at(delta, field)
        return ""

    def _close(self, index: int) -> None:
        text = self._inputs.pop(index, "")
        if text.strip():
            self._blocks[index]["input"] = _parsed(text)

    def _update(self, event: dict[str, Any]) -> None:
        """Take what comes late. Counts are running totals; one that is missing stays as it was."""
        told = {
            **{key: value for key, value in event.items() if key not in {"type", "delta", "usage"}},
            **_dict(at(event, "delta")),
        }
        self._message.update(told)
        counts = _dict(at(event, "usage"))
        late = {key: value for key, value in counts.items() if value is not None}
        if late:
            self._message["usage"] = {**_dict(at(self._message, "usage")), **late}


def _first_block(kind: str) -> dict[str, Any]:
    """Make the block of a delta whose start was left out."""
    kinds = {"thinking_delta": "thinking", "input_json_delta": "tool_use"}
    return {"type": kinds.get(kind, "text")}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(event: Any) -> int:
    index = at(event, "index")
    return index if isinstance(index, int) else 0


def _parsed(text: str) -> dict[str, Any]:
    """Read a call's input; what is no object is kept as its text."""
    found = parse_object(text)
    return {INVALID_JSON: text} if found is None else found


def stream_error(event: Any, model: str) -> ProviderError:
    """Make the error that an error event stands for."""
    kind = text_at(event, "error", "type")
    problem = text_at(event, "error", "message") or json.dumps(event, default=str)
    named = f"{kind}: {problem}" if kind else problem
    return reported_error(event, NAME, model, _STATUSES.get(kind), named)
