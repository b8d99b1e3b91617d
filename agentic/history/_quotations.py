r"""Where a text quotes another: whole lines, and words that stand nowhere else.

A summary keeps what was rare: a path, a number, a key. So what it took from a message is found by
what only that message has. A word has six characters or more, and ends at white space, quotes,
brackets and the signs of a URL; a piece of one counts as well, since quotations are cut short.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import attrs

__all__ = ["Quotations", "map_strings", "strings"]

_NAMES = {"role", "id", "call_id", "name", "ref", "kind", "media_type", "timestamp", "created_at"}
"""Fields whose strings are no text."""
_LINE_CHARACTERS = 8
"""A shorter line, such as `else:`, tells nothing and stands everywhere."""
_WORD = re.compile(r"[\w.+%$!~^-]{6,}")
_EDGES = ".!~^+-_"


@attrs.frozen
class Quotations:
    """What a text can have only from some messages, which are JSON data here."""

    lines: frozenset[str]
    """Without the white space around them."""
    _words: str
    """One a line."""
    _elsewhere: frozenset[str]

    @classmethod
    def find(cls, these: Iterable[Any], others: Iterable[Any]) -> Self:
        """Return what these say and no other does.

        >>> Quotations.find(["the key is sk-12345."], ["the key is lost"]).lines
        frozenset({'the key is sk-12345.'})
        """
        (lines, words), (other_lines, other_words) = _read(these), _read(others)
        own = "\n".join(sorted(words - other_words))
        return cls(frozenset(lines - other_lines), own, frozenset(other_words))

    def are_in(self, text: str) -> bool:
        """Return whether a whole line is quoted."""
        return not self.lines.isdisjoint(line.strip() for line in text.split("\n"))

    def hide(self, text: str, instead: str) -> str:
        """Return the text with `instead` in place of what it quotes.

        >>> found = Quotations.find(["the key is sk-12345."], [])
        >>> found.hide("They said that the key was 'sk-12345'.", "[key]")
        "They said that the key was '[key]'."
        """
        for line in {each.strip() for each in text.split("\n")} & self.lines:
            text = text.replace(line, instead)
        return _WORD.sub(lambda word: self._hide_word(word[0], instead), text)

    def _hide_word(self, word: str, instead: str) -> str:
        core = word.strip(_EDGES)
        if not core or core in self._elsewhere or core not in self._words:
            return word
        return word.replace(core, instead)


def strings(plain: Any, name: str = "") -> Iterator[str]:
    """Yield the texts in JSON data; of arguments, which are JSON as a text, what that holds, too.

    >>> list(strings({"role": "user", "content": "one", "media": [{"url": "two"}]}))
    ['one', 'two']
    """
    if isinstance(plain, str) and name not in _NAMES:
        yield plain
        if name == "arguments":
            yield from strings(_parse(plain))
    elif isinstance(plain, dict):
        for key, value in plain.items():
            yield from strings(value, key)
    elif isinstance(plain, list):
        for value in plain:
            yield from strings(value)


def map_strings(change: Callable[[str], str], plain: Any, name: str = "") -> Any:
    """Return JSON data with each of its texts changed.

    >>> map_strings(str.upper, {"role": "user", "content": "one"})
    {'role': 'user', 'content': 'ONE'}
    """
    if isinstance(plain, str) and name not in _NAMES:
        parsed = _parse(plain) if name == "arguments" else None
        if isinstance(parsed, dict | list):
            changed = map_strings(change, parsed)
            return plain if changed == parsed else json.dumps(changed, ensure_ascii=False)
        return change(plain)
    if isinstance(plain, dict):
        return {key: map_strings(change, value, key) for key, value in plain.items()}
    if isinstance(plain, list):
        return [map_strings(change, value) for value in plain]
    return plain


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read(these: Iterable[Any]) -> tuple[set[str], set[str]]:
    lines: set[str] = set()
    words: set[str] = set()
    for text in (text for each in these for text in strings(each)):
        lines |= {
            line for each in text.split("\n") if len(line := each.strip()) >= _LINE_CHARACTERS
        }
        words |= {core for word in _WORD.findall(text) if (core := word.strip(_EDGES))}
    return lines, words
