"""Assemble a streamed reply from its events.

Each event is a complete response that contains the next parts. Adjacent texts become one part,
except signed ones, which Google requires back unmerged
(https://ai.google.dev/gemini-api/docs/thought-signatures). Usage and all other fields are
cumulative, so the last value counts. A finishReason or a blocked prompt marks the end.

Vertex AI streams the arguments of a call piece by piece: with `streamFunctionCallArguments` a call
comes as its name, then pieces with a path (RFC 9535, such as `$.recipe.steps[0]`) and a value,
then an empty piece:
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling (2026-11).
"""

import copy
import itertools
import re
from typing import Any

import attrs

from agentic.errors import ProviderError
from agentic.providers._model import ModelStream, reported_error
from agentic.providers.gemini._decoding import NAME
from agentic.providers.gemini._fields import (
    CONTINUATION,
    FIRST_PROMPT,
    field,
    has_field,
    list_of,
    parts_of,
    response_of,
    text_of,
)
from agentic.providers.kit._streamed_texts import GrowingText, join_pieces
from agentic.usage import Usage

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\[(?:'([^']*)'|"([^"]*)")\]""")
# The maximum nesting of protocol buffers in JSON (`google.protobuf.json_format.Parse`, 2026-11).
# The value at a longer path is stored with the path itself as the key, which no tool expects.
_DEEPEST = 100
_VALUES = ("numberValue", "boolValue")
_STREAMING = {"partialArgs", "partial_args", "willContinue", "will_continue"}
_MERGED = {"text", "thought"}
_THE_SDK_S = {"sdkHttpResponse", "automaticFunctionCallingHistory", "parsed"}


@attrs.define
class _PartialCall:
    """One part with a functionCall that is still being streamed."""

    part: dict[str, Any]
    """The resulting part, with the arguments received so far."""
    _unfinished: str = ""
    """The path of the string that the next piece may continue."""
    _string: GrowingText | None = attrs.field(default=None, init=False)
    """The latest value, if it is a string."""

    @classmethod
    def begin(cls, part: Any) -> "_PartialCall":
        """Return a partial call for the part that opens it."""
        call = field(part, "functionCall")
        kept = {key: value for key, value in call.items() if key not in _STREAMING}
        args = field(call, "args")
        # A copy, with all that is in it: later pieces go into objects of the caller's event.
        args = copy.deepcopy(args) if isinstance(args, dict) else {}
        begun = cls({**part, "functionCall": {**kept, "args": args}})
        begun.add(call)
        return begun

    def add(self, call: Any) -> bool:
        """Process the next piece; return whether more will follow."""
        arguments = self.part["functionCall"]["args"]
        for piece in list_of(call, "partialArgs"):
            self._set(arguments, piece)
        return field(call, "willContinue") is True

    def _set(self, arguments: dict[str, Any], piece: Any) -> None:
        path = text_of(piece, "jsonPath")
        steps = [_step(found) for found in _STEP.finditer(path)]
        if not steps:
            return
        # Nothing is lost, and no reader has to recurse that far.
        if len(steps) > _DEEPEST:
            steps = [path]
        value = _value(piece)
        # A string continues where it stopped; anything else replaces what was there.
        if path == self._unfinished and self._string is not None and isinstance(value, str):
            self._string.add(value)
        else:
            self._string = GrowingText(value) if isinstance(value, str) else None
            stored = value if self._string is None else self._string
            _put(_reach(arguments, steps), steps[-1], stored)
        self._unfinished = path if field(piece, "willContinue") is True else ""


def _step(found: "re.Match[str]") -> str | int:
    key, index, single, double = found.groups()
    if index is not None:
        return int(index)
    return str(next(name for name in (key, single, double) if name is not None))


def _value(piece: Any) -> Any:
    if has_field(piece, "stringValue"):
        return text_of(piece, "stringValue")
    found = next((field(piece, name) for name in _VALUES if has_field(piece, name)), None)
    return found if isinstance(found, int | float) else None


def _reach(holder: Any, steps: list[str | int]) -> Any:
    """Return the container for the last step, creating containers that do not exist yet."""
    for step, following in itertools.pairwise(steps):
        inner = _look(holder, step)
        if not isinstance(inner, dict | list):
            inner = [] if isinstance(following, int) else {}
            _put(holder, step, inner)
        holder = inner
    return holder


