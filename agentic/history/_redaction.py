r"""What a redaction changes in the entries of a session.

The message is emptied, together with every copy of it in a view. A text in a view that is not a
copy of an archived message, such as a summary, was made from many messages: it loses what it quotes
from this one. A summary keeps rare details: a path, a number, a key. So a quotation is found by
what occurs only in that message: whole lines and long words. The notes of all summaries are removed
entirely, because no search reliably finds everything in data of an unknown form. If a secret is
named, it is removed from every string of the session. A provider's own compaction is opaque: no
search finds anything in it, so those that may have read the message are removed.

The redaction is recorded as an entry of its own, which older readers skip:

    {"v":1,"type":"redact","optional":true,"message":"m1","by":"ann","at":"2026-...","outputs":[]}
"""

import getpass
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Self, TypeAlias

import attrs

from agentic._base._validate import must_be
from agentic.errors import ConfigError, HistoryCorrupt, MessageNotFound
from agentic.history._entries import decode, dump_line, parse_line
from agentic.history._outputs import REF
from agentic.history._replace import as_key
from agentic.history._secrets import Secret
from agentic.history._validate import is_title
from agentic.messages import ToolCall, ToolError, ToolResult, from_plain, to_plain

_log = logging.getLogger(__name__)

Plain: TypeAlias = dict[str, Any]
_NAMES = frozenset(
    ("role", "id", "call_id", "name", "ref", "kind", "media_type", "timestamp", "created_at")
)
"""Fields of a message whose strings are not text. In the arguments of a call, every string is."""
_LINE_CHARACTERS = 8
"""A shorter line, such as `else:`, reveals nothing and occurs everywhere."""
_PART_CHARACTERS = 6
"""The least that a long word has."""
_CUT_CHARACTERS = 1_000
"""A text that is shorter, and begins as another one, may be a text of its own."""
_WORD = re.compile(rf"[\w.+%$!~^-]{{{_PART_CHARACTERS},}}")
# A summary quotes a key without the full stop that follows it.
_EDGES = ".!~^+-_"


def _name_user(by: str | None) -> str:
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # no account has this user id
        return ""


@attrs.define
class Tally:
    """How often a secret was found in what is stored."""

    count: int = 0


@attrs.frozen(kw_only=True)
class RedactionRequest:
    """Which message is to be redacted, and how."""

    message_id: str | int = attrs.field()
    replacement: str = attrs.field()
    # Neither this record's repr nor an error may show the secret.
    secret: str | None = attrs.field(default=None, repr=False)
    by: str = attrs.field(default=None, converter=_name_user, validator=must_be(str))
    at: datetime = attrs.field(factory=lambda: datetime.now(UTC))

    tally: Tally = attrs.field(init=False, factory=Tally)
    _secret: Secret | None = attrs.field(init=False, repr=False)

    @_secret.default
    def _search(self) -> Secret | None:
        # What is no text is refused by the validator, which comes later.
        return Secret(self.secret) if isinstance(self.secret, str) else None

    @message_id.validator
    def _check_id(self, _: object, value: object) -> None:
        is_position = type(value) is int and value >= 0
        if not is_position and not (isinstance(value, str) and value):
            remedy = "pass Message.id, or a position in full()"
            raise ConfigError("message_id", value, "an id, or a position >= 0", remedy)

    @replacement.validator
    def _check_replacement(self, _: object, value: object) -> None:
        if not isinstance(value, str) or not value.strip():
            raise ConfigError("replacement", value, "a text that is not blank", 'try "[removed]"')

    @secret.validator
    def _check_secret(self, _: object, value: object) -> None:
        if value is None:
            return
        # A secret inside its own replacement would come back with it.
        if not isinstance(value, str) or not value.strip() or value in self.replacement:
            rule = "a text that is not blank and not in the replacement"
            raise ConfigError("secret", "***", rule, "leave it out to redact the message only")

    def hide(self, text: str) -> str:
        """Return a text with each occurrence of the secret replaced."""
        return text if self._secret is None else self._secret.hide(text, self.replacement)

    def hide_cut(self, text: str) -> str:
        """Return a text without the beginning of the secret at its end, where it was cut off."""
        secret = self.secret if self.secret and len(text) >= _CUT_CHARACTERS else ""
        for length in range(len(secret) - 1, _PART_CHARACTERS - 1, -1):
            if text.endswith(secret[:length]):
                return text[:-length] + self.replacement
        return text

    def hide_in(self, plain: Any) -> Any:
        """Return JSON data with each occurrence of the secret replaced."""
        return plain if self._secret is None else self._secret.hide_in(plain, self.replacement)

    def note(self, plain: Any) -> int:
        """Count the occurrences of the secret in JSON data that is stored, and return them."""
        count = 0 if self._secret is None else self._secret.count_in(plain)
        self.tally.count += count
        return count

    def hide_in_title(self, title: str) -> str:
        """Do the same for a title; a result that is not a valid title becomes empty."""
        self.note(title)
        text = self.hide(title)
        return text if is_title(text) else ""

    def record(self, outputs: Iterable[str]) -> bytes:
        """Return the entry that records the redaction, without a newline."""
        done = {"message": self.message_id, "by": self.by, "at": self.at.isoformat()}
        plain = {"v": 1, "type": "redact", "optional": True, **done, "outputs": [*outputs]}
        return dump_line(plain)


