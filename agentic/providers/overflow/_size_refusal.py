"""Tell apart why a request is too large: its tokens, its bytes on the wire, or its images.

The texts that the patterns were written from are in `tests/providers/test_size_refusals.py`, each
with the address of a page that quotes it.
"""

import re
from typing import Any, Literal

import attrs

from agentic.errors import ContextOverflow
from agentic.providers.overflow._detection import read_overflow
from agentic.providers.overflow._error_text import read_error_text

_NEVER = {401, 402, 403, 404, 407, 408, 429, 499, 504, 524}
_TOO_LARGE = 413
_NUMBER = r"\d{1,12}"
_SUMMAND = rf"(?P<plus>{_NUMBER}(?: [a-z]+){{0,2}} \+ )"
_SENT = rf"(?P<sent>{_NUMBER})(?: images)?"
_MAXIMUM = r"(?:max(?:imum)?(?: is| allowed is)?|to)"
_IMAGES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"too (?:many images|much media)\b[^>]{{0,60}}?{_SUMMAND}?{_SENT} > (?P<limit>{_NUMBER})",
        rf"(?P<sent>{_NUMBER}) images?\b.{{0,60}}?maximum of (?P<limit>{_NUMBER})",
        rf"too many (?:url )?images\b.{{0,80}}?{_MAXIMUM} (?P<limit>{_NUMBER})",
        rf"at most (?P<limit>{_NUMBER}) image\(?s?\)? may be provided",
        rf"max data-uri per request: (?P<limit>{_NUMBER})",
        r"too many images\b",
    )
)
_BYTES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"message size (?P<sent>{_NUMBER}) exceeds limit (?P<limit>{_NUMBER})",
        rf"(?:request|payload)\b.{{0,30}}?too large\b.{{0,20}}?max (?P<mega>{_NUMBER}) ?mb",
        r"request exceeds the maximum (?:allowed )?(?:size|number of bytes)",
        r"(?:payload|request entity|request body) too large|body: length limit exceeded",
    )
)


@attrs.frozen
class SizeRefusal:
    """Why a server refused a request for its size."""

    kind: Literal["tokens", "bytes", "images"]
    sent: int | None = None
    """The size of the request in these; None if the server did not say."""
    limit: int | None = None
    """The size that the server accepts; None if it did not say."""

    def as_error(self, model: str) -> ContextOverflow:
        """Return the error that a caller of this model gets."""
        return ContextOverflow(model, self.sent, self.limit, self.kind)


def read_size_refusal(error: Any) -> SizeRefusal | None:
    """Return why a request was too large; None if the error is about anything else. Never raises.

    It reads what `read_overflow` reads, and what it has returned.

    >>> read_size_refusal("total message size 2100954 exceeds limit 2097152")
    SizeRefusal(kind='bytes', sent=2100954, limit=2097152)
    >>> read_size_refusal("too many images and documents: 120 + 0 > 100")
    SizeRefusal(kind='images', sent=120, limit=100)
    >>> read_size_refusal("prompt is too long: 208310 tokens > 200000 maximum").kind
    'tokens'
    """
    if isinstance(error, SizeRefusal):
        return error
    if isinstance(error, ContextOverflow):
        return SizeRefusal(error.kind, error.sent, error.window)
    overflow = read_overflow(error)
    if overflow is not None:
        return SizeRefusal("tokens", overflow.sent, overflow.window)
    info = read_error_text(error)
    if info.status in _NEVER:
        return None
    for kind, patterns in (("images", _IMAGES), ("bytes", _BYTES)):
        matches = (pattern.search(text) for pattern in patterns for text in info.texts)
        if match := next(filter(None, matches), None):
            return _refusal(kind, match)
    return SizeRefusal("bytes") if info.status == _TOO_LARGE else None


def _refusal(kind: Any, match: re.Match[str]) -> SizeRefusal:
    groups = match.groupdict()
    sent, limit = (int(groups[name]) if groups.get(name) else None for name in ("sent", "limit"))
    if groups.get("mega"):
        limit = int(groups["mega"]) * 1_000_000
    if groups.get("plus") and sent is not None:
        sent += int(re.findall(_NUMBER, groups["plus"])[0])
    # One that is not over the limit is about something else in the same sentence.
    return SizeRefusal(kind, sent if sent and limit and sent > limit else None, limit)
