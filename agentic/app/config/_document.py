"""YAML as plain data, with the line of every key. Lines count from 1 and end at a line feed.

PyYAML's safe loader parses the document, so that nothing in it is executed. Values are interpreted
here, as in YAML 1.2 and in editors: `yes`, `on` and dates are texts. Tags are refused.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

import attrs
import yaml

from agentic.app.config._problems import Fault, Place

_MAX_VALUES = 10_000
"""The most values, counting those produced by aliases: a few lines can expand to billions."""
_MAX_DEPTH = 40
"""The deepest nesting. PyYAML recurses, and so does what reads its nodes."""
# The core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#1032-tag-resolution, 2026-11-23), where
# `no` and `on` are texts; PyYAML's own resolver makes them booleans.
_WORDS = {
    spelling: value
    for word, value in {"true": True, "false": False, "null": None, "~": None, "": None}.items()
    for spelling in (word, word.title(), word.upper())
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*(?:_[0-9]+)*)")
_EXPONENT = r"[eE][-+]?[0-9]+"
_FLOAT = re.compile(rf"[-+]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:{_EXPONENT})?|[0-9]+{_EXPONENT})")
_MAX_DIGITS = 300


@attrs.frozen
class Document:
    """A document, and the mistakes in it that YAML itself allows."""

    data: Any
    lines: dict[Place, int]
    faults: tuple[Fault, ...]


@attrs.define
class Unreadable(Exception):
    """A text that is not a YAML document."""

    line: int
    message: str


def read_yaml(text: str) -> Document:
    """Read one document.

    Raises:
        Unreadable: the text is not YAML, has tags, or is too large, deep or long.
    """
    node = _compose(text)
    reader = _NodeReader(text)
    data = None if node is None else reader.read(node, ())
    if node is None or data is None:
        raise Unreadable(1, "the file is empty; begin with a line such as max_turns: 50")
    reader.lines.setdefault((), reader.line(node))
    return Document(data, reader.lines, tuple(reader.faults))


class _Loader(yaml.SafeLoader):
    """The safe loader without tags and with limits on depth and number, because PyYAML is slow."""

    depth = 0
    values = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise _refused(f"the tag {event.tag}", "write the value without a tag", event)
        self.values += 1
        if self.values > _MAX_VALUES:
            raise _refused(f"over {_MAX_VALUES:,} values", "is it an agent's file?", event)
        if self.depth == _MAX_DEPTH:
            raise _refused(f"nested over {_MAX_DEPTH} deep", "write it flatter", event)
        # Counted here, before Python's own limit on recursion is met in the middle of PyYAML.
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _refused(problem: str, remedy: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark, note=remedy)  # type: ignore[arg-type]


def _compose(text: str) -> yaml.Node | None:
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        raise _no_yaml(text, error.position, f"the character {error.character:#06x}") from error
    try:
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "not understood"
        raise _no_yaml(text, mark.index if mark else 0, problem, error.note) from error
    except (ValueError, OverflowError) as error:  # such as "\UFFFFFFFF"
        raise _no_yaml(text, loader.index, "an escape that is not a character") from error


def _no_yaml(text: str, index: int, problem: str, remedy: str | None = None) -> Unreadable:
    # PyYAML's own words: it has no error class for this.
    if problem == "but found another document":
        remedy = "move what follows the line --- to another file, or leave it out"
        return Unreadable(_line(text, index), f"more than one document; {remedy}")
    sentence = problem.replace(r"character '\t'", "a tab")
    if remedy is None:
        remedy = "check this line and the one before; a text with special characters needs quotes"
    if "a tab" in sentence or text[index : index + 1] == "\t":
        remedy = "indent with spaces, not with tabs"
    return Unreadable(_line(text, index), f"not the YAML of an agent: {sentence}; {remedy}")


def _line(text: str, index: int) -> int:
    """Return the line of a character, or the last line for the end of the text."""
    # Not that of PyYAML's mark, for which U+0085, U+2028 and U+2029 end a line, too.
    index = min(index, max(len(text.rstrip()) - 1, 0))
    return text.count("\n", 0, index) + 1


@attrs.define
class _NodeReader:
    """Converts nodes to data."""

    text: str
    lines: dict[Place, int] = attrs.field(factory=dict, init=False)
    faults: list[Fault] = attrs.field(factory=list, init=False)
    values: int = 0

    def line(self, node: yaml.Node) -> int:
        return _line(self.text, node.start_mark.index)

    def read(self, node: yaml.Node, place: Place) -> Any:
        # Counted again: an alias is one node, but is read each time that it occurs.
        self.values += 1
        if self.values > _MAX_VALUES or len(place) > _MAX_DEPTH:
            raise Unreadable(
                self.lines.get(place[:1], 1),
                "too large once its aliases are filled in; write the values out in their place",
            )
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return self._read_sequence(node, place)
        return _read_scalar(node)

    def _read_sequence(self, node: yaml.SequenceNode, place: Place) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            self.lines[*place, index] = self.line(item)
            items.append(self.read(item, (*place, index)))
        return items

    def _read_mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in self._keys(node, place):
            here = (*place, key.value)
            # YAML forbids it, but PyYAML would silently keep the last value.
            if key.value in entries:
                first = self.lines[here]
                self._fault(key, here, f"duplicate key '{key.value}', first given in line {first}")
            else:
                self.lines[here] = self.line(key)
                entries[key.value] = self.read(value, here)
        return entries

    def _keys(
        self, node: yaml.MappingNode, place: Place
    ) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key, value
            else:
                self._fault(key, (*place, "?"), "a key must be a word before a colon")

    def _fault(self, key: yaml.Node, place: Place, message: str) -> None:
        """Record a fault that has its own line."""
        self.faults.append(Fault(place, "", line=self.line(key), message=message))


def _read_scalar(node: yaml.Node) -> Any:
    """Return the value of a scalar; a quoted one is always a text.

    >>> [_read_scalar(yaml.ScalarNode("", text)) for text in ("No", "null", "1_000", "1e3", "010")]
    ['No', None, 1000, 1000.0, '010']
    """
    text = str(node.value)
    # A quoted or block scalar is always a text, even if it looks like a number.
    if node.style:  # type: ignore[attr-defined]
        return text
    if text in _WORDS:
        return _WORDS[text]
    # Python refuses to parse an integer of more than 4,300 digits, and long ones are slow to parse.
    if len(text) > _MAX_DIGITS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text
