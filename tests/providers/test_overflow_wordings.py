"""Sentences at the edge of the tables: who exceeds what decides, and not that something does."""

import pytest

from agentic.errors import RequestFailed
from agentic.providers.overflow import read_overflow
from agentic.providers.overflow._error_text import Overflow

TIMEOUTS = [
    "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    "net/http: request canceled (Client.Timeout exceeded while awaiting headers): context canceled",
    "timeout exceeded: context canceled",
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    "Request timed out: the prompt of 90000 tokens exceeded the 600 s of a large context window",
    "Deadline exceeded while processing input tokens that exceed the model limit",
]


@pytest.mark.parametrize("text", TIMEOUTS)
def test_a_timeout_is_no_overflow(text: str) -> None:
    """Go calls the lifetime of a request its context; what was exceeded is time."""
    errors = [RequestFailed("acme", status, text) for status in (None, 499, 500, 504)]

    assert [read_overflow(error) for error in (text, *errors)] == [None] * 5


@pytest.mark.parametrize("code", ["timeout", "APITimeoutError", "DEADLINE_EXCEEDED", "CANCELLED"])
def test_timeouts_code_is_believed(code: str) -> None:
    """Whatever the text beside it speaks of."""
    assert read_overflow({"error": {"code": code, "message": "Prompt is too long"}}) is None


def test_a_setting_named_timeout_hides_nothing() -> None:
    """SDKs print the options of the call, and lines of code, beside what went wrong."""
    text = "create(timeout=600), wait_timeout(5), 'timeout': 60: prompt is too long: 9 tokens > 8"

    assert read_overflow(text) == Overflow(9, 8)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens exceeds model limit 4096",
        "The max_output_tokens exceeds the model limit",
        "max_tokens (200000) exceeds the model's context length 131072",
        "max_tokens=9000 cannot be greater than max_model_len=8192. Request fewer output tokens.",
        "maxOutputTokens 100000 exceeds the maximum number of tokens allowed 8192",
        "Output token count 9000 exceeds limit 8192",
        "completion tokens (9000) exceed the model limit (8192)",
        "thinking_budget exceeds maximum model limit 24576",
        "budget_tokens (40000) exceeds the model limit 32000",
        "The token budget exceeds the maximum number of tokens",
        "Total tokens generated exceeds the max_tokens limit set",
        "max_tokens is too large: 6000. Model supports at most 4096 tokens, the request has 6000",
    ],
)
def test_a_large_output_limit_is_no_overflow(text: str) -> None:
    """A wrong option: no smaller request mends it, and its limit is no window."""
    assert read_overflow(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Image token count exceeds the maximum number of input tokens",
        "Input image tokens exceed the limit of 16 images",
        "Requested context size too large: n_ctx 1000000 exceeds the model limit n_ctx_train 8192",
        "n_ctx_per_seq (4096) > n_ctx_train (2048) -- possible training context overflow",
        "Worker exceeded max model load time",
        "Recursion limit exceeded in context manager",
        "Malformed input request: #/texts/0: expected maxLength: 2048, actual: 19882, please retry",
        "The model supports at most 16 tools, but the request has 20",
        "length limit exceeded",
    ],
)
def test_other_things_may_be_too_large(text: str) -> None:
    """An image, a server's own setting, a stack, one text of many, a body."""
    assert read_overflow(text) is None


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("prompt tokens (9000) + max_tokens (500) exceeds the model limit of 8192", (None, 8_192)),
        ("input tokens and max_tokens exceed the maximum number of tokens", (None, None)),
        ("max_tokens exceeds the remaining context", (None, None)),
        ("max_tokens 5000 exceeds the context length 8192 with a prompt of 4000", (None, 8_192)),
        ("input and output tokens (9000) exceed the context length (8192)", (9_000, 8_192)),
        ("text with image tokens exceeds the context window (8192)", (None, 8_192)),
        ("Input tokens: 9000, max_tokens: 500 exceeds context length 8192", (9_000, 8_192)),
        ("Prompt (8000) plus the output tokens (500) exceeds context length 8192", (None, 8_192)),
        ("prompt tokens (8000) and the max_tokens (500) exceed model limit 8192", (None, 8_192)),
    ],
)
def test_sum_with_output_is_an_overflow(text: str, sizes: tuple[int | None, int | None]) -> None:
    """The input is the other half of it, and can be made smaller."""
    assert read_overflow(text) == Overflow(*sizes)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("prompt tokens (140000) > context length (131072)", (140_000, 131_072)),
        ("input_tokens (9000) > max_input_tokens (8192)", (9_000, 8_192)),
        ("Input length 70000 exceeds the limit of 65536 tokens", (70_000, 65_536)),
        ("Token count 140000 exceeds limit 131072", (140_000, 131_072)),
        (
            "This model supports at most 131072 tokens, but the request has 140000",
            (140_000, 131_072),
        ),
        ("Model context limit reached (200000)", (None, 200_000)),
        ("Prompt length limit exceeded", (None, None)),
        ("Input exceeds the model's context.", (None, None)),
        ("Your input exceeds the context of this model", (None, None)),
        ("The conversation is larger than the available context", (None, None)),
        ("Prompt exceeds maximum context of 8192 tokens", (None, 8_192)),
        ("The request exceeds gpt-4.1's maximum context length of 8,192 tokens", (None, 8_192)),
    ],
)
def test_a_plausible_sentence_needs_no_row(text: str, sizes: tuple[int | None, int | None]) -> None:
    """Gateways write their own; the words that they choose from are few."""
    assert read_overflow(text) == Overflow(*sizes)


@pytest.mark.parametrize(
    "text",
    [
        "Malformed input request: #/inputText: expected maxLength: 50000, actual: 50001, try again",
        "prompt: length: 1..100000, please reformat your input and try again.",
        "Input length 70000 characters exceeds the limit of 65536 characters",
    ],
)
def test_characters_are_not_tokens(text: str) -> None:
    """It is too long for the model all the same; a window of that many tokens would be wrong."""
    assert read_overflow(text) == Overflow()
