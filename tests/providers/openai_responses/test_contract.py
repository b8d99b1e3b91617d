"""The promises that every adapter makes."""

from typing import Any

import pytest

from agentic.providers import openai_responses
from agentic.testing import check_adapter

pytestmark = [pytest.mark.corpus, pytest.mark.long]


def test_adapter_keeps_promises_on_recordings(
    recorded: list[dict[str, Any]],
) -> None:
    """Every request that was served, every reply and every stream."""
    served = [exchange for exchange in recorded if exchange.get("status") == 200]
    replies = [exchange.get("response_json") or {} for exchange in recorded]
    streams = [exchange["events"] for exchange in recorded if exchange["events"]]

    check_adapter(
        openai_responses,
        requests=[exchange["request"] for exchange in served if exchange.get("request")],
        responses=[reply for reply in replies if "output" in reply],
        streams=[(events, events[-1]["response"]) for events in streams],
        overflows=[{"error": {"code": "context_length_exceeded", "message": "too long"}}],
        other_errors=[{"error": {"code": "rate_limit_exceeded", "message": "Rate limit reached"}}],
    )
