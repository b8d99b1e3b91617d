"""How many tokens a call used, what they cost, and which work they belong to.

The docstring of `agentic.usage` says which number includes which, also for each provider.

A call made along the way, such as one that writes a summary, reports its usage. Whoever began the
work collects it, across all functions and tasks in between, which need not know about tokens.

Prices come from `genai-prices` (extra `prices`), in USD; the list is part of its wheel, so no
network is needed. It uses the same convention as `Usage`. Cache writes are priced for the shortest
lifetime (five minutes at Anthropic), and audio as text: a `Usage` does not distinguish these.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import attrs

from agentic._base import _imports
from agentic.errors import ConfigError

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

# Any count has fewer digits, and int() raises for a text of thousands.
_MOST_DIGITS = 18
# Adapters of other names than the price list has for their providers. Ollama has no price.
_OURS = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "gemini": "google",
    "bedrock": "aws",
}
# Bedrock's ids begin with a region, if any, and the maker: us.anthropic.claude-sonnet-4-5.
_BEDROCK = re.compile(r"^(?:[a-z-]{2,6}\.)?[a-z0-9]+\.[a-z]")


def _count(value: object) -> int:
    """Return a provider's number as a count: null, a negative or a non-number is 0.

    Fractions are cut off, and a text of digits is a number.
    """
    # An int in Python, but no provider's number.
    if isinstance(value, bool):
        return 0
    # JSON made from protocol buffers writes 64-bit numbers as texts:
    # https://protobuf.dev/programming-guides/json/ (2026-11).
    if isinstance(value, str):
        # isascii(), because isdigit() accepts characters that int() refuses, such as U+00B2.
        is_number = value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS
        return int(value) if is_number else 0
    if isinstance(value, int | float) and 0 < value < float("inf"):
        return int(value)
    return 0


@attrs.frozen
class Usage:
    """The tokens of one call, or of several calls. Counts are never negative.

    >>> Usage(input=100, output=20) + Usage(input=150, output=5, cache_read=100)
    Usage(input=250, output=25, total=275, cache_read=100, cache_write=0, reasoning=0)
    """

    # Converters, not validators: no number that a provider sends may cost a reply.
    input: int = attrs.field(default=0, converter=_count)
    """Everything that was sent, cached or not, text or audio."""
    output: int = attrs.field(default=0, converter=_count)
    """Everything that was generated, including reasoning."""
    total: int = attrs.field(default=0, converter=_count)
    """The provider's total; 0 if it reported none (see `normalize`)."""
    cache_read: int = attrs.field(default=0, converter=_count)
    """The part of `input` that was read from the provider's cache."""
    cache_write: int = attrs.field(default=0, converter=_count)
    """The part of `input` that was written to the provider's cache."""
    reasoning: int = attrs.field(default=0, converter=_count)
    """The part of `output` that is reasoning."""
    # Not compared and not shown: two usages are equal if their tokens are.
    summed: bool = attrs.field(default=False, kw_only=True, eq=False, repr=False)
    """Whether this adds up several requests. It then says what they cost together, and not how
    large any of them was."""

    def __add__(self, other: "Usage") -> "Usage":
        if not isinstance(other, Usage):
            return NotImplemented
        return _of_counts(
            self.input + other.input,
            self.output + other.output,
            # Only one of the two may have a total.
            normalize(self).total + normalize(other).total,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
            summed=self.summed or other.summed or bool(self.input and other.input),
        )

    def __radd__(self, other: object) -> "Usage":
        """Let `sum(usages)` start at 0; even the sum of a single usage has a total."""
        return normalize(self) if other == 0 else NotImplemented


WITHOUT_SUMMED = attrs.filters.exclude("summed")
"""For `attrs.asdict`: a record of what several requests used has their counts alone."""
_SETTERS = tuple(Usage.__dict__[each.name].__set__ for each in attrs.fields(Usage))


def _of_counts(*counts: int, summed: bool) -> Usage:
    """Return a usage of numbers that are counts already: a turn adds several of them up."""
    usage = object.__new__(Usage)
    for set_field, value in zip(_SETTERS, (*counts, summed), strict=True):
        set_field(usage, value)
    return usage


def of_last_request(usage: Usage | None, last_request: Usage | None) -> Usage | None:
    """Return the usage of the last request that a reply took; None if it is unknown.

    `usage` is what the whole reply used. `last_request` is the part of the last request, if it is
    known separately.

    >>> of_last_request(Usage(100, 20), None)
    Usage(input=100, output=20, total=0, cache_read=0, cache_write=0, reasoning=0)
    >>> of_last_request(Usage(100, 20) + Usage(130, 5), None) is None
    True
    """
    if last_request is None:
        last_request = usage
    return None if last_request is None or last_request.summed else last_request


def normalize(usage: Usage | None) -> Usage:
    """Fill in `total` if the provider reported none; None becomes an empty usage.

    >>> normalize(Usage(input=7, output=3)).total
    10
    >>> normalize(None)
    Usage(input=0, output=0, total=0, cache_read=0, cache_write=0, reasoning=0)
    """
    if usage is None:
        return Usage()
    if usage.total:
        return usage
    return _of_counts(
        usage.input,
        usage.output,
        usage.input + usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        summed=usage.summed,
    )


