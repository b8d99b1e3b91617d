"""Read an error's status, its codes, its texts for human readers, and the sizes in them.

Only fields that describe the error are read. Fields that repeat the request (`input`,
`failed_generation`, `prompt`) or the text of a reply are skipped: a conversation about context
windows must not look like an overflow. Texts are converted to lower case, without quotes and
thousands separators, and are cut to the length of a page, since an error may repeat a megabyte.

The sizes are what was sent and what would have fitted. The patterns for them are tried in order,
and each fills in what is still missing, so explicit ones ("a total of 202941 tokens") come before
guesses ("context ... 202752"). A reserved output is added to the input if the server adds it.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

# Limits on what is read: an error may nest without end, or repeat the whole request.
_DEPTH = 8
_ITEMS = 20
_FIELDS = 100
_JSON_CHARS = 100_000
_HEAD_CHARS, _TAIL_CHARS = 6_000, 2_000

_SPEAKING = {
    *("message", "messages", "msg", "detail", "details", "raw", "body", "status_msg", "response"),
    *("metadata", "$metadata", "responsemetadata", "base_resp", "data", "cause"),
}
"""Keys of fields that describe the error, in lower case, besides all that contain `error` or
`exception`."""

_CODES = {"code", "type", "__type", "status", "reason", "error_code", "errorcode", "error_type"}
_STATUSES = ("code", "status", "status_code", "httpstatuscode")
_WORD = re.compile(r"[\w.\- ]{1,60}")
# Class names and AWS's codes are in camel case.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUOTES = str.maketrans("", "", "`'\"\\‘’“”")  # noqa: RUF001  the curly ones
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
# What HTTP calls status 413, which botocore puts in the place of an empty body:
# https://www.rfc-editor.org/rfc/rfc9110#section-15.5.14, and RFC 7231 and 2616 before it.
_STATUS_PHRASE = re.compile(r"(?:413 )?(?:content|payload|request entity) too large")
_SNAKE = str.maketrans("-. ", "___")
# A number of characters is not one of tokens.
_NUMBER = r"\d{1,12}(?!\d| ?char)"
_SENT = rf"(?P<sent>{_NUMBER})"
_WINDOW = rf"(?P<window>{_NUMBER})"
_RESERVED = rf"(?P<reserved>{_NUMBER})"
# What may come between a name and its number: no word that starts another clause.
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
    """The sizes that a server reported, in tokens; None for each that it did not report."""

    sent: int | None = None
    """The size that the server compared with the window: the input, plus the requested output if
    the server counts that. It is always more than `window`."""
    window: int | None = None
    """The size that the server accepts."""


@attrs.frozen
class ErrorInfo:
    """The contents of one error."""

    status: int | None = None
    """The HTTP status, if known."""
    codes: tuple[str, ...] = ()
    """Machine-readable codes, in lower case with underscores."""
    texts: tuple[str, ...] = ()
    """Texts for human readers, as returned by `spell`."""
    sizes: Overflow = attrs.field(factory=Overflow)
    """The sizes that are in separate fields (llama.cpp, ds4)."""
    is_bare: bool = False
    """Whether the body says nothing, or no more than the status does."""


def read_error_text(error: Any) -> ErrorInfo:
    """Read an error from an exception, a response body or a text."""
    if not isinstance(error, BaseException):
        return _error_text(error, None, ())
    # OpenAI's and Anthropic's SDKs have `body`, Google's `details`, botocore and httpx `response`.
    sources = [_peek(error, name) for name in ("body", "details", "response")]
    sources.append(_peek(sources[-1], "text"))
    # The class may be the only code, such as LiteLLM's ContextWindowExceededError.
    codes = (_code(type(error).__name__), _code(_peek(error, "code")))
    text = _error_text(sources, status_of(error), codes)
    # The message is only a fallback: it repeats the body, including any part of the request.
    if text.texts:
        return text
    read = _error_text(_text_of(error), text.status, (*codes, *text.codes))
    # Whoever has a response and no text from its body makes up a text of the status.
    return attrs.evolve(read, is_bare=read.is_bare or sources[2] is not None)


def status_of(error: Any) -> int | None:
    """Return the HTTP status, from wherever the SDK has it; None if there was no response."""
    response = _peek(error, "response")
    if isinstance(response, Mapping):  # botocore
        metadata = response.get("ResponseMetadata")
        response = metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None
    elif response is not None:  # httpx, requests
        response = _peek(response, "status_code")
    names = ("status_code", "code", "status", "http_status")
    statuses = (*(_peek(error, name) for name in names), response)
    return next((int(status) for status in statuses if _is_status(status)), None)


def spell(text: str) -> str:
    r"""Normalize a text, so that one pattern matches it however it was quoted.

    >>> spell("This model\\'s  maximum is 200,000.")
    'this models maximum is 200000.'
    """
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]} {text[-_TAIL_CHARS:]}"
    text = text.replace("\\n", " ").lower().translate(_QUOTES)
    return _THOUSANDS.sub("", " ".join(text.split()))


def _error_text(item: Any, status: int | None, codes: tuple[str, ...]) -> ErrorInfo:
    fields: dict[str, Any] = {}
    texts: list[str] = []
    words: list[str] = list(codes)
    for name, value in _walk("", item, _DEPTH):
        if not name and value.strip():  # the text of an SDK's made-up response is empty
            texts.append(spell(value))
        elif name in _CODES:
            words.append(_code(value))
        if _is_size(value):
            fields[name] = value
    status_fields = [fields[name] for name in _STATUSES if _is_status(fields.get(name))]
    return ErrorInfo(
        status=status or next(iter(status_fields), None),
        codes=tuple(filter(None, words)),
        texts=tuple(texts[:_ITEMS]),
        sizes=as_overflow(fields.get("n_prompt_tokens"), fields.get("n_ctx")),
        is_bare=all(map(_STATUS_PHRASE.fullmatch, texts)),
    )


def _walk(name: str, item: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield descriptive texts with an empty name, and all other plain values with their names."""
    if isinstance(item, bytes):
        # One more than is parsed, so that a body that was cut is not taken for a whole one.
        item = item[: _JSON_CHARS + 1].decode(errors="replace")
    if isinstance(item, str):
        inner = _parsed(item)
        if inner is None and _speaks(name):
            yield "", item
        item = inner
    if not depth or not _speaks(name):
        return
    if isinstance(item, list):
        for part in item[:_ITEMS]:
            yield from _walk(name, part, depth - 1)
    elif isinstance(item, Mapping):
        yield "type", name  # a stream's {"throttlingException": {...}}
        for key, value in list(item.items())[:_FIELDS]:
            field = str(key).lower()
            if isinstance(value, str | int):
                yield field, value
            yield from _walk(field, value, depth - 1)


