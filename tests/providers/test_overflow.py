"""Which errors are overflows, and the sizes that they name."""

import json
from operator import itemgetter
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from botocore.exceptions import ClientError
from google.genai import errors as google_errors
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ContextOverflow, RequestFailed
from agentic.providers import overflow
from agentic.providers.overflow import is_context_overflow, read_overflow
from agentic.providers.overflow._error_text import Overflow, read_error_text, spell
from agentic.providers.overflow._wordings import OTHER_ERRORS, OVERFLOWS

LINES = (
    Path(__file__).with_name("overflow_errors.jsonl").read_text("utf-8").rstrip("\n").split("\n")
)
OBSERVED = list(map(json.loads, LINES))
ROWS = [row for row in OBSERVED if row["kind"] != "other error"]
OTHERS = [row for row in OBSERVED if row["kind"] == "other error"]
TOO_LONG = "prompt is too long: 208310 tokens > 200000 maximum"
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["error", "code", "x"]), inner),
)


def _sizes(row: dict[str, Any]) -> Overflow:
    return Overflow(row.get("sent"), row.get("window"))


@pytest.mark.parametrize("row", ROWS, ids=itemgetter("server"))
def test_each_row_finds_its_own_message(row: dict[str, Any]) -> None:
    """The row's wording is in the message, and the sizes are the ones that it names."""
    assert OVERFLOWS[row["wording"]].search(spell(row["says"]))
    assert read_overflow(row["says"]) == _sizes(row)
    assert row["source"].startswith("https://")


@pytest.mark.parametrize("row", ROWS, ids=itemgetter("server"))
def test_message_is_found_however_wrapped(row: dict[str, Any]) -> None:
    """In a body, a body within a text, a log line of an SDK, a part of a stream: the same."""
    body = {"error": {"message": row["says"], "type": "invalid_request_error", "code": 400}}
    wrapped = [
        body,
        json.dumps(body),
        json.dumps(body).encode(),
        [body],
        f"Error code: 400 - {body!r}",
        {"type": "response.failed", "response": {"error": {"message": row["says"]}}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(body)}}},
    ]

    assert [read_overflow(error) for error in wrapped] == [_sizes(row)] * len(wrapped)


@pytest.mark.parametrize("row", OTHERS, ids=itemgetter("server"))
def test_other_errors_are_no_overflow(row: dict[str, Any]) -> None:
    """A rate limit, a body, an output limit: no row of the other table outvotes it."""
    assert OTHER_ERRORS[row["wording"]].search(spell(row["says"]))
    assert read_overflow(row["says"]) is None
    assert read_overflow({"error": {"message": row["says"]}}) is None


@pytest.mark.parametrize("other", OTHERS, ids=itemgetter("server"))
def test_no_row_matches_another_error(other: dict[str, Any]) -> None:
    """Nothing in the negative table is found in a real overflow."""
    wording = OTHER_ERRORS[other["wording"]]

    assert [row["server"] for row in ROWS if wording.search(spell(row["says"]))] == []


def test_servers_are_listed_once() -> None:
    """A row that stands twice is a slip."""
    servers = [row["server"] for row in OBSERVED]

    assert len(servers) == len(set(servers))


@pytest.mark.parametrize(
    "code",
    [
        "context_length_exceeded",
        "model_max_prompt_tokens_exceeded",
        "exceed_context_size_error",
        "tokens_limit_reached",
        "token_quantity_exceeded",
        "context_exceeded",
        "ContextWindowExceededError",
        "1261",
    ],
)
def test_a_code_is_enough(code: str) -> None:
    """A server may say why in a word for programs, and nothing else that helps."""
    assert is_context_overflow({"error": {"code": code, "message": "Bad request."}})
    assert is_context_overflow({"code": code, "message": "出错了"})


@pytest.mark.parametrize(
    "code", ["rate_limit_exceeded", "ThrottlingException", "RESOURCE_EXHAUSTED", "tool_use_failed"]
)
def test_another_code_is_believed(code: str) -> None:
    """Whatever the text speaks of: it may repeat what a model wrote."""
    assert read_overflow({"error": {"code": code, "message": TOO_LONG}}) is None
    assert read_overflow({"errors": [{"type": code, "message": TOO_LONG}]}) is None


