"""A result whose call is lost takes no other call's place."""

from agentic.messages import close_open_rounds
from agentic.providers import gemini


def _answer(call_id: str, output: str) -> dict[str, object]:
    answer = {"id": call_id, "name": "run", "response": {"output": output}}
    return {"role": "user", "parts": [{"functionResponse": answer}]}


def test_result_with_another_id_answers_nothing() -> None:
    """Both have an id of their own: that they name the same tool means nothing."""
    call = {"functionCall": {"id": "c5", "name": "run", "args": {}}}
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [call]},
        _answer("c6", "late"),
        _answer("c5", "here"),
    ]

    sent = close_open_rounds(gemini.decode(contents))

    assert [result.text for message in sent for result in message.tool_results] == ["here"]


def test_call_without_an_id_is_answered_by_name() -> None:
    """Some clients give only the result an id."""
    contents = [{"role": "model", "parts": [{"functionCall": {"name": "run"}}]}, _answer("a", "x")]

    called, answered = gemini.decode(contents)

    assert answered.tool_results[0].call_id == called.tool_calls[0].id
