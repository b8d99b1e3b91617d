"""Whether the requests of a session would be accepted for their shape, at the cost of what is new.

A request is unsound if a call and its results are torn apart in it, or if what an adapter makes of
it breaks a rule that the adapter's validator knows. A request that the next one begins with is a
part of it: so of requests that only grow the last is looked at, and the others one by one if that
is refused, or where they end in a reply, which is a matter of their own.
"""

from collections.abc import Sequence
from types import ModuleType

import attrs

from agentic import providers
from agentic.errors import ConfigError
from agentic.messages import Message, close_open_rounds

__all__ = ["ADAPTERS", "Validity", "adapters_of", "refusal_of"]

ADAPTERS = ("anthropic", "openai_chat", "openai_responses", "gemini", "bedrock")


def adapters_of(names: Sequence[str]) -> tuple[ModuleType, ...]:
    """Give adapters by name.

    >>> [adapter.NAME for adapter in adapters_of(["anthropic"])]
    ['anthropic']

    Raises:
        ConfigError: there is no adapter of that name.
    """
    for name in names:
        if name not in ADAPTERS:
            raise ConfigError("provider", name, f"one of {', '.join(ADAPTERS)}", "name one of them")
    return tuple(getattr(providers, name) for name in dict.fromkeys(names))


def refusal_of(view: list[Message], adapters: Sequence[ModuleType] = ()) -> str:
    """Say why a request would be refused; nothing if it would not.

    >>> from agentic.messages import ToolResult
    >>> refusal_of([Message("tool", tool_results=[ToolResult("c1", "run")])])
    'a call and its result are torn apart'
    """
    if close_open_rounds(view) is not view:
        return "a call and its result are torn apart"
    for adapter in adapters:
        for found in adapter.validate(adapter.encode_request(view)):
            return f"{adapter.NAME}: {found.problem}"
    return ""


@attrs.define(eq=False)
class Validity:
    """Looks at the requests of one session, in order."""

    adapters: tuple[ModuleType, ...] = ()
    refusals: dict[int, str] = attrs.field(factory=dict, init=False)
    """Why requests would be refused, by their number from 0; known when their run is concluded."""
    _lengths: list[int] = attrs.field(factory=list, init=False)
    """The lengths of the requests that only grew, the latest last."""
    _concluded: int = attrs.field(default=0, init=False)

    def note(self, length: int) -> None:
        """Take in that a request of so many messages was sent, and begins with the one before."""
        self._lengths.append(length)

    def conclude(self, view: list[Message]) -> None:
        """Look at the requests since the last conclusion, of which `view` is the latest."""
        refused = bool(self._lengths) and refusal_of(view, self.adapters)
        for length in self._lengths:
            if refused or view[length - 1].role == "assistant":
                problem = refusal_of(view[:length], self.adapters)
                if problem:
                    self.refusals[self._concluded] = problem
            self._concluded += 1
        self._lengths.clear()
