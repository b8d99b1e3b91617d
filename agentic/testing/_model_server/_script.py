"""An agent that follows a plan: it asks for tools, and answers when it has asked often enough."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs

from agentic.testing._model_server._request import ScriptedAnswer

__all__ = ["AgentScript", "Script"]

Script: TypeAlias = Callable[[Mapping[str, Any]], ScriptedAnswer]
"""Answers a request, given as the body that was sent."""

_WORDS = ("parser", "reader", "index", "cache", "writer", "table", "folder", "token")


@attrs.define(kw_only=True)
class AgentScript:
    """Answers as an agent that makes some rounds of calls in each turn, and then reports.

    It goes by the number of requests it has answered, not by what is in them, so that a request
    that was shortened gets the same answer. After `turns` turns it only reports.

    >>> script = AgentScript(turns=1, rounds=1)
    >>> script({}).calls
    ({'path': 'src/parser0_0.py'},)
    >>> script({}).text, script.done
    ('Turn 0: the parser does what was asked.', True)
    """

    turns: int = 60
    rounds: int = 2
    """The rounds of calls in one turn: a reply with calls, and their results."""
    calls: int = 1
    """The calls in one reply."""
    argument: str = "path"
    """The name of the tool's only argument."""
    tool: str | None = None
    """The tool to call; None for the first that a request declares."""
    thinking: str = ""
    """The visible text of the reasoning before each reply."""
    thinking_tokens: int = 200
    seed: int = 0
    answered: int = attrs.field(default=0, init=False)
    """How many requests it has answered, or passed over."""

    @property
    def done(self) -> bool:
        """Return whether the last turn is over."""
        return self.answered >= self.turns * (self.rounds + 1)

    def __call__(self, _: Mapping[str, Any], /) -> ScriptedAnswer:
        """Return the next answer."""
        turn, number = divmod(self.answered, self.rounds + 1)
        self.answered += 1
        word = _WORDS[(turn * 5 + self.seed) % len(_WORDS)]
        if turn >= self.turns or number == self.rounds:
            text = f"Turn {turn}: the {word} does what was asked."
            return self._answer(text=text)
        names = [f"src/{word}{turn}_{number * self.calls + n}.py" for n in range(self.calls)]
        calls = tuple({self.argument: name} for name in names)
        text = "" if number % 3 else f"I read {names[0]}."
        return self._answer(text=text, calls=calls, tool=self.tool)

    def skip_turn(self) -> None:
        """Pass over the rest of the turn, after a refusal that ended it."""
        turns = self.answered // (self.rounds + 1)
        self.answered = (turns + 1) * (self.rounds + 1)

    def _answer(self, **fields: Any) -> ScriptedAnswer:
        tokens = self.thinking_tokens
        return ScriptedAnswer(thinking=self.thinking, thinking_tokens=tokens, **fields)
