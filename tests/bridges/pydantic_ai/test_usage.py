"""Usage means the same in both directions."""

from pydantic_ai.usage import RequestUsage, RunUsage

from agentic.bridges.pydantic_ai import request_usage, usage
from agentic.usage import Usage, normalize


def test_request_usage_round_trips() -> None:
    """All of our numbers have a place in the framework's usage."""
    ours = normalize(Usage(input=100, output=20, cache_read=80, cache_write=5, reasoning=7))
    assert usage(request_usage(ours)) == ours


def test_usage_of_run_is_read() -> None:
    """The sum over a run is read like the usage of a request."""
    run = RunUsage(requests=2, input_tokens=100, output_tokens=20)
    run.incr(request_usage(Usage(input=50, output=5, cache_read=40)))
    assert usage(run) == Usage(input=150, output=25, total=175, cache_read=40)


def test_reasoning_in_details_counts() -> None:
    """Older adapters report reasoning in the details only."""
    found = usage(RequestUsage(output_tokens=20, details={"reasoning_tokens": 7}))
    assert found.reasoning == 7
