"""Recorded sessions as messages of LangChain, and back."""

import json

import attrs
import pytest
from langchain_core.messages import message_to_dict, messages_from_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentic.bridges.langchain import from_message, to_message
from agentic.messages import Message, ToolCall

pytestmark = pytest.mark.corpus


def _spelled(message: Message) -> Message:
    """Return a message whose arguments are spelled as LangChain spells them again."""
    calls = [attrs.evolve(call, arguments=_spelling(call)) for call in message.tool_calls]
    return message.replace(tool_calls=calls)


def _spelling(call: ToolCall) -> str:
    try:
        return json.dumps(call.parse(), ensure_ascii=False)
    except ValueError:
        return call.arguments


def test_recorded_sessions_return_whole(transcripts: dict[str, list[Message]]) -> None:
    """Through a checkpointer's serializer and JSON: every text, call, result and image."""
    serde = JsonPlusSerializer()
    messages = [message for session in transcripts.values() for message in session]
    for message in messages:
        written = from_message(message.replace())
        stored = serde.loads_typed(serde.dumps_typed(written))
        loaded = messages_from_dict(json.loads(json.dumps(list(map(message_to_dict, stored)))))
        back = list(map(to_message, loaded))

        if len(message.tool_results) > 1:
            results = tuple(result for each in back for result in each.tool_results)
            assert results == message.tool_results
        else:
            assert [each.replace() for each in back] == [_spelled(message)]
    assert len(messages) > 1_000
