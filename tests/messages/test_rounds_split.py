"""Rounds that are split from a position on, and rounds that a late result joins."""

from typing import Any

import pytest

from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds, split_rounds


def test_only_the_split_part_is_checked() -> None:
    """A caller who goes on at a position has had the rest checked before."""
    talk: list[Any] = ["no message", Message("user", "Go."), "no message"]

    assert [found.positions for found in split_rounds(talk[:2], 1)] == [(1,)]
    with pytest.raises(ConfigError, match="Message"):
        split_rounds(talk, 1)


def test_orphan_stays_one_in_joined_round() -> None:
    """Results of two replies in a row may come in any order, with one that nobody asked for."""
    talk = [
        Message("assistant", tool_calls=[ToolCall("c1", "read")]),
        Message("assistant", tool_calls=[ToolCall("c2", "read")]),
        Message("tool", tool_results=[ToolResult("c2", "read"), ToolResult("c9", "read")]),
        Message("tool", tool_results=[ToolResult("c1", "read")]),
    ]

    (found,) = split_rounds(talk)
    answered = [result.call_id for each in close_open_rounds(talk) for result in each.tool_results]

    assert found.positions == (0, 1, 2, 3)
    assert answered == ["c2", "c1"]
