"""Requests that were refused for their bytes or their images, as servers said it."""

import pytest

from agentic.providers.overflow import is_context_overflow, read_size_refusal

# The issues that quote them, read on 2026-11-28.
_CLAUDE = "https://github.com/anthropics/claude-code/issues"
_CODE = "https://github.com/microsoft/vscode/issues"
_HERMES = "https://github.com/NousResearch/hermes-agent/pull/104914"
_PER_CONVERSATION = (
    "Too many images were provided, we currently limit the number of images per conversation to 60"
)
REFUSALS = [
    ("total message size 2100954 exceeds limit 2097152", "bytes", 2_100_954, 2_097_152,
     "https://github.com/MoonshotAI/kimi-code/issues/1862"),
    ("Request too large (max 32MB). Try with a smaller file.", "bytes", None, 32_000_000,
     f"{_CLAUDE}/56674"),
    ("Request exceeds the maximum size", "bytes", None, None,
     "https://github.com/anthropics/anthropic-sdk-python/issues/938"),
    ("Failed to buffer the request body: length limit exceeded", "bytes", None, None,
     "https://github.com/huggingface/text-generation-inference/issues/1802"),
    ("too many images and documents: 120 + 0 > 100", "images", 120, 100, f"{_CLAUDE}/24541"),
    ("Too much media: 0 document pages + 107 images > 100", "images", 107, 100,
     f"{_CLAUDE}/24541"),
    ("request contains 52 images, exceeding the maximum of 50 allowed per request", "images", 52,
     50, "https://github.com/anomalyco/opencode/issues/47721"),
    ("Too many images in request: 11 images provided, but the model supports a maximum of 10",
     "images", 11, 10, f"{_CODE}/306919"),
    ("too many URL images in request (max 20)", "images", None, 20, f"{_CODE}/310937"),
    ("Too many images in request. Max is 10.", "images", None, 10,
     "https://github.com/the-open-agent/openagent/issues/874"),
    ("too many images in the message, max allowed is 16", "images", None, 16,
     "https://github.com/QuantumNous/new-api/issues/1233"),
    ("At most 5 image(s) may be provided in one request.", "images", None, 5,
     "https://github.com/vllm-project/vllm/issues/17092"),
    (_PER_CONVERSATION, "images", None, 60, _HERMES),
    ("Too many images in request: 11 > 8", "images", 11, 8, _HERMES),
    ("Exceeded limit on max data-uri per request: 250", "images", None, 250, _HERMES),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "sent", "limit", "source"), REFUSALS, ids=[each[0][:40] for each in REFUSALS]
)
def test_kind_and_sizes_are_read(
    text: str, kind: str, sent: int | None, limit: int | None, source: str
) -> None:
    """None of them is an overflow of the window, for which another remedy is right."""
    assert source.startswith("https://")
    body = {"error": {"type": "invalid_request_error", "message": text}}
    refusal = read_size_refusal(body)
    assert refusal is not None
    assert (refusal.kind, refusal.sent, refusal.limit) == (kind, sent, limit)
    assert not is_context_overflow(body)


@pytest.mark.parametrize(
    "text",
    [
        "image exceeds 5 MB maximum: 5591868 bytes > 5242880 bytes",
        "Rate limit reached: too many images per minute, please wait",
        "Invalid request Error",
    ],
)
def test_other_errors_are_no_refusal_of_a_size(text: str) -> None:
    """One image that is too large, a rate, and an error that says nothing."""
    status = 429 if "Rate" in text else 400
    assert read_size_refusal({"error": {"code": status, "message": text}}) is None
