"""How many tokens a call used, what that costs, and which work it belongs to.

`input` includes `cache_read` and `cache_write`; `output` includes `reasoning`; `total` is what the
provider says, or `input + output`. The room's docstring has the whole picture, and who counts how.

A call that is made on the way, such as one that summarizes, reports what it used; whoever began the
work collects it, across any functions and tasks in between. These pass on a text and need not know
of tokens.

Prices are those of `genai-prices` (extra `prices`), in USD; its list is in its wheel, so nothing is
asked over the network. It counts as `Usage` does: the input holds what was read from the cache and
written to it, the output holds the reasoning, and each part is taken out before the rest is priced.
Written tokens are priced as for the shortest lifetime (five minutes at Anthropic), audio as text: a
`Usage` does not tell them apart.
"""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import attrs

from agentic.errors import ConfigError

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

__all__ = ["Collected", "Cost", "Usage", "collect", "cost", "normalize", "report"]

_MOST_DIGITS = 18
_OURS = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "gemini": "google",
    "bedrock": "aws",
}
"""The adapters of `agentic.providers`, in the words of the list."""
_BEDROCK = re.compile(r"^(?:[a-z-]{2,6}\.)?[a-z0-9]+\.[a-z]")


def _count(value: object) -> int:
    """Read a provider's number: null, a negative or a non-number is 0, a fraction is cut off.

    A text of digits is a number: that is how JSON made from protocol buffers spells 64 bits
    (https://protobuf.dev/programming-guides/json/). A bool is none, though Python counts with it.
    """
    if isinstance(value, bool):
        return 0
    if isinstance(value, str):
        is_number = value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS
        return int(value) if is_number else 0
    if isinstance(value, int | float) and 0 < value < float("inf"):
        return int(value)
    return 0


@attrs.frozen
class Usage:
    """Tokens of one call, or of a sum of calls. Counts are never negative.

    >>> Usage(input=100, output=20) + Usage(input=150, output=5, cache_read=100)
    Usage(input=250, output=25, total=275, cache_read=100, cache_write=0, reasoning=0)
    """

    input: int = attrs.field(default=0, converter=_count)
    """Everything that was sent, from the cache or not, as text or as sound."""
    output: int = attrs.field(default=0, converter=_count)
    """Everything that was generated, reasoning included."""
    total: int = attrs.field(default=0, converter=_count)
    """The provider's total; 0 if it gave none, see `normalize`."""
    cache_read: int = attrs.field(default=0, converter=_count)
    """The part of `input` that was read from the provider's cache."""
    cache_write: int = attrs.field(default=0, converter=_count)
    """The part of `input` that was written to the provider's cache."""
    reasoning: int = attrs.field(default=0, converter=_count)
    """The part of `output` that is reasoning."""

    def __add__(self, other: "Usage") -> "Usage":
        if not isinstance(other, Usage):
            return NotImplemented
        left, right = attrs.astuple(normalize(self)), attrs.astuple(normalize(other))
        return Usage(*(a + b for a, b in zip(left, right, strict=True)))

    def __radd__(self, other: object) -> "Usage":
        """Let `sum(usages)` start at its 0; a sum of one has its total like any other."""
        return normalize(self) if other == 0 else NotImplemented


def normalize(usage: Usage | None) -> Usage:
    """Fill `total` where the provider gave none; no usage at all is a usage of nothing.

    >>> normalize(Usage(input=7, output=3)).total
    10
    >>> normalize(None)
    Usage(input=0, output=0, total=0, cache_read=0, cache_write=0, reasoning=0)
    """
    if usage is None:
        return Usage()
    if usage.total:
        return usage
    return attrs.evolve(usage, total=usage.input + usage.output)


@attrs.define
class Collected:
    """What was reported inside a block, up to now."""

    usage: Usage = attrs.field(factory=Usage)
    """The sum of the reports."""


_collecting: ContextVar[Collected | None] = ContextVar("collecting", default=None)


