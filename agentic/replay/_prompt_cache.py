"""What a session costs with a prompt cache: every turn sends the view anew.

What the request before began with is read from the cache, the rest is written to it. Costs are in
tokens at the full price of input.
"""

from collections.abc import Callable, Sequence

import attrs

from agentic.messages import Message

__all__ = ["CacheUse", "PromptCache", "cost_of"]

_READ, _WRITE = 0.1, 1.25
"""Of the price of a token without a cache: Anthropic's for five minutes (2026-11),
https://platform.claude.com/docs/en/build-with-claude/prompt-caching. OpenAI charges nothing for
writing and 0.1 to 0.5 for reading."""


@attrs.frozen
class CacheUse:
    """One request. Sizes in tokens."""

    tokens: float
    reused: float
    """What was read from the cache."""
    breaks: bool
    """Whether it did not begin with the whole request before it."""
    shared: int
    """How many messages it begins with that the request before began with."""


def cost_of(tokens: float, reused: float) -> float:
    """Price what was sent, in tokens at the full price.

    >>> cost_of(1_000, 0), cost_of(1_000, 1_000)
    (1250.0, 100.0)
    """
    return _READ * reused + _WRITE * (tokens - reused)


@attrs.define(eq=False)
class PromptCache:
    """A cache that holds the latest request, as long as the session lasts.

    >>> cache = PromptCache(lambda message: len(message.content))
    >>> task = Message("user", "12345678")
    >>> cache.send([task]).reused, cache.send([task, Message("assistant", "1234")]).reused
    (0.0, 8.0)
    """

    size: Callable[[Message], float]
    """Returns the size of one message in tokens; asked again only for what follows a break."""
    _before: list[Message] = attrs.field(factory=list, init=False)
    _sums: list[float] = attrs.field(factory=lambda: [0.0], init=False)
    """`_sums[n]` is the size of the first n messages of the latest request."""

    def send(self, view: Sequence[Message]) -> CacheUse:
        """Take in a request. It costs what is new in it, and a look at each message."""
        length = len(self._before)
        shared = _shared(self._before, view)
        del self._before[shared:], self._sums[shared + 1 :]
        for message in view[shared:]:
            self._before.append(message)
            self._sums.append(self._sums[-1] + self.size(message))
        return CacheUse(self._sums[-1], self._sums[shared], shared < length, shared)


def _shared(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Count the messages that both begin with."""
    if after[: len(before)] == before:
        return len(before)
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one is not other and one != other), len(after))
