"""What an SDK raises, as the errors that callers of a decider can act on."""

import asyncio
import json

import anthropic
import httpx2
import openai
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from google.genai import errors as google_errors

from agentic.errors import ContextOverflow, IncompleteReply, ProviderError, RequestFailed
from agentic.limits import ModelLimits
from agentic.providers._model import ModelDecider, counted_tokens

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1")
TOO_LONG = {"error": {"message": "prompt is too long: 12 tokens > 8 maximum"}}


class _Acme(ModelDecider):
    _provider = "acme"
    _sdks = frozenset({"anthropic", "botocore", "cohere", "google", "openai"})
    model = "m-1"

    def __init__(self, window: int | None) -> None:
        self._limits = ModelLimits(window or 0, 0, known=window is not None)


def _translated(
    error: BaseException,
    *,
    window: int | None = None,
    received: str = "",
    models: list[str] | None = None,
) -> object:
    class Listing(_Acme):
        async def list_models(self) -> list[str]:
            if models is None:
                raise TypeError("this server lists none")
            return models

    async def run() -> None:
        async with Listing(window)._errors(lambda: received):
            raise error

    try:
        asyncio.run(run())
    except BaseException as caught:  # noqa: BLE001  which one is what is asked for
        return caught
    return None


def _openai(status: int, body: object) -> openai.APIStatusError:
    response = httpx2.Response(status, json=body, request=REQUEST)
    return openai.APIStatusError(f"Error code: {status}", response=response, body=body)


def test_too_many_images_are_an_overflow_of_their_own() -> None:
    """With what was counted, and the field of the policy to set; tokens are not assumed."""
    body = {"error": {"message": "Too many images in request: 11 > 8"}}
    error = _translated(_openai(400, body), window=128_000)
    assert isinstance(error, ContextOverflow)
    assert (error.sent, error.window, error.kind) == (11, 8, "images")
    assert str(error).endswith("give the Runner a budget.Manager whose Policy has max_images")
    unstated = _translated(_openai(413, {"error": {"message": "Request exceeds the maximum size"}}))
    assert isinstance(unstated, ContextOverflow)
    assert (unstated.sent, unstated.window, unstated.kind) == (None, None, "bytes")


def test_an_overflow_keeps_the_provider_s_sizes() -> None:
    """They go before what the caller knows of the model."""
    got = _translated(_openai(400, TOO_LONG), window=99)

    assert repr(got) == repr(ContextOverflow("m-1", 12, 8))


def test_an_overflow_gets_the_known_window() -> None:
    """The error says at least what is allowed."""
    body = {"error": {"code": "context_length_exceeded", "message": "No."}}

    got = _translated(_openai(400, body), window=8_192)

    assert repr(got) == repr(ContextOverflow("m-1", None, 8_192))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (_openai(429, {"error": {"message": "Slow down."}}), 429),
        (
            anthropic.APIStatusError(
                "Overloaded", response=httpx2.Response(529, request=REQUEST), body=None
            ),
            529,
        ),
        (google_errors.ServerError(503, {"error": {"message": "Busy."}}), 503),
        (
            ClientError(
                {"Error": {"Code": "X"}, "ResponseMetadata": {"HTTPStatusCode": 424}}, "Converse"
            ),
            424,
        ),
        (openai.APIConnectionError(request=REQUEST), None),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1"), None),
        (httpx2.ReadError("gone"), None),
        (ConnectionResetError("gone"), None),
        (TimeoutError("too slow"), None),
        (json.JSONDecodeError("Expecting value", "<html>", 0), None),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refusal_names_provider_and_status(error: Exception, status: int | None) -> None:
    """None stands for no answer at all; the cause is kept."""
    got = _translated(error)

    assert isinstance(got, RequestFailed)
    assert (got.provider, got.status) == ("acme", status)
    assert got.problem
    assert got.__cause__ is error


def test_a_broken_connection_keeps_received_text() -> None:
    """An answer with a status is a refusal, whatever came before it."""
    got = _translated(httpx2.ReadError("gone"), received="Hel")

    assert repr(got) == repr(IncompleteReply("Hel"))
    assert isinstance(_translated(_openai(500, {}), received="Hel"), RequestFailed)


