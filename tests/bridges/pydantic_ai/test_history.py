"""Each of the framework's messages is read as messages of its own, whatever the list repeats."""

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from agentic.bridges.kit._mirror import Mirror
from agentic.bridges.pydantic_ai._form import PydanticForm


def _ask(text: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(text, timestamp=_ask_time)])


_ask_time = UserPromptPart("").timestamp


def _check(history: Mirror, given: list[ModelMessage]) -> None:
    """Check that each is looked up by a message of its own, also where the first are left out."""
    assert len({id(message) for message in history.messages}) == len(given)
    assert history.write(history.messages[2:]) == given[2:]


def test_object_that_occurs_twice_is_two_messages() -> None:
    """Also when the list is read again, cut at its start."""
    history, reply = Mirror(PydanticForm()), ModelResponse([TextPart("So.")])
    again = _ask("Go on.")
    given: list[ModelMessage] = [_ask("Why?"), reply, again, reply, again, reply]
    history.read(given)
    _check(history, given)

    history.read(given[2:])

    _check(history, given[2:])


def test_equal_message_put_before_another_is_its_own() -> None:
    """What was read of the old one belongs to the old one, which has moved."""
    history = Mirror(PydanticForm())
    old: list[ModelMessage] = [_ask("Why?"), ModelResponse([TextPart("So.")])]
    history.read(old)
    first, second = history.messages

    history.read([_ask("Why?"), *old])

    assert history.messages[1] is first
    assert history.messages[2] is second
    assert len({id(message) for message in history.messages}) == 3
