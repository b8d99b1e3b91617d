"""The contract of every adapter, held against this one with the recorded traffic as examples."""

from typing import Any

import pytest

from agentic.providers import openai_chat
from agentic.testing import check_adapter

pytestmark = [pytest.mark.corpus, pytest.mark.long]

OVERFLOW = {"error": {"message": "Too much.", "code": "context_length_exceeded"}}
RATE_LIMIT = {"error": {"message": "Request too large: 342389 tokens per min (TPM)."}}


def test_recorded_traffic_keeps_every_promise(exchanges: list[dict[str, Any]]) -> None:
    """Requests, replies and streams of 16 servers, each read, sent back, edited and damaged."""
    served = [one for one in exchanges if one.get("status", 200) == 200]
    # The ids of Writer's calls are longer than OpenAI accepts, whose rules apply without a model.
    replies = [one.get("response_json") for one in served if one.get("provider") != "writer"]

    check_adapter(
        openai_chat,
        requests=[one["request"] for one in served if (one.get("request") or {}).get("messages")],
        responses=[reply for reply in replies if isinstance(reply, dict) and reply.get("choices")],
        streams=[(one["chunks"], None) for one in served if one.get("chunks")],
        overflows=[OVERFLOW],
        other_errors=[RATE_LIMIT],
    )
