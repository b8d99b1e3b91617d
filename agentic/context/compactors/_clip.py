"""Text that is too long for a prompt: both ends of it, and how much is missing between them."""

__all__ = ["clip"]

_WORD_SEARCH = 24
"""How far a cut moves to the next blank, in characters: most words are shorter."""


def clip(text: str, limit: int) -> str:
    """Cut the middle out of a text, and say there how much is missing.

    Two thirds of the limit, in characters, go to the start. The marker comes on top.

    >>> clip("Please rename the parser and do not touch the tests", 24)
    'Please rename [... 33 characters left out ...] tests'
    """
    if len(text) <= limit:
        return text
    tail_size = limit // 3
    head = _back_to_word(text[: limit - tail_size])
    tail = _on_to_word(text[len(text) - tail_size :])
    missing = len(text) - len(head) - len(tail)
    return f"{head} [... {missing} characters left out ...] {tail}"


def _back_to_word(start: str) -> str:
    cut = max(start.rfind(" "), start.rfind("\n"))
    return start[:cut] if len(start) - cut <= _WORD_SEARCH else start


def _on_to_word(end: str) -> str:
    spaces = [found for found in (end.find(" "), end.find("\n")) if found >= 0]
    return end[min(spaces) + 1 :] if spaces and min(spaces) <= _WORD_SEARCH else end