def _speaks(name: str) -> bool:
    return not name or name in _SPEAKING or "error" in name or "exception" in name


def _parsed(text: str) -> Any:
    """Parse a text that is entirely JSON; return None for any other."""
    if len(text) <= _JSON_CHARS and text.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
    return None


def _code(word: Any) -> str:
    """Normalize a code; return an empty string for anything that is not one."""
    if isinstance(word, bool) or not isinstance(word, str | int):
        return ""
    # One more than a code may have, so that the start of a long text is not taken for one.
    text = str(word)[:61]
    return _HUMP.sub("_", text).lower().translate(_SNAKE) if _WORD.fullmatch(text) else ""


def _peek(item: Any, name: str) -> Any:
    """Return an attribute, or None if it fails: an unknown object's property may raise anything."""
    with contextlib.suppress(Exception):
        return getattr(item, name, None)
    return None


def _text_of(error: BaseException) -> str:
    with contextlib.suppress(Exception):
        return str(error)
    return ""


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_status(value: Any) -> bool:
    return _is_size(value) and 100 <= value < 600  # noqa: PLR2004  what HTTP has


def as_overflow(size: int | None, window: int | None) -> Overflow:
    """Return the sizes. If what was sent would have fitted, that is not known: only the window is.

    A server that compares with `>=`, as LM Studio does, refuses equal sizes, too.
    """
    if size is not None and window is not None and size <= window:
        size = None
    return Overflow(size or None, window or None)


def read_sizes(text: str) -> Overflow:
    """Return the sizes in a text; None for each that the text does not state.

    >>> read_sizes("you requested 10057 tokens (57 in the messages, 10000 in the completion)")
    Overflow(sent=10057, window=None)
    >>> read_sizes("context limit: 190000 + 20000 > 200000")
    Overflow(sent=210000, window=200000)
    """
    sizes: dict[str, int] = {}
    for rule in _RULES:
        match = rule.search(text)
        if match is None:
            continue
        numbers = {name: int(number) for name, number in match.groupdict().items()}
        if "sent" in numbers:
            numbers["sent"] += numbers.pop("reserved", 0)
        sizes = numbers | sizes
    return as_overflow(sizes.get("sent"), sizes.get("window"))
