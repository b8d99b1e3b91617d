"""The contract of every adapter, held against this one with the recorded traffic as examples."""

from typing import Any

import pytest

from agentic.providers import anthropic
from agentic.testing import check_adapter

pytestmark = pytest.mark.slow

OVERFLOW = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 208310 tokens > 200000 maximum",
    },
}
RATE_LIMIT = {
    "type": "error",
    "error": {"type": "rate_limit_error", "message": "Over the limit of 40,000 input tokens"},
}


@pytest.mark.corpus
def test_adapter_keeps_promises_on_recordings(
    recorded: list[dict[str, Any]], replies: list[tuple[dict[str, Any], list[Any]]]
) -> None:
    """Requests, replies and streams, each read, sent back, edited, and with one thing wrong."""
    check_adapter(
        anthropic,
        requests=[row["request"] for row in recorded if row["status"] == 200][::3],
        responses=[whole for whole, _ in replies if whole][::3],
        streams=[(events, None) for _, events in replies if events][::3],
        overflows=[OVERFLOW],
        other_errors=[RATE_LIMIT],
    )
