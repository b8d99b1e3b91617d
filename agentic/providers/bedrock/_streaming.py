"""Assemble a streamed reply from its events.

`messageStop` ends the message; the usage comes after it, in `metadata`. An event is a dict with one
key, the name of its type, as boto3 yields it.
"""

from typing import Any

import attrs

from agentic.errors import ProviderError
from agentic.providers._model import ModelStream, reported_error
from agentic.providers.bedrock._blocks import as_json
from agentic.providers.bedrock._decoding import NAME
from agentic.providers.kit import at, items_at, parse_object, text_at
from agentic.providers.kit._json import is_deep
from agentic.providers.kit._media import from_base64, to_base64
from agentic.providers.kit._streamed_texts import GrowingText, index_in

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html (2026-11):
# an error in a stream arrives after the response's status; these are the equivalent statuses.
_STATUS = {
    "internalServerException": 500,
    "modelStreamErrorException": 424,
    "modelTimeoutException": 408,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}

# A field of random length, which hides the size of an event's content from the network.
_PADDING = "p"


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> reply = StreamedResponse()
    >>> reply.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi."}}})
    'Hi.'
    >>> reply.feed({"messageStop": {"stopReason": "end_turn"}})
    ''
    >>> reply.response()["output"]["message"]["content"]
    [{'text': 'Hi.'}]
    """

    _role: str = attrs.field(init=False, default="assistant")
    _blocks: dict[int, "_Block"] = attrs.field(init=False, factory=dict)
    _end: dict[str, Any] | None = attrs.field(init=False, default=None)
    _metadata: dict[str, Any] = attrs.field(init=False, factory=dict)

    def _process(self, event: Any) -> str:
        added = ""
        data = as_json(event)
        for kind, body in data.items() if isinstance(data, dict) else ():
            if kind.endswith("Exception"):
                raise self._failure(kind, body)
            if isinstance(body, dict):
                added += self._take(kind, body)
        return added

    def _take(self, kind: str, body: dict[str, Any]) -> str:
        if kind == "messageStart":
            self._role = text_at(body, "role") or self._role
        elif kind == "contentBlockStart":
            self._block(body).start(body.get("start"))
        elif kind == "contentBlockDelta":
            return self._block(body).add(body.get("delta"))
        elif kind == "messageStop":
            self._end = _unpadded(body)
        elif kind == "metadata":
            self._metadata |= _unpadded(body)
        elif kind == "ResponseMetadata":  # not an event of the service: the Decider adds it
            self._metadata[kind] = body
        return ""

    def _block(self, body: dict[str, Any]) -> "_Block":
        index = index_in(body.get("contentBlockIndex")) or 0
        if index not in self._blocks and isinstance(at(body, "delta", "toolUse"), dict):
            # Arguments under an index that no call began with continue the latest call.
            latest = next(reversed(self._blocks.values()), None)
            if latest is not None and latest.is_call:
                return latest
        return self._blocks.setdefault(index, _Block())

    def _failure(self, kind: str, body: Any) -> ProviderError:
        said = text_at(body, "message") or text_at(body, "originalMessage") or str(body)
        problem = f"{kind}: {said}"
        return reported_error({kind: body}, NAME, self.model, _STATUS.get(kind), problem)

    def _built(self) -> dict[str, Any] | None:
        if self._end is None:
            return None
        built = [self._blocks[index].build() for index in sorted(self._blocks)]
        content = [block for block in built if block is not None]
        message = {"role": self._role, "content": content}
        return {"output": {"message": message}, **self._end, **self._metadata}


def _unpadded(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != _PADDING}


@attrs.define
class _Block:
    """One content block, as received so far."""

    # Only calls, results and images are announced; the first delta begins any other block.
    _start: dict[str, Any] = attrs.field(factory=dict)
    _text: GrowingText = attrs.field(factory=GrowingText)
    _input: GrowingText | None = None
    """A call's arguments so far, which are JSON text."""
    _reasoning: dict[str, list[str]] = attrs.field(factory=dict)
    _results: list[dict[str, Any]] = attrs.field(factory=list)
    _citations: list[Any] = attrs.field(factory=list)
    _image: dict[str, Any] = attrs.field(factory=dict)
    _image_bytes: list[str] = attrs.field(factory=list)

    @property
    def is_call(self) -> bool:
        return self._input is not None or isinstance(self._start.get("toolUse"), dict)

    def start(self, start: Any) -> None:
        if isinstance(start, dict):
            self._start |= start

    def add(self, delta: Any) -> str:
        """Process a delta; return its text."""
        if isinstance(at(delta, "toolUse"), dict):
            # An empty piece, too, says that the block is a call; its start may be missing.
            self._input = self._input or GrowingText()
            self._input.add(text_at(delta, "toolUse", "input"))
        for name, piece in _dict(at(delta, "reasoningContent")).items():
            if isinstance(piece, str):
                self._reasoning.setdefault(name, []).append(piece)
        self._results += [part for part in items_at(delta, "toolResult") if isinstance(part, dict)]
        if isinstance(at(delta, "citation"), dict):
            self._citations.append(at(delta, "citation"))
        self._add_image(at(delta, "image"))
        return self._text.add(text_at(delta, "text"))

    def _add_image(self, image: Any) -> None:
        if isinstance(image, dict):
            self._image |= image
            if piece := text_at(image, "source", "bytes"):
                self._image_bytes.append(piece)

    def build(self) -> dict[str, Any] | None:
        """Return the block; None for an empty one."""
        call, result = self._start.get("toolUse"), self._start.get("toolResult")
        if self._input is not None or isinstance(call, dict):
            return {"toolUse": {**_dict(call), "input": _parsed(str(self._input or ""))}}
        if self._results or isinstance(result, dict):
            return {"toolResult": {**_dict(result), "content": _merged(self._results)}}
        if self._reasoning:
            return {"reasoningContent": _reasoning(self._reasoning)}
        if self._image or "image" in self._start:
            return {"image": self._built_image()}
        return self._said()

    def _built_image(self) -> dict[str, Any]:
        image = {**_dict(self._start.get("image")), **self._image}
        if len(self._image_bytes) > 1:
            image["source"] = {"bytes": _joined_base64(self._image_bytes)}
        return image

    def _said(self) -> dict[str, Any] | None:
        said = {"text": str(self._text)} if self._text else None
        if not self._citations:
            return said
        content = [said] if said else []
        return {"citationsContent": {"content": content, "citations": self._citations}}


def _dict(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _parsed(text: str) -> Any:
    # The model's own text is kept if it is no JSON object: the next request wraps it in one.
    found = parse_object(text)
    return text if found is None or is_deep(found) else found


def _merged(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join adjacent pieces of text."""
    merged: list[dict[str, Any]] = []
    for part in parts:
        if merged and part.keys() == merged[-1].keys() == {"text"}:
            merged[-1] = {"text": text_at(merged[-1], "text") + text_at(part, "text")}
        else:
            merged.append(part)
    return merged


def _reasoning(pieces: dict[str, list[str]]) -> dict[str, Any]:
    # Encrypted thinking, which comes in pieces of base64 and has neither.
    if "text" not in pieces and "signature" not in pieces:
        return {name: _joined_base64(found) for name, found in pieces.items()}
    joined = {name: "".join(found) for name, found in pieces.items()}
    # The API requires a text next to a signature.
    return {"reasoningText": {"text": "", **joined}}


def _joined_base64(pieces: list[str]) -> str:
    # Encoded piece by piece, so each may end with padding, which is invalid in the middle.
    decoded = [from_base64(piece) for piece in pieces]
    if None in decoded:
        return "".join(pieces)
    return to_base64(b"".join(part or b"" for part in decoded))