def _look(holder: Any, step: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(str(step))
    return holder[step] if isinstance(step, int) and step < len(holder) else None


def _put(holder: Any, step: str | int, value: Any) -> None:
    if isinstance(holder, dict):
        holder[str(step)] = value
    elif isinstance(step, int) and step < len(holder):
        holder[step] = value
    else:
        # An index of a billion must not make a list of that length.
        holder.append(value)


@attrs.define
class _Candidate:
    """One candidate, with its content so far."""

    said: dict[str, Any] = attrs.field(factory=dict)
    content: dict[str, Any] = attrs.field(factory=dict)
    parts: list[Any] = attrs.field(factory=list)
    calling: _PartialCall | None = None

    def add(self, candidate: Any) -> str:
        """Process an event's data for this candidate; return the new text."""
        self.said |= {key: value for key, value in candidate.items() if value is not None}
        content = field(candidate, "content")
        if isinstance(content, dict):
            self.content |= content
        parts = [part for part in parts_of(content) if isinstance(part, dict)]
        for part in parts:
            self._add_part(part)
        said = (part for part in parts if field(part, "thought") is not True)
        return "".join(text_of(part, "text") for part in said)

    def _add_part(self, part: dict[str, Any]) -> None:
        call = field(part, "functionCall")
        if isinstance(call, dict):
            self._add_call(part, call)
        elif set(part) <= _MERGED:
            self._add_text(part)
        else:
            self.parts.append(part)

    def _add_text(self, part: dict[str, Any]) -> None:
        text = part.get("text")
        if not text:
            return
        if not isinstance(text, str):
            self.parts.append(part)
            return
        last = self.parts[-1] if self.parts else {}
        # A thought and an answer stay two parts, as in a reply that is not streamed.
        if isinstance(last.get("text"), GrowingText) and last.get("thought") == part.get("thought"):
            last["text"].add(text)
        else:
            self.parts.append({**part, "text": GrowingText(text)})

    def _add_call(self, part: dict[str, Any], call: dict[str, Any]) -> None:
        if self.calling is not None and not text_of(call, "name"):
            # A signature may come with a later piece than the name.
            late = {key: value for key, value in part.items() if isinstance(value, str)}
            self.calling.part |= late
            goes_on = self.calling.add(call)
        elif field(call, "willContinue") is True or list_of(call, "partialArgs"):
            self.calling = _PartialCall.begin(part)
            self.parts.append(self.calling.part)
            goes_on = field(call, "willContinue") is True
        else:
            if call:
                self.parts.append(part)
            goes_on = False
        if not goes_on:
            self.calling = None

    def whole(self) -> dict[str, Any]:
        """Return the candidate as in a non-streamed response."""
        if not self.content:
            return self.said
        content = {key: value for key, value in self.content.items() if key != "parts"}
        if self.parts:
            content["parts"] = join_pieces(self.parts)
        return {**self.said, "content": content}


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> streamed = StreamedResponse()
    >>> event = {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}
    >>> streamed.feed(event)
    'Hi.'
    >>> streamed.response() == event
    True
    """

    _fields: dict[str, Any] = attrs.field(factory=dict, init=False)
    _earlier: dict[str, Any] = attrs.field(factory=dict, init=False)
    """The counts of the earlier requests, if the reply took several."""
    _counts: dict[str, Any] = attrs.field(factory=dict, init=False)
    """The counts of the latest request so far."""
    _candidates: dict[int, _Candidate] = attrs.field(factory=dict, init=False)

    def _process(self, event: Any) -> str:
        data = response_of(event)
        failure = failure_in(data, text_of(data, "modelVersion") or self.model)
        if failure is not None:
            raise failure
        self._continue()
        counts = _dict(data, "usageMetadata")
        self._fields |= {key: data[key] for key in data if key not in _THE_SDK_S}
        whole = has_field(counts, "totalTokenCount")  # others have only the traffic type
        self._counts = counts if whole else {**self._counts, **counts}
        if self._earlier or self._counts:
            self._fields["usageMetadata"] = _sum(self._earlier, self._counts)
        told = [each for each in list_of(data, "candidates") if isinstance(each, dict)]
        return "".join(map(self._add, told))

    def _continue(self) -> None:
        """Begin the next request of a reply if the latest one reached the limit of a request.

        The SDK continues a stream itself from 3.6 on. It then leaves this reason out, and sums up
        the counts (`StreamContinuation.observe` in google-genai 3.6.1).
        """
        first = self._candidates.get(min(self._candidates, default=0))
        if first is None or text_of(first.said, "finishReason") != CONTINUATION:
            return
        for candidate in self._candidates.values():
            for name in ("finishReason", "finishMessage", "continuationToken"):
                candidate.said.pop(name, None)
        self._earlier, self._counts = _sum(self._earlier, self._counts), {}

    def _add(self, candidate: dict[str, Any]) -> str:
        given = field(candidate, "index")
        # JSON made from protocol buffers leaves out a 0.
        index = given if isinstance(given, int) else 0
        delta = self._candidates.setdefault(index, _Candidate()).add(candidate)
        return delta if index == min(self._candidates) else ""

    def _built(self) -> dict[str, Any] | None:
        candidates = [self._candidates[index].whole() for index in sorted(self._candidates)]
        if candidates:
            ended = has_field(candidates[0], "finishReason")
        else:
            ended = has_field(field(self._fields, "promptFeedback"), "blockReason")
        if not ended:
            return None
        return {**self._fields, **({"candidates": candidates} if candidates else {})}


def _sum(earlier: dict[str, Any], counts: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of several requests, each of which is billed, and the first prompt.

    >>> _sum({"promptTokenCount": 9}, {"promptTokenCount": 12})
    {'promptTokenCount': 21, 'initialPromptTokenCount': 9}
    """
    if not earlier or not counts:
        return earlier or counts
    both = {**earlier, **counts}
    for name, value in both.items():
        if name.endswith("Count"):
            # JSON made from protocol buffers may write a count as a text, which `Usage` can read.
            both[name] = sum(Usage(input=each.get(name)).input for each in (earlier, counts))
        elif isinstance(value, list):
            both[name] = [*list_of(earlier, name), *list_of(counts, name)]
    first = earlier.get(FIRST_PROMPT) or earlier.get("promptTokenCount")
    return {**both, **({FIRST_PROMPT: first} if first else {})}


def _dict(data: Any, name: str) -> dict[str, Any]:
    found = field(data, name)
    return found if isinstance(found, dict) else {}


def failure_in(data: Any, model: str) -> ProviderError | None:
    """Return the error in an event or a response; None if there is none."""
    error = field(data, "error")
    if not isinstance(error, dict):
        return None
    code = field(error, "code")
    status = code if isinstance(code, int) else None
    problem = text_of(error, "message") or str(error)
    return reported_error({"error": error}, NAME, model, status, problem)
