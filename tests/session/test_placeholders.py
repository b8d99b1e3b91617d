from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.strategies import ClearToolOutputs
from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds
from agentic.testing import conversations
from agentic.tokens import CharCounter

COUNTER = CharCounter(1.0)


def _clear(tokens: int = 60) -> ClearToolOutputs:
    return ClearToolOutputs(tokens, COUNTER, keep_rounds=0, min_tokens=0, recall="recall")


def _placeholder(**fields: Any) -> str:
    call = Message("assistant", tool_calls=[ToolCall("c1", "read")])
    answer = Message("tool", tool_results=[ToolResult("c1", "read", "x" * 900, **fields)])
    return _clear().compact([call, answer])[1].tool_results[0].notice


def test_placeholder_names_tool_and_argument() -> None:
    """The reference of a kept output, the call's id otherwise, a place of the tool's own as is."""
    assert 'again: recall(ref="c1")]' in _placeholder()
    kept = "out-0123456789abcdef"
    assert f'again: recall(ref="{kept}")]' in _placeholder(ref=kept)
    assert "again: full.log]" in _placeholder(ref="full.log")


@given(messages=conversations(), tokens=st.integers(1, 900))
@settings(max_examples=50, deadline=None)
def test_clearing_with_recall_folds_idempotently(messages: list[Message], tokens: int) -> None:
    """Twice is once, cold is warm, and what is left is as valid as before."""
    messages = close_open_rounds(messages)
    warm, view = _clear(tokens), messages
    for length in range(1, len(messages) + 1):
        view = warm.compact(messages[:length])

    cold = _clear(tokens).compact(messages)

    assert cold == view
    assert _clear(tokens).compact(cold) == cold
    assert close_open_rounds(cold) is cold