def test_the_key_of_an_event_is_a_code() -> None:
    """Bedrock's union says in its key which exception it holds."""
    said = {"message": "Too many tokens in all."}

    assert is_context_overflow({"validationException": said})
    assert not is_context_overflow({"throttlingException": said})


def test_sizes_are_read_from_their_fields() -> None:
    """llama.cpp gives them twice; the fields are exact in any language."""
    body = {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 14_429,
            "n_ctx": 8_192,
        }
    }

    assert read_overflow(body) == Overflow(14_429, 8_192)


@pytest.mark.parametrize("status", [401, 403, 404, 408, 429, 499, 504, 524])
def test_some_statuses_are_never_an_overflow(status: int) -> None:
    """A smaller request would be refused as well, or nobody looked at its size."""
    assert read_overflow({"error": {"code": status, "message": TOO_LONG}}) is None
    assert read_overflow(RequestFailed("acme", status, TOO_LONG)) is None


@pytest.mark.parametrize("status", [200, 400, 413, 422, 500, 502])
def test_any_other_status_decides_nothing(status: int) -> None:
    """Servers answer an overflow with all of these."""
    assert is_context_overflow({"error": {"code": status, "message": TOO_LONG}})
    assert is_context_overflow(RequestFailed("acme", status, TOO_LONG))


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"role": "assistant", "content": TOO_LONG}}]},
        {"message": {"role": "assistant", "content": TOO_LONG}, "done": True},
        {"content": [{"type": "text", "text": TOO_LONG}], "stop_reason": "end_turn"},
        {"output": [{"content": [{"text": "context_length_exceeded"}]}], "error": None},
        {"detail": [{"msg": "Field required", "loc": ["body"], "input": {"text": TOO_LONG}}]},
        {"error": {"message": "Bad JSON.", "failed_generation": TOO_LONG, "param": TOO_LONG}},
    ],
)
def test_the_conversation_is_not_an_error(body: object) -> None:
    """A reply, and what a validation repeats of the request, may speak of anything."""
    assert read_overflow(body) is None


def _empty(sdk: Any, status: int, text: str = "") -> Exception:
    """Make an SDK's exception of an answer without a body, or with a text."""
    request = httpx2.Request("POST", "http://127.0.0.1")
    response = httpx2.Response(status, text=text, request=request)
    client = {"openai": openai.OpenAI, "anthropic": anthropic.Anthropic}[sdk.__name__]
    made: Exception = client(api_key="none")._make_status_error_from_response(response)
    return made