@attrs.frozen
class ReportedCall:
    """A model call that was made along the way."""

    usage: Usage
    model: str = ""
    """The name of the model; empty if it was not reported."""
    provider: str = ""
    """The server that was called; empty if it was not reported."""


@attrs.define
class Collected:
    """What has been reported inside a block so far."""

    calls: list[ReportedCall] = attrs.field(factory=list)
    """One by one, because a price depends on the size of a single call."""

    @property
    def usage(self) -> Usage:
        """The sum of the reports."""
        return sum((call.usage for call in self.calls), Usage())


# Found by context, so that whatever stands between the block and a call need not hand it on: any
# composition of compactors, and one that fails (design/summaries.md).
_collecting: ContextVar[Collected | None] = ContextVar("collecting", default=None)


@contextmanager
def collect() -> Iterator[Collected]:
    """Collect the usage that model calls inside the block report.

    Tasks started inside the block belong to it, and so does `asyncio.to_thread`. A thread of your
    own, or of an executor, needs a copy of the context (`contextvars.copy_context().run`). If
    blocks are nested, the innermost one collects.

    >>> with collect() as collected:
    ...     report(Usage(input=7, output=3))
    >>> collected.usage.total
    10
    """
    collection = Collected()
    token = _collecting.set(collection)
    try:
        yield collection
    finally:
        _collecting.reset(token)


def report(usage: Usage | None, *, model: str = "", provider: str = "") -> None:
    """Add a model call's usage to the block around it; without a block, do nothing.

    None means that the provider reports no usage. The names of the model and of its server are for
    whoever wants to know what the call cost (see `cost`).

    Raises:
        ConfigError: `usage` is a provider's own record, which must be mapped to `Usage` first.
    """
    if not isinstance(usage, Usage | None):
        raise ConfigError("usage", usage, "a usage.Usage, or None", "pass Usage(input=..., ...)")
    collection = _collecting.get()
    if collection is not None and usage is not None:
        collection.calls.append(ReportedCall(normalize(usage), model, provider))


@attrs.frozen(kw_only=True)
class Cost:
    """The cost of one call, in USD."""

    input: "Decimal"
    """The cost of everything that was sent, cached or not."""
    output: "Decimal"
    """The cost of everything that was generated."""
    total: "Decimal"
    """The total, including what is charged per request."""
    model: str
    """The entry of the price list that was used: check it if a price seems wrong."""
    provider: str
    """The provider whose price it is."""


def cost(
    usage: Usage, model: str, *, provider: str | None = None, at: "datetime | None" = None
) -> Cost | None:
    """Return the cost of one call; None if the list has no price for the model.

    Prices may increase with the size of the input (`gemini-2.5-pro` above 200,000 tokens), so
    `usage` must be that of a single call: add up costs, not usages. `provider` is the server that
    was called: an adapter's `NAME`, or a name from the price list. If it is None or empty, the
    model's name decides, including its prefix (`azure/gpt-4o`). `at` is the time of the call,
    because prices change; the default is now.

    >>> spent = cost(Usage(input=1_000_000, output=100_000, cache_read=400_000), "gpt-4o")
    >>> print(f"{spent.input:.2f} + {spent.output:.2f} = {spent.total:.2f} USD")
    2.00 + 1.00 = 3.00 USD
    >>> cost(Usage(input=1_000), "my-model") is None
    True

    Raises:
        ConfigError: `usage` is not a Usage, or the model's name is not a str.
        ImportError: the library is not installed.
    """
    if not isinstance(usage, Usage):
        raise ConfigError("usage", usage, "a Usage", "pass the usage of one Decision")
    if not isinstance(model, str):
        raise ConfigError("model", model, "a str such as 'gpt-4o'", "pass the name you asked for")
    prices = _library()
    # A part that is larger than its whole would be refused.
    tokens = prices.Usage(
        input_tokens=max(usage.input, usage.cache_read + usage.cache_write),
        output_tokens=max(usage.output, usage.reasoning),
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_reasoning_tokens=usage.reasoning,
    )
    for server, name in _spellings(provider, model):
        try:
            price = prices.calc_price(tokens, name, provider_id=server, genai_request_timestamp=at)
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
        # Not before it is needed: whoever only counts tokens must not load the price list.
        return _imports.load("genai_prices")
    except ImportError as error:
        remedy = _imports.pip_install("agentic-weave[prices]")
        message = f"usage.cost needs a price list: {remedy}"
        raise ImportError(message) from error


def _spellings(provider: str | None, model: str) -> Iterator[tuple[str | None, str]]:
    """Yield (server, name) pairs to look up, the most specific first."""
    if provider:
        yield _OURS.get(provider, provider), model
        return
    yield None, model
    # A prefix may name the server, or mean nothing to the list.
    names = [model.strip()]
    # In a loop, because a name may have any number of prefixes.
    while len(parts := re.split(r"[/:]", names[-1], maxsplit=1)) > 1:
        prefix, rest = parts
        yield _OURS.get(prefix, prefix), rest
        yield None, rest
        names.append(rest)
    yield from (("aws", name) for name in reversed(names) if _BEDROCK.match(name))
