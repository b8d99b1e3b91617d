"""The arguments of a call that Vertex AI streams piece by piece.

With `streamFunctionCallArguments` a call comes as its name, then pieces with a path (RFC 9535, such
as `$.recipe.steps[0]`) and a value, then an empty piece:
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling (2026-11).
"""

import itertools
import re
from typing import Any

import attrs

from agentic.providers.gemini._wire._fields import field, has_field, list_of, text_of

__all__ = ["PartialCall"]

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_DEEPEST = 100
"""Levels that JSON of protocol buffers may have (`google.protobuf.json_format.Parse`, 2026-11). A
longer path is junk: its value stands under the path itself, where no tool takes it."""
_VALUES = ("numberValue", "boolValue")
_STREAMING = {"partialArgs", "partial_args", "willContinue", "will_continue"}


@attrs.define
class PartialCall:
    """One part with a functionCall that is still being streamed."""

    part: dict[str, Any]
    """The part as it will be, its arguments so far included."""
    _unfinished: str = ""
    """The path of the text that the next piece may continue."""
    _pieces: list[str] = attrs.field(factory=list, init=False)
    """That text so far; it is joined when it ends, or is asked for."""
    _place: tuple[Any, str | int] = attrs.field(default=({}, ""), init=False)
    """Where it is to stand: in what, under which key."""

    @classmethod
    def begin(cls, part: Any) -> "PartialCall":
        """Take the part that opens a call."""
        call = field(part, "functionCall")
        kept = {key: value for key, value in call.items() if key not in _STREAMING}
        args = field(call, "args")
        args = dict(args) if isinstance(args, dict) else {}
        begun = cls({**part, "functionCall": {**kept, "args": args}})
        begun.add(call)
        return begun

    def add(self, call: Any) -> bool:
        """Take the next piece; give whether more will come."""
        arguments = self.part["functionCall"]["args"]
        for piece in list_of(call, "partialArgs"):
            self._set(arguments, piece)
        return field(call, "willContinue") is True

    def _set(self, arguments: dict[str, Any], piece: Any) -> None:
        path = text_of(piece, "jsonPath")
        steps = [_step(found) for found in _STEP.finditer(path)]
        if not steps:
            return
        if len(steps) > _DEEPEST:
            steps = [path]
        value = _value(piece)
        if path == self._unfinished and self._pieces and isinstance(value, str):
            self._pieces.append(value)
        else:
            self.settle()
            holder = _reach(arguments, steps)
            self._place = holder, _put(holder, steps[-1], value)
            self._pieces = [value] if isinstance(value, str) else []
        self._unfinished = path if field(piece, "willContinue") is True else ""

    def settle(self) -> None:
        """Put the text that is coming where it stands, as far as it has come."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
            _put(*self._place, self._pieces[0])


def _step(found: "re.Match[str]") -> str | int:
    key, index, single, double = found.groups()
    if index is not None:
        return int(index)
    return str(next(name for name in (key, single, double) if name is not None))


def _value(piece: Any) -> Any:
    if has_field(piece, "stringValue"):
        return text_of(piece, "stringValue")
    return next((field(piece, name) for name in _VALUES if has_field(piece, name)), None)


def _reach(holder: Any, steps: list[str | int]) -> Any:
    """Walk to the holder of the last step, making what is not there yet."""
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


def _put(holder: Any, step: str | int, value: Any) -> str | int:
    """Set a value, and give where: an index beyond the end is the next one."""
    if isinstance(holder, dict):
        step = str(step)
        holder[step] = value
    elif isinstance(step, int) and step < len(holder):
        holder[step] = value
    else:
        step = len(holder)
        holder.append(value)
    return step
