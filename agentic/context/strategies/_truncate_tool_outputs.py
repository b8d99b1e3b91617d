"""Shortening long tool outputs where they stand."""

import attrs

from agentic._validate import must_be, whole
from agentic.context.strategies._cleared import place_of
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.messages import Message, RecentConversations, ToolResult

__all__ = ["TruncateToolOutputs"]


@attrs.define(eq=False)
class _Shortened:
    """One conversation as it was last seen, and the same with its outputs shortened."""

    messages: list[Message] = attrs.field(factory=list)
    view: list[Message] = attrs.field(factory=list)
    edits: int = 0


@attrs.frozen(eq=False)
class TruncateToolOutputs:
    """Keep the beginning and the end of each tool output longer than `max_chars` characters.

    Messages stay, orphaned results excepted, as do ids, errors and former notices. A notice says
    how much is missing and, where the result has a reference or `recall` is there, how to read all.

    >>> from agentic.messages import ToolCall
    >>> call = Message("assistant", tool_calls=[ToolCall("c1", "run")])
    >>> answer = Message("tool", tool_results=[ToolResult("c1", "run", "x" * 1_200)])
    >>> TruncateToolOutputs(1_000).compact([call, answer])[1].tool_results[0].notice
    '[Characters 501-700 of 1,200 are left out.]'
    """

    max_chars: int = attrs.field(validator=whole(1, remedy="pass how many characters to keep"))
    recall: str | None = attrs.field(
        default=None, kw_only=True, validator=must_be(str, optional=True)
    )
    """The name of a tool that reads a session's own past back, for the notices to name; None where
    the model has none. A View sets it, where it knows of such a tool."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)
    _recent: RecentConversations[_Shortened] = attrs.field(
        factory=RecentConversations, init=False, repr=False
    )

    def for_conversation(self, *, recall: str | None = None) -> "TruncateToolOutputs":
        """Return this for one conversation: with a memory of its own, naming the recall tool."""
        return attrs.evolve(self, recall=self.recall or recall)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if every output is short enough."""
        return self._shortened(self._known.of(messages).view(messages, 0, set()))

    def _shortened(self, messages: list[Message]) -> list[Message]:
        known = self._recent.find(messages)
        seen = known or _Shortened()
        fresh = messages[len(seen.messages) :]
        shown = [self._shorten(message) for message in fresh]
        seen.edits += sum(after is not before for after, before in zip(shown, fresh, strict=True))
        seen.messages += fresh
        seen.view += shown
        if known is None and messages:
            self._recent.add(seen)
        return seen.view.copy() if seen.edits else messages

    def _shorten(self, message: Message) -> Message:
        if all(len(result.output) <= self.max_chars for result in message.tool_results):
            return message
        return message.replace(tool_results=[self._clip(each) for each in message.tool_results])

    def _clip(self, result: ToolResult) -> ToolResult:
        length = len(result.output)
        if length <= self.max_chars:
            return result
        head = (self.max_chars + 1) // 2
        tail = length - (self.max_chars - head)
        notice = f"[Characters {head + 1:,}-{tail:,} of {length:,} are left out.]"
        if place := place_of(result, self.recall):
            notice = f"{notice[:-1]} All of it: {place}]"
        return attrs.evolve(
            result,
            output=result.output[:head] + result.output[tail:],
            notice="\n".join(part for part in (result.notice, notice) if part),
        )