@pytest.mark.parametrize(
    "error",
    [
        TypeError("an unexpected keyword argument"),
        KeyError("x"),
        FileNotFoundError(2, "No such file", "key.pem"),
        RequestFailed("other", 500, "told before"),
        ContextOverflow("m", 2, 1),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_non_provider_failure_passes(error: BaseException) -> None:
    """A mistake in the call, a file of this machine, an error told before, a cancellation."""
    assert _translated(error) is error


def test_a_block_that_succeeds_raises_nothing() -> None:
    """The translation costs nothing where nothing is raised."""

    async def run() -> bool:
        async with _Acme(None)._errors():
            return issubclass(RequestFailed, ProviderError)

    assert asyncio.run(run())


def test_a_lost_connection_names_the_address() -> None:
    """Of the server that was asked, without the user's name and password."""
    request = httpx2.Request("POST", "http://me:secret@127.0.0.1:9/v1/chat?key=secret")

    got = _translated(openai.APIConnectionError(request=request))

    assert isinstance(got, RequestFailed)
    assert got.problem == "Connection error at http://127.0.0.1:9/v1/chat"


@pytest.mark.parametrize(
    ("sent", "told", "expected"), [(120, None, 99), (12, 8, 8), (12, None, None), (None, None, 99)]
)
def test_overflow_in_stream_has_window(
    sent: int | None, told: int | None, expected: int | None
) -> None:
    """That of the caller, if the provider named none and the request did exceed it."""
    got = _translated(ContextOverflow("m-1", sent, told), window=99)

    assert repr(got) == repr(ContextOverflow("m-1", sent, expected))


def test_a_window_that_was_not_exceeded_is_not_named() -> None:
    """A server may have been started with less than its model's window, and not say so."""
    body = {"error": {"message": "prompt is too long: 5000 tokens"}}

    got = _translated(_openai(400, body), window=131_072)

    assert repr(got) == repr(ContextOverflow("m-1", 5_000, None))


def test_an_unreadable_answer_is_a_failure_of_the_provider() -> None:
    """OpenAI's and Anthropic's SDKs hand on what `json` raises for a body that was cut."""
    cut = json.JSONDecodeError("Expecting value", "{", 1)

    got = _translated(cut)

    assert isinstance(got, RequestFailed)
    assert got.problem.startswith("the answer cannot be read: Expecting value")
    assert repr(_translated(cut, received="Hel")) == repr(IncompleteReply("Hel"))


def test_exceptions_that_cause_each_other_end() -> None:
    """Where the chain of causes is a circle, the error has no address."""
    lost, wrapped = httpx2.ConnectError("down"), RuntimeError("wrapped")
    lost.__cause__, wrapped.__cause__ = wrapped, lost

    got = _translated(lost)

    assert isinstance(got, RequestFailed)
    assert got.problem == "down"


def test_unknown_model_lists_existing_ones() -> None:
    """The nearest one is suggested; a server that lists none changes nothing."""
    missing = _openai(404, {"error": {"message": "The model m-1 does not exist"}})

    got = _translated(missing, models=["zeta", "m-10"])

    assert isinstance(got, RequestFailed)
    assert got.problem == "Error code: 404 (did you mean 'm-10'?); there are m-10, zeta"
    assert getattr(_translated(missing), "problem", "") == "Error code: 404"


@pytest.mark.parametrize(
    "message",
    [
        "The requested model 'm-1' does not exist.",
        "Model Not Exist",
        "Invalid model: m-1",
        "m-1 is not a valid model ID",
    ],
)
def test_bad_request_may_mean_the_model(message: str) -> None:
    """OpenAI's Responses API, DeepSeek, Mistral and OpenRouter refuse unknown ones with 400."""
    got = _translated(RequestFailed("acme", 400, message), models=["m-10"])

    assert str(got).endswith(f"{message} (did you mean 'm-10'?); there are m-10")


def test_another_bad_request_lists_no_models() -> None:
    """A list has no aliases, so what is not in it may exist."""
    problem = RequestFailed("acme", 400, "This model doesn't support the s3Uri field.")

    assert _translated(problem, models=["m-10"]) is problem


@pytest.mark.parametrize("models", [[], ["m-1", "m-2"]])
def test_a_listed_model_is_not_the_problem(models: list[str]) -> None:
    """The address may be wrong, or the list empty: neither is worth a word."""
    missing = _openai(404, {"error": {"message": "Not found."}})

    assert getattr(_translated(missing, models=models), "problem", "") == "Error code: 404"


def test_long_model_list_is_shortened() -> None:
    """An error is a sentence, and a router has hundreds."""
    got = _translated(RequestFailed("acme", 404, "no such model"), models=[*map(str, range(30))])

    assert str(got).endswith("and 10 more")


@pytest.mark.parametrize("answer", [None, {}, {"input_tokens": None}, {"input_tokens": True}])
def test_missing_count_is_no_zero(answer: object) -> None:
    """An empty context would never be compacted."""
    with pytest.raises(RequestFailed, match="no token count"):
        counted_tokens(answer, "input_tokens", "acme")
