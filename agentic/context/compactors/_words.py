"""The words of a text, and which of them are identifiers: paths, names, ids, longer numbers."""

import re

__all__ = ["identifier", "unescaped", "words_in", "words_of"]

_SHORTEST, _LONGEST = 4, 120
_WORD = re.compile(r"[\w./~-]+")
_BLANKS = bytes(ord(char) if _WORD.match(char) else 32 for char in map(chr, range(128))).ljust(256)
_ESCAPES = re.compile(r'\\[nrt"]')
_EDGES = "./~-"
_JOINT = re.compile(r"[/.]+")
# A path, a dotted, dashed or snake_case name, camelCase, letters with digits, a longer number.
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9]|[^\W0-9][0-9]|[0-9]{4}")


def words_of(text: str) -> list[str]:
    """Give the words of a text, with what stands at their edges.

    >>> words_of("mv ./src/a.py (old)")
    ['mv', './src/a.py', 'old']
    """
    # Both give words; only ASCII text can be translated, and that is several times faster.
    if text.isascii():
        return text.encode("ascii").translate(_BLANKS).decode("ascii").split()
    return _WORD.findall(text)


def unescaped(text: str) -> str:
    r"""Give a text, and once more with blanks for what is white space or a quote in JSON.

    >>> unescaped(r'import lexer_tabs\nfrom parse_tabs')
    'import lexer_tabs\\nfrom parse_tabs import lexer_tabs  from parse_tabs'
    """
    return f"{text} {_ESCAPES.sub('  ', text)}" if "\\" in text else text


def identifier(word: str) -> str:
    """Give a word as an identifier, without what stands at its edges; empty if it is none.

    >>> [identifier(word) for word in ("./src/a.py", "--max-lines", "lexer", "HAT084.", "12")]
    ['./src/a.py', 'max-lines', '', 'HAT084', '']
    """
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        return ""
    plain = _plain(word)
    return plain if _SHORTEST <= len(plain) <= _LONGEST and _NAMED.search(plain) else ""


def words_in(word: str) -> set[str]:
    """Give a word as identifiers are written, and the parts of it if it is a name or a path.

    >>> sorted(words_in("src/lexer/tabs.py."))
    ['lexer', 'lexer/tabs.py', 'py', 'src', 'src/lexer/tabs.py', 'tabs', 'tabs.py']
    """
    plain = _plain(word)
    if "/" not in plain and "." not in plain:
        return {plain} if plain else set()
    found, start = {plain}, 0
    for joint in _JOINT.finditer(plain):
        found.add(plain[start : joint.start()])
        start = joint.end()
        found.add(plain[start:])
    found.discard("")
    return found


def _plain(word: str) -> str:
    return word.rstrip(_EDGES).lstrip("-")
