r"""Where a text holds a secret, however it is spelled: as it is, or as JSON in a string of JSON.

JSON may write any character as an escape (`/` as `\/`, `\u002f` or `\u002F`), and an encoder
chooses which: https://www.rfc-editor.org/rfc/rfc8259#section-7 (2026-11-27). So a text is searched
as it is, then with its escapes decoded once, twice, and so on. A line may end as on Unix or on
Windows.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import attrs

_DEPTHS = 3
"""How many times a text may have been encoded as JSON within a text; arguments are encoded
twice."""
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LINE_END = re.compile(r"\r\n|\r|\n")
_BASIC = 0xFFFF
"""Characters above it are two escapes in JSON."""


@attrs.frozen
class Secret:
    r"""A secret that is searched for.

    >>> Secret("a/b+c").hide(r'{"key": "a\u002fb\u002Bc"} a\/b+c', "[gone]")
    '{"key": "[gone]"} [gone]'
    """

    text: str = attrs.field(repr=False)
    _pattern: re.Pattern[str] = attrs.field(init=False, repr=False)

    @_pattern.default
    def _compile(self) -> re.Pattern[str]:
        lines = ("".join(map(_as_pattern, line)) for line in _LINE_END.split(self.text))
        return re.compile(r"(?:\r\n|\r|\n)".join(lines))

    def hide(self, text: str, instead: str) -> str:
        """Return a text with `instead` in place of the secret, spelled as the secret was."""
        for depth in range(_DEPTHS + 1):
            text = _replace(text, [*self._find(text, depth)], instead)
            instead = json.dumps(instead, ensure_ascii=False)[1:-1]
        return text

    def hide_in(self, plain: Any, instead: str) -> Any:
        """Return JSON data with `instead` in place of the secret in all of its strings.

        A number that is the secret is replaced, too.
        """
        if isinstance(plain, str):
            return self._hide_in_text(plain, instead)
        if isinstance(plain, dict):
            return {
                self.hide(key, instead): self.hide_in(value, instead)
                for key, value in plain.items()
            }
        if isinstance(plain, list):
            return [self.hide_in(value, instead) for value in plain]
        return instead if self._is(plain) else plain

    def _hide_in_text(self, text: str, instead: str) -> str:
        result = self.hide(text, instead)
        if result == text or not text.lstrip().startswith(("{", "[")):
            return result
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return result
        # Only a parser knows how deep the secret was: plain letters are the same at every depth.
        return self.hide(json.dumps(self.hide_in(value, instead), ensure_ascii=False), instead)

    def count(self, text: str) -> int:
        """Return how often a text holds the secret."""
        before, number = text, 0
        for depth in range(_DEPTHS + 1):
            spans = [*self._find(before, depth)]
            # Taken out, so that a deeper search does not find them again.
            before, number = _replace(before, spans, "\0"), number + len(spans)
        return number

    def count_in(self, plain: Any) -> int:
        """Return how often JSON data holds the secret."""
        if isinstance(plain, str):
            return self.count(plain)
        if isinstance(plain, dict):
            return sum(self.count(key) + self.count_in(value) for key, value in plain.items())
        if isinstance(plain, list):
            return sum(map(self.count_in, plain))
        return int(self._is(plain))

    def _is(self, number: Any) -> bool:
        return type(number) in {int, float} and json.dumps(number) == self.text

    def _find(self, text: str, depth: int) -> Iterator[tuple[int, int]]:
        """Yield where the secret begins and ends, once the text is decoded so many times."""
        starts: list[int] | None = None
        plain = text
        for _ in range(depth):
            if "\\" not in plain:  # no deeper than what was searched before
                return
            plain, starts = _decode(plain, starts or [*range(len(plain) + 1)])
        for match in self._pattern.finditer(plain):
            begin, end = match.span()
            yield (begin, end) if starts is None else (starts[begin], starts[end])


def _as_pattern(character: str) -> str:
    if ord(character) <= _BASIC:
        return re.escape(character)
    high, low = divmod(ord(character) - 0x10000, 0x400)
    return f"(?:{character}|{chr(0xD800 + high)}{chr(0xDC00 + low)})"


def _decode(text: str, starts: list[int]) -> tuple[str, list[int]]:
    """Return a text without its escapes, and where each character begins in the first text.

    `starts` says that of this text; one more position is the end.
    """
    parts: list[str] = []
    positions: list[int] = []
    end = 0
    for match in _ESCAPE.finditer(text):
        parts += text[end : match.start()], _read_escape(match)
        positions += starts[end : match.start() + 1]
        end = match.end()
    return "".join(parts) + text[end:], positions + starts[end:]


def _read_escape(match: re.Match[str]) -> str:
    code, short = match.groups()
    return chr(int(code, 16)) if code else _SHORT.get(short, short)


def _replace(text: str, spans: list[tuple[int, int]], instead: str) -> str:
    parts: list[str] = []
    last = 0
    for begin, end in spans:
        parts += text[last:begin], instead
        last = end
    return "".join(parts) + text[last:]
