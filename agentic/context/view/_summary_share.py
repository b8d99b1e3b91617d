"""The share of the context that a summary may take."""

import attrs

from agentic import truncate
from agentic.messages import Message, prefix_length
from agentic.tokens import TokenCache

__all__ = ["SummaryShare"]


@attrs.define(eq=False)
class SummaryShare:
    r"""A strategy that shortens a summary of more than `max_tokens`, and says so in it.

    Its beginning and its end stay. Heading and mark always do, also where they alone are more than
    `max_tokens`: a model that does not know of its past is worse off than one with less room.

    >>> from agentic.messages import ContextSummary
    >>> from agentic.tokens import CharCounter
    >>> long = ContextSummary("the parser is done\n" * 100, 12).to_message()
    >>> shown = SummaryShare(200, TokenCache(CharCounter())).compact([long])[0]
    >>> print(shown.content[-68:])
    [Shortened to fit: not all of this summary of 1,900 bytes is shown.]
    """

    max_tokens: int
    token_cache: TokenCache
    _shown: tuple[Message, Message] | None = attrs.field(default=None, init=False)
    """The latest summary, and the same as it is shown."""

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if the summary is short enough, or there is none."""
        at = prefix_length(messages) - 1
        if at < 0 or messages[at].summary is None:
            return messages
        shown = self._show(messages[at])
        if shown is messages[at]:
            return messages
        return [*messages[:at], shown, *messages[at + 1 :]]

    def _show(self, message: Message) -> Message:
        if self._fits(message):
            return message
        if self._shown is None or self._shown[0] != message:
            self._shown = (message, self._shorten(message))
        return self._shown[1]

    def _shorten(self, message: Message) -> Message:
        """Find the most of the summary that fits, by halving."""
        assert message.summary is not None  # noqa: S101  its caller looked
        least, most = 0, len(message.summary.content.encode("utf-8", "surrogatepass"))
        best = _with_bytes(message, 0)
        while least < most:
            middle = (least + most + 1) // 2
            shorter = _with_bytes(message, middle)
            if self._fits(shorter):
                best, least = shorter, middle
            else:
                most = middle - 1
        return message if best.content == message.content else best

    def _fits(self, message: Message) -> bool:
        return self.token_cache.count_message(message) <= self.max_tokens


def _with_bytes(message: Message, number: int) -> Message:
    """Return the message with so much of its summary; the record of the compaction stays whole."""
    summary = message.summary
    assert summary is not None  # noqa: S101  its caller looked
    cut = truncate.middle(summary.content, max_lines=None, max_bytes=max(1, number))
    notice = f"[Shortened to fit: not all of this summary of {cut.total_bytes:,} bytes is shown.]"
    shorter = f"{cut.content}\n{notice}" if number else notice
    return message.replace(content=attrs.evolve(summary, content=shorter).to_message().content)
