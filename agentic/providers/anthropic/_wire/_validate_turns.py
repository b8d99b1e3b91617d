"""What the API refuses in a turn: consecutive messages of one role are one turn to it.

https://platform.claude.com/docs/en/api/messages/create (2026-11)
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentic.providers._plain import at, text_at
from agentic.providers._violation import Step, Violation, find_unpaired
from agentic.providers.anthropic._wire._blocks import blocks_of
from agentic.providers.anthropic._wire._place import directive_only

__all__ = ["find_broken_turns"]

_PAIRS = "https://github.com/anthropics/claude-code/issues/8210"
_FIRST = "https://github.com/shareAI-lab/learn-claude-code/issues/55"
_EMPTY = "https://github.com/anthropics/claude-code/issues/6774"
_SERVER = "https://github.com/anthropics/claude-code/issues/64383"
_THINKING = "https://github.com/anomalyco/opencode/issues/3077"


@attrs.frozen
class _Turn:
    position: int
    """Of its first message."""
    role: Any
    blocks: tuple[Any, ...]
    silent: bool
    """All contents are empty."""

    def ids(self, kind: str, field: str) -> tuple[str, ...]:
        found = (block for block in self.blocks if at(block, "type") == kind)
        return tuple(text_at(block, field) for block in found)


def find_broken_turns(messages: list[Any], thinking: bool) -> Iterator[Violation]:
    """Look at the turns; `thinking` is whether the request asks for it with a budget."""
    turns = list(_turns(messages))
    steps = [
        Step(turn.position, turn.ids("tool_use", "id"), turn.ids("tool_result", "tool_use_id"))
        for turn in turns
    ]
    yield from find_unpaired(steps, _PAIRS)
    for turn in turns:
        yield from _empty(turn, turn is turns[-1])
        yield from _late_results(turn)
    yield from _server_results(turns)
    if thinking:
        yield from _thoughtless(turns)


def _turns(messages: list[Any]) -> Iterator[_Turn]:
    spoken = [pair for pair in enumerate(messages) if not directive_only(pair[1])]
    for role, run in itertools.groupby(spoken, key=lambda pair: at(pair[1], "role")):
        members = list(run)
        blocks = [block for _, message in members for block in blocks_of(at(message, "content"))]
        silent = not any(_says_something(at(message, "content")) for _, message in members)
        yield _Turn(members[0][0], role, tuple(blocks), silent)


def _says_something(content: Any) -> bool:
    blocks = blocks_of(content)
    return any(
        text_at(block, "type") != "text" or text_at(block, "text").strip() for block in blocks
    )


def _empty(turn: _Turn, last: bool) -> Iterator[Violation]:
    """A reply in the last place may be empty, and a message beside one that is not."""
    if turn.silent and not (last and turn.role == "assistant"):
        yield Violation("empty_content", turn.position, f"the {turn.role} says nothing", _EMPTY)


def _late_results(turn: _Turn) -> Iterator[Violation]:
    results = turn.ids("tool_result", "tool_use_id")
    if results and at(turn.blocks[0], "type") != "tool_result":
        problem = f"something stands before the result of {results[0]!r}"
        yield Violation("order", turn.position, problem, _FIRST)


def _server_results(turns: Sequence[_Turn]) -> Iterator[Violation]:
    """Results of the server's tools follow their calls, in the same reply or an earlier one."""
    called: set[str] = set()
    for turn in turns:
        for block in turn.blocks if turn.role == "assistant" else ():
            kind = text_at(block, "type")
            if kind.endswith("_tool_use"):
                called.add(text_at(block, "id"))
            elif kind.endswith("_tool_result") and text_at(block, "tool_use_id") not in called:
                problem = f"a {kind} of {at(block, 'tool_use_id')!r} follows no call of that id"
                yield Violation("orphaned_result", turn.position, problem, _SERVER)


def _thoughtless(turns: Sequence[_Turn]) -> Iterator[Violation]:
    """The reply whose calls are being answered starts with its thinking."""
    if len(turns) < 2 or not turns[-1].ids("tool_result", "tool_use_id"):  # noqa: PLR2004  a pair
        return
    # The words of the model and the results since the user last spoke are one turn of its thinking.
    asking = turns[-2]
    for turn in reversed(turns[:-1]):
        if turn.role == "assistant":
            asking = turn
        elif not turn.ids("tool_result", "tool_use_id"):
            break
    if asking.blocks and at(asking.blocks[0], "type") not in ("thinking", "redacted_thinking"):
        problem = "thinking is asked for, and the reply with the calls does not start with it"
        yield Violation("thinking", asking.position, problem, _THINKING)
