"""Nothing leaves a request silently, on any adapter."""

from types import ModuleType

import pytest

from agentic.messages import ContextSummary, Media, Message, ToolCall, ToolResult
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from agentic.testing import check_adapter

pytestmark = pytest.mark.slow

ADAPTERS = [openai_chat, openai_responses, anthropic, gemini, bedrock, cohere, ollama]
EVERY = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.ADAPTER.name)


@pytest.mark.parametrize(
    "adapter",
    [openai_chat, *(pytest.param(each, marks=pytest.mark.long) for each in ADAPTERS[1:])],
    ids=lambda adapter: adapter.ADAPTER.name,
)
def test_the_contract_holds_without_examples(adapter: ModuleType) -> None:
    """For the suite's own conversations, in which everything is marked.

    With examples, the tests of each adapter ask the same of it.
    """
    check_adapter(adapter)


@EVERY
def test_encode_leaves_no_system_message_out(adapter: ModuleType) -> None:
    """Neither a prompt nor a summary: who sends only this list sends everything."""
    summary = ContextSummary("The parser is done.", 7).to_message()
    history = [Message("system", "Be brief."), summary, Message("user", "Go on.")]

    sent = str(adapter.encode(history))

    assert all(text in sent for text in ("Be brief.", "The parser is done.", "Go on."))
    assert sent.index("Be brief.") < sent.index("The parser is done.") < sent.index("Go on.")


@EVERY
def test_tool_messages_text_goes_out(adapter: ModuleType) -> None:
    """Its text beside the results, after them."""
    call = Message("assistant", tool_calls=[ToolCall("c1", "look", "{}")])
    results = [ToolResult("c1", "look", "a tree", notice="One line is missing.")]
    history = [Message("user", "Look."), call, Message("tool", "Mind it.", tool_results=results)]

    sent = str(adapter.encode_request(history))

    assert sent.index("a tree") < sent.index("One line is missing.") < sent.index("Mind it.")


@EVERY
@pytest.mark.parametrize("role", ["system", "assistant"])
def test_media_of_other_roles_are_named(adapter: ModuleType, role: str) -> None:
    """The model learns that there was a picture, though the wire takes none of this role."""
    picture = Media("image/gif", b"GIF89a")
    speaker = Message(role, "Here.", media=[picture])  # type: ignore[arg-type]

    request = adapter.encode_request([speaker, Message("user", "What is it?")])

    assert adapter.validate(request) == []
    assert "image/gif" in str(request)
