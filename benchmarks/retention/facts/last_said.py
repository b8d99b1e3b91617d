"""Fact: the last thing that the assistant said before the cut."""

import re
from collections.abc import Sequence

from benchmarks.retention.facts.transcript import Raw, content_of
from benchmarks.retention.facts.words import is_enough, quotes

__all__ = ["kept_last_said", "last_said"]

_ACTION = re.compile(r"```.*?(?:```|\Z)|<command>.*?(?:</command>|\Z)", re.DOTALL)
_END = re.compile("(?<=[.!?])\\s|(?<=[\u3002\uff01\uff1f])|\n")


def last_said(messages: Sequence[Raw]) -> str:
    """Return the first sentence of the last reply that has a text; empty if there is none.

    Blocks of code are left out. A sentence ends with its mark or its line. One of fewer than five
    words ("Perfect!") says nothing: then the next ones belong to it.

    >>> last_said([{"role": "assistant", "content": "All of the tests pass. Next, the docs."}])
    'All of the tests pass.'
    """
    for message in reversed(messages):
        if message.get("role") == "assistant":
            said: list[str] = []
            for sentence in _END.split(_ACTION.sub("", content_of(message))):
                said += [sentence.strip()] if re.search(r"\w", sentence) else []
                if said and is_enough(" ".join(said)):
                    break
            if said:
                return " ".join(said)
    return ""


def kept_last_said(messages: Sequence[Raw], view: str) -> tuple[int, int]:
    """Count the sentence if five words in a row of it stand in a view, and whether there is one."""
    sentence = last_said(messages)
    return int(bool(sentence) and quotes(view, sentence)), int(bool(sentence))
