"""The number of tokens of a text without a tokenizer, within 10 % of o200k_base on agents' texts.

The weights were fitted by `benchmarks/estimate/fit.py` and checked by `check.py` next to it on
texts that were not used for fitting: agent sessions, prose, code, JSON, logs, and prose in forty
languages. The weighted features are those that can be counted fast.

Each character becomes a byte with one bit for each class of characters. A slice of such bytes, read
as one large integer, is combined with itself shifted by one character: a single operation finds
every place where a run begins, continues or changes, and `bit_count` counts them. Tokenizers split
at such places: a run of letters with what precedes it, up to three digits, a run of punctuation
marks, white space (https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py).

The number of tokens per word depends on the language. English, which tokenizers know best, hardly
uses k and z: 3 of 1,000 letters in the Declaration of Human Rights. In Finnish, Hungarian,
Indonesian, Polish and Turkish, they are 50 to 90 of 1,000, so these two letters are counted.

The less of a script was in a tokenizer's training text, the more tokens the script takes. What
matters is the script, whether its words are separated, and how common the characters are. For Han
this is derived from GB 2312, whose first level contains the 3,755 most common simplified
characters; those outside it, rare or traditional, cost about twice as much. Some characters reveal
more than their script does. Finnish has an ä in every fifth word, and its words are long. The
letters đ, ơ and ư are Vietnamese, whose words a tokenizer knows. In a drawing, a tokenizer knows
runs of one character, so runs are counted and the characters hardly matter.

Memory is bounded: 8,192 characters are processed at a time.
"""

import re
import string
from collections.abc import Iterable, Mapping
from operator import mul

import attrs

from agentic._base._validate import is_number
from agentic.errors import ConfigError

WEIGHTS: Mapping[str, float] = {
    "starts": 1.01,
    "blanks": 1.33,
    "repeats": 0.86,
    "numbers": 1.87,
    "marks": 0.38,
    "k and z": 1.22,
    "accented Latin": 0.85,
    "ä": 2.34,
    "extended Latin": 0.84,
    "rare Latin": 2.05,
    "extended vowel": 1.59,
    "Vietnamese": 0.0,
    "combining": 1.72,
    "Greek": 0.23,
    "Cyrillic": 0.12,
    "Hebrew": 0.19,
    "Arabic": 0.14,
    "Devanagari": 0.36,
    "Indic": 0.42,
    "Thai": 0.42,
    "Burmese": 0.56,
    "Georgian": 0.31,
    "Ethiopic": 2.0,
    "Khmer": 0.63,
    "Jamo": 3.0,
    "rare": 3.0,
    "punctuation": 0.0,
    "ellipsis": 1.0,
    "symbol": 0.98,
    "drawing": 0.07,
    "drawing run": 1.06,
    "block": 0.51,
    "emoji": 2.68,
    "full width": 0.12,
    "CJK mark": 0.52,
    "Kana": 0.66,
    "Han": 0.8,
    "uncommon Han": 0.63,
    "Hangul": 0.54,
    "Hangul word": 0.61,
}
"""Tokens per occurrence of each feature."""
_OF_ANY_SCRIPT = ("starts", "blanks", "repeats", "numbers", "marks", "k and z")
_ASCII_WEIGHTS = tuple(WEIGHTS[name] for name in _OF_ANY_SCRIPT)
_SLICE = 1 << 13
# One shift finds all of these pairs: a digit after a letter, a newline after a mark, a small letter
# after a capital. So the bits of each pair are adjacent.
_LANES = ["letter", "digit", "mark", "newline", "capital", "small", "blank", "consonant"]
_VOWELS = "aeiouyAEIOUY"
_BELOW_256 = bytes(0 if high else 0xFF for high in range(256))
_SCRIPTS: Mapping[str, tuple[range, ...]] = {
    "extended Latin": (range(0x01, 0x02),),
    "rare Latin": (range(0x02, 0x03),),
    "Greek": (range(0x03, 0x04), range(0x1F, 0x20)),
    "Cyrillic": (range(0x04, 0x05),),
    "Hebrew": (range(0x05, 0x06),),
    "Arabic": (range(0x06, 0x09), range(0xFB, 0xFE)),
    "Devanagari": (range(0x09, 0x0A),),
    "Indic": (range(0x0A, 0x0E),),
    "Thai": (range(0x0E, 0x10),),
    "Georgian": (range(0x10, 0x11),),
    "Jamo": (range(0x11, 0x12),),
    "Ethiopic": (range(0x12, 0x14),),
    "Khmer": (range(0x17, 0x18),),
    "rare": (
        range(0x14, 0x17),
        range(0x18, 0x1E),
        range(0x28, 0x29),
        range(0x2C, 0x30),
        range(0x33, 0x4E),
        range(0xA0, 0xAC),
        range(0xE0, 0xFB),
    ),
    "Vietnamese": (range(0x1E, 0x1F),),
    "punctuation": (range(0x20, 0x21), range(0xFE, 0xFF)),
    "symbol": (range(0x21, 0x25), range(0x26, 0x28), range(0x29, 0x2C)),
    "drawing": (range(0x25, 0x26),),
    "Kana": (range(0x30, 0x33),),
    "Han": (range(0x4E, 0xA0),),
    "Hangul": (range(0xAC, 0xD8),),
    "emoji": (range(0xD8, 0xDC),),
    "full width": (range(0xFF, 0x100),),
}
"""Maps high bytes to what they are counted as. A low surrogate is counted with its high one."""
_SPACED = ("extended Latin", "rare Latin", "Greek", "Cyrillic", "Hebrew", "Arabic", "Vietnamese")
_ALPHABETS = frozenset(high for name in _SPACED for block in _SCRIPTS[name] for high in block)
"""The blocks whose words are separated, and are split off like those of ASCII."""
_IDS = bytes(
    next((i for i, blocks in enumerate(_SCRIPTS.values(), 1) if any(high in b for b in blocks)), 0)
    for high in range(256)
)
_HANGUL = 1 + list(_SCRIPTS).index("Hangul")
_DRAWING_RUN = re.compile("([\u2500-\u25ff])\\1*")
_NOT_HAN = re.compile("[^\u4e00-\u9fff]+")
_RARE_LEADS = bytes(range(0xD8, 0x100))


