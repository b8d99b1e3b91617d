"""How large a request is: by the usage in replies where it is known, or else by the counter."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentic.context.view._draft import begins_with
from agentic.context.view._lineage import digest_of
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.messages._landmarks import find_summary, prefix_length
from agentic.messages._timeline import continues, same
from agentic.protocols import ToolDefinition
from agentic.tokens import ContextMeter
from agentic.tokens._count import TokenCache
from agentic.usage import Usage, normalize


@attrs.define(eq=False)
class Overhead:
    """Counts system prompts and tools, each only once. Sizes are in tokens.

    >>> from agentic.tokens import CharCounter
    >>> Overhead(TokenCache(CharCounter(1))).count("Be brief.", (), [])
    9
    """

    token_cache: TokenCache
    _tools: tuple[ToolDefinition, ...] = attrs.field(default=(), init=False)
    """The tools that were counted last."""
    _tools_tokens: int = attrs.field(default=0, init=False)

    def count(
        self,
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        history: Sequence[Message],
    ) -> int:
        """Return the size of both, not counting a system prompt that the history begins with.

        Raises:
            ConfigError: the system prompt is not a str.
        """
        if not isinstance(system_prompt, str):
            raise ConfigError("system_prompt", system_prompt, "a str", 'pass "" for none')
        size = self._count_tools(tuple(tools))
        if system_prompt and not begins_with(history, system_prompt):
            size += self.token_cache.count_text(system_prompt)
        return size

    def _count_tools(self, tools: tuple[ToolDefinition, ...]) -> int:
        # By value: an executor may list the same tools as new objects at every turn.
        if tools != self._tools:
            # `default=dict` below: a schema may be made of any Mappings, even read-only ones.
            schemas = [[tool.name, tool.description, tool.parameters] for tool in tools]
            self._tools = tools
            self._tools_tokens = (
                self.token_cache.count_text(json.dumps(schemas, default=dict)) if tools else 0
            )
        return self._tools_tokens


@attrs.define(eq=False)
class ReplyMeter:
    """A meter for one conversation that reads usage from the replies in its history.

    A reply belongs to the request made before it, provided that the history has only grown since.
    """

    token_cache: TokenCache
    _context_meter: ContextMeter = attrs.field(init=False)
    _fresh: bool = attrs.field(default=True, init=False)
    """Whether no request was made yet: then the history may hold replies of an earlier process."""
    _history: list[Message] = attrs.field(factory=list, init=False)
    """The history of the latest request, whose reply has not been seen."""
    _sent: list[Message] = attrs.field(factory=list, init=False)
    """What was sent of it; empty once the reply has been read."""
    _reported: tuple[Message, Usage] | None = attrs.field(default=None, init=False)
    """A reply that was reported but is not yet in the history."""
    _stored: Mapping[str, Any] | None = attrs.field(default=None, init=False)
    """The measurements of an earlier process, until a view shows whether they still hold."""

    def __attrs_post_init__(self) -> None:
        self._context_meter = ContextMeter(self.token_cache.counter, token_cache=self.token_cache)

    def sent(self, history: list[Message], view: list[Message]) -> None:
        """Record a request."""
        # A reply that was reported counts, even if the owner never appends it.
        self._settle()
        # Copies, because the owner's list grows: the reply is what follows the history as it was.
        self._history, self._sent = history.copy(), view.copy()

    def report(self, reply: Message, usage: Usage | None) -> None:
        """Record the reply to the latest request."""
        if usage is not None:
            self._reported = reply, normalize(usage)

    def read_replies(self, history: list[Message], view: list[Message]) -> None:
        """Read the new replies of a history, before its view is measured."""
        if self._fresh:
            self._fresh = False
            self._resume(history, view)
            return
        start = len(self._history)
        # If the history was rewritten since the request, what follows is no reply to it.
        if not self._sent or len(history) <= start or not continues(history, self._history):
            return
        reply = history[start]
        if reply.role != "assistant":
            return
        # The reply that `report` was given is often converted before the owner appends it.
        if self._reported is not None and same(self._reported[0], reply, "request"):
            self._reported = reply, self._reported[1]
        elif self._reported is None and reply.request_usage is not None:
            self._reported = reply, normalize(reply.request_usage)
        self._settle()

    def measure(self, view: list[Message], overhead_tokens: int) -> int:
        """Return the size of a view, in tokens."""
        return self._context_meter.measure(view, overhead_tokens=overhead_tokens)

    def estimate_within(self, tokens: int, overhead_tokens: int) -> int:
        """Return how large, by the counter, a newly cut view may be to measure `tokens`."""
        return self._context_meter.estimate_within(tokens, overhead_tokens=overhead_tokens)

    def drop_thinking(self, replies: Sequence[Message]) -> None:
        """Record that the provider drops the thinking of these replies."""
        self._context_meter.drop_thinking(replies)

    def thinking_tokens(self, view: list[Message]) -> int:
        """Return the size of the thinking that is sent with a view."""
        return self._context_meter.thinking_tokens(view)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form: the calibration, and a hash of the view in the last report."""
        if self._fresh and self._stored is not None:
            return dict(self._stored)  # no view has shown yet whether they hold
        self._settle()
        return self._context_meter.to_plain(digest_of)

    def read_plain(self, plain: Mapping[str, Any]) -> None:
        """Restore the measurements of an earlier process.

        Raises:
            KeyError, TypeError or ValueError: `to_plain` did not return this.
        """
        # Tried now, so that a damaged state is refused now and not in the middle of a run.
        ContextMeter(self.token_cache.counter).read_plain(plain, [], digest_of)
        self._stored = plain

    def _settle(self) -> None:
        """Report the reply to the latest request to the meter, if there is one."""
        if self._reported is not None and self._sent:
            self._context_meter.report(self._sent, *self._reported)
            self._sent = []
        self._reported = None

    def _resume(self, history: list[Message], view: list[Message]) -> None:
        """Use the latest reply in a history that was begun elsewhere."""
        if self._stored is not None:
            self._context_meter.read_plain(self._stored, view, digest_of)
        at = _latest_reply(history)
        # The provider counted all of it. If strategies left something out of the start, that count
        # says nothing about this view.
        if at is None or not continues(view, history[: at + 1]):
            return
        usage = history[at].request_usage
        if usage is not None:
            self._context_meter.report(history[:at], history[at], normalize(usage))


def _latest_reply(history: list[Message]) -> int | None:
    """Return the position of the latest reply whose usage is about a request like this one.

    A reply that a compaction kept is left out: its request was a different one.
    """
    summary = find_summary(history)
    start = prefix_length(history) + (summary.messages_kept if summary else 0)
    late = range(len(history) - 1, start - 1, -1)
    replies = (i for i in late if history[i].role == "assistant")
    return next((i for i in replies if history[i].request_usage), None)
