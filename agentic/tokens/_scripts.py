"""What a text holds beyond ASCII, by the high byte of each UTF-16 unit: its block of Unicode.

A tokenizer spends as many tokens on a script as its training text had little of it. What decides
is the script, whether its words stand apart, and how common the characters are; for Han this last
is taken from GB 2312, whose first level is the 3,755 commonest simplified ones: what is outside it
(rare, or traditional) costs about twice as much.

Some characters tell more than their script does. Finnish has an ä in every fifth word, and its
words are long; đ, ơ and ư are Vietnamese, whose words a tokenizer knows. Of a drawing it knows runs
of one character, so those are counted, and the characters hardly matter.
"""

import re
from collections.abc import Iterable, Mapping

__all__ = ["ALPHABETS", "SCRIPTS", "count_scripts"]

SCRIPTS: Mapping[str, tuple[range, ...]] = {
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
"""High bytes to what they are counted as. A low surrogate is counted with its high one."""

ALPHABETS = frozenset(
    high
    for name in (
        "extended Latin",
        "rare Latin",
        "Greek",
        "Cyrillic",
        "Hebrew",
        "Arabic",
        "Vietnamese",
    )
    for block in SCRIPTS[name]
    for high in block
)
"""The blocks whose words stand apart and are split off like those of ASCII."""

_IDS = bytes(
    next((i for i, blocks in enumerate(SCRIPTS.values(), 1) if any(high in b for b in blocks)), 0)
    for high in range(256)
)
_HANGUL = 1 + list(SCRIPTS).index("Hangul")
_DRAWING_RUN = re.compile("([\u2500-\u25ff])\\1*")
_NOT_HAN = re.compile("[^\u4e00-\u9fff]+")
_RARE_LEADS = bytes(range(0xD8, 0x100))


def _ones(*blocks: Iterable[int]) -> bytes:
    ones = frozenset(byte for block in blocks for byte in block)
    return bytes(int(byte in ones) for byte in range(256))


def _low(characters: str) -> bytes:
    """Return the table of the low bytes of some characters and of their capitals."""
    return _ones(ord(character) & 0xFF for character in characters + characters.upper())


_BASIC, _LATIN_LETTERS = _ones(range(1)), _ones(range(0xC0, 0x100))
# What is taken out of a script's first block and counted as something else, by low bytes.
_LOW_BYTES = {
    "Vietnamese": ("extended Latin", _low("đơư")),
    "extended vowel": ("extended Latin", _low("āăąēėęīįūų")),
    "combining": ("Greek", _ones(range(0x70))),
    "Burmese": ("Georgian", _ones(range(0xA0))),
    "block": ("drawing", _ones(range(0x80, 0xA0))),
    "CJK mark": ("Kana", _ones(range(0x40))),
}
_FIRST_BLOCKS = {script: _ones(SCRIPTS[script][0][:1]) for script, _ in _LOW_BYTES.values()}


def count_scripts(text: str, low: bytes, high: bytes) -> dict[str, int]:
    """Count the characters of each script, given a text and the two halves of its UTF-16.

    >>> units = "Año 標準".encode("utf-16-le")
    >>> count_scripts("Año 標準", units[::2], units[1::2])
    {'Han': 2, 'accented Latin': 1, 'uncommon Han': 2}
    """
    ids = high.translate(_IDS)
    # Whether there is any is found out much faster than how many there are.
    counts = {name: ids.count(i) for i, name in enumerate(SCRIPTS, 1) if i in ids}
    if "Hangul" in counts:
        counts["Hangul word"] = _count_starts(ids, _HANGUL)
    if "drawing" in counts:
        counts["drawing run"] = len(_DRAWING_RUN.findall(text))
    if "punctuation" in counts:
        # At the end of a line it is one token with the newline, which is counted as a start.
        _move(counts, text.count("…") - text.count("…\n"), "punctuation", "ellipsis")
    if accented := _count_both(high, _BASIC, low, _LATIN_LETTERS):
        counts["accented Latin"] = accented
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


def _count_starts(ids: bytes, wanted: int) -> int:
    """Count the runs of one script."""
    ones = int.from_bytes(ids.translate(_ones(range(wanted, wanted + 1))), "little")
    return (ones & ~(ones << 8)).bit_count()


def _count_both(high: bytes, of_high: bytes, low: bytes, of_low: bytes) -> int:
    """Count the units of which both halves are in their tables."""
    highs = int.from_bytes(high.translate(of_high), "little")
    return (highs & int.from_bytes(low.translate(of_low), "little")).bit_count()


def _count_uncommon(han: str) -> int:
    """Count what is not on the first level of GB 2312, two bytes a character."""
    known = han.encode("gb2312", "ignore")
    common = len(known[::2].translate(None, _RARE_LEADS))
    return len(han) - common
