"""How large the thinking in the replies of one conversation is, as far as it was reported."""

from collections.abc import Iterable

import attrs

from agentic.messages import Message
from agentic.tokens._count import TokenCache
from agentic.usage import Usage


@attrs.define(eq=False)
class ThinkingSizes:
    """How large the thinking in the replies of one conversation is, whether it is shown or not.

    A signature is no text: the size of thinking is what the provider reported as reasoning or, if
    it did not, the output less the text and the calls.

    >>> from agentic.tokens import approx_token_counter
    >>> sizes = ThinkingSizes(TokenCache(approx_token_counter))
    >>> reply = Message("assistant", "It is green.")
    >>> sizes.note(reply, Usage(input=90, output=803, reasoning=800)), sizes.size(reply)
    (800, 800)
    """

    token_cache: TokenCache
    tokens: int = attrs.field(default=0, init=False)
    """The size of all thinking that was reported."""
    replies: int = attrs.field(default=0, init=False)
    """In how many replies it was."""
    _sizes: dict[int, tuple[Message, int]] = attrs.field(factory=dict, init=False)
    """The reported size of each reply's thinking, by the id of the reply, which is kept alive."""

    def note(self, reply: Message, usage: Usage) -> int:
        """Record what the provider reported about a reply; return the size of its thinking."""
        size = self._reported(reply, usage)
        if size:
            self._sizes[id(reply)] = reply, size
            self.tokens += size
            self.replies += 1
        return size

    def drop(self, message: Message) -> None:
        """Record that the provider drops the thinking of a reply from each request."""
        self._sizes[id(message)] = message, 0

    def keep_only(self, messages: Iterable[Message]) -> None:
        """Forget the replies that are not among these: they would be kept alive for ever."""
        ids = set(map(id, messages))
        self._sizes = {key: each for key, each in self._sizes.items() if key in ids}

    def size(self, message: Message) -> int:
        """Return how much the thinking of a message adds to a request, besides what is visible."""
        origin = message.origin
        if message.role != "assistant" or (origin is not None and origin.without_reasoning):
            return 0
        size = self._size_known(message)
        return max(0, size - self._count(message.reasoning)) if size else 0

    def total(self, messages: Iterable[Message]) -> int:
        """Return the sum of the sizes."""
        return sum(map(self.size, messages))

    def _size_known(self, message: Message) -> int:
        if id(message) in self._sizes:
            return self._sizes[id(message)][1]
        usage = message.request_usage
        if usage is not None:
            return self._reported(message, usage)
        # Of a list that was read anew, the mean of the others is the best guess.
        return self.tokens // self.replies if self.replies and message.holds_reasoning else 0

    def _reported(self, reply: Message, usage: Usage) -> int:
        if usage.reasoning:
            return min(usage.reasoning, usage.output)
        # Of a reply without thinking, the difference would be the counter's error. A payload that
        # was loaded does not tell.
        if reply.holds_reasoning is False and not reply.reasoning:
            return 0
        calls = (text for call in reply.tool_calls for text in (call.name, call.arguments))
        return max(0, usage.output - sum(map(self._count, (reply.content, *calls))))

    def _count(self, text: str) -> int:
        return self.token_cache.count_text(text) if text else 0
