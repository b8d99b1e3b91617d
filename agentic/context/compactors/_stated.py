"""What an assistant's reply states: its result, what it found, what it goes on to do.

English is understood best: what is announced is known by how English sentences announce.
"""

import re

from agentic.context.compactors._lines import one_line, shorten

__all__ = ["announced", "found", "result_of"]

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
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i need to|i should|we will|we'll)\b",
    re.IGNORECASE,
)
_FEWEST_WORDS = 4


def result_of(text: str) -> str:
    r"""Give the first and the last sentence of a final reply, in one line.

    >>> result_of("Done. The build is green.\n- It was due to a typo.\n\nShall I push it?")
    'The build is green. ... Shall I push it?'
    """
    sentences = _sentences(text)
    telling = [sentence for sentence in sentences if len(sentence.split()) >= _FEWEST_WORDS]
    match telling or sentences:
        case [first, _, *_, last]:
            return shorten(f"{first} ... {last}", _RESULT_LIMIT)
        case few:
            return shorten(" ".join(few), _RESULT_LIMIT)


def found(text: str) -> str:
    """Give what a reply states before it goes on to call tools, in one line.

    >>> found("So `borderColor` takes a function. Let me see who sets it:")
    'So `borderColor` takes a function.'
    """
    stated = [
        sentence
        for sentence in _sentences(text)
        if not sentence.endswith(":")
        and not _ANNOUNCEMENT.match(sentence)
        and len(sentence.split()) >= _FEWEST_WORDS
    ]
    return shorten(" ".join(stated), _FOUND_LIMIT)


def announced(text: str) -> str:
    """Give what a reply goes on to do: its last sentence.

    >>> announced("So `borderColor` takes a function. Let me see who sets it:")
    'Let me see who sets it:'
    """
    return shorten(next(reversed(_sentences(text[-_WINDOW:])), ""), _ANNOUNCED_LIMIT)


def _sentences(text: str) -> list[str]:
    """Split both ends of a reply into sentences, without code and headings."""
    ends = text if len(text) <= 2 * _WINDOW else f"{text[:_WINDOW]}\n\n{text[-_WINDOW:]}"
    if "```" in ends or "#" in ends:
        ends = _CODE_OR_HEADING.sub("\n\n", ends)
    parts = _SENTENCE_END.split(ends)
    lines = (one_line(part) for part in parts if part)
    tidied = (line[bullet.end() :] if (bullet := _BULLET.match(line)) else line for line in lines)
    return [sentence for sentence in tidied if sentence]