_FACTS = _NAMES | {
    *("type", "state", "stop_reason", "stop_word", "limit", "ended", "provider", "calls", "usage"),
    *("request_model", "response_model", "tools", "ask", "never", "token", "output_ref", "point"),
}
"""Fields of the record of a run whose values are not text of the conversation."""
_PAYLOADS = {"native", "edited_native"}
"""The fields of a message that hold a provider's items."""


@attrs.frozen
class Redacted:
    """What to store instead of the lines of a session."""

    lines: list[bytes] = attrs.field(init=False, factory=list)
    """One for each that was given, without newlines; the same object where nothing changes."""
    request: RedactionRequest
    quotations: "Quotations"
    refs: frozenset[str]
    """The references of the stored outputs that the message refers to."""

    def hide_quotations(self, message: Plain) -> Plain:
        """Return a message without quotations; if it had any, its native payload is removed too."""
        instead = self.request.replacement
        # A payload is sent back byte for byte, so one that quotes the text cannot be mended, only
        # dropped.
        copy: Plain = _map_strings(lambda text: self.quotations.hide(text, instead), message)
        if copy == message:
            return message
        return _without_payloads(copy)

    def hide_record(self, plain: Any) -> Any:
        """Return the record of a run, as JSON data, without what is to be removed.

        What the run needs to be continued is not text, and stays.
        """
        self.request.note(plain)
        return self._hide_text(plain, "")

    def _hide_text(self, plain: Any, name: str) -> Any:
        if name in _FACTS:
            return plain
        if isinstance(plain, dict):
            copy = {key: self._hide_text(value, key) for key, value in plain.items()}
            # As in `hide_quotations`.
            is_message = "role" in plain and (copy != plain or _is_opaque(plain))
            return {k: v for k, v in copy.items() if not (is_message and k in _PAYLOADS)}
        if isinstance(plain, list):
            # The arguments of a workflow begin with the id of its session.
            first = plain[:1] if name == "args" else []
            return [*first, *(self._hide_text(value, "") for value in plain[len(first) :])]
        if not isinstance(plain, str):
            return self.request.hide_in(plain)
        if self.quotations.is_whole(plain):
            return self._fit(name)
        instead = self.request.replacement
        hidden = _map_strings(lambda text: self.quotations.hide(text, instead), plain, name)
        return self.request.hide_in(self.request.hide_cut(hidden))

    def _fit(self, name: str) -> str:
        instead = self.request.replacement
        # As in an emptied message.
        return json.dumps({"redacted": instead}) if name == "arguments" else instead

    def must_go(self, ref: str, content: bytes) -> bool:
        """Return whether a stored output contains something to be removed."""
        try:
            text = content.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # damaged: nobody can read it, nor say that it does not
            return True
        is_found = self.request.note(text) > 0
        return is_found or ref in self.refs or self.quotations.are_in(text)


def redact_lines(lines: Sequence[bytes], request: RedactionRequest, session: str) -> Redacted:
    """Return the entries of a session, without newlines, as a redaction leaves them.

    Raises:
        ConfigError: the secret is part of the format: an entry without it could not be read.
        HistoryCorrupt: an entry cannot be read.
        MessageNotFound: no message has this id or position.
    """
    request.tally.count = 0  # a transaction may be repeated
    steps = [_EntryLine.read(line, session) for line in lines]
    archive = [message for step in steps if step.kind == "message" for message in step.messages]
    by_key = {_key(message): message for message in archive}
    targets = {_key(message): message for message in _find(steps, archive, request, session)}
    others = [message for key, message in by_key.items() if key not in targets]
    # The words of the replacement are no quotation, even if the message has them, too.
    quotations = Quotations.find(targets.values(), [*others, request.replacement])
    refs = {ref for message in targets.values() for ref in REF.findall(_dump(message))}
    # Of a secret, nobody knows in which messages it was.
    first = next((n for n, each in enumerate(archive) if _key(each) in targets), 0)
    earlier = set() if request.secret else {_key(each) for each in archive[:first]}
    redaction = Redacted(request, quotations, frozenset(refs))

    def change(message: Plain) -> Plain:
        key = _key(message)
        if key in targets:
            return _empty(message, request.replacement)
        if key not in earlier and _is_opaque(message):
            message = _without_payloads(message)
        return message if key in by_key else redaction.hide_quotations(message)

    redaction.lines.extend(step.change(change, redaction, session) for step in steps)
    return redaction


