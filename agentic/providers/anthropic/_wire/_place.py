"""Where a message may stand in a request, and what to do with one that may not.

The rules of the role `system`, which newer models know:
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (2026-11).
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from agentic.messages import Message
from agentic.providers._plain import at, text_at
from agentic.providers.anthropic._wire._blocks import text_of
from agentic.providers.anthropic._wire._rebuild import rebuild
from agentic.providers.anthropic._wire._turns import Turn

__all__ = ["directive_only", "follows_well", "settle"]

_GO_ON = "Continue."
"""Said for the user where a cut left nobody's word at the start or at the end."""


def settle(turns: Iterable[Turn]) -> list[Turn]:
    """Make a list of messages begin, go on and end as the API wants it.

    What came from the wire and stands as it stood there is left alone.
    """
    settled = _without_empty_runs(_with_system_in_place(list(turns)))
    first = next((turn for turn in settled if turn.role != "system"), None)
    if first is None or (first.role == "assistant" and not _came_first(first)):
        settled.insert(0, _go_on())
    # A reply that goes back as it came is a paused turn or a beginning that the caller gives.
    if settled[-1].role == "assistant" and not settled[-1].native:
        settled.append(_go_on())
    return settled


def _go_on() -> Turn:
    return Turn({"role": "user", "content": [{"type": "text", "text": _GO_ON}]})


def _came_first(turn: Turn) -> bool:
    return turn.between is not None and turn.between[0] is None


def _with_system_in_place(turns: list[Turn]) -> list[Turn]:
    """Turn the system messages that lost their place into words of the user, marked."""
    placed: list[Turn] = []
    for position, turn in enumerate(turns):
        if turn.role != "system" or _may_stand(turn, placed, turns[position + 1 :]):
            placed.append(turn)
            continue
        text = "\n\n".join(filter(None, map(text_of, turn.blocks)))
        blocks = rebuild(Message("system", text))
        placed += [Turn({"role": "user", "content": blocks})] if blocks else []
    return placed


def _may_stand(turn: Turn, before: Sequence[Turn], after: Sequence[Turn]) -> bool:
    if directive_only(turn.message):
        return True
    beside = (before[-1].role if before else None, after[0].role if after else None)
    if turn.between == beside:
        return True
    # Only the ends of a run of system messages have to fit.
    earlier = next((other for other in reversed(before) if other.role != "system"), None)
    later = next((other for other in after if other.role != "system"), None)
    fits = later is None or later.role == "assistant"
    return fits and earlier is not None and follows_well(earlier.message)


def directive_only(message: Any) -> bool:
    """Tell whether a system message holds settings and no text: it may stand anywhere."""
    return at(message, "content") == [] and at(message, "output_config") is not None


def follows_well(message: Any) -> bool:
    """Tell whether a system message may follow this one: the user's, or a server tool's result."""
    if at(message, "role") == "user":
        return True
    kind = at(message, "content", -1, "type")
    return isinstance(kind, str) and kind.endswith("_tool_result")


def _without_empty_runs(turns: list[Turn]) -> list[Turn]:
    """Leave out turns that say nothing at all; only a reply at the very end may be empty."""
    kept: list[Turn] = []
    seen = 0
    for role, run in itertools.groupby(turns, key=lambda turn: turn.role):
        group = list(run)
        seen += len(group)
        at_the_end = role == "assistant" and seen == len(turns) and not group[-1].blocks
        if role == "system" or at_the_end or any(map(_says_something, group)):
            kept += group
    return kept


def _says_something(turn: Turn) -> bool:
    """Tell whether there is more in it than white space, which a model may reply.

    https://github.com/nick1udwig/kibitz/issues/78
    """
    content = at(turn.message, "content")
    texts = [text_at(block, "type") == "text" and text_at(block, "text") for block in turn.blocks]
    blank = all(isinstance(text, str) and not text.strip() for text in texts)
    return not blank or not isinstance(content, str | list)
