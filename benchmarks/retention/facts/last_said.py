"""Fact: the last thing that the assistant said before the cut."""

import re
from collections.abc import Sequence

from benchmarks.retention.facts.transcript import Raw, content_of
from benchmarks.retention.facts.words import is_sentence, quotes

__all__ = ["kept_last_said", "last_said"]

_ACTION = re.compile(r"```.*?(?:```|\Z)|<command>.*?(?:</command>|\Z)", re.DOTALL)
_END = re.compile("(?<=[.!?])\\s|(?<=[\u3002\uff01\uff1f])|\n")


def last_said(messages: Sequence[Raw]) -> str:
    """Return the first sentence of the last reply that has a text; empty if there is none.

    Blocks of code are left out. A sentence ends with its mark or its line. One or two words
    ("Perfect!") are none, unless the reply says nothing else.

    >>> last_said([{"role": "assistant", "content": "All of the tests pass. Next, the docs."}])
    'All of the tests pass.'
    """
    for message in reversed(messages):
        if message.get("role") == "assistant":
            said = _END.split(_ACTION.sub("", content_of(message)))
            said = [sentence.strip() for sentence in said if re.search(r"\w", sentence)]
            if said:
                return next(filter(is_sentence, said), said[0])
    return ""


def kept_last_said(messages: Sequence[Raw], view: str) -> tuple[int, int]:
    """Count the sentence if five words in a row of it stand in a view, and whether there is one."""
    sentence = last_said(messages)
    return int(bool(sentence) and quotes(view, sentence)), int(bool(sentence))
