"""What programs record of a request's tokens, each under names of its own."""

from typing import Any

from agentic.providers.kit import at
from agentic.usage import Usage


def anthropic_usage(data: Any) -> Usage | None:
    """Read Anthropic's counts, none of which includes another.

    >>> anthropic_usage({"input_tokens": 5, "cache_read_input_tokens": 90}).input
    95
    """
    if not isinstance(data, dict):
        return None
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return separate_usage(data, names, data.get("output_tokens"))


def separate_usage(data: Any, names: tuple[str, str, str], output: Any) -> Usage | None:
    """Read counts of new, cached and newly cached input that do not include each other."""
    counts = [Usage(input=at(data, name)).input for name in names]
    return _some(Usage(sum(counts), output, 0, counts[1], counts[2]))


def whole_usage(data: Any, total: str, output: str, cache: str = "") -> Usage | None:
    """Read counts of which the input includes what was read from the cache."""
    if not isinstance(data, dict):
        return None
    cache_read = data.get(cache) if cache else 0
    return _some(Usage(data.get(total), data.get(output), 0, cache_read))


def _some(usage: Usage) -> Usage | None:
    # Zeros are written where nothing was counted, such as for an error.
    return usage if usage.input else None
