"""How much is sent beside the messages: the system prompt and the schemas of the tools."""

import json
from collections.abc import Sequence

import attrs

from agentic._tool_definition import ToolDefinition
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.tokens import TokenCache

__all__ = ["Overhead", "begins_with"]


@attrs.define(eq=False)
class Overhead:
    """Counts system prompts and tools, each once. Sizes in tokens.

    >>> from agentic.tokens import CharCounter
    >>> Overhead(TokenCache(CharCounter(1))).count("Be brief.", (), [])
    9
    """

    token_cache: TokenCache
    _tools: tuple[ToolDefinition, ...] = attrs.field(default=(), init=False)
    """Those that were counted last."""
    _tools_tokens: int = attrs.field(default=0, init=False)

    def count(
        self,
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        history: Sequence[Message],
    ) -> int:
        """Return the size of both, without a system prompt with which the history begins.

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
        if tools != self._tools:
            schemas = [[tool.name, tool.description, tool.parameters] for tool in tools]
            self._tools = tools
            self._tools_tokens = (
                self.token_cache.count_text(json.dumps(schemas, default=dict)) if tools else 0
            )
        return self._tools_tokens


def begins_with(history: Sequence[Message], system_prompt: str) -> bool:
    """Return whether a history begins with this system prompt already."""
    first = history[0] if history else None
    return first is not None and (first.role, first.content) == ("system", system_prompt)
