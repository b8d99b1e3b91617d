"""What of a text can be counted fast that its size in tokens depends on.

A byte says what its character is, one bit for each class. A slice of such bytes, read as one large
integer, is shifted by a character and laid over itself: one operation finds every place where a
run begins, goes on or changes, and `bit_count` counts them. Such places are where tokenizers split:
a run of letters with what stands before it, up to three digits, a run of marks, white space
(https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py).

How many tokens a word is depends on its language. English, which tokenizers know best, hardly uses
k and z: 3 of 1,000 letters in the Declaration of Human Rights. In Finnish, Hungarian, Indonesian,
Polish and Turkish they are 50 to 90, so these letters are counted.

Memory is bounded: 8,192 characters are looked at together.
"""

import string

from agentic.tokens._scripts import ALPHABETS, count_scripts

__all__ = ["count_features"]

_SLICE = 1 << 13
# One shift finds all these neighbours: a digit after a letter, a newline after a mark, a small
# letter after a capital. So each stands beside the other.
_LANES = ["letter", "digit", "mark", "newline", "capital", "small", "blank", "consonant"]
_VOWELS = "aeiouyAEIOUY"


def _classes(character: str) -> set[str]:
    if character in string.ascii_letters:
        if character in "kz":  # no small ones, so that one byte means them and nothing else
            return {"letter", "consonant"}
        size = "capital" if character.isupper() else "small"
        return {"letter", size} | (set() if character in _VOWELS else {"consonant"})
    if character >= "À" and character.isalpha():
        return {"letter", "small"}
    if character in string.digits:
        return {"digit"}
    if character in "\t ":
        return {"blank"}
    return {"newline"} if character in "\n\r" else {"mark"}


def _lanes(*names: str) -> int:
    return sum(1 << place for place, name in enumerate(_LANES) if name in names)


def _mask(*names: str) -> int:
    # Two units each, for a slice of characters that are surrogate pairs in UTF-16.
    return int.from_bytes(bytes([_lanes(*names)]) * (2 * _SLICE), "little")


_TABLE = bytes(_lanes(*_classes(chr(byte))) for byte in range(256))
_IN_ALPHABET = bytes(_lanes("letter") if high in ALPHABETS else 0 for high in range(256))
_FOREIGN = _TABLE[ord("k")]
_BELOW_256 = bytes(0 if high else 0xFF for high in range(256))

_DIGIT, _SMALL, _BLANK, _MARK = _mask("digit"), _mask("small"), _mask("blank"), _mask("mark")
_WORD_OR_LINE, _FOLLOWING = _mask("letter", "newline"), _mask("digit", "newline")
_MARK_OR_CAPITAL, _LONG = _mask("mark", "capital"), _mask("digit", "consonant")


def count_features(text: str) -> dict[str, int]:
    """Count each feature of a text; those of scripts beyond ASCII only where there are any.

    >>> count_features("if x:  # 42 ½")
    {'starts': 2, 'blanks': 1, 'repeats': 0, 'numbers': 1, 'marks': 3, 'k and z': 0}
    >>> count_features("日本")["Han"]
    2
    """
    totals = dict.fromkeys(("starts", "blanks", "repeats", "numbers", "marks", "k and z"), 0)
    for begin in range(0, len(text), _SLICE):
        part = text[begin : begin + _SLICE]
        if part.isascii():
            lanes = part.encode("ascii").translate(_TABLE)
            totals["k and z"] += lanes.count(_FOREIGN)
            runs = _count_runs(int.from_bytes(lanes, "little"))
        else:
            totals["k and z"] += part.count("k") + part.count("z")
            units = part.encode("utf-16-le", "surrogatepass")
            low, high = units[::2], units[1::2]
            plain = _read(low, _TABLE) & _read(high, _BELOW_256)
            runs = _count_runs(plain | _read(high, _IN_ALPHABET))
            for name, number in count_scripts(part, low, high).items():
                totals[name] = totals.get(name, 0) + number
        for name, number in runs.items():
            totals[name] += number
    return totals


def _read(data: bytes, table: bytes) -> int:
    return int.from_bytes(data.translate(table), "little")


def _count_runs(lanes: int) -> dict[str, int]:
    rest = lanes & (lanes << 8)  # every character of a run but its first
    first = lanes ^ rest
    third = rest & (rest << 8)  # from the third on
    second = rest ^ third
    after = lanes & (lanes << 9) & _FOLLOWING
    # A number begins a token more unless it follows a letter; a newline none if it follows a mark.
    starts = (first & _WORD_OR_LINE) ^ after
    numbers = (first ^ after) & _DIGIT
    camel = lanes & (rest << 9) & _SMALL  # HTTPServer
    marks = (first & _MARK_OR_CAPITAL) | (third & _LONG)
    return {
        "starts": starts.bit_count(),
        "blanks": (second & _BLANK).bit_count(),
        "repeats": (second & _MARK).bit_count(),
        "numbers": (numbers | camel).bit_count(),
        "marks": marks.bit_count(),
    }