@attrs.frozen
class EstimateCounter:
    """Estimates a text's size from the places where tokenizers split, faster than any tokenizer.

    It needs no dependency, bounded memory, and accepts any text. The result is within 5 % of
    o200k_base for agent sessions; within 10 % for prose, code, JSON, logs, drawings, Chinese,
    Japanese and Korean; within 25 % for base64, emoji, legal prose and other scripts. The error for
    a single short text may be larger, but not for the sum of many.

    >>> EstimateCounter().count("def main(argv: list[str]) -> int:")
    11
    >>> EstimateCounter(scale=1.3).count("def main(argv: list[str]) -> int:")
    14

    Raises:
        ConfigError: the scale is not a number above 0.
    """

    scale: float = attrs.field(default=1.0)
    """The model's tokens per token of o200k_base, for a model with another vocabulary."""

    @scale.validator
    def _check(self, _: object, value: object) -> None:
        if not (is_number(value) and 0 < value < float("inf")):
            raise ConfigError("scale", value, "a number above 0", "leave it at 1.0")

    def count(self, text: str, /) -> int:
        """Return the estimate for one text: at least 1, or 0 for an empty text."""
        # Added in the order of the weights, so that the floating-point sum is always the same.
        if len(text) <= _SLICE and text.isascii():
            # Most texts of a history, at half the cost of what is below, which gives the same.
            tokens: float = sum(map(mul, _count_ascii(text), _ASCII_WEIGHTS))
        else:
            features = count_features(text)
            tokens = sum(WEIGHTS[name] * features[name] for name in WEIGHTS if name in features)
        return max(round(self.scale * tokens), 1 if text else 0)


def _classes(character: str) -> set[str]:
    if character in string.ascii_letters:
        if character in "kz":  # without the small-letter bit, so that only these have this byte
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
    # Two units each, because a slice may consist of characters that are surrogate pairs in UTF-16.
    return int.from_bytes(bytes([_lanes(*names)]) * (2 * _SLICE), "little")


_TABLE = bytes(_lanes(*_classes(chr(byte))) for byte in range(256))
_IN_ALPHABET = bytes(_lanes("letter") if high in _ALPHABETS else 0 for high in range(256))
_FOREIGN = _TABLE[ord("k")]

_DIGIT, _SMALL, _BLANK, _MARK = _mask("digit"), _mask("small"), _mask("blank"), _mask("mark")
_WORD_OR_LINE, _FOLLOWING = _mask("letter", "newline"), _mask("digit", "newline")
_MARK_OR_CAPITAL, _LONG = _mask("mark", "capital"), _mask("digit", "consonant")


def count_features(text: str) -> dict[str, int]:
    """Count each feature of a text; scripts beyond ASCII only if the text has any.

    >>> count_features("if x:  # 42 ½")
    {'starts': 2, 'blanks': 1, 'repeats': 0, 'numbers': 1, 'marks': 3, 'k and z': 0}
    >>> count_features("日本")["Han"]
    2
    """
    totals = dict.fromkeys(_OF_ANY_SCRIPT, 0)
    for begin in range(0, len(text), _SLICE):
        part = text[begin : begin + _SLICE]
        # Most of what agents read is ASCII: half the bytes, and no scripts to count.
        if part.isascii():
            numbers = _count_ascii(part)
        else:
            # In UTF-16 the high byte says which block: one `translate` finds all scripts.
            units = part.encode("utf-16-le", "surrogatepass")
            low, high = units[::2], units[1::2]
            plain = _read(low, _TABLE) & _read(high, _BELOW_256)
            runs = _count_runs(plain | _read(high, _IN_ALPHABET))
            numbers = (*runs, part.count("k") + part.count("z"))
            for name, number in _count_scripts(part, low, high).items():
                totals[name] = totals.get(name, 0) + number
        for name, number in zip(_OF_ANY_SCRIPT, numbers, strict=True):
            totals[name] += number
    return totals