def log_redaction(request: RedactionRequest, session: str) -> None:
    """Have the log of the process say what the session says."""
    _log.info("%s: message %r redacted by %s", session, request.message_id, request.by or "?")


@attrs.frozen
class _EntryLine:
    """One line of a session."""

    line: bytes
    plain: Plain
    kind: str
    """The type of the entry; "" for a blank line, or one that may be skipped."""

    @classmethod
    def read(cls, line: bytes, session: str) -> Self:
        entry = decode(line, session)
        plain = parse_line(line) if line.strip() else {}
        return cls(line, plain, entry.kind if entry else "")

    @property
    def messages(self) -> list[Plain]:
        """The messages in it; those that are summaries without their notes."""
        if not self.kind:
            return []
        plains = [self.plain["message"]] if self.kind == "message" else self.plain["messages"]
        return [_without_notes(message) for message in plains]

    def change(self, change: Callable[[Plain], Plain], redaction: Redacted, session: str) -> bytes:
        """Return the line without what is to be removed; an output that contains it is blanked."""
        copy = dict(self.plain)
        if self.kind == "message":
            copy["message"] = change(self.messages[0])
        elif self.kind:
            copy["messages"] = list(map(change, self.messages))
        elif copy.get("type") == "output":
            content = str(copy.get("text")).encode("utf-8", "surrogatepass")
            return b"" if redaction.must_go(str(copy.get("ref")), content) else self.line
        request = redaction.request
        request.note(self.plain)
        before, after = _dump(self.plain), _dump(request.hide_in(copy))
        # The line as it was, not as we would write it: another version may have written it.
        if before == after and not self._hides(request):
            return self.line
        if self.kind == "message" and "key" in copy:
            # Whoever repeats the append has the message as it was before.
            after = _dump(request.hide_in({**copy, "redacted": True}))
        line = after.encode("utf-8", "surrogatepass")
        try:
            # A secret such as "message" is also part of the format.
            decode(line, session)
        except HistoryCorrupt as problem:
            remedy = "name the whole secret"
            raise ConfigError("secret", "***", "a text of messages", remedy) from problem
        return line

    def _hides(self, request: RedactionRequest) -> bool:
        """Return whether the line has a secret that its data has not, as under a repeated name."""
        text = self.line.decode("utf-8", "replace")
        return request.hide(text) != text


def _without_notes(message: Plain) -> Plain:
    summary = message.get("summary")
    if not isinstance(summary, dict) or "notes" not in summary:
        return message
    rest = {key: value for key, value in summary.items() if key != "notes"}
    return {**message, "summary": rest}


def _find(
    steps: Sequence[_EntryLine], archive: Sequence[Plain], request: RedactionRequest, session: str
) -> Sequence[Plain]:
    """Return the message and all messages with its id."""
    message_id = request.message_id
    if isinstance(message_id, int):
        messages = list(archive[message_id : message_id + 1])
    else:
        everything = (message for step in steps for message in step.messages)
        # In views, too: a message that a replace brought in is in no entry of its own.
        messages = [message for message in everything if message.get("id") == message_id]
    if not messages:
        raise MessageNotFound(session, message_id)
    return messages


def _without_payloads(message: Plain) -> Plain:
    return {key: value for key, value in message.items() if key not in _PAYLOADS}


def _is_opaque(message: Plain) -> bool:
    """Return whether a provider's compaction is in the payload of a message."""
    return any(_has_compaction(message.get(key)) for key in _PAYLOADS)


def _has_compaction(payload: Any) -> bool:
    if isinstance(payload, dict):
        is_one = payload.get("type") == "compaction"
        return is_one or any(map(_has_compaction, payload.values()))
    return isinstance(payload, list) and any(map(_has_compaction, payload))


def _key(message: Plain) -> str:
    """Return equal texts for equal messages, however their JSON is written."""
    return as_key(from_plain(message))


def _empty(plain: Plain, replacement: str) -> Plain:
    """Return a message with the same place in the conversation but without its content."""
    message = from_plain(plain)
    arguments = json.dumps({"redacted": replacement}, ensure_ascii=False)
    calls = [
        ToolCall(call.id, call.name, arguments, is_async=call.is_async)
        for call in message.tool_calls
    ]
    results = [
        ToolResult(
            result.call_id,
            result.name,
            replacement if result.output or not result.error else "",
            error=result.error and ToolError(replacement, result.error.kind),
        )
        for result in message.tool_results
    ]
    bare = attrs.evolve(
        message,
        content=replacement if message.content or not (calls or results) else "",
        reasoning="",
        tool_calls=calls,
        tool_results=results,
        media=(),
        summary=message.summary and attrs.evolve(message.summary, content=replacement),
        native=None,
        edited_native=None,
        extra={},
    )
    return to_plain(bare)