@contextmanager
def collect() -> Iterator[Collected]:
    """Collect what model calls inside the block report.

    Tasks and threads that begin inside the block belong to it (`asyncio.to_thread` included, an
    executor's own threads not). Of nested blocks the innermost collects.

    >>> with collect() as collected:
    ...     report(Usage(input=7, output=3))
    >>> collected.usage.total
    10
    """
    collected = Collected()
    token = _collecting.set(collected)
    try:
        yield collected
    finally:
        _collecting.reset(token)


def report(usage: Usage | None) -> None:
    """Add what a model call used to the block around it; without one, do nothing.

    None is a provider that does not say.

    Raises:
        ConfigError: a provider's own record, which is to be mapped first.
    """
    if not isinstance(usage, Usage | None):
        raise ConfigError("usage", usage, "a usage.Usage, or None", "pass Usage(input=..., ...)")
    collected = _collecting.get()
    if collected is not None:
        collected.usage += normalize(usage)


@attrs.frozen(kw_only=True)
class Cost:
    """What one call costs, in USD."""

    input: "Decimal"
    """For everything that was sent, from the cache or not."""
    output: "Decimal"
    """For everything that was generated."""
    total: "Decimal"
    """All of it, with what is charged for the request itself."""
    model: str
    """The entry of the list that was used: look here if a price seems wrong."""
    provider: str
    """Whose price it is."""


def cost(
    usage: Usage, model: str, *, provider: str | None = None, at: "datetime | None" = None
) -> Cost | None:
    """Price one call; None where the list has no price for the model.

    Prices may rise with the size of the input (`gemini-2.5-pro` above 200,000 tokens), so that the
    usage must be that of one call: add up costs, not usages. `provider` is the server that was
    asked, as an adapter's `NAME` or as the list calls it; without it the name of the model decides,
    a prefix included (`azure/gpt-4o`). `at` is when, for prices that have changed; now by default.

    >>> spent = cost(Usage(input=1_000_000, output=100_000, cache_read=400_000), "gpt-4o")
    >>> print(f"{spent.input:.2f} + {spent.output:.2f} = {spent.total:.2f} USD")
    2.00 + 1.00 = 3.00 USD
    >>> cost(Usage(input=1_000), "my-model") is None
    True

    Raises:
        ConfigError: the usage is none, or the name of the model is no text.
        ImportError: the library is not installed.
    """
    if not isinstance(usage, Usage):
        raise ConfigError("usage", usage, "a Usage", "pass the usage of one Decision")
    if not isinstance(model, str):
        raise ConfigError("model", model, "a str such as 'gpt-4o'", "pass the name you asked for")
    prices = _library()
    buckets = _buckets(usage)
    for server, name in _spellings(provider, model):
        try:
            price = prices.calc_price(
                prices.Usage(**buckets), name, provider_id=server, genai_request_timestamp=at
            )
        except LookupError:
            continue
        return Cost(
            input=price.input_price,
            output=price.output_price,
            total=price.total_price,
            model=price.model.id,
            provider=price.provider.id,
        )
    return None


def _library() -> Any:
    try:
        return importlib.import_module("genai_prices")
    except ImportError as error:
        message = "usage.cost needs a price list: pip install 'agentic-weave[prices]'"
        raise ImportError(message) from error


def _buckets(usage: Usage) -> dict[str, int]:
    """Spell the usage as the list does; a part that is more than its whole would be refused."""
    return {
        "input_tokens": max(usage.input, usage.cache_read + usage.cache_write),
        "output_tokens": max(usage.output, usage.reasoning),
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "output_reasoning_tokens": usage.reasoning,
    }


def _spellings(provider: str | None, model: str) -> Iterator[tuple[str | None, str]]:
    """Yield (server, name) pairs to look up, the most exact first."""
    if provider is not None:
        yield _OURS.get(provider, provider), model
        return
    yield None, model
    prefix, *rests = re.split(r"[/:]", model.strip(), maxsplit=1)
    for rest in rests:
        yield _OURS.get(prefix, prefix), rest
        yield from _spellings(None, rest)
    if _BEDROCK.match(model):
        yield "aws", model