def _empty_aws(status: int, phrase: str) -> ClientError:
    """Make botocore's, which puts the status in the place of an empty body."""
    said = {
        "Error": {"Code": str(status), "Message": phrase},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(said, "Converse")


@pytest.mark.parametrize(
    "error",
    [
        _empty(openai, 413),
        _empty(anthropic, 413),
        _empty_aws(413, "Request Entity Too Large"),
        {"error": {"code": 413}},
        {"status": 413, "message": "Content Too Large"},
    ],
)
def test_too_large_without_a_text_is_an_overflow(error: Any) -> None:
    """Whatever was too large, a smaller request helps."""
    assert read_overflow(error) == Overflow()


@pytest.mark.parametrize(
    "error",
    [
        _empty(openai, 400),
        _empty(anthropic, 400),
        _empty_aws(400, "Bad Request"),
        {"error": {"code": 400}},
        _empty(anthropic, 413, "Request exceeds the maximum size of 32 MB"),
        RequestFailed("acme", 413, "Request exceeds the maximum size of 32 MB"),
        _empty(openai, 429),
    ],
)
def test_other_answers_without_a_text_are_none(error: Any) -> None:
    """An empty 400 may be anything; a limit on bytes that says so is one on bytes."""
    assert read_overflow(error) is None


def test_exceptions_of_the_sdks_are_read() -> None:
    """Each keeps its body and its status in a place of its own."""
    body = {"error": {"message": TOO_LONG, "type": "invalid_request_error"}}
    response = httpx2.Response(400, json=body, request=httpx2.Request("POST", "http://127.0.0.1"))
    said = {
        "Error": {"Code": "ValidationException", "Message": TOO_LONG},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    raised = [
        openai.BadRequestError("Error code: 400", response=response, body=body["error"]),
        anthropic.BadRequestError("Error code: 400", response=response, body=body),
        google_errors.ClientError(400, {"error": {"code": 400, "message": TOO_LONG}}),
        ClientError(said, "Converse"),
        RuntimeError(TOO_LONG),
    ]

    assert [read_overflow(error) for error in raised] == [Overflow(208_310, 200_000)] * 5
    assert [read_error_text(error).status for error in raised] == [400, 400, 400, 400, None]


def test_an_exception_is_read_by_its_body() -> None:
    """Its text holds everything that the body holds, the user's words as well."""
    body = {"detail": [{"msg": "Field required", "input": TOO_LONG}]}
    response = httpx2.Response(422, json=body, request=httpx2.Request("POST", "http://127.0.0.1"))
    error = openai.UnprocessableEntityError(
        f"Error code: 422 - {body}", response=response, body=body
    )

    assert read_overflow(error) is None


def test_an_empty_response_leaves_the_text() -> None:
    """LiteLLM makes up a response without a body, and says everything in the message."""
    request = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
    nothing = httpx2.Response(400, request=request)
    text = "AnthropicException - prompt is too long: 208310 tokens > 200000 maximum"

    error = openai.BadRequestError(text, response=nothing, body=None)

    assert read_overflow(error) == Overflow(208310, 200_000)


def test_a_translated_overflow_stays_one() -> None:
    """The library's own error keeps its sizes."""
    assert read_overflow(ContextOverflow("m", 5, 4)) == Overflow(5, 4)


def test_exception_without_text_is_read() -> None:
    """Its own method may fail, as that of a class which was unpickled without its fields."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise AttributeError

    assert read_overflow(Mute()) is None


def test_properties_may_raise() -> None:
    """A response that was streamed cannot be read twice."""

    class Streamed(Exception):
        @property
        def response(self) -> object:
            raise RuntimeError

    assert is_context_overflow(Streamed(TOO_LONG))


@given(PLAIN)
def test_nothing_raises(error: object) -> None:
    """Whatever a server sends, there is an answer."""
    assert read_overflow(error) is None or is_context_overflow(error)


@pytest.mark.parametrize(
    "piece",
    ["input token ", "exceeds max", "context of ", "1 + ", "prompt ((", "tokens 1,000", "{["],
)
def test_a_page_of_a_text_is_read(piece: str) -> None:
    """An error may repeat a megabyte of prompt; its first and last lines say why."""
    text = piece * (1_000_000 // len(piece))

    assert len(spell(text)) <= 8_001
    assert all(len(part) <= 8_001 for part in read_error_text({"error": [text] * 100}).texts)
    assert is_context_overflow(f"{TOO_LONG} {'word ' * 200_000}")
    assert is_context_overflow(f"{'word ' * 200_000} {TOO_LONG}")


def test_nesting_has_an_end() -> None:
    """A body that nests for ever is read to a depth."""
    body: dict[str, object] = {"message": TOO_LONG}
    for _ in range(1_000):
        body = {"error": body}

    assert read_overflow(body) is None
    assert read_overflow('{"error":' * 50_000) is None


def test_the_package_says_what_it_offers() -> None:
    """What a reply and an error say is read by adapters, and is private."""
    assert overflow.__all__ == ["is_context_overflow", "read_overflow", "read_size_refusal"]


def test_a_size_that_fits_was_not_sent() -> None:
    """A text may name some other size; the window is still worth having."""
    text = "prompt of 100 tokens in part 3 exceeds the context window of 8,192 tokens"

    assert read_overflow(text) == Overflow(None, 8_192)


def test_equal_field_sizes_name_the_window() -> None:
    """A server may refuse a prompt as long as its window, which leaves no room for a reply."""
    fields = {"n_prompt_tokens": 8_192, "n_ctx": 8_192}
    body = {"error": {"type": "exceed_context_size_error", "message": "Too long.", **fields}}

    assert read_overflow(body) == Overflow(None, 8_192)