def _dump(plain: Plain) -> str:
    return dump_line(plain).decode("utf-8", "surrogatepass")


@attrs.frozen
class Quotations:
    """What can occur in a text only if it was taken from certain messages (given as JSON data)."""

    lines: frozenset[str]
    """Whole lines, without surrounding white space."""
    _words: str
    """Long words that occur only there, one per line."""
    _parts: frozenset[str]
    """Every part of these words that has `_PART_CHARACTERS`."""
    _elsewhere: frozenset[str]
    _wholes: frozenset[str]
    """The texts themselves."""

    @classmethod
    def find(cls, these: Iterable[Any], others: Iterable[Any]) -> Self:
        """Return what occurs in these messages and in none of the others.

        >>> Quotations.find(["the key is sk-12345."], ["the key is lost"]).lines
        frozenset({'the key is sk-12345.'})
        """
        these = list(these)
        (lines, words), (other_lines, other_words) = _read(these), _read(others)
        own = words - other_words
        parts = frozenset(part for word in own for part in _parts(word))
        # A text, not a set: a part of such a word is a quotation, too.
        text = "\n".join(sorted(own))
        wholes = frozenset(text for each in these for text in _strings(each) if text.strip())
        return cls(frozenset(lines - other_lines), text, parts, frozenset(other_words), wholes)

    def is_whole(self, text: str) -> bool:
        """Return whether a text is one of the texts, or how one of them begins."""
        is_cut = len(text) >= _CUT_CHARACTERS and any(
            each.startswith(text) for each in self._wholes
        )
        return is_cut or text in self._wholes

    def are_in(self, text: str) -> bool:
        """Return whether a text quotes a whole line."""
        return not self.lines.isdisjoint(line.strip() for line in text.split("\n"))

    def hide(self, text: str, instead: str) -> str:
        """Return the text with `instead` in place of every quotation.

        >>> found = Quotations.find(["the key is sk-12345."], [])
        >>> found.hide("They said that the key was 'sk-12345'.", "[key]")
        "They said that the key was '[key]'."
        """
        # Whole lines first: their words would otherwise be replaced one by one.
        lines = (
            line.replace(core, instead) if (core := line.strip()) in self.lines else line
            for line in text.split("\n")
        )
        return _WORD.sub(lambda word: self._hide_word(word[0], instead), "\n".join(lines))

    def _hide_word(self, word: str, instead: str) -> str:
        core = word.strip(_EDGES)
        if not core or core in self._elsewhere:
            return word
        # The parts first: to search the words of a long message takes a millisecond each time.
        is_quoted = self._parts.issuperset(_parts(core)) and core in self._words
        return word.replace(core, instead) if is_quoted else word


def _parts(word: str) -> Iterator[str]:
    return (word[at : at + _PART_CHARACTERS] for at in range(len(word) - _PART_CHARACTERS + 1))


def _strings(plain: Any, name: str = "", names: frozenset[str] = _NAMES) -> Iterator[str]:
    """Yield the texts in JSON data, including those inside arguments, which are encoded JSON.

    >>> list(_strings({"role": "user", "content": "one", "media": [{"url": "two"}]}))
    ['one', 'two']
    """
    if isinstance(plain, str) and name not in names:
        yield plain
        if name == "arguments":
            yield from _strings(_parse(plain), names=frozenset())
    elif isinstance(plain, dict):
        for key, value in plain.items():
            yield from _strings(value, key, names)
    elif isinstance(plain, list):
        for value in plain:
            yield from _strings(value, "", names)


def _map_strings(
    change: Callable[[str], str], plain: Any, name: str = "", names: frozenset[str] = _NAMES
) -> Any:
    """Return JSON data with `change` applied to each of its texts.

    >>> _map_strings(str.upper, {"role": "user", "content": "one"})
    {'role': 'user', 'content': 'ONE'}
    """
    if isinstance(plain, str) and name not in names:
        parsed = _parse(plain) if name == "arguments" else None
        if isinstance(parsed, dict | list):
            text = _map_strings(change, parsed, names=frozenset())
            return plain if text == parsed else json.dumps(text, ensure_ascii=False)
        return change(plain)
    if isinstance(plain, dict):
        return {key: _map_strings(change, value, key, names) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_map_strings(change, value, "", names) for value in plain]
    return plain


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read(these: Iterable[Any]) -> tuple[set[str], set[str]]:
    lines: set[str] = set()
    words: set[str] = set()
    for text in (text for each in these for text in _strings(each)):
        lines |= {
            line for each in text.split("\n") if len(line := each.strip()) >= _LINE_CHARACTERS
        }
        words |= {core for word in _WORD.findall(text) if (core := word.strip(_EDGES))}
    return lines, words
