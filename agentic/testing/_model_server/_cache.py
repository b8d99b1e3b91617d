"""What a prompt cache charges: prefixes of whole blocks, written and read, with a lifetime.

Anthropic: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
OpenAI: https://developers.openai.com/api/docs/guides/prompt-caching (both 2026-11-27).
"""

from collections.abc import Iterator, Sequence

import attrs

from agentic.testing._model_server._reasoning import digest
from agentic.testing._model_server._request import Block, Refusal

__all__ = ["BlockCache", "CacheBill", "CacheRules", "TokenPrices"]


@attrs.frozen(kw_only=True)
class CacheRules:
    """How one wire caches."""

    automatic: bool
    """Whether every prefix is cached; else those that end at a mark."""
    min_tokens: int = 1_024
    """A shorter prefix is not cached."""
    seconds: float = 300
    """How long a prefix lives that is not read, unless its mark says otherwise."""
    lookback: int = 20
    """How many blocks in front of a mark are tried, the marked one included."""
    most_marks: int = 4


@attrs.frozen(kw_only=True)
class TokenPrices:
    """Dollars for a million tokens."""

    uncached: float
    read: float
    written: float
    written_for_an_hour: float
    output: float


@attrs.frozen(kw_only=True)
class CacheBill:
    """How the input of a request is charged, in tokens."""

    read: int = 0
    written: int = 0
    written_for_an_hour: int = 0
    """The part of `written` that has the longer lifetime."""
    uncached: int = 0

    def dollars(self, prices: TokenPrices, output: int) -> float:
        """Return what the request and a reply of `output` tokens cost."""
        short = self.written - self.written_for_an_hour
        millionths = (
            self.uncached * prices.uncached
            + self.read * prices.read
            + short * prices.written
            + self.written_for_an_hour * prices.written_for_an_hour
            + output * prices.output
        )
        return millionths / 1_000_000


@attrs.define
class BlockCache:
    """The prefixes that are cached, and until when. The caller says what time it is."""

    rules: CacheRules
    _expires: dict[str, float] = attrs.field(factory=dict, init=False)
    _lifetimes: dict[str, float] = attrs.field(factory=dict, init=False)

    def bill(self, model: str, blocks: Sequence[Block], settings: str, now: float) -> CacheBill:
        """Charge a request, and keep its prefixes.

        Raises:
            Refusal: there are too many marks.
        """
        sizes, keys = [0], [digest("cache", model)]
        for block in blocks:
            head = block.role in ("tools", "system")
            sizes.append(sizes[-1] + block.tokens)
            keys.append(digest(keys[-1], "" if head else settings, block.role, block.text))
        marks = self._marks(blocks)
        start = max(self._cached_before(marks, keys, now), default=0)
        ends = {end: seconds for end, seconds in marks if sizes[end] >= self.rules.min_tokens}
        last = max([*ends, start])
        hour = max(
            (end for end, seconds in ends.items() if seconds > self.rules.seconds), default=0
        )
        for end, seconds in [*ends.items(), (start, 0.0)]:
            self._keep(keys[end], seconds, now)
        return CacheBill(
            read=sizes[start],
            written=sizes[last] - sizes[start],
            written_for_an_hour=max(0, sizes[hour] - sizes[start]),
            uncached=sizes[-1] - sizes[last],
        )

    def _marks(self, blocks: Sequence[Block]) -> list[tuple[int, float]]:
        """Return the ends of prefixes to keep, each with its lifetime."""
        if self.rules.automatic:
            ends = [end for end, block in enumerate(blocks, 1) if block.bound]
            return [(end, self.rules.seconds) for end in ends]
        marks = [
            (end, block.mark_seconds)
            for end, block in enumerate(blocks, 1)
            if block.mark_seconds is not None
        ]
        if len(marks) > self.rules.most_marks:
            message = "A maximum of {} blocks with cache_control may be provided. Found {}."
            raise Refusal("cache", message.format(self.rules.most_marks, len(marks)))
        return marks

    def _cached_before(
        self, marks: list[tuple[int, float]], keys: list[str], now: float
    ) -> Iterator[int]:
        """Yield the longest prefix that each mark finds in the cache."""
        reach = self.rules.lookback
        if self.rules.automatic:  # each prefix is a mark, so the last one finds the longest
            marks, reach = marks[-1:], len(keys)
        for end, _ in marks:
            tries = range(end, max(0, end - reach), -1)
            match = next((at for at in tries if self._expires.get(keys[at], now) > now), None)
            if match is not None:
                yield match

    def _keep(self, key: str, seconds: float, now: float) -> None:
        """Keep a prefix for its lifetime from now: to read it is to renew it."""
        self._lifetimes[key] = max(seconds, self._lifetimes.get(key, 0.0))
        self._expires[key] = now + self._lifetimes[key]
