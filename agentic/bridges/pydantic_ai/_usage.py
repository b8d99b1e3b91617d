"""Usage in the framework's terms and in ours. Both count cached tokens as part of the input."""

from pydantic_ai.usage import RequestUsage, RunUsage

from agentic.usage import Usage


def usage(given: RequestUsage | RunUsage) -> Usage:
    """Return the usage of a request or of a run, in tokens.

    Reasoning that the framework reports only in `details` is included. Costs, audio and the number
    of requests have no place in a Usage.

    >>> usage(RequestUsage(input_tokens=100, output_tokens=20, cache_read_tokens=80)).cache_read
    80
    """
    return Usage(
        input=given.input_tokens,
        output=given.output_tokens,
        total=given.total_tokens,
        cache_read=given.cache_read_tokens,
        cache_write=given.cache_write_tokens,
        reasoning=given.output_reasoning_tokens or given.details.get("reasoning_tokens", 0),
    )


def request_usage(given: Usage) -> RequestUsage:
    """Return a usage as the framework keeps it; `RunUsage.incr` adds it to that of a run.

    The framework has no total of its own: tokens beyond input and output are left out.

    >>> request_usage(Usage(input=100, output=20, reasoning=5)).total_tokens
    120
    """
    return RequestUsage(
        input_tokens=given.input,
        output_tokens=given.output,
        cache_read_tokens=given.cache_read,
        cache_write_tokens=given.cache_write,
        output_reasoning_tokens=given.reasoning,
    )
