"""A compactor that needs no model: the sections of its note, and what it stores for the next."""

import typing
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentic._base._validate import must_be, must_count, whole
from agentic._base._waiting import off_loop
from agentic.context.digest._calls import Commands, Failures, Files, FilesRead
from agentic.context.digest._overturned import overturned
from agentic.context.digest._section import (
    CHARS_PER_TOKEN,
    LARGE,
    TITLE,
    Fact,
    Index,
    Section,
    fit,
)
from agentic.context.digest._statements import Notices, Progress, Prose, Requests, Rules, Statements
from agentic.context.digest._tools import ToolTable
from agentic.context.digest._turns import Kind, read_turns, unanswered
from agentic.messages import ContextSummary, Message, SummaryText
from agentic.messages._message import check_messages
from agentic.tokens import CharCounter, Counter

_NOTES, _VERSION = "digest", 6
"""The key and the format of the notes. A digest with notes of another format is quoted."""


@attrs.frozen(kw_only=True)
class Digest:
    """Writes a hand-over note in Markdown: deterministic, offline, in linear time.

    Its sections are the user's requests, where things stand, commands that still fail, what was
    decided, found and refused, the files that were changed and read, and other commands; in the
    remaining room, the lines in which identifiers were last seen. A section says how many of its
    lines did not fit, and is left out if it is empty.

    What the next digest needs is in the notes of the text (see `messages.SummaryText`). A summary
    without such notes and pinned messages are quoted. System messages at the start are skipped.

    >>> import asyncio
    >>> messages = [Message("user", "Is it green?"), Message("assistant", "All tests pass now.")]
    >>> print(asyncio.run(Digest().compact(messages)))
    # Digest of the conversation so far
    <BLANKLINE>
    ## What the user asked
    - Is it green?
    <BLANKLINE>
    ## Where things stand
    - All tests pass now.
    """

    max_tokens: int = attrs.field(default=2000, validator=whole(1))
    """The largest size of a digest. If there is no room for a single entry, the digest is empty."""
    counter: Counter = attrs.field(factory=CharCounter)
    tools: ToolTable = attrs.field(factory=ToolTable, validator=must_be(ToolTable))
    recall: str | None = attrs.field(default=None, validator=must_be(str, optional=True))
    """The name of the tool with which the model can read what is cut or left out; None if there is
    no such tool. A View sets it if it knows of one."""

    @counter.validator
    def _check_counter(self, _: object, value: object) -> None:
        must_count("counter", value)

    def for_conversation(self, *, recall: str | None = None) -> "Digest":
        """Return a digest that names the recall tool of the conversation."""
        return self if self.recall or not recall else attrs.evolve(self, recall=recall)

    def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        """Return the digest of a conversation, or of a part of one.

        It is a `SummaryText`, whose notes the next digest reads. A view passes its own `counter`.

        Raises:
            ConfigError: an item is not a Message, or the counter cannot count.
        """
        check_messages(messages)
        counter = self.counter if counter is None else counter
        must_count("counter", counter)
        # About as much as a section could show if it had the digest to itself.
        most = self.max_tokens * CHARS_PER_TOKEN
        index, sections = Index(), _make_sections()
        if self.max_tokens >= LARGE:
            sections.append(Prose(max_chars=most))
        every = [*sections, index]
        self._read(messages, every)
        text = fit(sections, index, self.max_tokens, counter.count, self.recall or "")
        return SummaryText(text, _notes(messages, every, most) if text else {})

    def read_facts(self, messages: list[Message], /) -> "Facts":
        """Return what a successor must know of a conversation, and what the next digest needs."""
        check_messages(messages)
        sections = _make_sections()
        self._read(messages, sections)
        lines = tuple(fact for each in sections for fact in each.facts())
        most = self.max_tokens * CHARS_PER_TOKEN
        # The last words of the assistant are noted when its lines are made.
        for section in sections:
            deque(section.lines(), 0)
        return Facts(lines, _notes(messages, sections, most))

    def _read(self, messages: list[Message], every: Sequence[Section]) -> None:
        """Let sections read a conversation, and forget what was overturned later."""
        takers = {kind: [s for s in every if kind in s.takes] for kind in typing.get_args(Kind)}
        unread = [each for message in messages for each in _restored(message, every)]
        for turn in read_turns(unread, self.tools):
            for section in takers[turn.kind]:
                section.take(turn)
        for section in every:
            section.finish()
        requests = next(each for each in every if isinstance(each, Requests))
        obsolete = overturned(requests.known)
        for section in every if obsolete else ():
            if isinstance(section, Requests | Rules | Index):
                section.forget(obsolete)

    async def compact(self, messages: list[Message], /) -> str:
        """Return what `write` returns, for a `Manager`; many messages are read in a thread."""
        return await off_loop(len(messages), self.write, messages)


@attrs.frozen
class Facts:
    """What can be looked up in a summary without a model."""

    facts: tuple[Fact, ...]
    """The user's rules, commands that fail, files that were changed, to-dos, the latest request."""
    notes: Mapping[str, Any]
    """What the next digest reads of this one."""


def _make_sections() -> list[Section]:
    """Return empty sections, in reading order: what a successor must not miss comes first."""
    files, commands = Files(), Commands()
    sections: list[Section] = [Requests(), Rules(), Notices(), Progress()]
    sections += [Failures(commands.known)]
    return [*sections, Statements(), files, FilesRead(files.known), commands]


def _notes(messages: list[Message], every: Sequence[Section], most: int) -> dict[str, Any]:
    sections = {each.heading: each.to_plain(most) for each in every if each.known and each.takes}
    return {_NOTES: {"v": _VERSION, "unanswered": unanswered(messages), **sections}}


def holds_digest(notes: Mapping[str, Any]) -> bool:
    """Return whether the notes of a summary are those of a digest."""
    return _NOTES in notes


def _restored(message: Message, sections: Sequence[Section]) -> list[Message]:
    """Restore the sections if a message is a former digest; return what is to be read of it."""
    summary = message.summary
    plain = summary.notes.get(_NOTES) if summary else None
    if not summary or not isinstance(plain, Mapping) or plain.get("v") != _VERSION:
        return [message]
    for section in sections:
        section.restore(plain.get(section.heading))
    # Only what is above the digest is quoted: it may be the prose of a model.
    unread = [ContextSummary(summary.content.partition(TITLE)[0], 0).to_message()]
    # Its output comes after the fold, and would be taken for a request.
    if isinstance(reply := plain.get("unanswered"), str):
        unread.append(Message("assistant", reply))
    return unread
