"""A streamed reply, put together from its events.

Each event is a response of its own that holds the next parts. Neighbouring texts become one part,
but for signed ones, which Google wants back unmerged
(https://ai.google.dev/gemini-api/docs/thought-signatures). Usage and all else is cumulative: the
last word counts. A finishReason is the end mark, or a blocked prompt.
"""

from typing import Any

import attrs

from agentic.errors import IncompleteReply, ProviderError
from agentic.providers._failure import reported_error
from agentic.providers.gemini._wire._fields import (
    field,
    has_field,
    list_of,
    parts_of,
    response_of,
    text_of,
)
from agentic.providers.gemini._wire._name import NAME
from agentic.providers.gemini._wire._partial import PartialCall

__all__ = ["StreamedResponse"]

_MERGED = {"text", "thought"}
_THE_SDK_S = {"sdkHttpResponse", "automaticFunctionCallingHistory", "parsed"}


@attrs.define
class _Candidate:
    """One candidate, and its content so far."""

    said: dict[str, Any] = attrs.field(factory=dict)
    content: dict[str, Any] = attrs.field(factory=dict)
    parts: list[Any] = attrs.field(factory=list)
    calling: PartialCall | None = None

    def add(self, candidate: Any) -> str:
        """Take in what an event says of this candidate; give the text that is new."""
        self.said |= {key: value for key, value in candidate.items() if value is not None}
        content = field(candidate, "content")
        if isinstance(content, dict):
            self.content |= content
        delta = ""
        for part in parts_of(content):
            if isinstance(part, dict):
                self._add_part(part)
                delta += "" if field(part, "thought") is True else text_of(part, "text")
        return delta

    def _add_part(self, part: dict[str, Any]) -> None:
        call = field(part, "functionCall")
        if isinstance(call, dict):
            self._add_call(part, call)
        elif set(part) <= _MERGED:
            self._add_text(part)
        else:
            self.parts.append(part)

    def _add_text(self, part: dict[str, Any]) -> None:
        if not part.get("text"):
            return
        last = self.parts[-1] if self.parts else {"functionCall": None}
        if set(last) <= _MERGED and last.get("thought") == part.get("thought"):
            self.parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            self.parts.append(part)

    def _add_call(self, part: dict[str, Any], call: dict[str, Any]) -> None:
        if self.calling is not None and not text_of(call, "name"):
            self.calling.part |= {key: part[key] for key in part if _has_text(part, key)}
            goes_on = self.calling.add(call)
        elif field(call, "willContinue") is True or list_of(call, "partialArgs"):
            self.calling = PartialCall.begin(part)
            self.parts.append(self.calling.part)
            goes_on = field(call, "willContinue") is True
        else:
            self.parts += [part] if call else []
            goes_on = False
        if not goes_on:
            self.calling = None

    def whole(self) -> dict[str, Any]:
        """Give the candidate as a response that was not streamed holds it."""
        if not self.content:
            return self.said
        content = {**self.content, "parts": self.parts} if self.parts else {**self.content}
        if not self.parts:
            content.pop("parts", None)
        return {**self.said, "content": content}


def _has_text(part: Any, key: str) -> bool:
    """Tell whether a text stands there, such as a signature that comes late."""
    return isinstance(part.get(key), str)


@attrs.define
class StreamedResponse:
    """Puts the events of one streamed reply together.

    >>> streamed = StreamedResponse()
    >>> event = {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}
    >>> streamed.feed(event)
    'Hi.'
    >>> streamed.response() == event
    True
    """

    text: str = attrs.field(default="", init=False)
    """The reply's text so far."""
    _said: dict[str, Any] = attrs.field(factory=dict, init=False)
    _candidates: dict[int, _Candidate] = attrs.field(factory=dict, init=False)

    def feed(self, event: Any) -> str:
        """Take the next event; give the text that it adds to the reply, empty for most kinds.

        Raises:
            ContextOverflow: the event says that the request does not fit the model's window.
            RequestFailed: the event is any other error.
        """
        data = response_of(event)
        error = field(data, "error")
        if isinstance(error, dict):
            raise _failure(error, text_of(data, "modelVersion"))
        before, counts = _dict(self._said, "usageMetadata"), _dict(data, "usageMetadata")
        self._said |= {key: data[key] for key in data if key not in _THE_SDK_S}
        if before or counts:
            whole = has_field(counts, "totalTokenCount")  # others say no more than the traffic type
            self._said["usageMetadata"] = counts if whole else {**before, **counts}
        delta = ""
        for candidate in list_of(data, "candidates"):
            if isinstance(candidate, dict):
                delta += self._add(candidate)
        self.text += delta
        return delta

    def _add(self, candidate: dict[str, Any]) -> str:
        given = field(candidate, "index")
        index = given if isinstance(given, int) else 0
        delta = self._candidates.setdefault(index, _Candidate()).add(candidate)
        return delta if index == min(self._candidates) else ""

    def response(self) -> dict[str, Any]:
        """Give the response in the shape of one that was not streamed.

        Raises:
            IncompleteReply: the stream broke off.
        """
        candidates = [self._candidates[index].whole() for index in sorted(self._candidates)]
        if candidates:
            ended = has_field(candidates[0], "finishReason")
        else:
            ended = has_field(field(self._said, "promptFeedback"), "blockReason")
        if not ended:
            raise IncompleteReply(self.text)
        return {**self._said, **({"candidates": candidates} if candidates else {})}


def _dict(data: Any, name: str) -> dict[str, Any]:
    found = field(data, name)
    return found if isinstance(found, dict) else {}


def _failure(error: dict[str, Any], model: str) -> ProviderError:
    code = field(error, "code")
    status = code if isinstance(code, int) else None
    problem = text_of(error, "message") or str(error)
    return reported_error({"error": error}, NAME, model, status, problem)
