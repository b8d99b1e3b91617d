"""What a server reports: requests, refusals, reasoning, changes, tokens and dollars."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["ServedRequest", "ServerReport"]


@attrs.frozen(kw_only=True)
class ServedRequest:
    """One request, and what became of it."""

    body: Mapping[str, Any] = attrs.field(repr=False)
    status: int
    refusal: str = ""
    """Why it was refused, or would have been where refusals are only counted."""
    message: str = ""
    """The words of the refusal."""
    aside: bool = False
    """Whether it was no part of the conversation, such as a request for a summary."""
    change: str = ""
    """The path of the first block that differs from the request before it; empty for none."""
    made: int = 0
    """Pieces of reasoning in the reply."""
    lost: int = 0
    """Pieces of valid reasoning that were left out, or dropped."""
    stale: int = 0
    """Pieces of reasoning that a change of what was sent made invalid."""
    dropped: int = 0
    """Pieces of reasoning that the server dropped from the request."""
    read: int = 0
    written: int = 0
    uncached: int = 0
    output: int = 0
    dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Return the size of its input."""
        return self.read + self.written + self.uncached


@attrs.frozen
class ServerReport:
    """The sums over all requests so far; tokens by the server's own counter."""

    served: tuple[ServedRequest, ...]

    @property
    def requests(self) -> int:
        """Return the number of requests, with those that were refused."""
        return len(self.served)

    @property
    def refused(self) -> Counter[str]:
        """Return the number of refusals by reason."""
        return Counter(each.refusal for each in self.served if each.refusal)

    @property
    def changes(self) -> int:
        """Return how many requests did not extend the one before, as the provider reads it."""
        return sum(bool(each.change) for each in self.served)

    @property
    def reasoning_made(self) -> int:
        """Return the pieces of reasoning in all replies."""
        return self._sum("made")

    @property
    def reasoning_lost(self) -> int:
        """Return the pieces of reasoning that were still valid, and were left out or dropped."""
        return self._sum("lost")

    @property
    def reasoning_stale(self) -> int:
        """Return the pieces of reasoning that changes of what was sent made invalid."""
        return self._sum("stale")

    @property
    def reasoning_dropped(self) -> int:
        """Return how often the server dropped a piece of reasoning from a request."""
        return self._sum("dropped")

    @property
    def read(self) -> int:
        """Return the tokens read from the cache."""
        return self._sum("read")

    @property
    def written(self) -> int:
        """Return the tokens written to the cache."""
        return self._sum("written")

    @property
    def uncached(self) -> int:
        """Return the tokens of input that had nothing to do with the cache."""
        return self._sum("uncached")

    @property
    def output(self) -> int:
        """Return the tokens of all replies."""
        return self._sum("output")

    @property
    def cache_share(self) -> float:
        """Return the share of all input that was read from the cache: 0 to 1."""
        return self.read / max(1, self.read + self.written + self.uncached)

    @property
    def dollars(self) -> float:
        """Return what everything cost."""
        return sum(each.dollars for each in self.served)

    def _sum(self, field: str) -> int:
        return sum(getattr(each, field) for each in self.served)
