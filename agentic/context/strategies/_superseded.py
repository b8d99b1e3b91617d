"""Clearing outputs that a newer output of the same file, page or query replaces."""

import json
import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import attrs

from agentic._base._validate import must_be
from agentic.context.digest import ToolTable
from agentic.context.strategies._cleared import cleared_result
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.errors import ConfigError
from agentic.messages import Message, Round, ToolCall, ToolResult

_ACTS = {"write", "edit", "delete", "run"}
"""What these say happened then: a later output of the same call does not replace it."""


@attrs.frozen(eq=False)
class ClearSuperseded:
    """Clear each tool output that a newer output of the same file, page or query replaces.

    A newer output replaces an older one if it is of the same call: a read of the same file, or a
    call of a tool that is not in the table, with the same arguments. A read of a whole file also
    replaces reads of its parts. Errors replace nothing, and outputs of commands, writes, edits and
    deletions are kept, because each tells what happened. The notice says how to read the output
    again. In a View this happens when an epoch begins.

    >>> strategy, talk = ClearSuperseded(), [Message("user", "Look twice.")]
    >>> for name in ("a", "b"):
    ...     talk.append(Message("assistant", tool_calls=[ToolCall(name, "read", '{"path": "x"}')]))
    ...     talk.append(Message("tool", tool_results=[ToolResult(name, "read", name * 200)]))
    >>> [message.tool_results[0].text[:9] for message in strategy.compact(talk)[2::2]]
    ['[Cleared:', 'bbbbbbbbb']
    """

    tools: ToolTable = attrs.field(factory=ToolTable, validator=must_be(ToolTable))
    """Which tools read, and which arguments hold paths; as for a `Digest`."""
    same: Callable[[ToolCall], Hashable | None] | None = attrs.field(default=None, kw_only=True)
    """What a call reads, in the place of the table: outputs of calls with an equal value replace
    each other; None for one that replaces nothing."""
    recall: str | None = attrs.field(
        default=None, kw_only=True, validator=must_be(str, optional=True)
    )
    """The name of the tool with which the model can read earlier parts of its session. A View sets
    it if it knows of one."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    @same.validator
    def _check_same(self, _: object, value: object) -> None:
        if value is not None and not callable(value):
            requirement = "a function from a call to what it reads"
            raise ConfigError(
                "same", value, requirement, "leave it out to go by the table of tools"
            )

    def for_conversation(self, *, recall: str | None = None) -> "ClearSuperseded":
        """Return a copy for one conversation, with its own cache, that names the recall tool."""
        return attrs.evolve(self, recall=self.recall or recall)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is cleared."""
        sorted_rounds = self._known.of(messages)
        view: list[Message] | None = None
        newer: set[Hashable] = set()
        for group in reversed(sorted_rounds.rounds):
            for position, edit in self._clear(group, newer).items():
                view = messages.copy() if view is None else view
                view[position] = edit
        return sorted_rounds.view(messages if view is None else view, 0, set())

    def _clear(self, group: Round, newer: set[Hashable]) -> dict[int, Message]:
        """Return the edits of a round, by position; add what it reads to what is read later."""
        if not group.tool_calls or group.pinned:
            return {}
        calls = {call.id: call for call in group.tool_calls}
        edits: dict[int, Message] = {}
        for position, message in zip(group.positions, group.messages, strict=True):
            results = [
                self._clear_result(result, calls[result.call_id], newer)
                if result.call_id in calls
                else result
                for result in reversed(message.tool_results)
            ][::-1]
            if any(map(operator.is_not, results, message.tool_results)):
                edits[position] = message.edit(tool_results=results)
        return edits

    def _clear_result(self, result: ToolResult, call: ToolCall, newer: set[Hashable]) -> ToolResult:
        keys = self._keys_of(call)
        if keys is None or result.error is not None or not (result.output or result.media):
            return result
        exact, whole = keys
        if exact in newer or whole in newer:
            short = cleared_result(result, call, self.recall)
            return short if result.media or len(short.text) < len(result.text) else result
        newer.add(exact)
        return result

    def _keys_of(self, call: ToolCall) -> tuple[Hashable, Hashable] | None:
        """Return what a call reads, and the whole of which that is a part."""
        if self.same is not None:
            key = self.same(call)
            return None if key is None else (key, key)
        try:
            arguments = call.parse()
        except ValueError:
            return None
        kind = self.tools.kind_of(call.name, arguments)
        if kind in _ACTS:
            return None
        paths = self.tools.paths_of(arguments) if kind == "read" else ()
        if not paths:
            exact = (call.name, _text_of(arguments))
            return exact, exact
        # Every reader of files shows the same file, whatever it is called.
        parts = {key: value for key, value in arguments.items() if not _holds(value, paths)}
        parts = {key: value for key, value in parts.items() if value is not None}
        return (paths, _text_of(parts)), (paths, _text_of({}))


def _holds(value: Any, paths: tuple[str, ...]) -> bool:
    return value in paths if isinstance(value, str) else value == list(paths)


def _text_of(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)
