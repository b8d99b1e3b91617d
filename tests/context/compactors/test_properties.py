import asyncio
import copy
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.compactors import Digest
from agentic.messages import ContextSummary, Media, Message, ToolCall, ToolFailure, ToolResult

ODD = st.sampled_from("\n\n `~-#()*\\\r\x0b\x1b\x85\u2028\ud83d\udfff\x00é😀")
TEXT = st.text(st.one_of(st.characters(codec=None), ODD), max_size=60)
FORMS = [
    "# Digest of the conversation so far",
    "## Errors",
    "- `x` (2 times) -> exit 1",
    "- `x`: 1 edit",
    "  indented",
    "~~~",
    "~~~~~",
    "Error: no",
    "exit code: 1",
    "- [ ] test it",
    "a [... 12 characters left out ...] b",
    "*** Update File: a.py",
]
CONTENT = st.lists(st.one_of(TEXT, st.sampled_from(FORMS)), max_size=4).map("\n".join)
KEYS = ["path", "command", "input", "offset", "limit", "view_range", "todos", "x"]
VALUES = st.one_of(CONTENT, st.integers(), st.none(), st.lists(st.one_of(CONTENT, st.integers())))
BROKEN = ["", "{", "[1]", "null", "[" * 100_000, '{"x": 1e999}', '{"path": "a.py']
ARGUMENTS = st.one_of(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3).map(json.dumps),
    st.sampled_from(BROKEN),
    CONTENT,
)
TOOLS = st.one_of(st.sampled_from(["read", "bash", "edit", "apply_patch", "lookup", ""]), TEXT)
IDS = st.sampled_from(["a", "b", "\ud800"])
CALLS = st.lists(st.builds(ToolCall, IDS, TOOLS, ARGUMENTS), max_size=3)
FAILURES = st.one_of(st.none(), st.builds(ToolFailure, CONTENT))
RESULTS = st.lists(st.builds(ToolResult, IDS, TOOLS, CONTENT, FAILURES), max_size=3)
MEDIA = st.lists(st.just(Media("image/png", b"\x89PNG")), max_size=2)
MESSAGES = st.one_of(
    st.builds(Message, st.just("user"), CONTENT, media=MEDIA),
    st.builds(Message, st.just("assistant"), CONTENT, tool_calls=CALLS),
    st.builds(Message, st.just("tool"), tool_results=RESULTS),
    st.builds(Message, st.just("system"), CONTENT),
    CONTENT.map(lambda text: ContextSummary(text, 1).to_message()),
)
CONVERSATIONS = st.lists(MESSAGES, max_size=12)
RECALL = st.sampled_from([None, "recall"])

unhurried = settings(deadline=None)


def _digest(messages: list[Message], max_tokens: int = 2000, recall: str | None = None) -> str:
    return asyncio.run(Digest(max_tokens=max_tokens, recall=recall).compact(messages))


@unhurried
@given(CONVERSATIONS, st.integers(1, 600), RECALL)
def test_the_size_is_kept_whatever_the_conversation(
    messages: list[Message], size: int, recall: str | None
) -> None:
    """Damaged conversations included; nothing raises."""
    assert len(_digest(messages, size, recall)) <= 4 * size


@unhurried
@given(CONVERSATIONS)
def test_the_same_conversation_gives_the_same_digest(messages: list[Message]) -> None:
    """And the conversation is left as it was."""
    before = copy.deepcopy(messages)

    assert _digest(messages) == _digest(before)
    assert messages == before


@unhurried
@given(CONVERSATIONS, st.integers(50, 600), RECALL)
def test_a_digest_of_a_digest_alone_is_that_digest(
    messages: list[Message], size: int, recall: str | None
) -> None:
    """What is written can be read, so that digests do not decay by themselves."""
    once = _digest(messages, size, recall)

    assert _digest([ContextSummary(once, 1).to_message()], size, recall) == once


@unhurried
@given(CONVERSATIONS)
def test_requests_are_word_for_word_where_there_is_room(messages: list[Message]) -> None:
    """No request is missing, and none is changed."""
    got = _digest(messages, 100_000)

    asked = [message for message in messages if message.role == "user" and message.content.strip()]
    assert all(message.content in got for message in asked)


@unhurried
@given(st.text(st.one_of(st.characters(codec=None), ODD)), st.integers(100, 2000))
def test_requests_have_a_right_to_a_fifth_of_the_room(text: str, size: int) -> None:
    """However much else there is to say."""
    asked = text[: size * 4 // 5 - 80]
    call = [ToolCall(str(n), f"tool {n}", "{}") for n in range(100)]
    answers = [ToolResult(str(n), "", f"Error: {n} {'x' * 200}") for n in range(100)]
    work = [Message("assistant", tool_calls=call), Message("tool", tool_results=answers)]

    got = _digest([Message("user", asked), *work], size)

    assert asked in got or not asked.strip()
