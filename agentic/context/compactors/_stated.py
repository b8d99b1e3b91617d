"""What an assistant's reply states: its result, what it found, what it goes on to do.

English is understood best: what is announced is known by how English sentences announce.
"""

import re
from collections.abc import Iterator

from agentic.context.compactors._lines import brief, lowered, one_line, shorten

__all__ = ["announced", "found", "is_telling", "result_of"]

_WINDOW = 6000
_RESULT_LIMIT = 320
_FOUND_LIMIT = 280
_ANNOUNCED_LIMIT = 200

_CODE_OR_HEADING = re.compile(r"```.*?(?:```|\Z)|^#{1,6} [^\n]*$", re.DOTALL | re.MULTILINE)
# It begins with white space, for which `re` looks fast.
_SENTENCE_END = re.compile(
    r"\s(?:(?<=[.!?:]\s)\s*(?=[^a-z\s])|(?<=\n)\s*(?=\n|[-*#>|]|[0-9]{1,3}\.\s))"
)
_BULLET = re.compile(r"(?:[-*+>|]|[0-9]{1,3}\.) |[\W_]+\Z")
_ANNOUNCEMENT = re.compile(
    r"(?:(?:now|next|first|then|so|ok|okay|good|great|perfect|actually|also|but|and)\b[,.!]?\s+)*"
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i need to|i should|we will|we'll)\b"
)
_FEWEST_WORDS = 4
# For text in lower case, with a blank before it: `re` is slow where case does not matter, or at \b.
_TELLING = re.compile(
    r"[ *(](?:decisions?|decided?|agreed?|chosen?|chose|conclu(?:de|ded|sion)|settled|convention"
    r"|(?:go|going|went) with|opt(?:ed)? for|st(?:ick|ay)s?|keep(?! \w+ing)|kept|never|from now on"
    r"|must not|no longer|culprit|root cause|turns out"
    r"|(?:rule|note|result|finding|important)(?=: ))\b"
)
_LABEL = re.compile(r"\**[^\W\d_]{4,}(?::\**|\**:)")
"""What may stand before a sentence to say what it is: `Decision:`."""


def result_of(text: str) -> list[str]:
    r"""Give what a final reply decides, then its first and last sentence in one line.

    >>> result_of("Done. The build is green.\n- It was due to a typo.\n\nShall I push it?")
    ['The build is green. ... Shall I push it?']
    """
    sentences = _sentences(text)
    match list(filter(_is_long, sentences)) or sentences:
        case [first, *middle, last] if middle:
            stated = [*filter(is_telling, middle), f"{first} ... {last}"]
        case few:
            stated = [" ".join(few)]
    return [brief(each, _RESULT_LIMIT) for each in stated]


def found(text: str) -> list[str]:
    """Give what a reply states before it goes on to call tools, in one line; before, what tells.

    >>> found("So `borderColor` takes a function. It is the root cause. Let me see who sets it:")
    ['It is the root cause.', 'So `borderColor` takes a function.']
    """
    stated = [each for each in _sentences(text) if not each.endswith(":") and _is_long(each)]
    # Few replies tell anything, and all sentences at once are looked through faster.
    telling = list(filter(is_telling, stated)) if is_telling("\n ".join(stated)) else []
    rest = [
        each for each in stated if each not in telling and not _ANNOUNCEMENT.match(lowered(each))
    ]
    return [brief(each, _FOUND_LIMIT) for each in (*telling, " ".join(rest)) if each]


def announced(text: str) -> str:
    """Give what a reply goes on to do: its last sentence.

    >>> announced("So `borderColor` takes a function. Let me see who sets it:")
    'Let me see who sets it:'
    """
    return shorten(next(reversed(_sentences(text[-_WINDOW:])), ""), _ANNOUNCED_LIMIT)


def is_telling(statement: str) -> bool:
    """Tell whether a statement says what was decided, or what something comes from.

    >>> is_telling("Decision: names of the old form until May."), is_telling("The tests pass.")
    (True, False)
    """
    return bool(_TELLING.search(f" {statement.lower()}"))


def _sentences(text: str) -> list[str]:
    """Split both ends of a reply into sentences, without code and headings."""
    ends = text if len(text) <= 2 * _WINDOW else f"{text[:_WINDOW]}\n\n{text[-_WINDOW:]}"
    if "```" in ends or "#" in ends:
        ends = _CODE_OR_HEADING.sub("\n\n", ends)
    lines = map(one_line, filter(None, _SENTENCE_END.split(ends)))
    return list(_labelled(filter(None, map(_without_bullet, lines))))


def _without_bullet(line: str) -> str:
    bullet = None if line[:1].isalpha() else _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _is_long(sentence: str) -> bool:
    return sentence.count(" ") + 1 >= _FEWEST_WORDS


def _labelled(sentences: Iterator[str]) -> Iterator[str]:
    """Put a label that stands by itself before the sentence that it belongs to."""
    label = ""
    for sentence in sentences:
        if sentence[-1] in ":*" and _LABEL.fullmatch(sentence):
            label = f"{label}{sentence} "
        else:
            yield f"{label}{sentence}"
            label = ""
    if label:
        yield label.rstrip()
