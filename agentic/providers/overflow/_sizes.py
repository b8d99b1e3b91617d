"""The numbers that an overflow names: what was sent, and what would have fitted.

Rules are tried in order and each fills what is still missing, so that the outspoken ones ("a total
of 202941 tokens") go before the guesses ("context ... 202752"). A reserved output is added to the
input where a server adds it. Texts come as `_error_text.spell` gives them.
"""

import re

import attrs

__all__ = ["Overflow", "read_sizes"]

_NUMBER = r"\d{1,12}(?!\d| ?char)"
_SENT = rf"(?P<sent>{_NUMBER})"
_WINDOW = rf"(?P<window>{_NUMBER})"
_RESERVED = rf"(?P<reserved>{_NUMBER})"

# What may stand between a name and its number; no word that begins the other half of a sentence.
_RUN = (
    r"(?:(?!exceed|max|limit|greater|longer|less|must|should|than|output|completion| by )[a-z_ (])"
)

_SENT_NAME = (
    r"(?<!max )(?<!maximum )"
    r"\b(?:prompt|request|input|prompt_tokens|input_tokens|max_total_tokens|token count)\b"
)

_WINDOW_NAME = r"\b(?:context|(?<!exceeds )limit|limit of|max(?:imum)?)\b(?!_)"

_RULES = tuple(
    re.compile(rule)
    for rule in (
        rf"{_SENT}(?: tokens)? \+ {_RESERVED} ?(?:>|is greater than)(?: max_seq_len)? ?{_WINDOW}",
        rf"{_SENT} tokens? ?>=? ?{_WINDOW}",
        rf"too large: {_RESERVED}\. .{{0,60}}?length is {_WINDOW} .{{0,30}}?has {_SENT} input",
        rf"must be <= {_WINDOW}\. given: {_SENT} inputs tokens and {_RESERVED}",
        rf"input tokens length is {_SENT}\. output tokens length is {_RESERVED}",
        rf"n_keep[ :(]{{1,3}}{_SENT}\)? ?>= ?n_ctx[ :(]{{1,3}}{_WINDOW}",
        rf"prompt is ?{_SENT} ?tokens and the context window is ?{_WINDOW}",
        rf"total of (?:at least )?{_SENT} tokens",
        rf"request input token count:? {_SENT}",
        rf"(?:keep the first|resulted in|contains(?: at least)?|will take|supplied) {_SENT}",
        rf"(?:received|given:|requested:|current length is) {_SENT}",
        rf"requested (?:about )?(?:tokens \()?{_SENT}(?: tokens|\))",
        rf"tokens \({_SENT}\) (?:has )?exceed",
        rf"{_SENT_NAME}{_RUN}{{0,40}}[ :=(]{{0,3}}{_SENT}",
        rf"(?:max_(?:seq|model)_len|max_(?:prompt|input|num)_tokens|n_ctx)[ :=(]{{1,4}}{_WINDOW}",
        rf"{_WINDOW} maximum context",
        rf"{_WINDOW}[ -]tokens? (?:context|window|limit)",
        rf"\[ ?\d+ ?, ?{_WINDOW} ?\]",
        rf"(?:supports up to|supports at most|less than|less than or equal to) {_WINDOW}",
        rf"(?:limit is|limit for this model is|cannot exceed|exceeds limit) {_WINDOW}",
        rf"{_WINDOW_NAME}{_RUN}{{0,50}}?(?:of [a-z][^ ]{{0,80}} is)?[ :=(]{{0,3}}\b{_WINDOW}",
    )
)


@attrs.frozen
class Overflow:
    """The sizes that a server gave, in tokens; None where it gave none."""

    sent: int | None = None
    """What the server held against the window: the input, and where it counts it the output that
    was asked for too, so that this is always more than `window`."""
    window: int | None = None
    """What it accepts."""


def read_sizes(text: str) -> Overflow:
    """Read the sizes; None for each that the text does not name.

    >>> read_sizes("you requested 10057 tokens (57 in the messages, 10000 in the completion)")
    Overflow(sent=10057, window=None)
    >>> read_sizes("context limit: 190000 + 20000 > 200000")
    Overflow(sent=210000, window=200000)
    """
    found: dict[str, int] = {}
    for rule in _RULES:
        match = rule.search(text)
        if match is None:
            continue
        named = {name: int(number) for name, number in match.groupdict().items()}
        if "sent" in named:
            named["sent"] += named.pop("reserved", 0)
        found = named | found
    sent, window = found.get("sent"), found.get("window")
    if sent is not None and window is not None and sent <= window:
        sent = None  # not what was too large
    return Overflow(sent or None, window or None)
