"""A compactor that needs no model: what a conversation says of itself, put in order."""

import re

import attrs

from agentic._given import must_be, must_count, whole
from agentic.context.compactors._fit import fit
from agentic.context.compactors._gather import gather
from agentic.context.compactors._tools import ToolTable
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.tokens import CharCounter, Counter

__all__ = ["Digest"]

_TOOL = re.compile(r"[\w.-]{1,128}")


@attrs.frozen(kw_only=True)
class Digest:
    """Writes a Markdown digest of a conversation: deterministic, offline, in linear time.

    It holds what the user asked and what was pinned, word for word as far as there is room; results
    and findings in the assistant's words, of which what was decided, the oldest and the newest stay
    longest; files changed and read, in a shell too; commands and other calls with their outcome;
    errors that nothing overcame; the lines in which identifiers were last seen; open to-dos; and
    what was in progress. The smaller it is, the more of it are those lines: they are what an agent
    needs to find its way back. Agents that write their actions into their replies, and get the
    outputs as user messages, are known by that.

    Sections with nothing in them are left out, and an empty conversation has no digest at all. A
    former digest is merged section by section, so that digests do not nest; its last line, a
    comment, tells the next one what its lines counted for, so that what was mentioned often is not
    forgotten in a few generations. A summary that somebody else wrote is quoted. System messages at
    the start are passed over. A `Manager` leaves pinned messages in the history and gives none of
    them to a compactor; used alone, a digest has a section for them.

    >>> import asyncio
    >>> messages = [Message("user", "Is it green?"), Message("assistant", "All tests pass now.")]
    >>> print(asyncio.run(Digest().compact(messages)))
    # Digest of the conversation so far
    <BLANKLINE>
    ## Asked by the user
    - Is it green?
    <BLANKLINE>
    ## Results, in the assistant's words
    - All tests pass now.
    """

    max_tokens: int = attrs.field(default=2000, validator=whole(1))
    """The most that a digest counts. With no room for a single entry the digest is empty."""
    counter: Counter = attrs.field(factory=CharCounter)
    tools: ToolTable = attrs.field(factory=ToolTable, validator=must_be(ToolTable))
    recall: str | None = attrs.field(default=None)
    """The name of a tool that reads a session's own past back, for the cuts in long texts to name;
    None where the model has none. A View sets it, where it knows of such a tool."""

    @counter.validator
    def _check_counter(self, _: object, value: object) -> None:
        must_count("counter", value)

    @recall.validator
    def _check_recall(self, _: object, value: object) -> None:
        if value is not None and not (isinstance(value, str) and _TOOL.fullmatch(value)):
            allowed = "the name of a tool: letters, digits, dots, dashes, underscores; or None"
            raise ConfigError("recall", value, allowed, "name the tool, or leave it out")

    def for_conversation(self, *, recall: str | None = None) -> "Digest":
        """Return this digest, naming the recall tool of the conversation."""
        return self if self.recall or not recall else attrs.evolve(self, recall=recall)

    def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        """Give the digest of a conversation, or of a part of one; a view may count its own way."""
        if counter is not None:
            must_count("counter", counter)
        notes = gather(messages, self.tools)
        return fit(notes, self.max_tokens, counter or self.counter, self.recall or "")

    async def compact(self, messages: list[Message], /) -> str:
        """Give what `write` gives, for a `Manager`."""
        return self.write(messages)
