"""What a call costs, by the price list of `genai-prices` (extra `prices`), which is in its wheel.

The list counts as `Usage` does: the input holds what was read from the cache and written to it, the
output holds the reasoning, and each part is taken out before the rest is priced. Prices are in USD;
nothing is asked over the network. Written tokens are priced as for the shortest lifetime (five
minutes at Anthropic), audio as text: a `Usage` does not tell them apart.
"""

import importlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from agentic.errors import ConfigError
from agentic.usage._usage import Usage

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

__all__ = ["Cost", "cost"]

_OURS = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "gemini": "google",
    "bedrock": "aws",
}
"""The adapters of `agentic.providers`, in the words of the list."""
_BEDROCK = re.compile(r"^(?:[a-z-]{2,6}\.)?[a-z0-9]+\.[a-z]")


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
