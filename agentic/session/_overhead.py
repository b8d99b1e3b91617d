"""How much is sent beside the messages: the system prompt and the schemas of the tools.

Counted as a Runner counts it, so that a status says what a Runner's trigger sees.
"""

import json
import logging
from collections.abc import Sequence

import attrs

from agentic.loop import Executor
from agentic.messages import Message
from agentic.session._request import make_prompt
from agentic.tokens import Counter, Tallies

__all__ = ["Overhead"]

_log = logging.getLogger(__name__)


@attrs.define(eq=False)
class Overhead:
    """What was sent last beside the messages, and how much that is. Counts each text once.

    >>> import asyncio
    >>> from agentic.tokens import CharCounter
    >>> asyncio.run(Overhead(CharCounter(1), "Be brief.").count())
    9
    """

    counter: Counter
    system_prompt: str = ""
    executor: Executor | None = None
    _tallies: Tallies = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._tallies = Tallies(self.counter)

    async def count(self, history: Sequence[Message] = ()) -> int:
        """Give its size in tokens, without a system prompt with which the history begins."""
        prompt = make_prompt(self.system_prompt, history)
        size = sum(self._tallies.count_text(message.content) for message in prompt)
        return size + await self.count_tools()

    async def count_tools(self) -> int:
        """Give the size of the schemas. Without those that cannot be listed: the log says so."""
        schemas = await _schemas(self.executor)
        return self._tallies.count_text(schemas) if schemas else 0


async def _schemas(executor: Executor | None) -> str:
    if executor is None:
        return ""
    try:
        tools = await executor.list_tools()
    except Exception as error:  # noqa: BLE001  an executor is anybody's code, a status none of it
        _log.warning("the tools are not counted: %s: %s", type(error).__name__, error)
        return ""
    schemas = [[tool.name, tool.description, tool.parameters] for tool in tools]
    return json.dumps(schemas, default=dict) if tools else ""