def _count_ascii(text: str) -> tuple[int, ...]:
    """Count the features that a text of any script has, in this order."""
    lanes = text.encode("ascii").translate(_TABLE)
    return *_count_runs(int.from_bytes(lanes, "little")), lanes.count(_FOREIGN)


def _read(data: bytes, table: bytes) -> int:
    return int.from_bytes(data.translate(table), "little")


def _count_runs(lanes: int) -> tuple[int, int, int, int, int]:
    """Count all of these features but the last."""
    rest = lanes & (lanes << 8)  # every character of a run except its first
    first = lanes ^ rest
    third = rest & (rest << 8)  # from the third character on
    second = rest ^ third
    after = lanes & (lanes << 9) & _FOLLOWING
    # A number begins another token unless it follows a letter; a newline does unless it follows a
    # mark.
    starts = (first & _WORD_OR_LINE) ^ after
    numbers = (first ^ after) & _DIGIT
    camel = lanes & (rest << 9) & _SMALL  # HTTPServer
    marks = (first & _MARK_OR_CAPITAL) | (third & _LONG)
    return (
        starts.bit_count(),
        (second & _BLANK).bit_count(),
        (second & _MARK).bit_count(),
        (numbers | camel).bit_count(),
        marks.bit_count(),
    )


def _ones(*blocks: Iterable[int]) -> bytes:
    ones = frozenset(byte for block in blocks for byte in block)
    return bytes(int(byte in ones) for byte in range(256))


def _low(characters: str) -> bytes:
    """Return the table of the low bytes of these characters and of their capitals."""
    return _ones(ord(character) & 0xFF for character in characters + characters.upper())


_BASIC, _LATIN_LETTERS = _ones(range(1)), _ones(range(0xC0, 0x100))
# Characters of a script's first block that are counted as something else, by low byte.
_LOW_BYTES = {
    "Vietnamese": ("extended Latin", _low("đơư")),
    "extended vowel": ("extended Latin", _low("āăąēėęīįūų")),
    "combining": ("Greek", _ones(range(0x70))),
    "Burmese": ("Georgian", _ones(range(0xA0))),
    "block": ("drawing", _ones(range(0x80, 0xA0))),
    "CJK mark": ("Kana", _ones(range(0x40))),
}
_FIRST_BLOCKS = {script: _ones(_SCRIPTS[script][0][:1]) for script, _ in _LOW_BYTES.values()}


def _count_scripts(text: str, low: bytes, high: bytes) -> dict[str, int]:
    """Count the characters of each script, given a text and the two halves of its UTF-16 units.

    >>> units = "Año 標準".encode("utf-16-le")
    >>> _count_scripts("Año 標準", units[::2], units[1::2])
    {'Han': 2, 'accented Latin': 1, 'uncommon Han': 2}
    """
    ids = high.translate(_IDS)
    # Checking whether a script occurs is much faster than counting its characters.
    counts = {name: ids.count(i) for i, name in enumerate(_SCRIPTS, 1) if i in ids}
    if "Hangul" in counts:
        counts["Hangul word"] = _count_starts(ids, _HANGUL)
    if "drawing" in counts:
        counts["drawing run"] = len(_DRAWING_RUN.findall(text))
    if "punctuation" in counts:
        # At the end of a line, it forms one token with the newline, which is counted as a start.
        _move(counts, text.count("…") - text.count("…\n"), "punctuation", "ellipsis")
    if latin := _count_both(high, _BASIC, low, _LATIN_LETTERS):
        counts["accented Latin"] = latin
        _move(counts, text.count("ä") + text.count("Ä"), "accented Latin", "ä")
    for name, (script, of_low) in _LOW_BYTES.items():
        if script in counts:
            number = _count_both(high, _FIRST_BLOCKS[script], low, of_low)
            _move(counts, number, script, name)
    if "Han" in counts and (uncommon := _count_uncommon(_NOT_HAN.sub("", text))):
        counts["uncommon Han"] = uncommon
    return counts


def _move(counts: dict[str, int], number: int, script: str, name: str) -> None:
    """Count some characters of a script under another name."""
    if number:
        counts[script] -= number
        counts[name] = counts.get(name, 0) + number


def _count_starts(ids: bytes, number: int) -> int:
    """Count the runs of one script."""
    ones = int.from_bytes(ids.translate(_ones(range(number, number + 1))), "little")
    return (ones & ~(ones << 8)).bit_count()


def _count_both(high: bytes, of_high: bytes, low: bytes, of_low: bytes) -> int:
    """Count the units whose two halves are both in their tables."""
    highs = int.from_bytes(high.translate(of_high), "little")
    return (highs & int.from_bytes(low.translate(of_low), "little")).bit_count()


def _count_uncommon(han: str) -> int:
    """Count the characters outside the first level of GB 2312, in two bytes each."""
    known = han.encode("gb2312", "ignore")
    common = len(known[::2].translate(None, _RARE_LEADS))
    return len(han) - common
