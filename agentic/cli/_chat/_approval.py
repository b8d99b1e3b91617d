"""Asking the user before a tool runs: once, always, or no with a reason that the model reads."""

import asyncio
import re
from collections.abc import Callable

import attrs

from agentic._tool_definition import ToolDefinition
from agentic.cli._chat._lines import Prompt
from agentic.cli._chat._screen import Screen, describe_call
from agentic.cli._output import printable
from agentic.messages import ToolCall
from agentic.tools import Approval

__all__ = ["ChatApprover", "read_answer"]

_ANSWER = re.compile(
    r"(?P<once>o|once|y|yes)|(?P<always>a|always)|(?:n|no)\b[\s,:.]*(?:because\b)?[\s:]*(?P<no>.*)",
    re.IGNORECASE | re.DOTALL,
)
_EXPLANATION = "Answer once, always (for this tool, in this chat), or no, because ..."
_STOPPED = "the user stopped the run"


def read_answer(text: str) -> tuple[str, str] | None:
    """Return `once`, `always` or `no`, with the reason; None if it is none of them.

    >>> read_answer("once"), read_answer("No, because the build is red.")
    (('once', ''), ('no', 'the build is red.'))
    >>> read_answer("no"), read_answer("nothing"), read_answer("")
    (('no', ''), None, None)
    """
    found = _ANSWER.fullmatch(text.strip())
    if found is None:
        return None
    kind = str(found.lastgroup)
    return kind, found["no"] or ""


@attrs.define(eq=False)
class ChatApprover:
    """Shows a call in full, and asks whether it may run."""

    screen: Screen
    prompt: Prompt
    stop: Callable[[], None]
    """Stops the run: what Ctrl-C does at a question, too."""
    _always: set[str] = attrs.field(factory=set, init=False)
    """The tools that are not asked about again."""
    _asking: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)
    """The calls of one turn wait for one another: there is one keyboard."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Return what the user answers."""
        async with self._asking:
            # Within the lock: an answer to a call before this one may be `always`.
            if call.name in self._always:
                return Approval(allowed=True)
            with self.screen.paused():
                kind, reason = await self._ask(call)
        if kind == "always":
            self._always.add(call.name)
        return Approval(kind in {"once", "always"}, reason)

    async def _ask(self, call: ToolCall) -> tuple[str, str]:
        self.screen.say(describe_call(call))
        question = printable(f"Run {call.name}? [once / always / no, because ...] ")
        while (given := await self.prompt.ask(question)) is not None:
            if answer := read_answer(given):
                return answer
            self.screen.note(_EXPLANATION)
        self.stop()
        return "no", _STOPPED
