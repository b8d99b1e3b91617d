import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from agentic.loop import Decision
from agentic.messages import Message
from agentic.providers import gemini
from agentic.usage import unknown_words_raise

pytestmark = pytest.mark.corpus
Exchanges: TypeAlias = list[dict[str, Any]]


def _whole(answer: Any) -> Any:
    """Return the response, put together if it was streamed."""
    if not isinstance(answer, list):
        return answer
    streamed = gemini.StreamedResponse()
    for event in answer:
        streamed.feed(event)
    return streamed.response()


def _replies(exchanges: Exchanges) -> list[Any]:
    return [_whole(given["answer"]) for given in exchanges if given["status"] == 200]


def test_recorded_conversations_return_byte_for_byte(exchanges: Exchanges) -> None:
    """What the client had sent is what would be sent again, the order of keys included."""
    requests = [given["request"] for given in exchanges if given["request"]]

    for request in requests:
        again = gemini.encode_request(gemini.decode_request(request))
        sent = {key: request[key] for key in again if key in request}
        assert json.dumps(again) == json.dumps(sent)
        contents = gemini.encode(gemini.decode(request["contents"]))
        assert json.dumps(contents) == json.dumps(request["contents"])

    assert requests


def test_recorded_replies_end_with_known_word(exchanges: Exchanges) -> None:
    """No word is missing from the table, and no count is lost."""
    with unknown_words_raise():
        decisions = [gemini.decode_response(reply) for reply in _replies(exchanges)]

    assert all(decision.stop_word for decision in decisions)
    assert all(decision.usage and decision.usage.input for decision in decisions)


def test_recorded_counts_add_up_to_totals(exchanges: Exchanges) -> None:
    """Thoughts and tool-use prompts are beside the other counts, on both APIs."""
    usages = [gemini.usage(_whole(given["answer"])) for given in exchanges if given["request"]]
    counted = [usage for usage in usages if usage.total]

    assert all(usage.input + usage.output == usage.total for usage in counted)
    assert any(usage.reasoning for usage in counted)


def test_recorded_replies_go_back_as_received(
    exchanges: Exchanges, as_message: Callable[[Decision], Message]
) -> None:
    """The message that the loop makes of a decision is sent as the reply's own content."""
    for reply in _replies(exchanges):
        decision = gemini.decode_response(reply)
        message = as_message(decision)
        said = [reply["candidates"][0]["content"]] if decision.native else []
        assert gemini.encode([message]) == said


def test_only_the_refused_shape_is_invalid(exchanges: Exchanges) -> None:
    """The one recorded refusal for a request's shape is an unknown role."""
    for given in exchanges:
        if given["request"]:
            found = gemini.validate({**given["request"], "model": given["model"]})
            refusal = str(given["answer"]) if given["status"] == 400 else ""
            assert [each.rule for each in found] == ["role"] * ("valid role" in refusal)
