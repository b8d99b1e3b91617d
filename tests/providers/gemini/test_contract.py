import logging
from typing import Any

import pytest

from agentic.providers import gemini
from agentic.testing import check_adapter

pytestmark = pytest.mark.slow

# Shapes from https://ai.google.dev/gemini-api/docs/function-calling and /thinking (2026-11).
CALL: dict[str, Any] = {
    "functionCall": {"name": "read", "args": {"path": "a.py"}},
    "thoughtSignature": "AAE=",
}
REQUEST: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Read both."}]},
        {"role": "model", "parts": [CALL, {"functionCall": {"name": "read", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "text"}}},
                {"functionResponse": {"name": "read", "response": {"error": "gone"}}},
            ],
        },
    ],
}


def _response(*parts: Any, **counts: int) -> dict[str, Any]:
    content = {"parts": list(parts), "role": "model"}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, **counts},
    }


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


CALLED = _response({"text": "Hm.", "thought": True}, CALL, thoughtsTokenCount=5)
SAID = _response({"text": "Hello."}, candidatesTokenCount=2)
EVENT = {"candidates": [{"content": {"parts": [{"text": "Hel"}], "role": "model"}, "index": 0}]}
STREAM = [EVENT, _response({"text": "lo."}, candidatesTokenCount=2)]
TOO_LONG = "The input token count (120) exceeds the maximum number of tokens allowed (100)."


def test_the_adapter_keeps_its_promises(caplog: pytest.LogCaptureFixture) -> None:
    """Those that every adapter makes, on Google's shapes."""
    caplog.set_level(logging.CRITICAL, "agentic.usage")

    check_adapter(
        gemini,
        requests=[REQUEST],
        responses=[CALLED, SAID],
        streams=[(STREAM, SAID)],
        overflows=[_error(400, TOO_LONG)],
        other_errors=[_error(429, "You exceeded your current quota.")],
    )


@pytest.mark.corpus
@pytest.mark.long
def test_adapter_keeps_promises_on_recordings(
    exchanges: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """Every request, reply and stream of both APIs."""
    caplog.set_level(logging.CRITICAL, "agentic.usage")
    served = [given for given in exchanges if given["status"] == 200]
    answers = [given["answer"] for given in served]

    check_adapter(
        gemini,
        requests=[given["request"] for given in served if given["request"]],
        responses=[answer for answer in answers if not isinstance(answer, list)],
        streams=[(answer, None) for answer in answers if isinstance(answer, list)],
    )
