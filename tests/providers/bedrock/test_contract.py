"""The promises that every adapter makes."""

import base64
import json
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from agentic.providers import bedrock
from agentic.testing import check_adapter

pytestmark = [pytest.mark.corpus, pytest.mark.long]


def _events(row: dict[str, Any]) -> list[dict[str, Any]]:
    frames = EventStreamBuffer()
    frames.add_data(base64.b64decode(row["body_base64"]))
    return [{frame.headers[":event-type"]: json.loads(frame.payload)} for frame in frames]


def test_adapter_keeps_promises_on_recordings(
    recorded: list[dict[str, Any]], fixtures: list[dict[str, Any]]
) -> None:
    """Every request that was served, every reply and every stream."""
    served = [row for row in recorded if row["status"] == 200]
    replies = [row.get("response_json") or {} for row in [*served, *fixtures]]
    streams = [_events(row) for row in served if "body_base64" in row]
    streams += [row["chunks"] for row in fixtures if row.get("chunks")]

    check_adapter(
        bedrock,
        requests=[row["request"] for row in served],
        responses=[reply for reply in replies if "output" in reply],
        streams=[(events, None) for events in streams],
        overflows=[{"message": "Input is too long for requested model."}],
        other_errors=[{"message": "Too many tokens per minute, please wait."}],
    )
