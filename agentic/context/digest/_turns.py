"""A conversation as a digest reads it: what was asked, said and called, one record after another."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from agentic.messages import Message, ToolCall, ToolResult

__all__ = ["Asked", "Called", "Said", "Summarized", "Turn"]


@attrs.frozen
class Asked:
    """The user's own words, without what a harness put around them."""

    text: str
    message: Message
    """Where they stand."""


@attrs.frozen
class Said:
    """The assistant's prose."""

    text: str
    message: Message


@attrs.frozen
class Called:
    """A call with its result; None as long as there is none."""

    call: ToolCall
    arguments: Mapping[str, Any]
    """The arguments, parsed; empty if they are no JSON object."""
    kind: str | None
    """What the tool table says that the tool does: read, write, edit, delete, run, or None."""
    result: ToolResult | None

    @property
    def output(self) -> str:
        """What the model saw of the result."""
        return "" if self.result is None else self.result.text


@attrs.frozen
class Summarized:
    """A former summary: ours with the data beside it, or somebody else's text."""

    text: str
    notes: Mapping[str, Any] = attrs.field(factory=dict)


Turn: TypeAlias = Asked | Said | Called | Summarized
